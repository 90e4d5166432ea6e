"""Laws of a give-back, whatever gets lost, is wanted by others, leaves, or is stopped."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.migration.moves.giveback import Stage
from tests.support.giveback_trip import GiveBackTrip, Seat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName, TopicPartition

REFUSALS = st.sampled_from([None, None, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.INVALID_SESSION_TIMEOUT])
PASSING = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
ACCIDENTS = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 11)), max_size=50)


def trip_of(count: int, refusal: ErrorCode | None = None) -> GiveBackTrip:
    """A consumer group of so many members with a partition each."""
    seats = {
        MemberId(f"m-{number}"): Seat(assigned=frozenset({TopicPartition(TopicName("foo"), number)}))
        for number in range(count)
    }
    return GiveBackTrip(seats=seats, refusal=refusal)


@given(count=st.integers(0, 5), order=st.lists(st.integers(0, 9), max_size=40))
def test_undisturbed_give_back_gives_everybody_back(count: int, order: list[int]) -> None:
    """In whatever order they come to rest and are answered, nobody is called."""
    trip = trip_of(count)
    names = list(trip.state.members)
    for number in order:
        if trip.flights and number % 2:
            trip.answer(number % len(trip.flights))
        elif names:
            trip.rest(names[number % count])
    trip.settle()
    trip.check_end()
    assert {member.stage for member in trip.state.members.values()} <= {Stage.BACK}


@settings(max_examples=400)
@given(count=st.integers(1, 4), refusal=REFUSALS, accidents=ACCIDENTS)
def test_disturbed_give_back_ends_with_everybody_where_the_broker_has_it(
    count: int, refusal: ErrorCode | None, accidents: list[tuple[int, int]]
) -> None:
    """Lost requests and answers, a coordinator that moves, sessions that end, partitions that others want, a stop."""
    trip = trip_of(count, refusal)
    for accident, number in accidents:
        happen(trip, accident, number)
    trip.settle()
    trip.check_end()


def happen(trip: GiveBackTrip, accident: int, number: int) -> None:
    """One of the things that happen while members are given back."""
    names = list(trip.state.members)
    name = names[number % len(names)]
    index = number % len(trip.flights) if trip.flights else 0
    match accident:
        case 0 | 1 | 2 | 3:
            trip.rest(name)
        case 4 | 5 if trip.flights:
            trip.answer(index)
        case 6 | 7 if trip.flights:
            trip.lose(index, has_arrived=accident == 6)
        case 8 if trip.flights:
            code = PASSING[number % len(PASSING)]
            trip.refuse(index, code, has_acted=number < 8 and code is not ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        case 9 if number < 4:
            trip.leave(name)
        case 9 if number < 8:
            trip.want(name)
        case 10 if number == 0:
            trip.stop()
        case 10 if number == 1:
            trip.expire(name)
        case 10 if number < 5:
            trip.tell_gone(name)
        case _:
            pass
