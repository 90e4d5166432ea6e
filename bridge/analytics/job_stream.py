"""The job `stream`: lines become events micro-batch by micro-batch, and tables follow from time to time."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock

import click
from pyspark import StorageLevel
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from bridge.analytics.errors import AnalyticsError, tell
from bridge.analytics.intake.batches import FIRST_BATCH, Intake, intake_after
from bridge.analytics.intake.closed_files import Inbox, files_in, let_go
from bridge.analytics.intake.column_files import TOLD
from bridge.analytics.intake.delivery import Delivery
from bridge.analytics.intake.file_gaps import file_gaps
from bridge.analytics.intake.gaps import Gap, note_gaps, tell_gaps, write_gaps
from bridge.analytics.intake.moved_inbox import follow_move
from bridge.analytics.intake.sources import (
    NO_TOPIC,
    FolderSource,
    Source,
    TopicSource,
    connector_jars,
    is_of_folder,
    require_client_file,
    require_reachable,
)
from bridge.analytics.intake.topic_ids import TopicIds, made_anew, note_ids
from bridge.analytics.job_run import (
    NO_INPUT,
    STEP_COUNT,
    bring_up,
    do_stages,
    open_store,
    outcome,
    require_input,
    require_output,
    require_unpacked,
    told,
)
from bridge.analytics.job_upkeep import UpkeepSchedule
from bridge.analytics.spark.failures import cause_of
from bridge.analytics.spark.progress import bar
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.specs import StreamSpec
from bridge.analytics.stream_end import Ending, ending
from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import EVENTS
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.kept_history import keep, kept
from bridge.analytics.tables.ownership import owned
from bridge.analytics.tables.publishing import published
from bridge.analytics.tables.store import CHECKPOINT, NEXT, Store
from bridge.analytics.tables.table_log import NOTHING_YET
from bridge.analytics.tables.takeover import last_noted
from bridge.analytics.tables.telling import Tellings
from bridge.analytics.tables.upkeep import Upkeep, first_live_day

INBOX = "_inbox"
NOTE = "note"
GAP_CONDITIONS = (
    "OffsetOutOfRange",
    "KAFKA_DATA_LOSS",
    "START_OFFSET_GREATER_THAN_END_OFFSET",
    "LOST_TOPIC_PARTITIONS",
)
"""Parts of the names that Kafka's client and Spark's Kafka source give to what can't be read any more."""
_REASON = re.compile(r"Reason:\s*(?P<reason>\S[^\n]*?)\.?\s*(?:SQLSTATE.*)?$", re.MULTILINE)
FEED_S = 5
Tend = Callable[[], object]
"""Called every few seconds while a stream runs."""


class OverError(Exception):
    """The stream ends, and a batch that it has not begun is left to the next start."""


class Stream:
    """One stream into a store: a batch that was handed over before is taken in place of what the first attempt left."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._intake: Intake | None = None
        self._history: History | None = None
        self._ids: TopicIds | None = None
        self._tellings = Tellings()
        self._turn = Lock()
        self.is_over = False
        self.last_batch = NOTHING_YET
        self.fault: Exception | None = None

    def start(self, source: Source, *, is_once: bool) -> StreamingQuery:
        """Begin, where the checkpoint says; `is_once` ends when everything that is there has been taken."""
        writer = source.rows(self._store.spark).writeStream
        writer = writer.foreachBatch(lambda rows, batch: self._take_in_turn(source, rows, batch))
        writer = writer.option("checkpointLocation", self._store.path(CHECKPOINT)).queryName("events")
        # Spark by itself looks a hundred times a second whether there is more: a broker is asked each time, and of a
        # folder all names are read that were ever there.
        every = f"{source.look_s} seconds"
        return (writer.trigger(availableNow=True) if is_once else writer.trigger(processingTime=every)).start()

    def take(self, delivery: Delivery, batch: int) -> None:
        """One micro-batch."""
        taken = self._taking().take(delivery, batch, is_asked=self._tellings.ask())
        self._tellings.note(batch, taken.told, taken.told_of)
        self.last_batch = batch

    def _taking(self) -> Intake:
        if self._intake is None:
            self._intake = intake_after(self._store)
        return self._intake

    def close(self) -> None:
        """Let go of what is kept for further batches: the tables need the room."""
        if self._intake is not None:
            self._intake.close()
        if self._ids is not None:
            self._ids.close()

    def finish(self) -> None:
        """Wait for the batch at hand; no other one begins. Spark would break it off in the middle."""
        self.is_over = True
        with self._turn:
            return

    def _take_in_turn(self, source: Source, rows: DataFrame, batch: int) -> None:
        with self._turn:
            if self.is_over:
                raise OverError
            self._take_noted(source, rows, batch)

    def _take_noted(self, source: Source, rows: DataFrame, batch: int) -> None:
        """Spark hands on the text of what is raised here, not what it was."""
        try:
            is_new = batch > self._store.log(EVENTS).done()
            if is_new and isinstance(source, TopicSource):
                self._note_topic(source, rows, batch)
            delivery = source.delivery(rows)
            if is_new and isinstance(source, FolderSource) and source.is_inbox:
                tell_gaps(self._note_file_gaps(source, delivery, batch))
            self.take(delivery, batch)
            if isinstance(source, FolderSource) and source.is_inbox:
                # Before Spark notes the batch as done: who dies here has it handed over again, and lets go of it then.
                for file in delivery.files:
                    let_go(Path(file.path))
        except Exception as fault:
            self.fault = fault
            raise
        finally:
            rows.unpersist()

    def _note_topic(self, source: TopicSource, rows: DataFrame, batch: int) -> None:
        """Note what a topic lacks, and whether it is another one now; raise AnalyticsError if that ends the stream."""
        if self._ids is None:
            self._ids = TopicIds(self._store.spark, source.client(self._store.spark), source.topics)
        ids = self._ids.look()
        anew = made_anew(self._store, ids, batch)
        if anew and not source.goes_on_at_gaps:
            raise AnalyticsError(lost(source, f"{', '.join(sorted(anew))} has another id than before"))
        if source.goes_on_at_gaps:
            # Read once: retention may remove more before a second time, and nobody would note that.
            rows.persist(StorageLevel.DISK_ONLY)
            tell_gaps(note_gaps(self._store, rows, batch, anew))
        note_ids(self._store, ids, batch)

    def _note_file_gaps(self, source: FolderSource, delivery: Delivery, batch: int) -> list[Gap]:
        """Gone on with in any case: a file that somebody brings back is taken however late."""
        known = [path.name for path in files_in(Path(source.folder))]
        gaps = file_gaps(delivery.files, known, self._taking().seen, is_first=batch == FIRST_BATCH)
        write_gaps(self._store, gaps, batch)
        return gaps

    def refresh(self, last_batch: int) -> None:
        """Bring all tables up to this batch; what came since the last time, be it that of a process before this one,
        says which groups are made anew.
        """
        history = kept(self._store) if self._history is None else self._history
        told = self._tellings.of(self._store, history.last_batch, last_batch)
        extent = history.advance(last_batch, None if told is None else told.whole)
        self._history = history
        if extent is not None and not extent.chunks:
            return
        since = first_live_day(published(self._store))
        telling = None if extent is None else told
        with bar(self._store.spark.sparkContext, STEP_COUNT) as shown:
            do_stages(Derivation(self._store, last_batch, extent, since, telling=telling), shown.say)
        keep(self._store, history)
        for batch in self._tellings.forget(last_batch):
            self._store.clear_folder(NEXT, TOLD, str(batch))


def drain(store: Store, source: Source) -> None:
    """Take everything that is there, and make the tables."""
    stream = Stream(store)
    query = stream.start(source, is_once=True)
    try:
        query.awaitTermination()
    except StreamingQueryException as problem:
        raise AnalyticsError(broken(stream.fault or problem, source)) from problem
    finally:
        query.stop()
        stream.close()
    stream.refresh(store.log(EVENTS).done())


def follow(store: Store, source: Source, refresh_s: int, tend: Tend, told_to_end: Ending) -> None:
    """Take what comes until somebody interrupts; it comes into the tables every `refresh_s` seconds, and at the end."""
    stream = Stream(store)
    # A process before this one may have died between a batch and its tables, and nothing more need come.
    done = store.log(EVENTS).done()
    refreshed, waited_s = min(kept(store).last_batch, done), 0
    query = stream.start(source, is_once=False)
    try:
        while not (told_to_end.is_asked() or query.awaitTermination(FEED_S)):
            tend()
            waited_s += FEED_S
            if waited_s >= refresh_s and max(stream.last_batch, done) > refreshed:
                refreshed, waited_s = max(stream.last_batch, done), 0
                stream.refresh(refreshed)
        stream.finish()
    except StreamingQueryException as problem:
        raise AnalyticsError(broken(stream.fault or problem, source)) from problem
    finally:
        query.stop()
        stream.close()
    if max(stream.last_batch, done) > refreshed:
        stream.refresh(max(stream.last_batch, done))


def main(wanted: StreamSpec, master: str | None, settings: Mapping[str, str]) -> None:
    """Stream as the command line asks, and print what the tables hold in the end."""
    require_output(wanted.out)
    require_source(wanted)
    with owned(wanted.out):
        spark = open_session(SessionSettings(master=master, settings={**connector_jars(wanted.jars), **settings}))
        store = open_store(spark, wanted.out)
        bring_up(store)
        require_own(store)
        source, tend = source_of(wanted)
        require_same_kind(store, source)
        upkeep = UpkeepSchedule(wanted.out, upkeep_of(wanted), wanted.upkeep_s // FEED_S)

        def tend_both() -> None:
            tend()
            upkeep.turn()

        if wanted.is_once:
            drain(store, source)
            conclude(store, upkeep, wanted.out)
            return
        with ending(wanted.end_within_s) as told_to_end:
            follow(store, source, wanted.refresh_s, tend_both, told_to_end)
            conclude(store, upkeep, wanted.out)


def conclude(store: Store, upkeep: UpkeepSchedule, out: str) -> None:
    """Keep the tables up for the last time, and print what they hold."""
    upkeep.do()
    for line in told(outcome(store), out):
        click.echo(line)


def upkeep_of(wanted: StreamSpec) -> Upkeep:
    """What is done for the tables of a stream from time to time."""
    return Upkeep(keep_days=wanted.keep_days, spared_hours=wanted.spared_hours)


def require_source(wanted: StreamSpec) -> None:
    """Raise AnalyticsError if no broker can be reached, or its settings can't be read, or if there are no files, or not
    here, or some are compressed; before Spark starts.
    """
    if wanted.bootstrap is not None:
        require_client_file(wanted.kafka_config)
        require_reachable(wanted.bootstrap)
        return
    events = wanted.events or ""
    require_input(events)
    if Path(events).is_file():
        raise AnalyticsError(
            f"{NO_INPUT}: {events} is one file, and a stream watches a folder for those that are complete; "
            "name the folder that it is in"
        )
    if "://" in events + wanted.out:
        raise AnalyticsError(
            "EB-ANALYTICS-008: a stream from files needs --events and --out on this machine; "
            "use `analytics run` for files elsewhere, or stream from the topic"
        )
    require_unpacked(events, inbox_of(wanted).linked())


def inbox_of(wanted: StreamSpec) -> Inbox:
    """The folder of complete files of a stream from files, fed or not."""
    return Inbox(Path(wanted.events or ""), Path(wanted.out).resolve() / INBOX, wanted.settled_s)


def require_own(store: Store) -> None:
    """Raise AnalyticsError if the tables are not those of the stream that goes on here: what they hold would be taken
    for what this one has taken; or if they lack what it has taken.
    """
    if store.log(EVENTS).version is not None and not store.has_stream():
        raise AnalyticsError(
            f"EB-ANALYTICS-034: the tables in {store.root} are of a run, or of a stream whose folder {CHECKPOINT} is "
            "gone; name another --out, or remove that directory first"
        )
    noted, done = last_noted(store), store.log(EVENTS).done()
    if noted > done:
        last = "none" if done == NOTHING_YET else f"batch {done}"
        raise AnalyticsError(
            f"EB-ANALYTICS-041: the stream into {store.root} has noted batch {noted} as taken, and the last one that "
            f"{EVENTS.name} has is {last}: commits of that table are gone, as of a disk that lost its end, and nothing "
            f"is taken twice; put a copy of {EVENTS.name}/_delta_log back, or take the log from its begin with another "
            "--out"
        )


def require_same_kind(store: Store, source: Source) -> None:
    """Raise AnalyticsError if the stream that goes on here took a topic and is to take a folder, or the reverse:
    what Spark has noted says nothing of that, and it would break off at every start.
    """
    planned = store.files.find(store.path(CHECKPOINT, "offsets", "[0-9]*"))
    noted = store.files.read(max(planned, key=_batch_of)).splitlines()[-1:] if planned else []
    is_folder = isinstance(source, FolderSource)
    if noted and is_of_folder(noted[0]) != is_folder:
        before, now = ("topic", "folder") if is_folder else ("folder", "topic")
        raise AnalyticsError(
            f"EB-ANALYTICS-039: the stream into {store.root} took a {before} so far, and can't go on with a {now}, of "
            f"which it does not know what it has; name the {before} again, or another --out for the {now}"
        )


def _batch_of(path: str) -> int:
    return int(path.rpartition("/")[2])


def source_of(wanted: StreamSpec) -> tuple[Source, Tend]:
    """Where the lines come from, and what has to be done now and then so that they come."""
    if wanted.bootstrap is not None and wanted.topic is not None:
        source = TopicSource(
            bootstrap=wanted.bootstrap,
            topic=wanted.topic,
            batch_lines=wanted.batch_lines,
            goes_on_at_gaps=wanted.on_gap == NOTE,
            client_file=wanted.kafka_config,
        )
        return source, lambda: None
    inbox = inbox_of(wanted)
    former = follow_move(inbox.links.parent / CHECKPOINT, inbox.links)
    if former:
        tell(f"the tables were moved here: {former} was the inbox of this stream, which goes on")
    inbox.feed()
    return FolderSource(folder=str(inbox.links), batch_files=wanted.batch_files, is_inbox=True), inbox.feed


def broken(problem: Exception, source: Source) -> str:
    """What ended a stream, in one sentence."""
    if isinstance(problem, AnalyticsError):
        return str(problem)
    if isinstance(source, TopicSource) and "UnknownTopicOrPartition" in str(problem):
        return f"{NO_TOPIC}: {source.bootstrap} has no topic {source.topic!r}; check --topic, or create it"
    if isinstance(source, TopicSource) and any(condition in str(problem) for condition in GAP_CONDITIONS):
        return lost(source, _reason_of(problem))
    return (
        f"EB-ANALYTICS-007: the stream broke ({cause_of(problem)}); what it took is safe: run the same command again "
        f"to go on. If it breaks the same way again, what it names is damaged, such as a file of {CHECKPOINT}: put a "
        "copy of that back, or begin anew with another --out"
    )


def lost(source: TopicSource, why: str) -> str:
    """What is said where a topic does not go on where a stream is."""
    return (
        f"EB-ANALYTICS-015: the topic {source.topic!r} no longer holds what comes next for this stream ({why}); "
        "Kafka's retention was quicker, or the topic was deleted and made anew, or is another one than before. What "
        f"the stream took is safe: run the same command with --on-gap {NOTE} to go on with what there is, which lists "
        "what is missing in the table gaps"
    )


def _reason_of(problem: Exception) -> str:
    """The part of Spark's words that says what is gone."""
    found = _REASON.search(str(problem))
    return found["reason"] if found else cause_of(problem)
