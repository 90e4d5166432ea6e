"""What all stretches have left, told together: `tables/test_telling.py` says that it is what Spark makes of all."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from bridge.analytics.stretches import between
from bridge.analytics.stretches.between import in_order, write_between
from bridge.analytics.stretches.files import Account, ReadTogether, in_one_account, write_account
from bridge.analytics.tables.definitions import FLAPS, PHASES, STALLS
from bridge.telemetry.schema.facts import Event
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_log import DAY_US
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, stamped
from tests.support.stretch_rows import stretch_of

ANNA, BEN = (MemberWords("g", "r1", 1, Protocol.CLASSIC, name) for name in ("anna", "ben"))
BEGAN, ENDED = ANNA.phase(Phase.JOINING)


def account(parts: Sequence[Sequence[Event]], folder: Path, *, of_phases: bool = False) -> Account:
    """What parts of events tell, each read by itself."""
    told = list[Account | None]()
    for place, events in enumerate(parts):
        batch, _ = stretch_of(events)
        tables, nothing = [pa.Table.from_batches([batch])], list[pa.Table]()
        read = ReadTogether(
            phases=tables if of_phases else nothing, partitions=nothing if of_phases else tables, others=[]
        )
        told.append(write_account(read, str(folder / f"part-{place}")))
    whole = in_one_account(told)
    assert whole is not None
    return whole


def rows_of(made: list[tuple[str, str]] | None) -> list[dict[str, object]]:
    """The rows of files."""
    assert made is not None
    return [row for _, path in made for row in pyarrow.parquet.read_table(path).to_pylist()]


def test_stall_across_runs_is_told_by_the_wall_clock(tmp_path: Path) -> None:
    """The monotonic one began anew; and the row lies by the day on which it began."""
    early = stamped([(1, ANNA.assigned(["t-0"], 1)), (2, ANNA.fetched(["t-0"])), (3, ANNA.released(["t-0"]))], "b9")
    late = stamped([(1, BEN.assigned(["t-0"], 1)), (2, BEN.fetched(["t-0"]))], "b1", START_US + DAY_US)
    told = account([early, late], tmp_path)
    made = write_between(told, STALLS.name, ["b9", "b1"])
    (row,) = rows_of(made)
    assert (row["before"], row["after"], row["stall_us"]) == ("anna", "ben", DAY_US - 1_000)
    assert made is not None
    assert [day for day, _ in made] == ["2025-11-21"]


def test_flap_across_parts_is_told_once(tmp_path: Path) -> None:
    """What a stretch has told is not told again."""
    facts = [(ms, who.assigned(["t-0"], 1)) for ms, who in ((1, ANNA), (2, BEN), (3, ANNA), (4, BEN), (5, ANNA))]
    events = stamped(facts)
    within = account([events], tmp_path)
    (of_flaps,) = (one for one in within.tables if one.table == FLAPS.name)
    told = [row["back_event"] for row in rows_of(list(of_flaps.days))]
    between_them = [row["back_event"] for row in rows_of(write_between(within, FLAPS.name, ["b1"]))]
    assert (told, between_them) == (["b1-3", "b1-4", "b1-5"], [])
    apart = account([events[:2], events[2:]], tmp_path)
    assert [row["back_event"] for row in rows_of(write_between(apart, FLAPS.name, ["b1"]))] == ["b1-3", "b1-4"]


def test_phase_across_parts_is_told(tmp_path: Path) -> None:
    """Its end follows at once."""
    events = stamped([BEGAN, ENDED])
    (row,) = rows_of(write_between(account([events[:1], events[1:]], tmp_path, of_phases=True), PHASES.name, ["b1"]))
    assert (row["began_event"], row["ended_event"]) == ("b1-1", "b1-2")


def test_too_many_rows_are_for_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would not fit into memory; where nothing is left there is nothing to tell."""
    told = account([stamped([ANNA.assigned(["t-0", "t-1"], 2)])], tmp_path)
    assert write_between(told, FLAPS.name, ["b1"]) == []
    monkeypatch.setattr(between, "LEFT_MAX", 1)
    assert write_between(told, FLAPS.name, ["b1"]) is None
    assert write_between(told, PHASES.name, ["b1"]) == []


def test_events_of_runs_are_in_the_order_of_those() -> None:
    """By their numbers within one."""
    events = pa.table({"boot": ["b1", "b2", "b1"], "number": [7, 9, 3]})
    assert in_order(events, ["b2", "b1"]).to_pylist() == [
        {"boot": "b2", "number": 0},
        {"boot": "b1", "number": 1},
        {"boot": "b1", "number": 2},
    ]
