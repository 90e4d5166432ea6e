"""Who is waited for."""

import pytest

from bridge.telemetry.cause.context import context_of
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.cause.waits import Critical, find_critical, union_us
from bridge.telemetry.schema.facts import RebalanceBegan
from bridge.telemetry.schema.terms import Departure, News, Outcome, Phase, Protocol, Road
from tests.support.event_stories import Story, cooperative_handover


def critical_of(story: Story) -> Critical | None:
    """The critical member of the story's last rebalance."""
    context = context_of(story.events)
    assert context is not None
    return find_critical(context)


def test_holder_named_with_waiters_and_partitions() -> None:
    """The member that has what another one waits for."""
    critical = critical_of(cooperative_handover())
    assert critical is not None
    assert (critical.member_id, critical.waiters, critical.partitions) == ("c1", ("c4",), ("orders-4",))


def test_handover_without_named_waits_found_by_partition() -> None:
    """On road `pass` nobody says who waits for whom; the partition shows it."""
    story = Story(road=Road.PASSING).at(0).began(3)
    story.at(100).told("c1", News.REVOKE).loses("c1", "orders-1").enters("c1", Phase.REVOKING)
    story.at(700).releases("c1", "orders-1").leaves("c1", Phase.REVOKING).enters("c1", Phase.STABLE)
    story.at(1_200).gets("c2", "orders-1").ended()
    critical = critical_of(story)
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c1", Phase.REVOKING, 700_000)


def test_release_that_nobody_has_got_yet_was_waited_for_by_the_newcomer() -> None:
    """On road `pass` the newcomer hears of it with its next heartbeat, when the rebalance is over."""
    story = Story(road=Road.PASSING).at(0).began(3)
    story.joined("c3")
    story.told("c3", News.ASSIGN)
    story.at(200).releases("c1", "orders-0").gets("c3", "orders-0")
    story.at(2_000).enters("c2", Phase.REVOKING).at(2_300).releases("c2", "orders-1").leaves("c2", Phase.REVOKING)
    critical = critical_of(story.ended())
    assert critical is not None
    assert (critical.member_id, critical.waiters, critical.waited_us) == ("c2", ("c3",), 2_300_000)


def test_partitions_that_come_back_are_not_named() -> None:
    """An eager member lets go of all it has, and is given most of it again."""
    story = cooperative_handover()
    assert story.events.pop().fact.kind == "phase-ended"
    began = story.events[1].fact
    assert isinstance(began, RebalanceBegan)
    story.rebalance_id = began.rebalance_id
    story.at(3_000).releases("c1", "orders-1").gets("c1", "orders-1")
    critical = critical_of(story)
    assert critical is not None
    assert critical.partitions == ("orders-4",)


def test_member_that_never_joins_is_critical() -> None:
    """Everybody waited until the coordinator gave up on it."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(4)
    for member in ("c1", "c2"):
        story.told(member, News.REVOKE).enters(member, Phase.REVOKING)
    story.at(50).leaves("c1", Phase.REVOKING).enters("c1", Phase.JOINING)
    story.at(60_000).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    story.left("c2", Departure.REBALANCE_TIMED_OUT)
    critical = critical_of(story.at(60_010).target(1))
    assert critical is not None
    assert (critical.member_id, critical.is_gone, critical.waited_us) == ("c2", True, 59_950_000)


def test_slow_leader_is_critical() -> None:
    """Followers wait in SyncGroup for the leader's assignment."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(4)
    story.rejoined("c1", is_leader=True)
    for member in ("c1", "c2"):
        story.enters(member, Phase.JOINING)
    story.at(10).leaves("c1", Phase.JOINING).leaves("c2", Phase.JOINING)
    story.enters("c1", Phase.SYNCING).enters("c2", Phase.SYNCING)
    critical = critical_of(story.at(4_010).target(2).leaves("c2", Phase.SYNCING))
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c1", Phase.SYNCING, 4_000_000)


def test_leader_that_joins_again_when_all_have_met_was_not_the_last_to_come() -> None:
    """Kafka gives it the generation that it has just handed out; those who had to be waited for came before."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(4)
    story.rejoined("c1", is_leader=True)
    story.enters("c1", Phase.JOINING)
    story.at(4_000).rejoined("c2")
    story.enters("c2", Phase.JOINING).at(4_010).leaves("c1", Phase.JOINING).leaves("c2", Phase.JOINING)
    story.enters("c1", Phase.SYNCING).enters("c2", Phase.SYNCING).at(4_400).leaves("c1", Phase.SYNCING)
    story.rejoined("c1", is_leader=True)
    story.enters("c1", Phase.JOINING).at(4_410).leaves("c1", Phase.JOINING).enters("c1", Phase.SYNCING)
    critical = critical_of(story.at(4_500).target(2).leaves("c2", Phase.SYNCING))
    assert critical is not None
    assert (critical.member_id, critical.waited_us) == ("c2", 4_000_000)


def test_leader_that_has_not_assigned_when_another_rebalance_begins_is_critical() -> None:
    """Whoever cuts it short, the others waited for its assignment until then."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(4)
    story.rejoined("c1", is_leader=True)
    story.at(200).rejoined("c2")
    story.enters("c1", Phase.JOINING).enters("c2", Phase.JOINING)
    story.at(210).leaves("c1", Phase.JOINING).leaves("c2", Phase.JOINING)
    story.enters("c1", Phase.SYNCING).enters("c2", Phase.SYNCING)
    critical = critical_of(story.at(3_210).ended(Outcome.SUPERSEDED))
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c1", Phase.SYNCING, 3_000_000)


def test_nobody_waited_for_nobody() -> None:
    """A rebalance that moves nothing has no critical member."""
    assert critical_of(Story().at(0).began(3).target(2).ended()) is None


@pytest.mark.parametrize(("intervals", "expected"), [([], 0), ([(0, 5), (3, 8)], 8), ([(0, 5), (1, 2), (7, 9)], 7)])
def test_union_counts_time_once(intervals: list[tuple[int, int]], expected: int) -> None:
    """Two that wait at the same time wait no longer than one."""
    assert union_us(intervals) == expected


def test_of_several_holders_the_one_that_takes_longest_is_critical() -> None:
    """Who has given up what it had is waited for no longer."""
    story = Story().at(0)
    story.joined("c9")
    story.began(3).enters("c9", Phase.AWAITING_RELEASE, "c1", "c2")
    story.at(100).enters("c1", Phase.REVOKING).enters("c2", Phase.REVOKING)
    story.at(300).releases("c1", "orders-1").leaves("c1", Phase.REVOKING)
    story.at(2_000).releases("c2", "orders-2").leaves("c2", Phase.REVOKING)
    story.at(2_010).leaves("c9", Phase.AWAITING_RELEASE, "c1", "c2")
    critical = critical_of(story.ended())
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c2", Phase.REVOKING, 2_000_000)


def test_member_that_never_gives_up_was_waited_for_to_the_end() -> None:
    """On road `pass` its coordinator fences it, and the next rebalance gives away what it had."""
    story = Story(road=Road.PASSING).at(0)
    story.joined("c9")
    story.began(3).loses("c2", "orders-2").enters("c2", Phase.REVOKING)
    critical = critical_of(story.at(3_000).ended())
    assert critical is not None
    assert (critical.member_id, critical.waiters, critical.waited_us) == ("c2", ("c9",), 3_000_000)


def test_member_whose_expiry_made_the_rebalance_was_not_waited_for() -> None:
    """A coordinator calls the others when it has given up on somebody, never before."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(3)
    for member, at_ms in (("c1", 100), ("c2", 1_600)):
        story.at(at_ms - 50).enters(member, Phase.REVOKING).at(at_ms).leaves(member, Phase.REVOKING)
        story.enters(member, Phase.JOINING)
    story.at(1_610).leaves("c1", Phase.JOINING).leaves("c2", Phase.JOINING).left("c3", Departure.SESSION_EXPIRED)
    context = context_of(story.ended().events)
    assert context is not None
    absent, late = find_critical(context), find_critical(context, ("c3",))
    assert absent is not None
    assert late is not None
    assert (absent.member_id, late.member_id, late.waited_us) == ("c3", "c2", 1_500_000)


def test_newcomer_waits_for_who_gives_up_after_its_assignment() -> None:
    """A cooperative member hears what it loses with its assignment, and joins again when it has given that up."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0)
    story.joined("c9")
    story.began(4).enters("c1", Phase.SYNCING).at(100).leaves("c1", Phase.SYNCING).enters("c1", Phase.REVOKING)
    story.at(1_700).leaves("c1", Phase.REVOKING)
    critical = critical_of(story.ended())
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c1", Phase.REVOKING, 1_600_000)


def test_newcomer_waits_on_where_the_rebalance_that_it_came_in_was_cut_short() -> None:
    """Who heard of its loss only in the next round, because another one had joined again, gives it up in that one."""
    story = Story(road=Road.PASSING, protocol=Protocol.CLASSIC).at(0).began(4)
    story.joined("c9")
    story.enters("c9", Phase.JOINING).at(50).leaves("c9", Phase.JOINING).enters("c9", Phase.SYNCING)
    former = story.rebalance_id
    story.at(100).ended(Outcome.SUPERSEDED).began(5, supersedes=former).at(200).enters("c1", Phase.SYNCING)
    story.at(300).leaves("c1", Phase.SYNCING).loses("c1", "orders-0").enters("c1", Phase.REVOKING)
    story.at(8_300).leaves("c1", Phase.REVOKING)
    critical = critical_of(story.ended(Outcome.SUPERSEDED))
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c1", Phase.REVOKING, 8_000_000)


def eager_gainer() -> Story:
    """c3 has left; c1, which is to have what it had, takes two seconds to give up its own first."""
    story = Story().at(0)
    story.left("c3")
    story.releases("c3", "orders-2")
    story.began(4).told("c1", News.REVOKE).loses("c1", "orders-0").at(100).enters("c1", Phase.REVOKING)
    story.at(2_100).releases("c1", "orders-0").leaves("c1", Phase.REVOKING).enters("c1", Phase.JOINING)
    story.at(2_150).leaves("c1", Phase.JOINING).gets("c1", "orders-0", "orders-2")
    return story.ended()


def test_what_is_free_waits_for_an_eager_member_that_is_to_have_it() -> None:
    """It gives up all that it has before it joins again; nobody else waits for it on road `embedded`."""
    critical = critical_of(eager_gainer())
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c1", Phase.REVOKING, 2_000_000)
    assert (critical.waiters, critical.partitions, critical.is_by_nobody) == (("c1",), ("orders-2",), True)
    explained = explain(eager_gainer().events)
    assert explained is not None
    assert explained.sentence.endswith("; orders-2 waited 2 s for c1 to give up what it had and join again")


def test_member_that_gets_back_what_it_had_keeps_nothing_waiting() -> None:
    """Whatever it is slow to give up it has itself."""
    story = Story().at(0)
    story.left("c3")
    story.began(4).told("c1", News.REVOKE).loses("c1", "orders-0").enters("c1", Phase.REVOKING)
    story.at(2_100).releases("c1", "orders-0").leaves("c1", Phase.REVOKING).gets("c1", "orders-0")
    assert critical_of(story.ended()) is None


def test_newcomer_waits_from_its_first_join() -> None:
    """A translated newcomer that joins again to take over what it waited for has waited since it came."""
    story = Story().at(0)
    story.joined("c9")
    story.began(4).enters("c9", Phase.JOINING).at(100).told("c1", News.REVOKE).enters("c1", Phase.REVOKING)
    story.at(2_000).releases("c1", "orders-1").leaves("c1", Phase.REVOKING).leaves("c9", Phase.JOINING)
    story.at(2_500).enters("c9", Phase.JOINING).at(2_600).leaves("c9", Phase.JOINING).gets("c9", "orders-1")
    critical = critical_of(story.ended())
    assert critical is not None
    assert (critical.member_id, critical.waited_us) == ("c1", 2_000_000)


def test_member_that_is_put_out_for_being_late_was_waited_for_until_then() -> None:
    """What it had is free at that moment, and no sooner."""
    story = Story(road=Road.PASSING).at(0)
    story.joined("c9")
    story.began(3).loses("c2", "orders-2").enters("c2", Phase.REVOKING).at(3_000).leaves("c2", Phase.REVOKING)
    story.left("c2", Departure.REBALANCE_TIMED_OUT)
    critical = critical_of(story.releases("c2", "orders-2").ended())
    assert critical is not None
    assert (critical.member_id, critical.phase, critical.waited_us) == ("c2", Phase.REVOKING, 3_000_000)
