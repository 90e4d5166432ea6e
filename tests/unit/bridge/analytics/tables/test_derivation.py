"""Which table is made when. What the tables hold, tests/pipeline proves on whole logs."""

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import functions as f

from bridge.analytics.intake.batches import Intake
from bridge.analytics.intake.delivery import Delivery
from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables import derivation, positions
from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import EVENTS, PHASES, REJECTED
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, lines_of, stamped, text_of

BEGIN, END = MemberWords("g", "r", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)


def test_tables_are_made_from_complete_batches_only(store: Store) -> None:
    """A batch that is being written is not looked at, and what is made again replaces what was there."""
    intake = Intake(store, {})
    first, second = stamped([(1, BEGIN)]), stamped([(1, END)], "b2", START_US - 1)
    intake.take(Delivery(lines_of(store.spark, text_of(first))), 0)
    intake.take(Delivery(lines_of(store.spark, text_of(stamped([(1, BEGIN), (2, END)])[1:]))), 1)
    intake.take(Delivery(lines_of(store.spark, text_of(second))), 2)
    for last, ended in ((0, [None]), (1, ["b1-2"])):
        steps = next(Derivation(store, last).stages())
        for name in (PHASES.name, REJECTED.name):
            steps[name]()
        assert [row["ended_event"] for row in store.read(PHASES).collect()] == ended


def test_clocks_are_looked_at_again_where_events_came_only(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jumps elsewhere stay known without a look at their events; what came late shows where a jump really was."""
    monkeypatch.setattr(derivation, "CHUNK", 4)
    monkeypatch.setattr(positions, "CHUNK", 4)
    back_us, history = 500_000, History(store)

    def bring(batch: int, *numbers: int) -> list[str]:
        clocks = [(n, 10_000_000 + n * 1_000 - back_us * ((n > 3) + (n > 14) + (n > 22))) for n in numbers]
        rows = [(f"b-{n}", "b", n, wall_us, n * 1_000, batch) for n, wall_us in clocks]
        columns = "event_id string, boot string, number long, wall_us long, mono_us long, batch long"
        frame = store.spark.createDataFrame(rows, columns).withColumn("date", f.lit(date(1970, 1, 1)))
        store.append(EVENTS, conform(EVENTS, frame))
        extent = history.advance(batch)
        next(Derivation(store, batch, extent).stages())[REJECTED.name]()
        return sorted(row["event_id"] for row in store.read(REJECTED).collect())

    assert bring(0, *range(1, 8)) == ["b-4"]
    assert bring(1, *range(8, 15)) == ["b-4"]
    assert bring(2, 17, 18, *range(21, 26)) == ["b-17", "b-23", "b-4"]
    path = next(one.path for one in store.log(EVENTS).files() if one.most["number"] == 7)
    Path(store.path("events", path)).unlink()
    assert bring(3, 15, 16, 19, 20) == ["b-15", "b-23", "b-4"]
    version = store.log(REJECTED).version
    assert bring(4, 26, 27) == ["b-15", "b-23", "b-4"]
    assert store.log(REJECTED).version == version, "where no clock jumped nothing is written"
