"""Classic groups that the engine runs itself, beside translated members."""

from dataclasses import replace
from itertools import count

import pytest

from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.engine_commands import classic_command, takes_classic
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.machines import Machines
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import ClassicHeartbeat, ClassicJoin, ClassicLeave, ClassicSync, GroupType
from bridge.engine.queries import group_type
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from tests.support.owned_group import counted_ids
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.coordinator import MembershipReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, GroupId, MemberId, RequestRef, TopicName

CLIENT = ClientIdentity(client_id="connect", client_host="h")
GROUP = GroupId("workers")
JOIN = JoinGroup(
    group_id=GROUP,
    member_id=NO_MEMBER_ID,
    instance_id=None,
    protocol_type="connect",
    protocols=(Protocol("sessioned", b"mine"),),
    session_timeout_ms=10_000,
    rebalance_timeout_ms=60_000,
    needs_member_id=False,
)


def _owner(*, begins_classic: bool) -> EmbeddedOwner:
    ids = count(1)
    settings = EngineSettings(group_initial_rebalance_delay_ms=0, group_begins_classic=begins_classic)
    shard = Shard(settings=settings, assignors=registry)
    return EmbeddedOwner(shard, Catalog(), Machines(MemberLimits()), counted_ids(ids))


def _send(owner: EmbeddedOwner, request: JoinGroup | SyncGroup | LeaveGroup, sequence: int) -> MembershipReply:
    replies = owner.take_turn([Arrival(RequestRef(0, 1, sequence), CLIENT, request)], 0).replies
    return dict(replies + owner.pass_deadlines(0).replies)[RequestRef(0, 1, sequence)]


def test_group_of_another_protocol_type_is_run_by_its_own_leader() -> None:
    """A Kafka Connect worker joins, leads, syncs, lives and leaves; no machine has a part in it."""
    owner = _owner(begins_classic=True)
    joined = _send(owner, JOIN, 1)
    assert isinstance(joined, JoinGroupReply)
    assert (joined.error, joined.leader, joined.protocol_name) == (ErrorCode.NONE, joined.member_id, "sessioned")
    sync = SyncGroup(
        group_id=GROUP,
        generation=joined.generation,
        member_id=joined.member_id,
        instance_id=None,
        assignments=(MemberAssignment(joined.member_id, b"all"),),
    )
    synced = _send(owner, sync, 2)
    assert isinstance(synced, SyncGroupReply)
    assert synced.assignment == b"all"
    beat = owner.beat(RequestRef(0, 1, 3), Heartbeat(GROUP, joined.generation, joined.member_id, None), 0)
    assert beat.replies == ((RequestRef(0, 1, 3), HeartbeatReply(ErrorCode.NONE)),)
    assert group_type(owner.shard, GROUP) is GroupType.CLASSIC
    assert len(owner.machines) == 0
    left = _send(owner, LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=joined.member_id),)), 4)
    assert isinstance(left, LeaveGroupReply)
    assert [member.error for member in left.members] == [ErrorCode.NONE]


RANGE = replace(
    JOIN,
    protocol_type="consumer",
    protocols=(Protocol("range", encode_subscription(Subscription(version=0, topics=(TopicName("t"),)))),),
)


def test_group_that_can_be_translated_begins_as_a_consumer_group_unless_told_otherwise() -> None:
    """The default translates (decision 21)."""
    own = EngineSettings(group_begins_classic=True)
    shard = Shard(settings=EngineSettings(per_group={GROUP: own}), assignors=registry)
    assert takes_classic(shard, RANGE)
    assert not takes_classic(shard, Heartbeat(GROUP, 1, MemberId("m"), None))
    assert not takes_classic(shard, replace(RANGE, group_id=GroupId("other")))


@pytest.mark.parametrize(
    "join",
    [
        pytest.param(JOIN, id="connect"),
        pytest.param(replace(JOIN, protocol_type="consumer"), id="custom assignor"),
        pytest.param(replace(RANGE, protocols=(Protocol("range", b"\1"),)), id="unreadable subscription"),
    ],
)
def test_group_that_cannot_be_translated_begins_classic_and_stays_so(join: JoinGroup) -> None:
    """Its own leader computes; a client that could be translated is then judged by the classic group (K1.39)."""
    owner = _owner(begins_classic=False)
    joined = _send(owner, join, 1)
    assert isinstance(joined, JoinGroupReply)
    assert (joined.error, joined.leader) == (ErrorCode.NONE, joined.member_id)
    assert group_type(owner.shard, GROUP) is GroupType.CLASSIC
    assert takes_classic(owner.shard, RANGE)


def test_live_consumer_group_takes_no_client_that_cannot_be_translated() -> None:
    """The same answer as in Kafka (K4.4); the group stays what it is."""
    owner = _owner(begins_classic=False)
    joined = _send(owner, RANGE, 1)
    assert isinstance(joined, JoinGroupReply)
    assert joined.error is ErrorCode.NONE
    assert not takes_classic(owner.shard, JOIN)
    refused = _send(owner, JOIN, 2)
    assert isinstance(refused, JoinGroupReply)
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group_type(owner.shard, GROUP) is GroupType.CONSUMER


def test_promised_id_of_an_empty_classic_group_is_honoured() -> None:
    """A group of consumers that begins classic tells an id first (KIP-394); the second join finds it."""
    owner = _owner(begins_classic=True)
    promised = _send(owner, replace(RANGE, needs_member_id=True), 1)
    assert isinstance(promised, JoinGroupReply)
    assert promised.error is ErrorCode.MEMBER_ID_REQUIRED
    owner.shard.settings = EngineSettings()
    assert takes_classic(owner.shard, replace(RANGE, member_id=promised.member_id))
    assert not takes_classic(owner.shard, replace(RANGE, member_id=MemberId("another")))


def test_requests_become_the_commands_of_classic_groups() -> None:
    """One command for each request."""
    ref, fresh = RequestRef(0, 1, 1), MemberId("f")
    sync = SyncGroup(group_id=GROUP, generation=1, member_id=fresh, instance_id=None)
    beat = Heartbeat(GROUP, 1, fresh, None)
    leave = LeaveGroup(group_id=GROUP, members=())
    assert classic_command(ref, CLIENT, JOIN, fresh) == ClassicJoin(
        ref=ref, request=JOIN, identity=CLIENT, fresh_id=fresh
    )
    assert classic_command(ref, CLIENT, sync, fresh) == ClassicSync(ref, sync)
    assert classic_command(ref, CLIENT, beat, fresh) == ClassicHeartbeat(ref, beat)
    assert classic_command(ref, CLIENT, leave, fresh) == ClassicLeave(ref, leave)
