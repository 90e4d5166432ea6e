"""Which requests belong to a classic group, run by its members' own leader, and the engine's commands for them."""

from bridge.coordinators.catalog import Catalog
from bridge.engine.commands import (
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    GroupType,
    MemberHeartbeat,
    Speaks,
)
from bridge.engine.outcome import MemberAnswer
from bridge.engine.queries import group_type, has_members
from bridge.engine.state import Shard, settings_of
from translators.classic_member.profile import read_subscription
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import (
    Answer,
    ClassicGroupRequest,
    DepartReason,
    Farewell,
    Granted,
    Inquiry,
    Refused,
)
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import ClientIdentity, MemberId, MemberRef, ReplyTo


def takes_classic(shard: Shard, request: ClassicGroupRequest) -> bool:
    """Whether a request is for a classic group; a join to a group without members may begin either kind.

    It begins a classic one if it can't be anything else or, where groups begin classic, shall not (decision 21).
    """
    if isinstance(request, JoinGroup) and not has_members(shard, request.group_id):
        begins_classic = settings_of(shard, request.group_id).group_begins_classic
        return begins_classic or _was_promised(shard, request) or isinstance(read_subscription(request), Refusal)
    return group_type(shard, request.group_id) is GroupType.CLASSIC


def classic_command(ref: ReplyTo, client: ClientIdentity, request: ClassicGroupRequest, fresh_id: MemberId) -> Command:
    """The engine's command for a request to a classic group; a LeaveGroup is for groups of either kind."""
    match request:
        case JoinGroup():
            return ClassicJoin(ref=ref, request=request, identity=client, fresh_id=fresh_id)
        case SyncGroup():
            return ClassicSync(ref, request)
        case Heartbeat():
            return ClassicHeartbeat(ref, request)
        case LeaveGroup():
            return ClassicLeave(ref, request)


def _was_promised(shard: Shard, request: JoinGroup) -> bool:
    """Whether an Empty classic group told this client its id before (KIP-394)."""
    group = shard.classic_groups.get(request.group_id)
    return group is not None and request.member_id in group.pending


def to_command(asked: Inquiry | Farewell, client: ClientIdentity, catalog: Catalog, number: int) -> MemberHeartbeat:
    """The heartbeat that a consumer member in this member's place would send; `number` comes back with the answer."""
    request = _farewell(asked) if isinstance(asked, Farewell) else _inquiry(asked, catalog)
    return MemberHeartbeat(
        ref=MemberRef(asked.group_id, asked.member_id, number),
        request=request,
        identity=client,
        speaks=Speaks.CLASSIC,
        fresh_id=asked.member_id,
        claimed=frozenset() if isinstance(asked, Farewell) else catalog.to_ids(asked.claimed),
        claimed_generation=-1 if isinstance(asked, Farewell) else asked.claimed_generation,
        is_announced=not isinstance(asked, Farewell) or asked.reason is DepartReason.LEFT,
    )


def to_answer(answer: MemberAnswer, catalog: Catalog) -> Answer:
    """What the engine answered; it calls when there is news, so there is no interval."""
    reply = answer.reply
    if reply.error is not ErrorCode.NONE:
        return Refused(reply.error, reply.error_message or "")
    assigned = None if reply.assignment is None else catalog.to_names(reply.assignment)
    return Granted(member_epoch=reply.member_epoch, assigned=assigned, pending=catalog.to_names(answer.pending))


def _inquiry(asked: Inquiry, catalog: Catalog) -> ConsumerGroupHeartbeat:
    return ConsumerGroupHeartbeat(
        group_id=asked.group_id,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
        instance_id=asked.instance_id,
        rack_id=asked.rack_id,
        rebalance_timeout_ms=asked.rebalance_timeout_ms,
        subscribed_topic_names=tuple(sorted(asked.topics)),
        owned=catalog.to_ids(asked.owned),
    )


def _farewell(asked: Farewell) -> ConsumerGroupHeartbeat:
    return ConsumerGroupHeartbeat(
        group_id=asked.group_id,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
        instance_id=asked.instance_id,
    )
