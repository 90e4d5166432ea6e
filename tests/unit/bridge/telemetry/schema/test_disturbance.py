"""Who is disturbed, said alike by the rebalances of the bridge and by the measures of a replay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.disturbance import is_disturbed
from bridge.whatif.measures import measure
from bridge.whatif.timed_events import on_one_timeline
from tests.support.disturbance_cases import DISTURBANCE_CASES, DisturbanceCase
from tests.support.event_stories import Story

PARTITIONS = st.sampled_from(("t-0", "t-1"))


@pytest.mark.parametrize("case", DISTURBANCE_CASES.values(), ids=DISTURBANCE_CASES)
def test_bridge_and_replay_say_who_is_disturbed(case: DisturbanceCase) -> None:
    """A replay knows the rebalance that cut one short; the bridge says of each what is known when it ends."""
    told = [tuple(one.member_id for one in found.members if one.is_disturbed) for found in assemble(case.events)]
    assert tuple(told) == case.alone
    measured = [one.disturbed for one in measure(on_one_timeline(case.events)) if one.rebalance_id]
    assert measured == [len(members) for members in case.disturbed]


@given(st.lists(st.tuples(st.booleans(), PARTITIONS), max_size=8), st.booleans())
def test_all_agree_on_whatever_happens_to_a_member(moves: list[tuple[bool, str]], leaves: bool) -> None:
    """A member that gives up and gets partitions, in any order, once or again, and may go."""
    story = Story()
    story.at(0).began(2).target(1)
    for at_ms, (is_gain, name) in enumerate(moves, start=1):
        (story.at(at_ms).gets if is_gain else story.at(at_ms).releases)("c1", name)
    if leaves:
        story.left("c1")
    story.at(20).ended()
    gained = [name for is_gain, name in moves if is_gain]
    lost = [name for is_gain, name in moves if not is_gain]
    expected = is_disturbed(lost, gained, is_gone=leaves)
    assert sum(member.is_disturbed for one in assemble(story.events) for member in one.members) == expected
    assert sum(one.disturbed for one in measure(on_one_timeline(story.events))) == expected
