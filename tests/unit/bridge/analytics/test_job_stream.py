"""The streaming job: what it says when it breaks, and what it follows. Restarts are in tests/pipeline."""

import gzip
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamWriter

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.intake.delivery import Delivery
from bridge.analytics.intake.sources import FolderSource, TopicSource
from bridge.analytics.intake.topic_ids import TopicIds
from bridge.analytics.job_stream import (
    INBOX,
    Stream,
    broken,
    drain,
    main,
    require_own,
    require_same_kind,
    require_source,
    source_of,
)
from bridge.analytics.specs import StreamSpec
from bridge.analytics.tables.definitions import EVENTS, GAPS, REJECTED
from bridge.analytics.tables.store import CHECKPOINT, Store
from bridge.analytics.tables.table_log import NOTHING_YET
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.support.spark import lines_of

NOON_S, DAY_S = 1_764_072_000, 86_400
TOPIC = TopicSource(bootstrap="h:1", topic="t", batch_lines=1)


def test_missing_topic_is_one_sentence() -> None:
    """Spark's own words are a page."""
    problem = StreamingQueryException("UnknownTopicOrPartitionException: This server does not host it")
    assert broken(problem, TOPIC).startswith("EB-ANALYTICS-005: h:1 has no topic 't'; ")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("[KAFKA_DATA_LOSS.X] Reason: t-0 was 5 but reset to 9. SQLSTATE: 22000", "t-0 was 5 but reset to 9"),
        ("o.a.k.OffsetOutOfRangeException: at 5", "o.a.k.OffsetOutOfRangeException: at 5"),
        ("[LOST_TOPIC_PARTITIONS_X] of t\nat java", "[LOST_TOPIC_PARTITIONS_X] of t"),
    ],
)
def test_topic_that_lost_what_comes_next_says_how_to_go_on(words: str, why: str) -> None:
    """The same command would end in the same way for ever."""
    sentence = broken(StreamingQueryException(words), TOPIC)
    assert sentence.startswith("EB-ANALYTICS-015: the topic 't' no longer holds what comes next for this stream")
    assert f" ({why}); " in sentence
    assert "--on-gap note" in sentence


def test_other_break_says_how_to_go_on() -> None:
    """The first line is enough."""
    sentence = broken(StreamingQueryException("disk full\nat java"), TOPIC)
    assert sentence.startswith("EB-ANALYTICS-007: the stream broke (disk full); ")


def test_what_broke_a_batch_is_told_and_not_what_spark_made_of_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark hands on a text that says that Python raised something."""

    def fail(*_: object, **__: object) -> None:
        raise NotADirectoryError(20, "Not a directory", "events")

    write_log(tmp_path / "events", FleetPlan(groups=1, rebalances=1))
    monkeypatch.setattr(Store, "commit", fail)
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-007: the stream broke \(\[Errno 20\] Not a directory: "):
        drain(store, FolderSource(folder=str(tmp_path / "events"), batch_files=3))


def take_all(store: Store, source: TopicSource) -> None:
    """What there is becomes events, and no table is made of them."""
    stream = Stream(store)
    stream.start(source, is_once=True).awaitTermination()
    stream.close()


def test_topic_that_is_another_one_ends_the_stream_until_somebody_says_how_to_go_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds more records than the stream has taken of the one before: those up to there were passed over unseen."""
    ids, closed = {"t": "x-1"}, list[TopicIds]()

    def close(one: TopicIds) -> None:
        closed.append(one)

    def rows(_: TopicSource, spark: SparkSession) -> DataFrame:
        lines = spark.readStream.schema("value string").text(str(tmp_path / "records"))
        return lines.select("value", f.lit("t-0").alias("source"), f.lit(0).alias("offset"))

    def records(lines: Sequence[str], number: int) -> None:
        (tmp_path / "records").mkdir(exist_ok=True)
        (tmp_path / "records" / f"{number}").write_text("".join(f"{line}\n" for line in lines))

    monkeypatch.setattr(TopicSource, "rows", rows)
    monkeypatch.setattr(TopicIds, "__init__", lambda *_: None)
    monkeypatch.setattr(TopicIds, "look", lambda _: dict(ids))
    monkeypatch.setattr(TopicIds, "close", close)
    write_log(tmp_path / "events", FleetPlan(groups=1, rebalances=1))
    (log,) = (tmp_path / "events").iterdir()
    lines = log.read_text().splitlines()
    records(lines[:5], 1)
    take_all(store, TOPIC)
    records(lines[5:7], 2)
    take_all(store, TOPIC)
    ids["t"] = "y-2"
    take_all(store, TOPIC)
    records(lines[7:9], 3)
    for _ in range(2):
        with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-015: .* \(t has another id than before\); .*--on-gap"):
            drain(store, TOPIC)
    assert store.count(EVENTS) == 7
    assert len(closed) == 4, "one that had nothing to take asked nobody"


def test_sentence_of_a_batch_is_the_sentence() -> None:
    """Codes are not put into one another."""
    assert broken(AnalyticsError("EB-ANALYTICS-011: x"), TOPIC) == "EB-ANALYTICS-011: x"


def test_options_names_its_source(tmp_path: Path) -> None:
    """A topic as it is, a folder by its complete files."""
    (tmp_path / "events-a-000001.jsonl").write_text("")
    topic, _ = source_of(StreamSpec(out="o", bootstrap="h:1", topic="t", batch_lines=1))
    folder, _ = source_of(StreamSpec(out=str(tmp_path / "o"), events=str(tmp_path), batch_files=3))
    noting, _ = source_of(StreamSpec(out="o", bootstrap="h:1", topic="t", batch_lines=1, on_gap="note"))
    login, _ = source_of(StreamSpec(out="o", bootstrap="h:1", topic="t", batch_lines=1, kafka_config="f"))
    assert (topic, noting) == (TOPIC, replace(TOPIC, goes_on_at_gaps=True))
    assert login == replace(TOPIC, client_file="f")
    assert folder == FolderSource(folder=str(tmp_path / "o" / "_inbox"), batch_files=3, is_inbox=True)


def test_folder_elsewhere_is_refused() -> None:
    """Complete files are known on this machine only."""
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-008"):
        require_source(StreamSpec(out="hdfs://c/o", events="hdfs://c/e"))


def test_folder_without_files_is_told_before_spark_starts(tmp_path: Path) -> None:
    """Starting takes seconds, and needs Java."""
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-001"):
        main(StreamSpec(out=str(tmp_path / "o"), events=str(tmp_path / "nowhere")), "no-such-master", {})


def test_one_file_is_no_folder_to_watch(tmp_path: Path) -> None:
    """Nothing would ever come of it."""
    (tmp_path / "events-a-000001.jsonl").write_text("{}\n")
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-001: .* name the folder that it is in"):
        require_source(StreamSpec(out=str(tmp_path / "o"), events=str(tmp_path / "events-a-000001.jsonl")))


def test_compressed_file_is_told_unless_the_stream_has_taken_it(tmp_path: Path) -> None:
    """As by a run: it would be left out without a word. Who packs what counts already keeps no stream from going on."""
    events = tmp_path / "events"
    events.mkdir()
    (events / "events-a-000002.jsonl").write_text("{}\n")
    wanted = StreamSpec(out=str(tmp_path / "o"), events=str(events))
    for name in ("events-a-000001.jsonl", "events-a-000000.jsonl"):
        (events / f"{name}.gz").write_bytes(gzip.compress(b"{}\n"))
        with pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-018: .* \(1 of 2\), such as {name}\.gz \(gzip\)"):
            require_source(wanted)
        (events / name).write_text("{}\n")
        source_of(wanted)
        (events / name).unlink()
        require_source(wanted)


@pytest.mark.parametrize("source", [TOPIC, FolderSource(folder="f", batch_files=1)])
def test_stream_that_has_nothing_to_do_rests(
    store: Store, monkeypatch: pytest.MonkeyPatch, source: TopicSource | FolderSource
) -> None:
    """By itself Spark asks the broker, or reads all names of the folder, a hundred times a second."""
    asked: list[object] = []
    rows = store.spark.readStream.format("rate").load()

    def note(writer: DataStreamWriter, **how: object) -> DataStreamWriter:
        asked.append(how)
        return writer

    monkeypatch.setattr(type(source), "rows", lambda *_: rows)
    monkeypatch.setattr(DataStreamWriter, "trigger", note)
    monkeypatch.setattr(DataStreamWriter, "start", lambda _: None)
    for is_once in (True, False):
        Stream(store).start(source, is_once=is_once)
    assert asked == [{"availableNow": True}, {"processingTime": f"{source.look_s} seconds"}]
    assert source.look_s >= 1


def test_batch_that_is_complete_is_remembered(store: Store) -> None:
    """Tables are made up to it."""
    stream = Stream(store)
    assert stream.last_batch == NOTHING_YET
    stream.take(Delivery(lines_of(store.spark, ["hello"])), 3)
    assert stream.last_batch == 3


def test_batch_that_is_taken_once_more_changes_nothing(store: Store) -> None:
    """A kill came before Spark noted it as done; what a topic lost meanwhile is in the tables."""
    for lines in (["hello", "you"], ["hello"]):
        Stream(store).take(Delivery(lines_of(store.spark, lines)), 3)
    assert store.read(REJECTED).count() == 2
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-034: the tables in .* are of a run, or of a stream "):
        require_own(store)
    Path(store.path(CHECKPOINT)).mkdir()
    require_own(store)


def test_stream_whose_events_lack_what_it_has_noted_as_taken_is_told(store: Store) -> None:
    """A disk lost the last commits of the table, or all of it: nobody gives those events a second time."""
    commits = Path(store.path(CHECKPOINT, "commits"))
    commits.mkdir(parents=True)
    store.commit(EVENTS, [], done=1)
    for batch in (0, 1):
        (commits / str(batch)).write_text("v1\n{}")
        require_own(store)
    (commits / "2").write_text("v1\n{}")
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-041: .* noted batch 2 as taken, .* has is batch 1: "):
        require_own(store)
    rmtree(store.path(EVENTS.name))
    with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-041: .* noted batch 2 as taken, .* has is none: "):
        require_own(store)


def test_stream_goes_on_with_what_it_had_only(store: Store) -> None:
    """A topic or a folder: Spark would break off at each start, and the sentence say to start once more."""
    folder = FolderSource(folder="f", batch_files=1)
    offsets = Path(store.path(CHECKPOINT, "offsets"))
    for source in (folder, TOPIC):
        require_same_kind(store, source)
    offsets.mkdir(parents=True)
    for other, mine, noted in ((TOPIC, folder, '{"logOffset":3}'), (folder, TOPIC, '{"t":{"0":7}}')):
        (offsets / "9").write_text("v1\n{}\n{}")
        (offsets / "10").write_text(f"v1\n{{}}\n{noted}")
        require_same_kind(store, mine)
        with pytest.raises(AnalyticsError, match=r"^EB-ANALYTICS-039: the stream into .* took a (folder|topic) so far"):
            require_same_kind(store, other)


def test_room_of_a_file_is_free_once_it_has_been_taken(store: Store, tmp_path: Path) -> None:
    """When its bridge deletes it, and no sooner: only the name stays, by which it is known to count. One that is a week
    older than the others counts, too, as does one that Spark hands over again.
    """
    wanted = StreamSpec(out=store.root, events=str(tmp_path / "events"), settled_s=0, batch_files=1)
    (tmp_path / "events").mkdir()

    def take() -> int:
        Stream(store).start(source_of(wanted)[0], is_once=True).awaitTermination()
        return store.read(REJECTED).count()

    for count, name in enumerate("ba", 1):
        path = tmp_path / "events" / f"events-{name}-000001.jsonl"
        path.write_text(f"{name}\n")
        os.utime(path, (NOON_S - count * 8 * DAY_S,) * 2)
        assert (take(), path.read_text()) == (count, f"{name}\n")
    assert [path.stat().st_size for path in Path(store.path(INBOX)).glob("events-*")] == [0, 0]
    for name in ("1", ".1.crc"):
        Path(store.path(CHECKPOINT), "commits", name).unlink()
    assert take() == 2


def test_files_that_a_bridge_deleted_before_the_stream_came_are_listed(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It went on without a word (issue 20, line 2). A file that comes back is taken however late."""
    events = tmp_path / "events"
    write_log(events, FleetPlan(groups=1, rebalances=4), files=4)
    first, second, third, last = sorted(events.glob("*.jsonl"))
    counts = [len(path.read_bytes().splitlines()) for path in (first, second, third, last)]
    wanted = StreamSpec(out=store.root, events=str(events), settled_s=0, batch_files=9)

    def take() -> int:
        Stream(store).start(source_of(wanted)[0], is_once=True).awaitTermination()
        return store.count(EVENTS)

    for path in (second, third, last):
        path.rename(tmp_path / path.name)
    assert take() == counts[0]
    first.unlink()
    (tmp_path / last.name).rename(last)
    assert take() == counts[0] + counts[3]
    gap = (counts[0] + 1, sum(counts[:3]) + 1)
    told = store.read(GAPS).select("source", "from_offset", "to_offset", "batch").collect()
    assert [tuple(row) for row in told] == [("boot b1", *gap, 1)]
    assert f"gap in boot b1 from number {gap[0]} to {gap[1]}: files 000002 to 000003 " in capsys.readouterr().err
    for path in (second, third):
        (tmp_path / path.name).rename(path)
    assert (take(), store.count(GAPS)) == (sum(counts), 1)


def test_batch_at_hand_is_finished_and_no_other_one_begins(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is told to end makes the tables of what it took; Spark by itself breaks a batch off in the middle."""
    begun, may_end = Event(), Event()
    taken: list[int] = []

    def take(_stream: Stream, _delivery: Delivery, batch: int) -> None:
        begun.set()
        assert may_end.wait()
        taken.append(batch)

    monkeypatch.setattr(Stream, "take", take)
    write_log(tmp_path / "events", FleetPlan(groups=1, rebalances=1), files=3)
    stream = Stream(store)
    source = FolderSource(folder=str(tmp_path / "events"), batch_files=1, look_s=0)
    query = stream.start(source, is_once=False)
    assert begun.wait()
    waiting = Thread(target=stream.finish)
    waiting.start()
    while not stream.is_over:
        assert waiting.is_alive()
    assert taken == []
    may_end.set()
    waiting.join()
    assert taken == [0]
    with pytest.raises(StreamingQueryException, match="OverError"):
        query.awaitTermination()
    assert taken == [0]
