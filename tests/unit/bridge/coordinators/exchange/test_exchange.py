"""Members that leave, come back under other ids or protocols, and answers that come too late."""

from dataclasses import replace

import pytest

from bridge.engine.settings import EngineSettings
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, ConsumerClient, OwnedGroup, settled_pair
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, TopicPartition

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
ALL = frozenset(TopicPartition(TOPIC, number) for number in range(6))


def leave(group: OwnedGroup, *entries: tuple[str, str | None]) -> list[ErrorCode]:
    """A LeaveGroup of these member and instance ids."""
    members = tuple(
        LeavingMember(member_id=MemberId(name), instance_id=None if seat is None else InstanceId(seat))
        for name, seat in entries
    )
    (ref,) = group.send(LeaveGroup(group_id=GROUP, members=members))
    return [member.error for member in group.answer(ref, LeaveGroupReply).members]


def members(group: OwnedGroup) -> set[str]:
    """Who is in the group as the engine sees it."""
    return set(group.owner.shard.groups[GROUP].members)


def test_leave_batch_is_judged_before_anybody_leaves() -> None:
    """Classic, native, unknown, fenced and doubled entries, answered as asked (K4.40, K12.19)."""
    group = OwnedGroup()
    classic, static = ClassicClient(group), ClassicClient(group, instance_id="s")
    classic.join()
    static.begin_join()
    classic.beat()
    classic.join()
    static.end_join()
    native = ConsumerClient(group, "native")
    assert native.beat() is NONE
    entries = [(classic.member_id, None), ("native", None), ("nobody", None), ("77", "s"), ("", "s"), ("", "s")]
    codes = leave(group, *entries)
    assert codes == [NONE, NONE, UNKNOWN, ErrorCode.FENCED_INSTANCE_ID, NONE, NONE]
    assert members(group) == set()
    assert leave(group, (classic.member_id, None)) == [UNKNOWN]


def test_leave_without_a_group_id_is_refused() -> None:
    """INVALID_GROUP_ID at the top."""
    group = OwnedGroup()
    (ref,) = group.send(LeaveGroup(group_id=GroupId(""), members=()))
    assert group.answer(ref, LeaveGroupReply).error is ErrorCode.INVALID_GROUP_ID


def test_forgetful_client_leaves_no_ghost() -> None:
    """aiokafka forgets its id at ILLEGAL_GENERATION and joins as somebody else (clients.md, 7)."""
    group = OwnedGroup()
    client = ClassicClient(group, "roundrobin")
    client.join()
    former = client.member_id
    (ref,) = group.send(Heartbeat(GROUP, client.generation + 1, former, None))
    assert group.answer(ref, HeartbeatReply).error is ErrorCode.ILLEGAL_GENERATION
    client.member_id = MemberId("")
    assert client.join() == ALL
    assert members(group) == {client.member_id} != {former}


def test_newcomer_beside_a_member_in_good_standing_drops_nobody() -> None:
    """The same client id and host is no reason by itself; nor is a member that came back under its own id."""
    group = OwnedGroup()
    first, second = ClassicClient(group), ClassicClient(group)
    first.join()
    group.send(Heartbeat(GROUP, first.generation + 1, first.member_id, None))
    first.join()
    second.begin_join()
    assert members(group) == {first.member_id, second.member_id}


def test_suspicion_ends() -> None:
    """A newcomer half a minute later is another client."""
    group = OwnedGroup()
    first, second = ClassicClient(group), ClassicClient(group)
    first.join()
    group.wait(5_000)
    group.send(Heartbeat(GROUP, first.generation + 1, first.member_id, None))
    for _ in range(4):
        group.wait(3_000)
        first.beat()
    second.begin_join()
    assert members(group) == {first.member_id, second.member_id}


def test_classic_member_goes_on_as_a_native_one_under_its_id() -> None:
    """The epoch-0 heartbeat of its own id takes the seat with all it holds; the machine is done (K2.22)."""
    group = OwnedGroup()
    classic = ClassicClient(group)
    classic.join()
    native = ConsumerClient(group, classic.member_id)
    assert native.beat() is NONE
    assert native.assigned == ALL
    assert len(group.owner.machines) == 0
    assert classic.beat() is UNKNOWN
    for _ in range(20):
        group.wait(3_000)
        assert native.beat() is NONE
    assert members(group) == {classic.member_id}


def test_switch_answers_a_parked_join() -> None:
    """Nobody waits for an answer of a machine that is gone."""
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=3_000))
    classic = ClassicClient(group)
    classic.begin_join()
    assert not classic.is_joined
    assert ConsumerClient(group, classic.member_id).beat() is NONE
    assert classic.parked is not None
    assert group.answer(classic.parked, JoinGroupReply).error is UNKNOWN
    group.wait(10_000)
    assert members(group) == {classic.member_id}


def test_native_member_goes_on_as_a_classic_one_under_its_id() -> None:
    """Reused whatever its protocol; the engine keeps no session for it any more (K4.7)."""
    group = OwnedGroup()
    native = ConsumerClient(group, "m")
    assert native.beat() is NONE
    classic = ClassicClient(group)
    classic.member_id = MemberId("m")
    assert classic.join() == ALL
    for _ in range(20):
        group.wait(3_000)
        assert classic.beat() is NONE
    assert members(group) == {"m"}
    group.wait(10_000)
    assert members(group) == set()


def test_member_that_gave_up_leaves_nothing_behind() -> None:
    """Depart(UNANSWERED): the engine drops the member, and the late answer to its first ask goes to nobody.

    The patient member's wait ends in the very moment in which the engine answers: the answer counts.
    """
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=40_000))
    patient, hasty = ClassicClient(group), ClassicClient(group)
    patient.begin_join()
    (ref,) = group.send(replace(hasty.join_request(), member_id=MemberId("hasty"), rebalance_timeout_ms=5_000))
    group.wait(5_001)
    assert group.answer(ref, JoinGroupReply).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    group.wait(31_000)
    assert members(group) == {patient.member_id}
    hasty.member_id = MemberId("hasty")
    hasty.begin_join()
    group.wait(60_000 - group.now_ms)
    assert {len(client.end_join()) for client in (patient, hasty)} == {3}


def test_native_newcomer_takes_a_static_seat_from_a_parked_member() -> None:
    """Each ask is answered once, however the seat went."""
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=3_000))
    classic = ClassicClient(group, instance_id="s")
    classic.begin_join()
    native = ConsumerClient(group, "native", instance_id="s")
    assert native.beat() is NONE
    group.wait(5_000)
    assert classic.parked is not None
    assert group.answer(classic.parked, JoinGroupReply).error is ErrorCode.FENCED_INSTANCE_ID
    assert native.beat() is NONE
    assert members(group) == {"native"}


def test_held_static_member_does_not_take_its_seat_back_from_its_successor() -> None:
    """The newcomer wins; the duplicate hears FENCED_INSTANCE_ID (K1.40)."""
    group = OwnedGroup()
    ClassicClient(group).join()
    classic = ClassicClient(group, instance_id="s")
    classic.begin_join()
    assert not classic.is_joined
    native = ConsumerClient(group, "native", instance_id="s")
    assert native.beat() is NONE
    assert classic.parked is not None
    assert group.answer(classic.parked, JoinGroupReply).error is ErrorCode.FENCED_INSTANCE_ID
    assert native.beat() is NONE


def test_joins_of_one_turn_compute_one_target_despite_heartbeats() -> None:
    """Heartbeats between them go last (decision 13)."""
    group = OwnedGroup()
    first = ClassicClient(group)
    first.join()
    epoch = group.owner.shard.groups[GROUP].assignment_epoch
    joins = [replace(first.join_request(), member_id=MemberId(f"m{number}")) for number in range(5)]
    beat = Heartbeat(GROUP, first.generation, first.member_id, None)
    refs = group.send(joins[0], beat, joins[1], joins[2], beat, joins[3], joins[4])
    assert group.owner.shard.groups[GROUP].assignment_epoch == epoch + 1
    assert group.answer(refs[1], HeartbeatReply).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_gainer_counts_from_the_moment_of_the_release() -> None:
    """What was freed is granted at once, not with the gainer's next heartbeat (decision 10)."""
    group = OwnedGroup()
    first, second = settled_pair(group)
    leave(group, (first.member_id, None))
    held = group.owner.shard.groups[GROUP].members[second.member_id].current.assigned
    assert len(held) == 6
    assert second.beat() is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("wait_ms", "away_ms"), [(0, 0), (1_000, 500), (1_000, 1_200)])
def test_bystanders_hear_nothing_of_a_restart_between_two_of_their_heartbeats(wait_ms: int, away_ms: int) -> None:
    """While the departure waits, and after that as long as they were not told of what they gained (issue 17)."""
    group = OwnedGroup(settings=EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=wait_ms))
    clients = [ClassicClient(group, "cooperative-sticky" if place == 1 else "range") for place in range(3)]
    for client in clients:
        client.begin_join()
        for other in clients[: clients.index(client)]:
            if other.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
                other.join()
        client.end_join()
    for _ in range(2):
        for client in clients:
            if client.beat() is ErrorCode.REBALANCE_IN_PROGRESS:
                client.join()
    assert [client.beat() for client in clients] == [NONE, NONE, NONE]
    leave(group, (clients[2].member_id, None))
    group.wait(away_ms)
    again = ClassicClient(group)
    again.begin_join()
    assert len(again.end_join()) == 2
    assert [client.beat() for client in clients[:2]] == [NONE, NONE]
