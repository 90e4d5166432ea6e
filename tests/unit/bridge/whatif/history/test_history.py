"""What was given to a group from outside, out of its events."""

from dataclasses import replace

import pytest

from bridge.telemetry.schema.facts import MemberJoined, MemberRevived, PartitionsReleased
from bridge.telemetry.schema.terms import Departure, News, Phase, Protocol, Road
from bridge.whatif.history import BEGINS_IN_THE_MIDDLE, Unknown, read_history
from bridge.whatif.inputs import Came, Changed, FellSilent, History, Input, Left, Vacated
from tests.support.event_stories import MS_US, START_WALL_US, Story, eager_meeting, renumbered

SECOND_MS = 1_000


def told(story: Story) -> History:
    """The history of a story."""
    found = read_history("orders", story.events)
    assert isinstance(found, History)
    return found


def outline(inputs: tuple[Input, ...]) -> list[tuple[str, str, float]]:
    """Inputs as kind, member and milliseconds since the story began."""
    return [
        (
            type(one).__name__,
            one.client.member_id if isinstance(one, Came | Changed) else str(getattr(one, "member_id", "")),
            (one.at_us - START_WALL_US) / MS_US,
        )
        for one in inputs
    ]


def test_members_come_change_and_leave() -> None:
    """Each at its time, with the rebalance that the event names."""
    story = Story()
    story.at(1).joined("c1")
    story.began(2)
    story.at(2).joined("c2")
    story.at(3).subscribed("c1", "orders", "bills")
    story.at(4).left("c2")
    found = told(story)
    assert outline(found.inputs) == [("Came", "c1", 1), ("Came", "c2", 2), ("Changed", "c1", 3), ("Left", "c2", 4)]
    assert [one.rebalance_id for one in found.inputs] == ["", *["orders@b1-r1"] * 3]
    assert [one.rebalance_id for one in found.recorded] == ["orders@b1-r1"]
    assert (found.founders, found.set_aside, found.is_classic) == ((), 0, False)


def test_departures_are_what_the_client_did() -> None:
    """An expiry is a silence of a session timeout (10 s); who is replaced did nothing."""
    story = Story()
    for number, departure in enumerate(Departure):
        story.at(number).joined(f"c{number}")
        story.at(20_000 + number).left(f"c{number}", departure)
    kinds = {
        departure: next((type(one) for one in told(story).inputs if one.event_id == f"b1-{2 * number + 2}"), None)
        for number, departure in enumerate(Departure)
    }
    assert kinds == {
        Departure.LEFT: Left,
        Departure.POLL_TIMED_OUT: Left,
        Departure.REMOVED: Left,
        Departure.REBALANCE_TIMED_OUT: Left,
        Departure.STATIC_LEFT: Vacated,
        Departure.REPLACED: None,
        Departure.GROUP_FULL: None,
        Departure.SESSION_EXPIRED: FellSilent,
        Departure.SYNC_TIMED_OUT: FellSilent,
        Departure.CONNECTION_LOST: FellSilent,
        Departure.FENCED: FellSilent,
        Departure.VANISHED: FellSilent,
    }
    silent = next(one for one in told(story).inputs if isinstance(one, FellSilent))
    left_ms = 20_000 + [*Departure].index(Departure.SESSION_EXPIRED)
    assert (silent.at_us - START_WALL_US) / MS_US == left_ms - 10 * SECOND_MS


def test_expiry_that_the_leader_s_answer_shows_was_when_the_rebalance_began() -> None:
    """On road `pass`: the explanation names it, so it began the rebalance."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC)
    story.began(2)
    for member in ("c1", "c2"):
        story.at(0).joined(member)
    story.ended()
    story.epoch = 3
    story.at(12_000).began(3).told("c1", News.REVOKE).enters("c1", Phase.REVOKING)
    story.at(12_900).left("c2", Departure.SESSION_EXPIRED)
    story.at(13_000).explained()
    silent = next(one for one in told(story).inputs if isinstance(one, FellSilent))
    assert (silent.at_us - START_WALL_US) / MS_US == 12_000 - 10 * SECOND_MS


@pytest.mark.parametrize(("idle_s", "silent_s"), [(15, 45), (30, 30), (42, 15), (46, 14)])
def test_session_that_nobody_told_is_the_usual_one_unless_its_member_was_heard_otherwise(
    idle_s: int, silent_s: int
) -> None:
    """Of the new protocol, expired 60 s after the begin: its connection may end up to 5 s behind its last heartbeat."""
    story = Story()
    for member in ("c1", "c2"):
        joined = story.at(0).joined(member)
        assert isinstance(joined.fact, MemberJoined)
        story.events[-1] = replace(joined, fact=replace(joined.fact, session_timeout_ms=-1))
    story.at(60 * SECOND_MS).left("c1", Departure.SESSION_EXPIRED)
    story.releases("c2", "orders-1").releases("c1", "orders-0")
    released = story.events[-1]
    assert isinstance(released.fact, PartitionsReleased)
    story.events[-1] = replace(released, fact=replace(released.fact, idle_us=idle_s * SECOND_MS * MS_US))
    silent = next(one for one in told(story).inputs if isinstance(one, FellSilent))
    assert (silent.at_us - START_WALL_US) / MS_US == silent_s * SECOND_MS


def test_members_older_than_the_log_are_founders() -> None:
    """They join again in a classic rebalance, and say everything."""
    found = told(eager_meeting())
    assert [one.member_id for one in found.founders] == ["c1", "c2"]
    assert [one[:2] for one in outline(found.inputs)] == [("Came", "c3")]
    assert found.is_classic


def met(story: Story, member: str) -> None:
    """A member that was there before is heard to heartbeat, and says nothing of what it wants."""
    event = story.joined(member)
    story.events.pop()
    fact = event.fact
    names = ("group_id", "road", "member_id", "protocol", "client_id", "client_host")
    words = {name: getattr(fact, name) for name in names}
    story.tell(MemberRevived(**words, session_timeout_ms=-1, rebalance_timeout_ms=-1))


def test_time_of_a_member_that_nobody_knows_is_set_aside() -> None:
    """What comes after it is a history; its members that were there are founders."""
    story = Story()
    story.at(0)
    met(story, "c0")
    story.at(1).joined("c1")
    story.at(2).began(2)
    story.at(3).left("c0")
    story.at(9).began(3)
    story.at(9).joined("c2")
    found = told(story)
    assert ([one.member_id for one in found.founders], found.set_aside) == (["c1"], 1)
    assert (outline(found.inputs), len(found.recorded)) == ([("Came", "c2", 9)], 1)
    assert found.begins_us == START_WALL_US + 9 * MS_US


def test_group_with_a_member_that_nobody_ever_knows_is_set_aside() -> None:
    """With its rebalances counted."""
    story = Story()
    story.at(1).joined("c1")
    story.at(2).began(2)
    met(story, "c0")
    assert read_history("orders", story.events) == Unknown(BEGINS_IN_THE_MIDDLE, 1)


def test_members_that_a_restarted_bridge_forgot_are_gone() -> None:
    """The next run tells of c1 again, and never of c2."""
    story = Story()
    story.at(1).joined("c1")
    story.at(1).joined("c2")
    again = Story()
    again.at(5_000).joined("c1")
    revived = [replace(one, stamp=replace(one.stamp, boot="b2")) for one in renumbered(again.events, "b2")]
    found = read_history("orders", [*story.events, *revived])
    assert isinstance(found, History)
    first, second = [("Came", "c1"), ("Came", "c2")], [("Left", "c2"), ("Came", "c1")]
    assert [one[:2] for one in outline(found.inputs)] == [*first, *second]
