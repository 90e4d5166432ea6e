"""Which table is made when. What the tables hold, tests/pipeline proves on whole logs."""

from bridge.analytics.intake.batches import Intake
from bridge.analytics.intake.delivery import Delivery
from bridge.analytics.tables.definitions import DERIVED, PHASES, REJECTED
from bridge.analytics.tables.derivation import FROM_EVENTS, FROM_TABLES, Derivation
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import START_US, lines_of, stamped, text_of

BEGIN, END = MemberWords("g", "r", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)


def test_every_derived_table_has_its_step() -> None:
    """None is forgotten."""
    assert {*FROM_EVENTS, *FROM_TABLES} == {table.name for table in DERIVED}


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
