"""Lines become events and rejected rows, once each."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridge.analytics.intake import batches as intake_module
from bridge.analytics.intake import column_files
from bridge.analytics.intake import numbers as numbers_module
from bridge.analytics.intake.batches import Intake, Taken, intake_after
from bridge.analytics.intake.columns import LongLine
from bridge.analytics.intake.delivery import Delivery, delivery_of, delivery_of_records
from bridge.analytics.intake.duplicates import WORD
from bridge.analytics.intake.numbers import Seen
from bridge.analytics.intake.reading import DETAIL, LINE, REASON, SOURCE, refused_long
from bridge.analytics.tables.definitions import BATCH, DATE, EVENTS, REJECTED
from bridge.analytics.tables.positions import RUN, SEQ, SORT_KEY
from bridge.analytics.tables.store import MADE, Store
from bridge.analytics.tables.upkeep import Upkeep, tend
from bridge.telemetry.schema.facts import BridgeStarted, BridgeStopped
from bridge.telemetry.schema.fields import COLUMNS, FieldType
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.support.spark import lines_of, records_of, stamped, text_of
from tests.unit.bridge.analytics.intake.test_column_files import rows, spoiled
from tests.unit.bridge.analytics.intake.test_reading import STRANGERS

STARTED, STOPPED = BridgeStarted(bridge_version="1", is_revived=False), BridgeStopped(reason="told to")
LINES = text_of(stamped([STARTED, STOPPED, STARTED]))


def numbers(store: Store) -> list[int]:
    """The events in the store."""
    return sorted(row["number"] for row in store.read(EVENTS).collect())


def reasons(store: Store) -> Counter[str]:
    """Why rows were set aside."""
    return Counter(row["reason"] for row in store.read(REJECTED).collect())


def test_good_lines_are_events(store: Store) -> None:
    """Nothing is set aside, and nothing is read twice."""
    assert Intake(store, {}).take(Delivery(lines_of(store.spark, LINES)), 0) == Taken(refused=0, is_doubtful=False)
    assert (numbers(store), reasons(store)) == ([1, 2, 3], Counter())


def test_bad_lines_are_set_aside_and_the_rest_counts(store: Store) -> None:
    """Issue: counted, with the reason, the rest processed."""
    taken = Intake(store, {}).take(Delivery(lines_of(store.spark, [*LINES, "hello", LINES[0][:30]])), 0)
    assert (taken.refused, numbers(store)) == (2, [1, 2, 3])
    assert reasons(store) == {"foreign": 1, "truncated": 1}


def test_source_without_bad_lines_is_not_read_again(store: Store) -> None:
    """A torn tail, which every kill leaves, costs its own file; here the others lie before and behind it."""
    sources = [lines_of(store.spark, [line], f"file-{place}") for place, line in enumerate([*LINES[:2], "hello"])]
    lines = sources[0].union(sources[2]).union(sources[1])
    assert Intake(store, {}).take(Delivery(lines), 0) == Taken(refused=1, is_doubtful=False)
    assert [row["source"] for row in store.read(REJECTED).collect()] == ["file-2"]


def test_line_that_only_its_words_betray_is_found_in_every_source(store: Store) -> None:
    """It looks like one of ours, so the sources of the torn one are not enough."""
    newer = LINES[1].replace('"schema_version":3', '"schema_version":99')
    lines = lines_of(store.spark, [newer], "file-1").union(lines_of(store.spark, [LINES[0], LINES[2][:30]], "file-2"))
    assert Intake(store, {}).take(Delivery(lines), 0) == Taken(refused=2, is_doubtful=False)
    assert sorted(row["source"] for row in store.read(REJECTED).collect()) == ["file-1", "file-2"]
    assert (numbers(store), reasons(store)) == ([1], {"newer-schema": 1, "truncated": 1})


def test_copies_in_a_batch_count_once(store: Store) -> None:
    """The surplus is set aside."""
    taken = Intake(store, {}).take(Delivery(lines_of(store.spark, [*LINES, LINES[1], LINES[1], "hello"])), 0)
    assert (taken.is_doubtful, numbers(store)) == (True, [1, 2, 3])
    assert reasons(store) == {"duplicate": 2, "foreign": 1}


def test_every_field_of_the_log_keeps_its_value_beside_a_copy(store: Store) -> None:
    """Also one that is called as a column of `rejected` is: a batch with a duplicate lost every `reason`."""
    values = {FieldType.TEXT: "t", FieldType.NUMBER: 3, FieldType.FLAG: True, FieldType.TEXTS: ["u"]}
    values |= {FieldType.NUMBERS: [5]}
    said = {name: values[field.type] for name, field in COLUMNS.items()} | json.loads(LINES[1])
    Intake(store, {}).take(Delivery(lines_of(store.spark, [json.dumps(said)] * 2)), 0)
    (event,) = (row.asDict() for row in store.read(EVENTS).collect())
    assert {name: event[name] for name in COLUMNS} == said
    (copy,) = store.read(REJECTED).select("reason", "detail").collect()
    assert copy == ("duplicate", f"event {said['event_id']} came before")


def test_strangers_lines_lie_by_the_day_on_which_they_were_set_aside(store: Store) -> None:
    """So retention takes them away, and upkeep puts their files together: without a day they were there for ever."""
    intake = Intake(store, {})
    for batch, line in enumerate(("hello", LINES[0][:-9], "{}")):
        intake.take(Delivery(lines_of(store.spark, [line])), batch)
    store.put_batch(REJECTED, refused_long(store.spark, [LongLine("s", 17, "d")], 3), 3)
    (today,) = {row[DATE] for row in store.read(REJECTED).select(DATE).collect()}
    assert abs((datetime.now(UTC).date() - today).days) <= 1
    assert reasons(store) == {"foreign": 3, "truncated": 1}
    (tended,) = (one for one in tend(store.root, Upkeep(), today + timedelta(days=1)) if one.table == REJECTED.name)
    assert (tended.gathered, len(store.log(REJECTED).files())) == ((str(today),), 1)
    tend(store.root, Upkeep(keep_days={REJECTED.name: 1}), today + timedelta(days=2))
    assert store.log(REJECTED).files() == []


def test_no_column_of_ours_is_a_field_of_the_log() -> None:
    """Rows carry both on their way into the tables, so whoever adds a field finds a name that is taken."""
    ours = {LINE, SOURCE, REASON, DETAIL, WORD, DATE, BATCH, SEQ, RUN, *SORT_KEY}
    assert ours.isdisjoint(COLUMNS)


def test_copies_of_an_earlier_batch_count_once(store: Store) -> None:
    """Delivered again, together with one that is late and one that is new."""
    intake = Intake(store, {})
    intake.take(Delivery(lines_of(store.spark, [LINES[0], LINES[2]])), 0)
    intake.take(Delivery(lines_of(store.spark, LINES)), 1)
    assert (numbers(store), reasons(store)) == ([1, 2, 3], {"duplicate": 2})


def test_batch_of_copies_only_leaves_nothing(store: Store) -> None:
    """The whole delivery came again."""
    intake = Intake(store, {})
    for batch in range(2):
        intake.take(Delivery(lines_of(store.spark, LINES)), batch)
    assert (numbers(store), reasons(store)) == ([1, 2, 3], {"duplicate": 3})


def test_batch_that_is_tried_again_changes_nothing(store: Store) -> None:
    """The process was killed before Spark noted the batch as done; what came of each run is noted with it."""
    for lines in ([*LINES, "hello"], LINES[:1]):
        intake_after(store).take(Delivery(lines_of(store.spark, lines)), 0)
    assert (numbers(store), reasons(store)) == ([1, 2, 3], {"foreign": 1})
    assert intake_after(store).seen == {"b1": Seen(3)}


def test_batch_that_was_set_aside_but_not_taken_is_set_aside_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process was killed between the two tables."""

    def die(*_: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(intake_module, "written_seen", die)
        with pytest.raises(InterruptedError):
            Intake(store, {}).take(Delivery(lines_of(store.spark, [*LINES, "hello", "you"])), 0)
    assert (numbers(store), reasons(store)) == ([], {"foreign": 2})
    Intake(store, {}).take(Delivery(lines_of(store.spark, [*LINES, "hello"])), 0)
    assert (numbers(store), reasons(store)) == ([1, 2, 3], {"foreign": 1})


def test_tables_that_are_being_made_meanwhile_keep_their_files(store: Store) -> None:
    """A stream takes batches while it refreshes the tables."""
    being_made = Path(store.path("_next", MADE, "x"))
    being_made.mkdir(parents=True)
    Intake(store, {}).take(Delivery(lines_of(store.spark, [*LINES, "hello"])), 0)
    assert [path.name for path in Path(store.path("_next", MADE)).iterdir()] == ["x"]


def test_what_came_is_read_from_the_events_where_no_batch_has_noted_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note of runs that are far apart would be too long; tables of an earlier version have none."""
    assert intake_after(store).seen == {}
    Intake(store, {}).take(Delivery(lines_of(store.spark, LINES[:1])), 0)
    monkeypatch.setattr(numbers_module, "NOTE_MAX", 1)
    intake_after(store).take(Delivery(lines_of(store.spark, LINES[1:])), 1)
    assert store.log(EVENTS).note() == ""
    assert intake_after(store).seen == {"b1": Seen(3)}


def log_of(folder: Path, *places: int) -> str:
    """A file of some of six lines."""
    lines = text_of(stamped([STARTED] * 6))
    path = folder / f"events-{'-'.join(map(str, places))}.jsonl"
    path.write_text("\n".join(lines[place] for place in places))
    return str(path)


def test_numbers_that_come_late_are_new(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of a topic do not go in step: nothing is counted by Spark, nor read again, also after a restart."""
    Intake(store, {}).take(delivery_of(store.spark, [log_of(tmp_path, 0, 3)]), 0)
    monkeypatch.setattr(intake_module.Intake, "_counted", None)
    intake = intake_after(store)
    assert not intake.take(delivery_of(store.spark, [log_of(tmp_path, 1, 5), log_of(tmp_path, 4)]), 1).is_doubtful
    assert not intake.take(delivery_of(store.spark, [log_of(tmp_path, 2)]), 2).is_doubtful
    assert (numbers(store), intake.seen) == ([1, 2, 3, 4, 5, 6], {"b1": Seen(6)})


def test_file_with_what_came_before_is_counted(store: Store, tmp_path: Path) -> None:
    """One copy, one that is late and one that is new; then the same event in two files."""
    intake = Intake(store, {})
    intake.take(delivery_of(store.spark, [log_of(tmp_path, 0, 3)]), 0)
    assert intake.take(delivery_of(store.spark, [log_of(tmp_path, 0, 1, 4)]), 1).is_doubtful
    assert intake.take(delivery_of(store.spark, [log_of(tmp_path, 5), log_of(tmp_path, 5, 2)]), 2).is_doubtful
    assert (numbers(store), reasons(store)) == ([1, 2, 3, 4, 5, 6], {"duplicate": 2})
    assert intake.seen == {"b1": Seen(6)}


def strange_records(folder: Path) -> list[tuple[str | None, str]]:
    """The records of two partitions: a log, some of it spoiled or said twice, and strangers of every sort."""
    write_log(folder, FleetPlan(seed=5, groups=2, rebalances=4))
    (log,) = folder.glob("*.jsonl")
    chance = random.Random(11)
    lines = log.read_bytes().splitlines()
    said = [spoiled(line, chance) if chance.random() < 0.02 else line for line in lines]
    values = [line.decode(errors="replace") for line in said]
    several = [*STRANGERS.values(), "\n".join(values[:3]), f"{values[7]}\r\n{STRANGERS['no JSON']}\r", "", " ", None]
    return [(value, f"events-{place % 2}") for place, value in enumerate([*values[3:], *several])]


@pytest.mark.parametrize("why", ["", "no Arrow"])
def test_records_say_the_same_here_and_on_a_cluster(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], why: str
) -> None:
    """They are written down and read by Arrow, here by processes and there by executors. If those can't, Spark reads
    them as they come.
    """
    records = strange_records(tmp_path / "events")
    halves = (records[: len(records) // 2], records[len(records) // 2 :])
    deliveries = [delivery_of_records(records_of(store.spark, half)) for half in halves]
    here, there = Intake(store, {}), Intake(Store(store.spark, str(tmp_path / "there")), {})
    taken = [here.take(delivery, batch) for batch, delivery in enumerate(deliveries)]
    for module in (intake_module, column_files):
        monkeypatch.setattr(module, "is_at_hand", lambda _: False)
    if why:
        monkeypatch.setattr(column_files, "why_not", lambda *_: why)
    assert [there.take(delivery, batch) for batch, delivery in enumerate(deliveries)] == taken
    told = f"Spark reads the lines itself, which is slower: {why}\n" if why else "executors read the lines by Arrow\n"
    assert capsys.readouterr().err == told
    assert sum(one.refused for one in taken) > len(STRANGERS)
    assert any(one.is_doubtful for one in taken)
    assert rows(store) == rows(there.store)
    assert here.seen == there.seen
    assert not any(Path(store.root).glob("_next/*/*")), "the text of strangers is kept"
