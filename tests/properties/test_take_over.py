"""Laws of a take-over, whatever gets lost, comes late, leaves, or is stopped, on every release of the broker."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.migration.moves.takeover import Stage
from tests.support.switching_broker import Release, SwitchingBroker, SwitchingMember
from tests.support.takeover_trip import TakeOverTrip
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName, TopicPartition

RELEASES = st.sampled_from(Release)
REFUSALS = st.sampled_from(
    [None, None, None, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST]
)
PASSING = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
ACCIDENTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 11)), max_size=50)


def group_of(count: int, release: Release, refusal: ErrorCode | None = None, short: int = 0) -> SwitchingBroker:
    """A classic group of so many members with a partition each, of whom so many get less at epoch 0."""
    members = {
        MemberId(f"m-{number}"): SwitchingMember(assigned=frozenset({TopicPartition(TopicName("foo"), number)}))
        for number in range(count)
    }
    return SwitchingBroker(release=release, members=members, refusal=refusal, short=frozenset(list(members)[:short]))


@given(count=st.integers(0, 5), release=RELEASES, order=st.lists(st.integers(0, 9), max_size=40))
def test_undisturbed_take_over_takes_everybody(count: int, release: Release, order: list[int]) -> None:
    """In whatever order they are heard and answered, nobody is left behind."""
    trip = TakeOverTrip.of(group_of(count, release))
    names = list(trip.state.members)
    for number in order:
        if trip.flights and number % 2:
            trip.answer(number % len(trip.flights))
        elif names:
            trip.hear(names[number % count])
    trip.settle()
    trip.check_end()
    assert {member.stage for member in trip.state.members.values()} <= {Stage.TAKEN}


@settings(max_examples=400)
@given(count=st.integers(1, 4), release=RELEASES, refusal=REFUSALS, short=st.integers(0, 2), accidents=ACCIDENTS)
def test_disturbed_take_over_ends_with_everybody_where_the_broker_has_it(
    count: int, release: Release, refusal: ErrorCode | None, short: int, accidents: list[tuple[int, int]]
) -> None:
    """Lost heartbeats and answers, a coordinator that moves, members that leave, an operator who stops it."""
    trip = TakeOverTrip.of(group_of(count, release, refusal, short))
    for accident, number in accidents:
        happen(trip, accident, number)
    trip.settle()
    trip.check_end()


@given(count=st.integers(1, 4), release=RELEASES, accidents=ACCIDENTS, switched=st.integers(0, 4))
def test_move_that_was_cut_off_goes_on(
    count: int, release: Release, accidents: list[tuple[int, int]], switched: int
) -> None:
    """The bridge was started again: which members the broker has switched is not known, whatever happens now."""
    broker = group_of(count, release)
    broker.is_consumer_group = switched > 0
    for name in list(broker.members)[:switched]:
        broker.members[name] = replace(broker.members[name], is_classic=False)
    trip = TakeOverTrip.of(broker)
    for accident, number in accidents:
        happen(trip, accident, number)
    trip.settle()
    trip.check_end()


def happen(trip: TakeOverTrip, accident: int, number: int) -> None:
    """One of the things that happen while members are taken over."""
    names = list(trip.state.members)
    name = names[number % len(names)]
    index = number % len(trip.flights) if trip.flights else 0
    match accident:
        case 0 | 1 | 2 | 3 if name not in trip.away:
            trip.hear(name)
        case 4 | 5 if trip.flights:
            trip.answer(index)
        case 6 | 7 if trip.flights:
            trip.lose(index, has_arrived=accident == 6, is_known_first=number % 2 == 0)
        case 8 if trip.flights:
            code = PASSING[number % len(PASSING)]
            is_sure = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            trip.refuse(index, code, has_acted=not is_sure and number >= 6)
        case 9 if number < 3:
            trip.leave(name)
        case 10 if number == 0:
            trip.stop()
        case 11:
            trip.broker.bump()
        case 12 if number < 3:
            trip.tell_gone(name)
        case _:
            pass
