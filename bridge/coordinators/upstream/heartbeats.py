"""What a member's machine asks, as the heartbeat that a KIP-848 client in its place would send, and the broker's answer
in the machine's words.
"""

from dataclasses import replace

from bridge.coordinators.catalog import Catalog
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import Answer, Farewell, Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH

UNKNOWN_TOPIC = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "the broker assigned a topic that has not been seen yet")
"""The machine asks again, and by then the topics were looked at."""


class Said:
    """What the broker knows of a member, as it was told and acknowledged last; it need not be told again."""

    __slots__ = ("inquiry", "short")

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.short = _short(inquiry)
        """The same heartbeat object each time, so that it is written once."""

    def is_of(self, asked: Inquiry) -> bool:
        """Whether this is what was told by a question, its epoch included."""
        return asked == self.inquiry

    def covers(self, asked: Inquiry) -> bool:
        """Whether a question differs in nothing but the epoch."""
        return replace(asked, member_epoch=self.inquiry.member_epoch) == self.inquiry


def _short(asked: Inquiry | Farewell) -> ConsumerGroupHeartbeat:
    return ConsumerGroupHeartbeat(
        group_id=asked.group_id,
        member_id=asked.member_id,
        member_epoch=asked.member_epoch,
        instance_id=asked.instance_id,
    )


def to_heartbeat(
    asked: Inquiry | Farewell, said: Said | None, catalog: Catalog, *, names_topics: bool = True
) -> ConsumerGroupHeartbeat:
    """The heartbeat to be sent: in full for who joins or is not known to the broker as it is now, else the short form
    (K2.4), which costs the broker next to nothing.

    Without its topics, who has joined before says no more than what it owns.
    """
    if said is not None and asked == said.inquiry and asked.member_epoch != JOIN_EPOCH:
        return said.short
    short = _short(asked)
    if isinstance(asked, Farewell) or (asked.member_epoch != JOIN_EPOCH and said is not None and said.covers(asked)):
        return short
    if not names_topics:
        return replace(short, owned=catalog.to_ids(asked.owned))
    return replace(
        short,
        rack_id=asked.rack_id,
        rebalance_timeout_ms=asked.rebalance_timeout_ms,
        subscribed_topic_names=tuple(sorted(asked.topics)),
        server_assignor=asked.assignor,
        owned=catalog.to_ids(asked.owned),
    )


def to_answer(reply: ConsumerGroupHeartbeatReply, catalog: Catalog) -> Answer:
    """What the broker answered. It calls nobody: the member is to be heard of after its interval.

    A topic that is not known here can't be handed out by name: then the answer doesn't count (`UNKNOWN_TOPIC`).
    """
    if reply.error is not ErrorCode.NONE:
        return Refused(reply.error, reply.error_message or "")
    if reply.assignment is None:
        assigned = None
    else:
        if any(catalog.topic(one.topic_id) is None for one in reply.assignment):
            return UNKNOWN_TOPIC
        assigned = catalog.to_names(reply.assignment)
    return Granted(
        member_epoch=reply.member_epoch,
        assigned=assigned,
        # What others still hold of this member's target a broker doesn't tell (decision 17).
        pending=None,
        heartbeat_interval_ms=reply.heartbeat_interval_ms,
    )
