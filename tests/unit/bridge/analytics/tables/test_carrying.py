"""What a few events of a group have to say for all that it had. That tables come out the same: `test_increment`."""

from functools import partial

from bridge.analytics.tables.carrying import CARRIES, begun_of, carried, carried_for, events_for, with_none
from bridge.analytics.tables.definitions import CARRIED, CARRIED_FOR, FLAPS, MEMBERS, PHASES, REBALANCES, STALLS
from bridge.analytics.tables.positions import run_places
from bridge.analytics.tables.steps import FROM_EVENTS
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import Fact
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import stamped, taken

ANNA, BEN = (MemberWords("g", "", 1, Protocol.CLASSIC, name) for name in ("anna", "ben"))
TOPIC = ["t-0", "t-1"]


def test_every_table_of_events_says_what_it_needs() -> None:
    """One that carried nothing would lose what goes on."""
    assert CARRIES.keys() == FROM_EVENTS.keys()


def test_what_is_carried_does_not_grow(store: Store) -> None:
    """A partition that changes hands for long leaves what it leaves after the second time; boots and numbers stay."""
    begin, end = ANNA.phase(Phase.JOINING)
    turn = [word for one in (ANNA, BEN) for word in (one.assigned(TOPIC, 2), one.fetched(TOPIC), one.released(TOPIC))]
    counts: list[int] = []
    for turns in (2, 6):
        told: list[Fact] = [ANNA.joined(1), BEN.joined(2), begin, end, *turn * turns, begin]
        events = with_none(taken(store, stamped(told)))
        rows = carried(partial(events_for, events), run_places(store.spark, ["b1"]), begun_of(events)).cache()
        assert rows.columns == [*CARRIED.column_names]
        found = {(row[CARRIED_FOR], row["boot"], row["number"]) for row in rows.collect()}
        last = len(told)
        assert {one for one in found if one[0] in {PHASES.name, MEMBERS.name}} == {
            (PHASES.name, "b1", last),
            (MEMBERS.name, "b1", 1),
            (MEMBERS.name, "b1", 2),
        }
        flaps = {number for name, _, number in found if name == FLAPS.name}
        assert flaps == {last - 6, last - 3}
        counts.append(rows.count())
        assert carried_for(rows, STALLS).count() == 2 * 4
    assert counts[0] == counts[1]


def test_table_is_made_of_new_events_and_its_own(store: Store) -> None:
    """What is carried for another one would count twice."""
    names = [None, PHASES.name, STALLS.name, REBALANCES.name, "beside-rebalances"]
    rows = store.spark.createDataFrame([(name,) for name in names], f"{CARRIED_FOR} string")
    found = {name: [row[0] for row in events_for(rows, name).collect()] for name in (PHASES.name, REBALANCES.name)}
    assert found == {PHASES.name: [None, PHASES.name], REBALANCES.name: [None, REBALANCES.name, "beside-rebalances"]}
