"""What is written of events that were read together."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from bridge.analytics.stretches.files import Account, ReadTogether, Told, in_one_account, put_together, write_account
from bridge.analytics.tables.definitions import PHASES
from bridge.telemetry.schema.facts import Event
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_log import DAY_US
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, stamped
from tests.support.stretch_rows import stretch_of

FACTS = MemberWords("g", "r1", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)


def read(events: list[Event]) -> ReadTogether:
    """Events of phases."""
    batch, _ = stretch_of(events)
    return ReadTogether(phases=[pa.Table.from_batches([batch])], partitions=[], others=[])


def test_rows_lie_by_the_day_they_began(tmp_path: Path) -> None:
    """A file each; what is left is in one, and a table of which nothing was said has none."""
    later = stamped(FACTS, "b2", START_US + DAY_US)
    told = write_account(read([*stamped([*FACTS, FACTS[0]]), *later]), str(tmp_path / "part"))
    assert told is not None
    (phases,) = told.tables
    assert (phases.table, [day for day, _ in phases.days]) == (PHASES.name, ["2025-11-21", "2025-11-22"])
    assert [pyarrow.parquet.read_table(path)["boot"].to_pylist() for _, path in phases.days] == [["b1"], ["b2"]]
    assert [pyarrow.parquet.read_table(path)["event_id"].to_pylist() for path in phases.left] == [["b1-3"]]
    assert [one.boot for one in told.clocks] == ["b1", "b2"]
    assert told.count_left() == 1


def test_files_of_a_day_become_one(tmp_path: Path) -> None:
    """With the rows of all of them; one that is alone stays."""
    parts = [stamped(FACTS), [*stamped(FACTS, "b2"), *stamped(FACTS, "b3", START_US + DAY_US)]]
    told = [write_account(read(part), str(tmp_path / f"{place}")) for place, part in enumerate(parts)]
    days = [file for one in told if one is not None for file in one.tables[0].days]
    whole = dict(put_together(days))
    rows = {day: pyarrow.parquet.read_table(path).to_pylist() for day, path in whole.items()}
    assert {day: [row["boot"] for row in of_day] for day, of_day in rows.items()} == {
        "2025-11-21": ["b1", "b2"],
        "2025-11-22": ["b3"],
    }
    assert whole["2025-11-22"] == days[-1][1]
    first = pyarrow.parquet.read_table(days[0][1])
    assert (first.to_pylist(), first.schema) == (
        rows["2025-11-21"][:1],
        pyarrow.parquet.read_schema(whole["2025-11-21"]),
    )


def test_account_of_numbers_that_came_twice_is_none(tmp_path: Path) -> None:
    """And none is that of several, one of which is none."""
    twice = stamped(FACTS)[:1] * 2
    assert (
        write_account(ReadTogether(phases=[], partitions=[], others=[doubled(twice)]), str(tmp_path / "part")) is None
    )
    assert in_one_account([Account(), None]) is None
    one = Account((Told(PHASES.name, (), ()),))
    assert in_one_account([one, one]) == Account(one.tables * 2)


def doubled(events: list[Event]) -> pa.Table:
    """Events of which some are the same."""
    batch, _ = stretch_of(events[:1])
    return pa.Table.from_batches([batch, batch])
