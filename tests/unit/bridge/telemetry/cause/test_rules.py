"""Which rule holds where several could."""

from dataclasses import replace

import pytest

from bridge.telemetry.cause.context import context_of
from bridge.telemetry.cause.rules import find_cause, members_behind
from bridge.telemetry.schema.facts import (
    CoordinatorMoved,
    MemberFact,
    OperatorActed,
    RebalanceBegan,
    RebalanceEnded,
    TopicsChanged,
)
from bridge.telemetry.schema.terms import Cause, Departure, News, OperatorAction, Outcome, Phase, Protocol, Road
from tests.support.event_stories import Story, eager_meeting


def cause_of(story: Story) -> tuple[Cause, tuple[str, ...]]:
    """The finding of the story's last rebalance."""
    context = context_of(story.events)
    assert context is not None
    finding = find_cause(context)
    return finding.cause, members_behind(finding)


def test_leave_and_join_at_once_is_leave() -> None:
    """One member restarts: what began it is that it left."""
    story = Story().at(0)
    story.left("c1")
    story.at(10).joined("c1-again")
    assert cause_of(story.began(3).target(3)) == (Cause.LEAVE, ("c1",))


def test_joins_alone_are_no_deployment() -> None:
    """A fleet that starts is no wave: nobody left."""
    story = Story().at(0).began(1).target(1).ended()
    for number in range(5):
        story.at(1_000 * number + 500).joined(f"c{number}")
        story.began(2 + number).target(2 + number).ended()
    assert cause_of(story) == (Cause.JOIN, ("c4",))


def test_changes_long_ago_are_no_deployment() -> None:
    """Three changes within an hour are not one wave."""
    story = Story()
    for minute in (0, 20, 40):
        story.at(minute * 60_000).left(f"old{minute}")
        story.began(minute + 1).target(2).ended()
        story.at(minute * 60_000 + 4_000).joined(f"new{minute}")
        story.began(minute + 2).target(3).ended()
    assert cause_of(story) == (Cause.JOIN, ("new40",))


def test_called_members_that_rejoin_cause_nothing() -> None:
    """Rejoining is what members do when they are called; the leader too."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(100).began(4)
    story.told("c1", News.REVOKE).enters("c1", Phase.REVOKING)
    story.at(200).leaves("c1", Phase.REVOKING).rejoined("c1", is_leader=True)
    assert cause_of(story) == (Cause.UNKNOWN, ())


def test_expiry_noticed_late_beats_join_during_meeting() -> None:
    """A newcomer that came after the others were called did not call them."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(100).began(4).told("c1", News.REVOKE)
    story.at(900).joined("c9")
    story.enters("c1", Phase.JOINING).at(1_000).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    story.at(1_001).left("c2", Departure.SESSION_EXPIRED)
    assert cause_of(story.target(2)) == (Cause.SESSION_EXPIRED, ("c2",))


def test_static_member_let_in_again_causes_nothing_later() -> None:
    """A static member that takes its seat back moves no epoch; a leave much later has its own rebalance."""
    story = Story().at(0)
    story.joined("c1-new", seat="seat-1", former="c1-old")
    story.at(9_000).left("c2")
    assert cause_of(story.began(3).target(2)) == (Cause.LEAVE, ("c2",))


def test_growth_after_static_member_was_let_in_again_is_topics_changed() -> None:
    """KIP-345: who took its seat back in time moved nobody; the leader that joins again has seen the new partition."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).created().began(4)
    story.joined("c1")
    story.joined("c5", seat="s")
    story.enters("c1", Phase.SYNCING).target(2, partitions=7).ended()
    story.at(2_000).left("c5", Departure.REPLACED)
    story.joined("c5-new", seat="s", former="c5")
    story.enters("c5-new", Phase.JOINING).at(2_010).leaves("c5-new", Phase.JOINING).enters("c5-new", Phase.SYNCING)
    story.at(2_020).leaves("c5-new", Phase.SYNCING).enters("c5-new", Phase.STABLE)
    story.at(5_000).began(5).rejoined("c1", is_leader=True)
    story.enters("c1", Phase.JOINING).at(5_100).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    assert cause_of(story.target(2, partitions=8)) == (Cause.TOPICS_CHANGED, ("c1",))


def test_join_while_others_meet_is_join() -> None:
    """Nothing else is known: the newcomer it is."""
    assert cause_of(eager_meeting("c9")) == (Cause.JOIN, ("c9",))


def test_fleet_that_stops_is_no_deployment() -> None:
    """Joins long before the first leave are no part of it, and an empty group is not being replaced."""
    story = Story().at(0)
    for number in range(3):
        story.joined(f"c{number}")
        story.began(1 + number).target(1 + number).ended()
    for number in range(3):
        story.at(10_000 + number).left(f"c{number}")
        story.began(4 + number).target(2 - number).ended()
        assert cause_of(story) == (Cause.LEAVE, (f"c{number}",))


def test_one_restart_is_no_deployment() -> None:
    """A member that leaves and comes back is one restart, not a wave."""
    story = Story().at(0)
    story.left("old")
    story.began(4).target(2).ended().at(3_000).joined("new")
    assert cause_of(story.began(5).target(3)) == (Cause.JOIN, ("new",))


def topics_change(story: Story, topic: str) -> Story:
    """A topic has more partitions."""
    story.tell(TopicsChanged(topics=(topic,), partition_counts=(12,)))
    return story


def test_topics_that_nobody_reads_cause_nothing() -> None:
    """Topics of other groups come and grow all the time."""
    story = Story().at(0)
    story.joined("c1")
    story.began(2).target(1).ended()
    assert cause_of(topics_change(story.at(9_000), "other").began(3).target(1))[0] is Cause.UNKNOWN
    assert cause_of(topics_change(story.ended().at(19_000), "orders").began(4).target(1))[0] is Cause.TOPICS_CHANGED


def test_topics_of_embedded_groups_count_at_once_only() -> None:
    """The engine looks itself: what changed minutes ago has been dealt with."""
    story = topics_change(Story().at(0), "orders").at(60_000)
    story.told("c1", News.ASSIGN)
    assert cause_of(story.began(3).target(1))[0] is Cause.UNKNOWN


def test_member_whose_partitions_others_get_has_expired() -> None:
    """A broker tells nobody that a consumer member is gone; it never released what another one is given."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0").gets("c2", "orders-1")
    story.at(9_000).began(4).told("c1", News.ASSIGN).gets("c1", "orders-1")
    assert cause_of(story) == (Cause.SESSION_EXPIRED, ("c2",))


def test_member_whose_partition_was_released_has_not_expired() -> None:
    """It moved, for a reason that nobody saw."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c2", "orders-1").releases("c2", "orders-1")
    assert cause_of(story.at(9_000).began(4).gets("c1", "orders-1")) == (Cause.UNKNOWN, ())


def test_second_epoch_of_those_who_came_together_has_their_cause() -> None:
    """Kafka deals once a second at most: for the first of them at once, and for both behind that."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0")
    story.at(20_000).joined("c2")
    story.joined("c3")
    story.began(4).ended().at(21_500).told("c1", News.ASSIGN)
    assert cause_of(story.began(6)) == (Cause.JOIN, ("c2", "c3"))
    story.ended().at(28_000).told("c1", News.ASSIGN)
    assert cause_of(story.began(7))[0] is Cause.UNKNOWN


def test_epoch_behind_that_of_one_newcomer_is_not_its_own() -> None:
    """Nobody else was to be dealt anything."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0")
    story.at(20_000).joined("c2")
    story.began(4).ended().at(21_500).told("c1", News.ASSIGN)
    assert cause_of(story.began(6))[0] is Cause.UNKNOWN


def test_expiry_of_a_translated_client_is_the_cause_of_what_follows_it() -> None:
    """The bridge says it to the broker: it is none that was noticed late, of an epoch before that nothing explains."""
    story = Story(road=Road.UPSTREAM).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0").gets("c2", "orders-1")
    story.at(20_000).began(4).told("c1", News.ASSIGN).ended()
    story.rebalance_id = next(one.fact.rebalance_id for one in story.events if isinstance(one.fact, RebalanceBegan))
    story.at(29_000).left("c2", Departure.SESSION_EXPIRED)
    story.releases("c2", "orders-1").at(29_100).began(5)
    classic = [
        replace(one, fact=replace(one.fact, protocol=Protocol.CLASSIC)) if isinstance(one.fact, MemberFact) else one
        for one in story.events
    ]
    found = context_of(classic)
    assert found is not None
    assert find_cause(found).cause is Cause.SESSION_EXPIRED


def test_first_member_of_a_group_that_passes_is_first() -> None:
    """Kafka 4.3 gives it epoch 2; nobody else was ever seen."""
    story = Story(road=Road.PASSING).at(0).began(2)
    story.joined("c1")
    assert cause_of(story.told("c1", News.ASSIGN)) == (Cause.FIRST_JOIN, ("c1",))
    story.ended().at(4_000).began(2)
    story.joined("c2")
    assert cause_of(story.told("c1", News.ASSIGN)) == (Cause.JOIN, ("c2",))


def test_second_round_of_cooperative_members_has_the_cause_of_the_first() -> None:
    """KIP-429: whoever has given up what it lost joins again, so that the newcomer gets it."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.joined("c9")
    story.began(4).target(3).told("c1", News.REVOKE).enters("c1", Phase.REVOKING).ended()
    first = story.events[1].fact
    assert isinstance(first, RebalanceBegan)
    story.at(1_500).began(5).rejoined("c1", is_leader=True)
    story.rebalance_id = first.rebalance_id
    story.leaves("c1", Phase.REVOKING)
    context = context_of(story.events)
    assert context is not None
    finding = find_cause(context)
    assert (finding.cause, members_behind(finding), finding.is_again) == (Cause.JOIN, ("c9",), True)


def test_two_that_come_to_one_meeting_are_both_named() -> None:
    """The second came while the others were still on their way because of the first."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.joined("c8")
    story.began(4).at(300).joined("c9")
    assert cause_of(story.at(900).target(3)) == (Cause.JOIN, ("c8", "c9"))


def test_leave_heard_of_just_after_others_were_called_is_a_leave() -> None:
    """Answers on different connections overtake each other, also those of the generation that is cut short."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(4).enters("c2", Phase.JOINING)
    former = story.rebalance_id
    story.at(800).ended(Outcome.SUPERSEDED).began(4, supersedes=former).told("c1", News.REVOKE)
    current, story.rebalance_id = story.rebalance_id, former
    story.at(801).leaves("c2", Phase.JOINING)
    story.rebalance_id = current
    story.enters("c2", Phase.SYNCING).at(802).left("c2")
    story.at(803).rejoined("c1", is_leader=True)
    story.enters("c1", Phase.JOINING).at(900).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    assert cause_of(story.target(2)) == (Cause.LEAVE, ("c2",))


def moved_while_assigning() -> Story:
    """A classic group's coordinator moves before the leader's assignment has come; its leader joins again."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.joined("c9")
    story.began(4).enters("c9", Phase.JOINING).at(900).leaves("c9", Phase.JOINING).enters("c9", Phase.SYNCING)
    story.at(2_000).tell(CoordinatorMoved(group_id="orders", road=Road.PASSING, broker="b2:9092"))
    return story.at(1_990).ended(Outcome.SUPERSEDED).began(4)


def test_members_that_join_again_at_a_new_coordinator_were_moved() -> None:
    """It has not heard of their last generation."""
    story = moved_while_assigning()
    story.rejoined("c1", is_leader=True)
    assert cause_of(story) == (Cause.COORDINATOR_MOVED, ())


def test_newcomer_at_a_new_coordinator_is_a_newcomer() -> None:
    """That the coordinator has moved shortly before is no reason to rebalance."""
    story = moved_while_assigning()
    story.at(5_000).ended().at(5_100).joined("c7")
    assert cause_of(story.began(5)) == (Cause.JOIN, ("c7",))


def test_newcomer_that_a_new_coordinator_never_heard_of_was_moved() -> None:
    """It joins again under another id, and before the others: it is no newcomer, and no session ran out.

    The leader's assignment may be on its way to the old coordinator, or come to the new one in vain.
    """
    for is_in_vain in (False, True):
        story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
        story.joined("c9")
        story.began(4).enters("c9", Phase.JOINING).at(900).leaves("c9", Phase.JOINING).enters("c9", Phase.SYNCING)
        story.at(2_000)
        if not is_in_vain:
            story.target(3)
        story.tell(CoordinatorMoved(group_id="orders", road=Road.PASSING, broker="b2:9092"))
        story.left("c9", Departure.VANISHED)
        story.at(2_005)
        if is_in_vain:
            story.target(3)
        story.at(2_010).ended(Outcome.SUPERSEDED).began(4).joined("c9-again")
        story.at(2_050).rejoined("c1", is_leader=True)
        assert cause_of(story) == (Cause.COORDINATOR_MOVED, ())


@pytest.mark.parametrize("is_noticed_late", [False, True])
@pytest.mark.parametrize("is_cut_short", [False, True])
def test_newcomer_that_hears_late_that_it_is_forgotten_joins(is_noticed_late: bool, is_cut_short: bool) -> None:
    """The others have met at the new coordinator without it: no session ran out, a newcomer comes."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.joined("c9")
    story.began(4).enters("c9", Phase.JOINING).at(900).leaves("c9", Phase.JOINING).enters("c9", Phase.SYNCING)
    story.at(2_000).tell(CoordinatorMoved(group_id="orders", road=Road.PASSING, broker="b2:9092"))
    story.at(2_010).ended(Outcome.SUPERSEDED).began(4)
    story.rejoined("c1", is_leader=True)
    story.enters("c1", Phase.JOINING).at(2_050).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    if not is_noticed_late:
        story.left("c9", Departure.VANISHED)
    story.target(2)
    if not is_cut_short:
        story.at(2_060).ended()
    story.at(2_500)
    if is_noticed_late:
        story.left("c9", Departure.VANISHED)
    story.joined("c9-again")
    if is_cut_short:
        story.ended(Outcome.SUPERSEDED)
    assert cause_of(story.began(5).told("c1", News.REVOKE)) == (Cause.JOIN, ("c9-again",))


def left_open() -> Story:
    """On road `pass` the run before ended in the middle of a rebalance of this group."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.tell(RebalanceEnded(**story.about(), outcome=Outcome.INTERRUPTED))
    return story.at(500)


def test_first_rebalance_after_a_restart_in_the_middle_of_one_is_the_restarts() -> None:
    """Its members join again because their requests were lost."""
    story = left_open().began(4)
    story.rejoined("c1", is_leader=True)
    assert cause_of(story) == (Cause.BRIDGE_RESTARTED, ())


def test_newcomer_after_a_restart_is_a_newcomer() -> None:
    """Somebody came: that is reason enough."""
    story = left_open()
    story.joined("c7")
    assert cause_of(story.began(4).told("c1", News.REVOKE)) == (Cause.JOIN, ("c7",))


def test_member_that_kept_what_it_was_to_give_up_was_late() -> None:
    """A broker tells nobody that it has fenced a consumer member; others get what that was told to give up."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0").gets("c2", "orders-1")
    story.at(9_000).began(4).loses("c2", "orders-1").enters("c2", Phase.REVOKING).ended()
    story.at(40_000).began(5).told("c1", News.ASSIGN).gets("c1", "orders-1")
    assert cause_of(story) == (Cause.REBALANCE_TIMED_OUT, ("c2",))


def test_departure_heard_of_after_others_had_its_partitions_makes_no_other_rebalance() -> None:
    """The fenced member hears of it last; when it comes back, that is why there is another rebalance."""
    story = Story(road=Road.PASSING).at(0)
    story.epoch = 3
    story.gets("c1", "orders-0").gets("c2", "orders-1")
    story.at(9_000).began(4).loses("c2", "orders-1").enters("c2", Phase.REVOKING).ended()
    story.at(14_000).began(5).told("c1", News.ASSIGN).gets("c1", "orders-1")
    story.at(14_100).left("c2", Departure.REBALANCE_TIMED_OUT)
    assert cause_of(story.ended()) == (Cause.REBALANCE_TIMED_OUT, ("c2",))
    story.at(17_000).joined("c2")
    assert cause_of(story.began(6)) == (Cause.JOIN, ("c2",))


def test_removed_static_member_is_named_once() -> None:
    """The order names its seat, the departure the member."""
    story = Story().at(0)
    story.joined("c2", seat="seat-2")
    story.began(2).target(2).ended().at(20_000)
    story.tell(OperatorActed(group_id="orders", action=OperatorAction.REMOVE_MEMBERS, members=("seat-2",)))
    story.left("c2", Departure.REMOVED)
    assert cause_of(story.began(3).target(1)) == (Cause.OPERATOR, ("c2",))


def test_move_is_no_cause_of_what_comes_after_it() -> None:
    """Nobody was disturbed by it: who joins then has the group rebalance."""
    story = Story().at(0)
    story.joined("c1")
    story.began(2).target(2).ended().at(20_000)
    story.tell(OperatorActed(group_id="orders", action=OperatorAction.MOVE))
    story.at(21_000).joined("c2")
    assert cause_of(story.began(3).target(1)) == (Cause.FIRST_JOIN, ("c2",))


def test_leader_that_comes_to_a_new_coordinator_after_others_was_moved_too() -> None:
    """The first one there was given the generation that is known there; the leader's join begins another one."""
    story = moved_while_assigning()
    story.rejoined("c2")
    former = story.rebalance_id
    story.at(2_400).ended(Outcome.SUPERSEDED).began(4, supersedes=former).rejoined("c1", is_leader=True)
    assert cause_of(story) == (Cause.COORDINATOR_MOVED, ())


def came_together() -> tuple[Story, str]:
    """Two members want something else at the same instant, and the engine makes an epoch of each wish."""
    story = Story().at(0)
    story.joined("c1")
    story.joined("c2")
    story.began(2).target(2).ended().at(9_000).began(3)
    story.subscribed("c1", "orders", "returns")
    story.subscribed("c2", "orders", "returns")
    return story.target(2), story.rebalance_id


def test_second_epoch_of_one_instant_has_the_cause_of_the_first() -> None:
    """Both wishes were told before the first of the two."""
    story, former = came_together()
    story.ended(Outcome.SUPERSEDED).began(4, supersedes=former).target(2)
    assert cause_of(story) == (Cause.SUBSCRIPTION_CHANGED, ("c1", "c2"))


def test_epoch_long_after_another_has_a_cause_of_its_own() -> None:
    """It cut the other one short, and nothing shows why."""
    story, former = came_together()
    story.at(12_000).ended(Outcome.SUPERSEDED).began(4, supersedes=former).target(2)
    assert cause_of(story) == (Cause.UNKNOWN, ())


def test_wish_that_is_told_after_the_target_was_not_in_it() -> None:
    """Though the clock has not moved since."""
    story, former = came_together()
    story.subscribed("c3", "orders")
    story.ended(Outcome.SUPERSEDED).began(4, supersedes=former).target(2)
    assert cause_of(story) == (Cause.SUBSCRIPTION_CHANGED, ("c3",))
