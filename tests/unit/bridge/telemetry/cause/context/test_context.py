"""What belongs to a rebalance, what may have caused it, and what has caused another one."""

from bridge.telemetry.cause.context import Context, context_of
from bridge.telemetry.schema.facts import MemberLeft
from bridge.telemetry.schema.terms import Departure, Phase, Protocol, Road
from tests.support.event_stories import Story, cooperative_handover, eager_meeting, renumbered


def scene_of(story: Story) -> Context:
    """The context, which must be there."""
    context = context_of(story.events)
    assert context is not None
    return context


def test_consumer_group_is_no_barrier() -> None:
    """Members with epochs don't meet."""
    context = scene_of(cooperative_handover())
    assert not context.is_barrier
    assert (context.begin_us, context.end_us) == (1_000, 3_010_000)


def test_classic_group_is_barrier() -> None:
    """A join that was heard of late, but had come before it began, may have caused it."""
    context = scene_of(eager_meeting())
    assert context.is_barrier
    assert [event.fact.kind for event in context.at_first if event.stamp.mono_us < context.begin_us] == [
        "member-joined",
        "phase-began",
    ]


def test_leave_during_handover_belongs_to_next() -> None:
    """A member that leaves an embedded group while it moves partitions makes a rebalance of its own."""
    story = Story().at(0).began(3).enters("c1", Phase.AWAITING_RELEASE, "c2")
    story.at(500)
    gone = story.left("c3")
    assert gone not in scene_of(story).at_first
    assert gone not in scene_of(story).later
    story.ended().began(4).target(2)
    assert gone in scene_of(story).at_first


def test_departure_counted_in_meeting_belongs_to_it() -> None:
    """The coordinator dropped a member; the leader's list shows it, and the next rebalance has another cause."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(3).enters("c1", Phase.JOINING)
    story.at(100).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING).at(101)
    gone = story.left("c2", Departure.SESSION_EXPIRED)
    story.at(110).target(1)
    assert scene_of(story).later[-1] == gone
    story.ended().at(5_000).began(4)
    assert all(not isinstance(event.fact, MemberLeft) for event in scene_of(story).at_first)


def _met_once() -> Story:
    """Somebody meets, and is handed a generation."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(3).enters("c1", Phase.JOINING)
    return story.at(100).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING).at(200)


def test_rejoin_that_was_answered_in_its_meeting_causes_nothing_next() -> None:
    """Members that come one after the other let a group meet twice in what is told as one rebalance."""
    story = _met_once()
    again = story.rejoined("c1", is_leader=True)
    story.leaves("c1", Phase.SYNCING).enters("c1", Phase.JOINING)
    story.at(300).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING).target(2).ended()
    assert again not in scene_of(story.at(9_000).began(4)).at_first


def test_rejoin_that_was_not_answered_may_cause_next() -> None:
    """A leader that wants something else says so while the others are given their shares."""
    story = _met_once().target(1)
    noticed = story.rejoined("c1", is_leader=True)
    assert noticed in scene_of(story.ended().at(300).began(4)).at_first


def test_static_return_let_in_causes_nothing_next() -> None:
    """KIP-345: a seat that is taken back in time makes no rebalance, so it can't have made the next one either."""
    for protocol, phase in ((Protocol.CLASSIC, Phase.SYNCING), (Protocol.CONSUMER, Phase.STABLE)):
        story = Story(road=Road.PASSING, protocol=protocol).at(0).began(3).ended().at(2_000)
        story.joined("old", seat="s")
        gone = story.left("old", Departure.REPLACED)
        back = story.joined("new", seat="s", former="old")
        story.enters("new", Phase.JOINING).at(2_010).leaves("new", Phase.JOINING).enters("new", phase)
        story.at(5_000).began(4)
        assert gone not in scene_of(story).at_first
        assert back not in scene_of(story).at_first


def test_static_return_not_answered_yet_may_cause_next() -> None:
    """A seat that is taken back by somebody who wants something else makes a rebalance, in the same turn."""
    story = Story().at(0).began(3).ended().at(2_000)
    gone = story.left("old", Departure.REPLACED)
    back = story.joined("new", seat="s", former="old")
    story.enters("new", Phase.JOINING).began(4).enters("new", Phase.STABLE)
    assert scene_of(story).at_first[:2] == (gone, back)


def test_other_run_is_past_without_cause() -> None:
    """Monotonic times of another run can't be compared."""
    story = Story().at(10)
    story.joined("c9")
    other = renumbered(story.events, "b0")
    fresh = Story().at(11).began(2).target(1)
    context = context_of([*other, *fresh.events])
    assert context is not None
    assert context.past == tuple(other)
    assert context.at_first == (context.opening, *context.own[1:])


def test_headless_rebalance_opens_with_its_first_event() -> None:
    """The file begins in the middle of it."""
    events = cooperative_handover().events[3:]
    context = context_of(events)
    assert context is not None
    assert context.opening == events[0]


def test_nothing_begun_no_scene() -> None:
    """No rebalance, no context."""
    assert context_of([]) is None
