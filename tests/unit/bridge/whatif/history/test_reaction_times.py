"""How long clients take."""

from bridge.telemetry.schema.terms import Phase
from bridge.whatif.history import USUAL_REACTION, reactions
from bridge.whatif.inputs import ReactionTimes
from bridge.whatif.timed_events import on_one_timeline
from tests.support.event_stories import Story


def test_pace_is_the_median_of_a_member_s_own_times_else_of_the_group_s() -> None:
    """c1 gives up three times, c2 once; only c2 is seen to fetch, one partition sooner than the other."""
    story = Story()
    for begin, took, member in ((0, 10, "c1"), (100, 30, "c1"), (200, 20, "c1"), (300, 70, "c2")):
        story.at(begin).enters(member, Phase.REVOKING)
        story.at(begin + took).leaves(member, Phase.REVOKING)
    story.at(400).gets("c2", "orders-0", "orders-1")
    story.at(405).fetches("c2", "orders-0")
    story.at(450).fetches("c2", "orders-1")
    group = ReactionTimes(revoke_us=20_000, fetch_us=5_000)
    own = {"c1": ReactionTimes(revoke_us=20_000, fetch_us=5_000), "c2": ReactionTimes(revoke_us=70_000, fetch_us=5_000)}
    assert reactions(on_one_timeline(story.events)) == (group, own)


def test_pace_of_nobody_is_the_usual_one() -> None:
    """A log without any rebalance."""
    assert reactions([]) == (USUAL_REACTION, {})
