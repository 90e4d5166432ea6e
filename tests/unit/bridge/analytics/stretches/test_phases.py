"""Phases within a stretch."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from bridge.analytics.stretches.phases import FIRST, LAST, LEFT, phases_between, phases_within, tells_of
from bridge.telemetry.schema.facts import Fact
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, stamped
from tests.support.stretch_rows import stretch_of

BEGAN, ENDED = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)
OTHER_BEGAN, _ = MemberWords("g", "r1", 1, Protocol.CLASSIC, "ben").phase(Phase.JOINING)


def test_phase_is_told_where_its_end_follows() -> None:
    """Another member's begin between the two is nothing; that one is left, as nothing follows it."""
    rows, left = phases_within(*stretch_of(stamped([(1, BEGAN), (2, OTHER_BEGAN), (5, ENDED)])))
    (row,) = rows.to_pylist()
    assert (row["member_id"], row["is_closed"], row["duration_us"], row["ended_event"]) == ("anna", True, 4_000, "b1-3")
    assert row["began_us"] - START_US == 1_000
    assert [one["event_id"] for one in left.to_pylist()] == ["b1-2"]


def test_begin_behind_a_begin_shows_no_end_of_the_first() -> None:
    """So both are told: the second by its end."""
    rows, left = phases_within(*stretch_of(stamped([BEGAN, BEGAN, ENDED])))
    assert [(row["began_event"], row["ended_event"], row["is_closed"]) for row in rows.to_pylist()] == [
        ("b1-1", None, False),
        ("b1-2", "b1-3", True),
    ]
    assert not len(left)


def test_end_that_follows_nothing_is_left() -> None:
    """Its begin may be elsewhere."""
    rows, left = phases_within(*stretch_of(stamped([ENDED])))
    assert (len(rows), left["kind"].to_pylist()) == (0, [ENDED.kind])
    (only,) = left.to_pylist()
    assert {*only} == {*LEFT, FIRST, LAST}


def left_of(*stretches: tuple[int, int, list[Fact]]) -> pa.RecordBatch:
    """What stretches have left, each of the numbers between two of one run and with facts from the first on."""
    whole = stamped([fact for _, _, facts in stretches for fact in facts])
    parts, at = list[pa.Table](), 0
    for first, last, facts in stretches:
        batch, _ = stretch_of(whole[at : at + len(facts)])
        at += len(facts)
        ends = {name: pa.array([end] * len(batch), pa.int64()) for name, end in ((FIRST, first), (LAST, last))}
        parts.append(pa.table({**{name: batch[name] for name in LEFT}, **ends}))
    return pa.concat_tables(parts).combine_chunks().to_batches()[0]


def test_end_in_the_next_stretch_is_that_of_the_begin() -> None:
    """Nothing can be between the two."""
    rows = phases_between(left_of((1, 9, [BEGAN]), (10, 20, [ENDED])))
    assert rows is not None
    (row,) = rows.to_pylist()
    assert (row["began_event"], row["ended_event"], row["is_closed"]) == ("b1-1", "b1-2", True)


def test_end_behind_another_stretch_is_not_sure() -> None:
    """It may be that of a begin that is there, with its own end."""
    assert phases_between(left_of((1, 9, [BEGAN]), (11, 20, [ENDED]))) is None


def test_rows_tell_of_episodes_of_which_something_is_left(tmp_path: Path) -> None:
    """Of the same member in the same rebalance and phase; null is a value as another."""
    rows, _ = phases_within(*stretch_of(stamped([BEGAN, ENDED, OTHER_BEGAN, OTHER_BEGAN])))
    path = str(tmp_path / "rows.parquet")
    pyarrow.parquet.write_table(rows, path)
    mine, others = (left_of((1, 9, [one])) for one in (BEGAN, OTHER_BEGAN))
    cleo, _ = MemberWords("g", "r1", 1, Protocol.CLASSIC, "cleo").phase(Phase.JOINING)
    later, _ = MemberWords("g", "r2", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)
    syncing, _ = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna").phase(Phase.SYNCING)
    unknown = left_of((1, 9, [cleo]), (10, 20, [later]), (21, 30, [syncing]))
    found = [tells_of([path], pa.Table.from_batches([one])) for one in (mine, others, unknown, unknown.slice(0, 0))]
    assert found == [True, True, False, False]
    both = pa.concat_tables(pa.Table.from_batches([one]) for one in (unknown, mine))
    assert tells_of([path], both)
    assert not tells_of([], both)
    nameless, rows = (_without_members(one) for one in (both, rows))
    assert not tells_of([path], nameless)
    pyarrow.parquet.write_table(rows, path)
    assert tells_of([path], nameless)


def _without_members(rows: pa.Table) -> pa.Table:
    return rows.set_column(rows.column_names.index("member_id"), "member_id", pa.nulls(len(rows), pa.string()))


@pytest.mark.parametrize("after", [[BEGAN], [OTHER_BEGAN], []])
def test_begin_that_no_end_follows_shows_none(after: list[Fact]) -> None:
    """Wherever another begin is."""
    rows = phases_between(left_of((1, 9, [BEGAN]), (11, 20, after)))
    assert rows is not None
    assert [row["is_closed"] for row in rows.to_pylist()] == [False] * (1 + len(after))
