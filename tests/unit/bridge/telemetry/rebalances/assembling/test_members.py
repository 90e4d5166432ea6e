"""One member's story from its events."""

from bridge.telemetry.rebalances.assembling import tell_member
from bridge.telemetry.schema.terms import News
from tests.support.event_stories import Story


def test_member_told_with_first_times() -> None:
    """The first of each counts, from the beginning of the rebalance."""
    story = Story().at(100).told("c1", News.REVOKE).loses("c1", "t-0", "t-1")
    story.at(150).commits("c1", "t-0", is_on_revoke=True).releases("c1", "t-0", "t-1")
    story.at(200).told("c1", News.ASSIGN).gets("c1", "t-1", "t-2")
    story.at(300).fetches("c1", "t-1").at(400).fetches("c1", "t-2").commits("c1", "t-2").at(500).commits("c1", "t-2")
    member = tell_member(story.events, [], None, 50_000)
    assert (member.told_us, member.commit_on_revoke_us) == (50_000, 100_000)
    assert (member.first_fetch_us, member.first_commit_us) == (250_000, 350_000)
    assert (member.gained, member.lost) == (("t-2",), ("t-0",))


def test_newcomer_told_is_not_disturbed() -> None:
    """Who just came had nothing to be disturbed in."""
    story = Story().at(0)
    story.joined("c1")
    story.told("c1", News.REJOIN)
    member = tell_member(story.events, [], None, 0)
    assert (member.is_newcomer, member.is_disturbed) == (True, False)


def test_member_that_gained_something_and_then_joined_twice_is_not_disturbed() -> None:
    """It has another partition than before, though it gave that one up and got it back as well."""
    story = Story().at(0).releases("c1", "t-0", "t-4").gets("c1", "t-0", "t-1", "t-4")
    story.releases("c1", "t-0", "t-1", "t-4").gets("c1", "t-0", "t-1", "t-4")
    member = tell_member(story.events, [], None, 0)
    assert (member.gained, member.lost, member.is_disturbed) == (("t-1",), (), False)


def test_member_that_gets_all_back_is_disturbed() -> None:
    """It gave up what it had for nothing; what it was lent meanwhile doesn't count."""
    story = Story().at(0).loses("c1", "t-0").releases("c1", "t-0").gets("c1", "t-0", "t-1")
    story.releases("c1", "t-0", "t-1").gets("c1", "t-0")
    member = tell_member(story.events, [], None, 0)
    assert (member.gained, member.lost, member.is_disturbed) == ((), (), True)
