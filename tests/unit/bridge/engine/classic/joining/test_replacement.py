"""Tests of static members that come back under a new id."""

from dataclasses import replace

import pytest

from bridge.engine.classic.seats import refuse_join
from bridge.engine.commands import ClassicJoin
from bridge.engine.model import NEW_MEMBER_JOIN_TIMEOUT_MS, DeadlineKey, DeadlineKind, Phase
from bridge.engine.outcome import MemberRemoved, RemovalCause
from tests.support.classic_bench import DELAY_MS, SESSION_MS, ClassicBench, join_of, offer
from tests.support.engine_bench import GROUP
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, InstanceId, MemberId

FENCED = ErrorCode.FENCED_INSTANCE_ID


def test_stable_follower_replaced_nobody_rebalances() -> None:
    """Same generation, the seat's assignment, and only the former id is fenced (K1.40, K1.41)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    reply = bench.join_now(join_of("", "B"))
    assert (reply.generation, reply.leader, reply.members, reply.skip_assignment) == (1, first, (), False)
    assert reply.member_id not in (first, second)
    synced = bench.synced(bench.sync(reply.member_id, "B"))
    assert synced is not None
    assert synced.assignment == second.encode()
    assert [bench.beat(first, "A"), bench.beat(second, "B"), bench.beat(second)] == [
        ErrorCode.NONE,
        FENCED,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


@pytest.mark.parametrize(("skips", "leads", "listed"), [(False, False, 0), (True, True, 2)])
def test_stable_leader_replaced_told_to_lead_only_from_version_9(skips: bool, leads: bool, listed: int) -> None:
    """Before v9 it is shown its former id; from v9 on it leads and computes nothing (K1.41 a and b, KIP-814)."""
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    reply = bench.join_now(replace(join_of("", "A"), skips_assignment=skips))
    assert (reply.leader == reply.member_id, reply.skip_assignment, len(reply.members)) == (leads, leads, listed)
    assert leads or reply.leader == first
    assert bench.group.roster.leader == reply.member_id


def test_stable_follower_of_version_9_skips_nothing() -> None:
    """Skipping the assignment is a word to leaders (K1.41 a)."""
    bench = ClassicBench()
    bench.form("A", "B")
    reply = bench.join_now(replace(join_of("", "B"), skips_assignment=True))
    assert (reply.skip_assignment, reply.members) == (False, ())


def test_replacement_with_other_subscription_does_not_rebalance_but_is_kept() -> None:
    """Names only decide; the next leader gets the new bytes (K1.42)."""
    bench = ClassicBench()
    bench.form("A", "B")
    reply = bench.join_now(replace(join_of("", "B"), protocols=offer("range", says=b"bar")))
    assert (reply.generation, bench.phase) == (1, Phase.STABLE)
    assert bench.group.synced.members[reply.member_id].protocols == offer("range", says=b"bar")


def test_replacement_that_changes_the_vote_rebalances() -> None:
    """Another protocol would be chosen, so all meet anew (K1.43).

    As in Kafka's testReplaceStaticMemberInStableStateWithUpdatedProtocolTriggersRebalance.
    """
    bench = ClassicBench()
    for name in ("A", "B"):
        bench.join(replace(join_of("", name), protocols=offer("range", "sticky")))
    bench.pass_time(DELAY_MS)
    bench.pass_time(DELAY_MS)
    bench.sync("A-1", "A", assigns={"A-1": b"a", "B-2": b"b"})
    assert bench.group.roster.protocol_name == "range"
    unchanged = replace(join_of("", "B"), protocols=offer("sticky", "range"))
    assert bench.join_now(unchanged).generation == 1
    parked = bench.join(replace(unchanged, protocols=offer("sticky")))
    assert (bench.joined(parked), bench.phase) == (None, Phase.PREPARING_REBALANCE)


def test_replacement_while_joining_fences_the_parked_join() -> None:
    """FENCED_INSTANCE_ID that echoes the former id; the newcomer waits in its stead (K1.40).

    As in Kafka's testJoinGroupReplaceStaticMember.
    """
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    former = bench.join(join_of(second, "B"))
    bench.admitted(former)
    late = bench.join(join_of("", "C"))
    parked = bench.join(join_of(second, "B"))
    newcomer = bench.join(join_of("", "B"))
    assert bench.joined(parked) == refuse_join(FENCED, second)
    assert (bench.joined(newcomer), bench.joined(late)) == (None, None)
    bench.join(join_of(first, "A"))
    assert bench.admitted(newcomer).generation == 3


def test_replacement_while_syncing_fences_and_rebalances() -> None:
    """The former's SyncGroup 82, the others' 27: the leader may be computing with the former id (K1.40, K1.43)."""
    bench = ClassicBench()
    first, second, third = bench.form("A", "B", "C")
    for member, name in ((first, "A"), (second, "B"), (third, "C")):
        bench.join(join_of(member, name))
    syncs = [bench.sync(second, "B"), bench.sync(third, "C")]
    newcomer = bench.join(join_of("", "B"))
    assert [bench.sync_code(ref) for ref in syncs] == [FENCED, ErrorCode.REBALANCE_IN_PROGRESS]
    assert (bench.joined(newcomer), bench.phase) == (None, Phase.PREPARING_REBALANCE)


def test_replacement_shows_who_took_the_seat_first() -> None:
    """Client id and host stay those of the first holder (K1.40)."""
    bench = ClassicBench()
    first = bench.form("A")[0]
    before = bench.group.members[first].identity
    moved = ClientIdentity(client_id="client", client_host="/10.0.0.7")
    command = ClassicJoin(ref=bench.bench.ref(), request=join_of("", "A"), identity=moved, fresh_id=MemberId("moved"))
    bench.tell(command)
    assert bench.group.members[MemberId("A-moved")].identity == before != moved


def test_replaced_newcomer_keeps_the_time_of_a_newcomer() -> None:
    """A seat in its first, long join is not lost after one session (K1.22, K1.40)."""
    bench = ClassicBench()
    first = bench.form("A")[0]
    bench.join(join_of("", "B"))
    newcomer = bench.join(join_of("", "B"))
    for _ in range(5):
        bench.pass_time(SESSION_MS - 1)
        bench.beat(first, "A")
    assert bench.joined(newcomer) is None
    assert InstanceId("B") in bench.group.instances
    bench.pass_time(NEW_MEMBER_JOIN_TIMEOUT_MS)
    assert bench.admitted(newcomer).error in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)


def test_fenced_member_stays_fenced_after_a_restart() -> None:
    """A replacement is durable in every phase; Kafka forgets one that happened during a rebalance."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    bench.join(join_of("", "B"))
    bench.restart()
    assert bench.beat(second, "B", generation=1) is FENCED


def test_seat_taken_again_in_a_group_without_a_leader_names_none() -> None:
    """A group that turned classic has had no leader yet; a classic client can't read a null one."""
    bench = ClassicBench()
    bench.form("A", "B")
    bench.group.roster.leader = None
    assert bench.join_now(join_of("", "B")).leader == ""


@pytest.mark.parametrize(("former_ms", "own_ms"), [(SESSION_MS, 6_000), (6_000, SESSION_MS)])
def test_replaced_seat_has_the_longer_session_until_its_member_beats(former_ms: int, own_ms: int) -> None:
    """Kafka's timer of the former member runs on; from its first heartbeat a member has its own."""
    bench = ClassicBench()
    bench.form("A", "B")
    former = bench.join_now(replace(join_of("", "B"), session_timeout_ms=former_ms))
    bench.beat(former.member_id, "B")
    reply = bench.join_now(replace(join_of("", "B"), session_timeout_ms=own_ms))
    key = DeadlineKey(DeadlineKind.CLASSIC_SESSION, GROUP, reply.member_id)
    assert bench.bench.state.deadlines.due[key] == bench.bench.now_ms + SESSION_MS
    bench.beat(reply.member_id, "B")
    assert bench.bench.state.deadlines.due[key] == bench.bench.now_ms + own_ms


def test_replaced_member_is_told_gone() -> None:
    """The event log tells who took a seat from whom."""
    bench = ClassicBench()
    _, second = bench.form("A", "B")
    bench.join_now(join_of("", "B"))
    gone = [one for one in bench.bench.outcome.notices if isinstance(one, MemberRemoved)]
    assert [(one.member_id, one.cause) for one in gone] == [(second, RemovalCause.REPLACED)]
