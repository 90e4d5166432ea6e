"""Rebalances put together from whole, torn and restarted logs."""

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.facts import Event
from bridge.telemetry.schema.terms import Cause, Departure, News, Outcome, Phase, Road
from tests.support.event_stories import Story, cooperative_handover, eager_meeting, renumbered


def only(events: list[Event]) -> Rebalance:
    """The one rebalance of these events."""
    (rebalance,) = assemble(events)
    return rebalance


def test_handover_assembled_with_its_members() -> None:
    """Who joined, who gave up, what moved, and how long it took."""
    rebalance = only(cooperative_handover().events)
    assert (rebalance.epoch, rebalance.outcome, rebalance.duration_us) == (7, Outcome.COMPLETED, 3_009_000)
    assert (rebalance.moved, rebalance.forced_minimum, rebalance.member_count) == (1, 1, 4)
    assert rebalance.explained.cause is Cause.JOIN
    c4, c1 = rebalance.members
    assert (c4.member_id, c4.is_newcomer, c4.is_disturbed, c4.gained) == ("c4", True, False, ("orders-4",))
    assert (c1.member_id, c1.is_newcomer, c1.is_disturbed, c1.lost) == ("c1", False, False, ("orders-4",))
    assert rebalance.untouched_count == 2
    assert rebalance.disturbed_count == 0


def test_fetch_after_end_belongs_to_rebalance() -> None:
    """The stall ends with the first Fetch, whenever that is."""
    c4 = only(cooperative_handover().events).members[0]
    assert c4.first_fetch_us == 3_109_000
    assert [(stretch.phase, stretch.begin_us, stretch.end_us) for stretch in c4.stretches] == [
        (Phase.AWAITING_RELEASE, 1_000, 3_009_000),
        (Phase.FETCHING, 3_009_000, 3_109_000),
    ]
    assert c4.stall_us == 100_000


def test_leave_after_end_is_none_of_its_business() -> None:
    """On road `pass` facts name the last rebalance until there is another one."""
    story = cooperative_handover()
    before = only(story.events)
    began = story.events[1].fact
    assert isinstance(began, facts.RebalanceBegan)
    story.rebalance_id = began.rebalance_id
    story.at(9_000).left("c4")
    story.releases("c4", "orders-4")
    assert only(story.events).members == before.members
    assert only(story.events).explained == before.explained


def test_moves_shortly_before_belong_to_the_rebalance_before() -> None:
    """Only who came, went or changed before it began has to do with it."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0").releases("c1", "orders-0")
    story.at(2_000).began(4).told("c1", News.REVOKE).releases("c1", "orders-1").ended()
    (c1,) = only(story.events).members
    assert (c1.gained, c1.lost) == ((), ("orders-1",))


def test_classic_members_keep_partitions_they_get_back() -> None:
    """An eager member gives up everything; what it is given again has not moved."""
    rebalance = only(eager_meeting().events)
    by_id = {member.member_id: member for member in rebalance.members}
    assert (by_id["c1"].gained, by_id["c1"].lost, by_id["c1"].is_disturbed) == ((), (), True)
    assert (by_id["c3"].gained, by_id["c3"].is_newcomer) == (("orders-2",), True)
    assert by_id["c2"].stall_us == 250_000


def test_torn_head_assembled_from_what_is_there() -> None:
    """The file that held the beginning has been deleted."""
    rebalance = only(cooperative_handover().events[3:])
    assert rebalance.outcome is Outcome.COMPLETED
    assert rebalance.explained.sentence


def test_torn_tail_assembled_as_open() -> None:
    """The bridge was killed in the middle."""
    rebalance = only(cooperative_handover().events[:8])
    assert rebalance.outcome is None
    assert rebalance.duration_us == 2_899_000


def test_restart_in_the_middle_makes_two() -> None:
    """Another run has its own rebalance; the first stays open, and the second says that it goes on."""
    killed = cooperative_handover().events[:6]
    story = Story(boot="b2").clock_jumps(60_000).at(0)
    story.epoch = 7
    story.revived().began(7).told("c1", News.REVOKE).ended()
    first, second = assemble([*killed, *story.events])
    assert (first.outcome, second.outcome) == (None, Outcome.COMPLETED)
    assert second.explained.cause is Cause.BRIDGE_RESTARTED


def test_next_run_ends_what_the_last_left_open() -> None:
    """The bridge says when it starts again that a rebalance was interrupted; its own clock can't be compared."""
    killed = cooperative_handover().events[:6]
    story = Story(boot="b2").at(5)
    opening = killed[1].fact
    assert isinstance(opening, facts.RebalanceBegan)
    story.rebalance_id = opening.rebalance_id
    story.ended(Outcome.INTERRUPTED)
    rebalance = only([*killed, *story.events])
    assert (rebalance.outcome, rebalance.duration_us) == (Outcome.INTERRUPTED, 899_000)


def test_clock_that_jumps_back_leaves_durations() -> None:
    """Durations are of the monotonic clock; placement is of the wall clock at the beginning."""
    story = Story().at(0)
    story.left("c3")
    story.began(5).clock_jumps(-3_600_000).at(800).told("c1", News.ASSIGN).ended()
    rebalance = only(story.events)
    assert rebalance.duration_us == 800_000
    assert rebalance.ended_wall_us - rebalance.began_wall_us == 800_000


def test_superseded_rebalances_know_each_other() -> None:
    """Links both ways; a wait that goes on is part of both."""
    story = Story().at(0)
    story.joined("c4")
    story.began(5).enters("c4", Phase.AWAITING_RELEASE, "c1")
    former = story.rebalance_id
    story.at(500).left("c2")
    story.ended(Outcome.SUPERSEDED).began(6, supersedes=former)
    story.at(900).leaves("c4", Phase.AWAITING_RELEASE, "c1").enters("c4", Phase.STABLE).ended()
    first, second = assemble(story.events)
    assert (first.superseded_by, second.supersedes) == (second.rebalance_id, first.rebalance_id)
    assert second.explained.cause is Cause.LEAVE
    assert [member.member_id for member in second.members if member.departure is Departure.LEFT] == ["c2"]
    waits = [stretch for member in second.members for stretch in member.stretches]
    assert [(stretch.begin_us, stretch.end_us) for stretch in waits] == [(-500_000, 400_000)]


def test_what_the_bridge_said_is_kept() -> None:
    """The bridge knew more than the log holds."""
    story = Story(road=Road.PASSING).at(0).began(5)
    said = facts.RebalanceExplained(
        **story.about(), cause=Cause.OPERATOR, caused_by=(), evidence=(), sentence="as the bridge said"
    )
    story.told("c1", News.REVOKE).ended()
    story.tell(said)
    assert only(story.events).explained == said


def test_groups_kept_apart() -> None:
    """Two groups rebalance at the same time."""
    one, two = Story(group="a").at(0).began(1), Story(group="b").at(0).began(1)
    mixed = [*one.events, *renumbered(two.events, "b1"), *one.ended().events[1:]]
    assert [(r.group_id, r.outcome) for r in assemble(mixed)] == [("a", Outcome.COMPLETED), ("b", None)]


def test_member_that_leaves_after_partitions_were_shared_out_is_no_other_one() -> None:
    """The target counts three, of whom one goes before the end: nobody else was there to be untouched."""
    story = Story().at(0)
    story.joined("c3")
    story.began(4).target(3)
    for member in ("c1", "c2"):
        story.at(100).told(member, News.REVOKE).enters(member, Phase.REVOKING)
    story.at(900).left("c2")
    rebalance = only(story.ended(Outcome.SUPERSEDED).events)
    assert {member.member_id: member.is_counted for member in rebalance.members} == {"c1": True, "c2": True, "c3": True}
    assert rebalance.untouched_count == 0


def test_member_whose_departure_made_the_rebalance_is_not_counted() -> None:
    """Two are left of three; one hears of it, one does not."""
    story = Story().at(0)
    story.left("c3")
    story.began(4).target(2).told("c1", News.ASSIGN).gets("c1", "orders-3")
    rebalance = only(story.ended().events)
    assert {member.member_id: member.is_counted for member in rebalance.members} == {"c1": True, "c3": False}
    assert rebalance.untouched_count == 1
