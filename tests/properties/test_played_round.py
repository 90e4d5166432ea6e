"""Laws of a played round, whatever comes first at the broker, gets lost, or comes between."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.moves.round_values import Failed, Played, Round, RoundFailure
from tests.support.engine_bench import GROUP
from tests.support.round_table import BOUND_MS, RoundTable, player

ORDERS = st.lists(st.integers(0, 9), max_size=60)
INSTANCES = st.sampled_from([(), ("A",), ("A", "B")])
ACCIDENTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=60)


def begun(known: int, new: int, instances: Sequence[str]) -> tuple[RoundTable, Round]:
    """A group with so many members at the broker, and a round for them and for as many that are new to it."""
    table = RoundTable()
    players = table.form(known, instances)
    newcomers = tuple(
        player(f"new-{number}", known + number, "", "C" if number == 0 else None) for number in range(new)
    )
    generation = table.broker.generation
    played = Round(group_id=GROUP, players=players + newcomers, deadline_ms=BOUND_MS, generation=generation)
    table.play(played)
    return table, played


def check_end(table: RoundTable, played: Round) -> None:
    """A played round gave everybody what it was to have, in the group's generation, and strangers nothing."""
    state = table.state
    assert isinstance(state, Played)
    members = table.broker.group.members
    assert {one: members[state.ids[one.member_id]].assignment for one in played.players} == {
        one: one.give for one in played.players
    }
    assert {members[one].assignment for one in state.strangers} <= {played.strangers_get}


@given(known=st.integers(2, 4), new=st.integers(0, 3), instances=INSTANCES, order=ORDERS)
def test_undisturbed_round_is_played_in_whatever_order(
    known: int, new: int, instances: tuple[str, ...], order: list[int]
) -> None:
    """Requests may overtake each other on their connections: nobody is left out, and it takes no time to speak of."""
    table, played = begun(known, new, instances)
    for index in order:
        if table.on_the_way and not table.is_over:
            table.arrive(index)
    table.run()
    check_end(table, played)


@given(known=st.integers(2, 4), new=st.integers(0, 2), instances=INSTANCES, accidents=ACCIDENTS)
def test_disturbed_round_ends_within_its_bound(
    known: int, new: int, instances: tuple[str, ...], accidents: list[tuple[int, int]]
) -> None:
    """Lost connections, strangers that come and members that go: it is played for all, or it fails and says why."""
    table, played = begun(known, new, instances)
    for accident, number in accidents:
        if table.is_over:
            break
        happen(table, accident, number)
    table.run()
    assert table.broker.bench.now_ms <= BOUND_MS
    if isinstance(table.state, Played):
        check_end(table, played)
    else:
        assert isinstance(table.state, Failed)
        assert table.state.failure in {RoundFailure.OUT_OF_TIME, RoundFailure.REFUSED}


def happen(table: RoundTable, accident: int, number: int) -> None:
    """One of the things that happen while a round is played."""
    match accident:
        case 0 | 1 if table.on_the_way:
            table.arrive(number)
        case 2:
            table.lose(number)
        case 3:
            table.intrude()
        case 4 if number == 0 and table.broker.group.members:
            table.leave(next(iter(table.broker.group.members)))
        case _:
            pass
