"""A member that is restarted gets its own share back, and nobody else hears of it: `departure.wait.ms` keeps it for
whoever comes, `replacement.grace.ms` for its replacement.
"""

from dataclasses import replace

import pytest

from bridge.engine.advance import advance
from bridge.engine.apply import apply
from bridge.engine.commands import ChangeTopics, MemberHeartbeat, PassDeadlines, RemoveMembers, Speaks
from bridge.engine.consumer.retargeting import kept_seat, kept_until_ms
from bridge.engine.outcome import TargetChanged
from bridge.engine.queries import next_deadline
from bridge.engine.records import SeatsGivenUp, SeatTaken
from bridge.engine.recovery import condense, resume
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import GROUP, Bench, Partitions, beat_request, join_request, topic
from tests.support.snapshots import snapshot
from translators.dialects.classic import LeaveGroup, LeavingMember
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import LEAVE_EPOCH, ClientIdentity, InstanceId, MemberId

GRACE_MS = 10_000
KEEPING = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0, replacement_grace_ms=GRACE_MS)
WAIT_MS = 1_000
WAITING = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=WAIT_MS)
NOTHING_KEPT = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)


def say(bench: Bench, request: ConsumerGroupHeartbeat, host: str) -> MemberHeartbeat:
    """A heartbeat of a client on this host."""
    ref = bench.ref()
    return MemberHeartbeat(
        ref=ref,
        request=request,
        identity=ClientIdentity(client_id="client", client_host=host),
        speaks=Speaks.CONSUMER,
        fresh_id=MemberId(f"new-{ref.sequence}"),
    )


def catch_up(bench: Bench) -> None:
    """Everybody reports until everybody has its target."""
    for _ in range(3):
        for member_id, member in tuple(bench.group.members.items()):
            owned = frozenset(member.current.assigned)
            host = member.subscription.identity.client_host
            bench.tell(say(bench, beat_request(member_id, member.current.epoch, owned), host))


def trio_of_hosts(settings: EngineSettings = KEEPING) -> Bench:
    """Three members on hosts a, b and c, two partitions each."""
    bench = Bench(settings=settings)
    bench.tell(*(say(bench, join_request(host), host) for host in "abc"))
    catch_up(bench)
    return bench


def leave(bench: Bench, member_id: str) -> Partitions:
    """A member leaves; what it had."""
    share = bench.group.target[MemberId(member_id)]
    bench.tell(say(bench, beat_request(member_id, LEAVE_EPOCH), member_id))
    return share


def others_told(bench: Bench) -> set[MemberId]:
    """Members whose target the last turn changed, but for the newcomer."""
    told = [notice.member_ids for notice in bench.outcome.notices if isinstance(notice, TargetChanged)]
    return set().union(*told) - {MemberId("again")}


def test_replacement_takes_the_share_and_nobody_else_is_told() -> None:
    """Design 1.5: a rolling restart moves nothing."""
    bench = trio_of_hosts()
    before = dict(bench.group.target)
    share = leave(bench, "b")
    assert bench.group.epoch > bench.group.assignment_epoch
    bench.tell(say(bench, join_request("again"), "b"))
    assert bench.group.epoch == bench.group.assignment_epoch
    assert bench.group.target == {"a": before[MemberId("a")], "c": before[MemberId("c")], "again": share}
    assert frozenset(bench.group.members[MemberId("again")].current.assigned) == share
    assert others_told(bench) == set()


def test_nothing_is_kept_where_both_waits_are_off() -> None:
    """Not even until the same millisecond: the journal would be told of a seat that nobody can take."""
    bench = trio_of_hosts(NOTHING_KEPT)
    leave(bench, "b")
    assert not bench.group.kept
    assert kept_until_ms(bench.group) == 0


def test_static_newcomer_takes_no_share_of_a_dynamic_member_of_its_host() -> None:
    """It has a seat of its own, whatever else runs on that host."""
    bench = trio_of_hosts()
    leave(bench, "b")
    bench.tell(say(bench, replace(join_request("again"), instance_id=InstanceId("seat")), "b"))
    kinds = {type(record) for record in bench.outcome.records}
    assert SeatsGivenUp in kinds
    assert SeatTaken not in kinds


def test_share_that_nobody_comes_for_is_shared_when_the_time_is_over() -> None:
    """The grace is a bound."""
    bench = trio_of_hosts()
    share = leave(bench, "b")
    bench.pass_time(GRACE_MS - 1)
    assert share.isdisjoint(frozenset().union(*bench.group.target.values()))
    bench.pass_time(1)
    assert share <= frozenset().union(*bench.group.target.values())
    assert bench.group.kept == []


@pytest.mark.parametrize("change", ["newcomer", "topics"])
def test_any_other_change_ends_the_wait(change: str) -> None:
    """A rebalance that must be does not wait for one that may be."""
    bench = trio_of_hosts()
    share = leave(bench, "b")
    if change == "newcomer":
        bench.tell(say(bench, join_request("stranger"), "d"))
    else:
        bench.tell(ChangeTopics((topic("foo", 7),)))
    assert share <= frozenset().union(*bench.group.target.values())
    assert bench.group.kept == []


def test_members_restarted_together_get_their_own_shares_back() -> None:
    """In batches, in any order."""
    bench = trio_of_hosts()
    before = dict(bench.group.target)
    shares = {host: leave(bench, host) for host in "ab"}
    bench.tell(say(bench, join_request("b-again"), "b"))
    assert bench.group.epoch > bench.group.assignment_epoch
    bench.tell(say(bench, join_request("a-again"), "a"))
    assert bench.group.target == {"c": before[MemberId("c")], "a-again": shares["a"], "b-again": shares["b"]}


def test_static_seat_waits_for_its_instance_only() -> None:
    """A static member that left for good comes back under its instance id, from wherever."""
    bench = Bench(settings=KEEPING)
    static = replace(join_request("b"), instance_id=InstanceId("seat"))
    bench.tell(say(bench, join_request("a"), "a"), say(bench, static, "b"))
    catch_up(bench)
    share = bench.group.target[MemberId("b")]
    bench.tell(say(bench, replace(beat_request("b", LEAVE_EPOCH), instance_id=InstanceId("seat")), "b"))
    bench.tell(say(bench, replace(join_request("again"), instance_id=InstanceId("seat")), "elsewhere"))
    assert bench.group.target[MemberId("again")] == share
    assert others_told(bench) == set()


@pytest.mark.parametrize("settings", [NOTHING_KEPT, KEEPING, WAITING])
def test_nothing_is_kept_without_grace_or_by_the_last_member(settings: EngineSettings) -> None:
    """0 is off; and nobody is left who could be spared."""
    bench = trio_of_hosts(settings)
    if settings is not NOTHING_KEPT:
        bench = Bench(settings=settings)
        bench.tell(say(bench, join_request("b"), "b"))
    leave(bench, "b")
    assert kept_until_ms(bench.group) == 0
    assert bench.group.epoch == bench.group.assignment_epoch


def test_replay_of_a_kept_seat_equals_the_live_state() -> None:
    """What is kept is in the records, and until when."""
    bench = trio_of_hosts()
    leave(bench, "b")
    assert snapshot(bench.replayed()) == snapshot(bench.state)
    assert kept_until_ms(bench.group) == bench.now_ms + GRACE_MS


def test_newcomer_that_wants_other_topics_is_no_replacement() -> None:
    """A new release may read something else: the share goes to those who want it, at once."""
    bench = trio_of_hosts()
    leave(bench, "a")
    share = leave(bench, "b")
    bench.tell(say(bench, join_request("again", "bar"), "b"))
    assert share.isdisjoint(bench.group.target[MemberId("again")])
    assert share <= bench.group.target[MemberId("c")]


@pytest.mark.parametrize("host", ["b", "elsewhere"])
def test_whoever_comes_takes_what_an_announced_departure_left(host: str) -> None:
    """A quick restart, perhaps on another machine: nobody else is told of it (issue 17)."""
    bench = trio_of_hosts(WAITING)
    before = dict(bench.group.target)
    share = leave(bench, "b")
    bench.pass_time(WAIT_MS - 1)
    bench.tell(*(say(bench, beat_request(name, bench.current(name).epoch), name) for name in "ac"))
    assert bench.group.epoch > bench.group.assignment_epoch
    bench.tell(say(bench, join_request("again"), host))
    assert bench.group.epoch == bench.group.assignment_epoch
    assert bench.group.target == {"a": before[MemberId("a")], "c": before[MemberId("c")], "again": share}
    assert bench.assigned("again") == share
    assert others_told(bench) == set()


def test_departure_waits_no_longer_than_it_may() -> None:
    """Then the others have it, with their next heartbeats."""
    bench = trio_of_hosts(WAITING)
    share = leave(bench, "b")
    bench.pass_time(WAIT_MS - 1)
    assert share.isdisjoint(bench.target("a") | bench.target("c"))
    bench.pass_time(1)
    assert share <= bench.target("a") | bench.target("c")
    assert bench.group.kept == []


def test_only_a_departure_that_was_announced_waits() -> None:
    """Whose session is over has been waited for, and whom an operator removes is not expected back."""
    bench = trio_of_hosts(WAITING)
    silent = say(bench, beat_request("b", LEAVE_EPOCH), "b")
    bench.tell(replace(silent, is_announced=False))
    assert bench.group.epoch == bench.group.assignment_epoch
    bench.tell(
        RemoveMembers(bench.ref(), LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=MemberId("c")),)))
    )
    assert bench.group.epoch == bench.group.assignment_epoch
    assert len(bench.target("a")) == 6


def test_departure_of_one_that_has_nothing_ends_no_wait() -> None:
    """It changes nobody's target."""
    bench = Bench(settings=WAITING, topics=(topic("foo", 2),))
    bench.tell(*(say(bench, join_request(host), host) for host in "abc"))
    catch_up(bench)
    idle = next(name for name in "abc" if not bench.target(name))
    busy = next(name for name in "abc" if bench.target(name))
    share = leave(bench, busy)
    leave(bench, idle)
    assert [seat.partitions for seat in bench.group.kept] == [share]


def test_newcomer_takes_its_own_seat_before_one_that_anybody_may_have() -> None:
    """Two restarts at once, the second one back first."""
    bench = trio_of_hosts(WAITING)
    shares = {host: leave(bench, host) for host in "ab"}
    bench.tell(say(bench, join_request("b-again"), "b"))
    assert bench.target("b-again") == shares["b"]
    bench.tell(say(bench, join_request("stranger"), "d"))
    assert bench.target("stranger") == shares["a"]
    assert bench.group.epoch == bench.group.assignment_epoch


def test_longer_grace_is_for_the_replacement_only() -> None:
    """For `departure.wait.ms` a stranger may have the share; after it, a stranger ends the wait."""
    both = replace(KEEPING, departure_wait_ms=WAIT_MS)
    bench = trio_of_hosts(both)
    share = leave(bench, "b")
    bench.pass_time(WAIT_MS)
    assert bench.group.kept != []
    bench.tell(say(bench, join_request("stranger"), "d"))
    assert bench.group.kept == []
    assert share <= frozenset().union(*bench.group.target.values())
    bench = trio_of_hosts(both)
    share = leave(bench, "b")
    bench.pass_time(GRACE_MS - 1)
    bench.tell(say(bench, join_request("again"), "b"))
    assert bench.target("again") == share


def test_restart_of_the_bridge_neither_loses_the_wait_nor_hangs_in_it() -> None:
    """From what was journalled, under another clock: the share waits its whole time again, then it is shared."""
    bench = trio_of_hosts(WAITING)
    share = leave(bench, "b")
    for is_condensed in (False, True):
        state = bench.replayed(durable_only=True)
        if is_condensed:
            shorter, state = tuple(condense(state)), bench.fresh_shard()
            for record in shorter:
                apply(state, record)
        resume(state, 7)
        group = state.groups[GROUP]
        assert [(seat.partitions, seat.until_ms) for seat in group.kept] == [(share, 7 + WAIT_MS)]
        advance(state, (PassDeadlines(),), 7)
        assert group.epoch > group.assignment_epoch
        assert next_deadline(state) == 7 + WAIT_MS
        advance(state, (PassDeadlines(),), 7 + WAIT_MS)
        assert share <= frozenset().union(*group.target.values())


@pytest.mark.parametrize("speaks", list(Speaks))
@pytest.mark.parametrize("late_ms", [0, 1, 700])
def test_newcomer_that_comes_before_the_late_end_of_the_wait_is_in_time(speaks: Speaks, late_ms: int) -> None:
    """A machine that stood still wakes to a wait that is over and to a JoinGroup that came while it ran: nobody has the
    share yet, so nobody else need hear of it (issue 17).
    """
    bench = trio_of_hosts(WAITING)
    before = dict(bench.group.target)
    share = leave(bench, "b")
    bench.now_ms += WAIT_MS + late_ms
    bench.tell(replace(say(bench, join_request("again"), "d"), speaks=speaks), PassDeadlines())
    assert bench.group.target == {"a": before[MemberId("a")], "c": before[MemberId("c")], "again": share}
    assert others_told(bench) == set()


def test_share_of_a_grace_that_is_longer_than_the_wait_is_for_its_replacement_only() -> None:
    """Between the two; when both are over, and nobody has it yet, it is anybody's again."""
    bench = trio_of_hosts(replace(WAITING, replacement_grace_ms=GRACE_MS))
    leave(bench, "b")
    bench.now_ms += WAIT_MS
    bench.tell(say(bench, join_request("stranger"), "d"))
    assert SeatTaken not in {type(record) for record in bench.outcome.records}
    bench = trio_of_hosts(replace(WAITING, replacement_grace_ms=GRACE_MS))
    share = leave(bench, "b")
    bench.now_ms += GRACE_MS
    bench.tell(say(bench, join_request("stranger"), "d"))
    assert bench.group.target[MemberId("stranger")] == share


def test_seat_that_would_be_kept_for_no_time_is_not_kept() -> None:
    """Both waits are off: its partitions are free at once."""
    bench = trio_of_hosts(NOTHING_KEPT)
    member = bench.member("a")
    assert kept_seat(bench.state, bench.group, member, bench.now_ms) is None
    assert kept_seat(trio_of_hosts(WAITING).state, trio_of_hosts(WAITING).group, member, 0) is not None


def test_group_waits_for_the_last_of_those_that_left() -> None:
    """Each has its whole time."""
    bench = trio_of_hosts()
    leave(bench, "a")
    bench.now_ms += 1_000
    leave(bench, "b")
    assert kept_until_ms(bench.group) == bench.now_ms + GRACE_MS
    assert sorted(seat.until_ms for seat in bench.group.kept) == [
        bench.now_ms + GRACE_MS - 1_000,
        bench.now_ms + GRACE_MS,
    ]
