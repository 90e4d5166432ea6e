"""What a member's machine asks in the engine's words, and the engine's answer in the machine's: names to ids and back.

It must not know who asks when, or what is done with an answer.
"""

from bridge.coordinators.catalog import Catalog
from bridge.engine.commands import MemberHeartbeat, Speaks
from bridge.engine.outcome import MemberAnswer
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import Answer, DepartReason, Farewell, Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberRef


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
