"""What a member's machine asks, as the heartbeat that a KIP-848 client in its place would send, and the broker's answer
in the machine's words; also for members that are gone and could not say so themselves, as their connection is gone.
"""

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from bridge.coordinators.catalog import Catalog
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import Answer, Farewell, Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, STATIC_LEAVE_EPOCH, GroupId, InstanceId
from translators.dialects.messages import GroupReply

UNKNOWN_TOPIC = Refused(ErrorCode.UNKNOWN_TOPIC_ID, "the broker assigned a topic that has not been seen yet")
"""The machine asks again, and by then the topics were looked at."""
INTERVAL_MIN_MS = 100
"""So soon a member is heard of again at the earliest, whatever its broker says: to an interval of nothing each answer
would be the next question.
"""


NOTHING_HEARD = Granted(member_epoch=0, pending=None)


class Said:
    """What the broker knows of a member, as it was told and acknowledged last; it need not be told again."""

    __slots__ = ("calm_answer", "calm_reply", "inquiry", "short")

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        """The same question each time that it is asked, which its member's machine has, too."""
        self.short = _short(inquiry)
        """The same heartbeat object each time, so that it is written once."""
        self.calm_reply: GroupReply | None = None
        """What was answered to that last, if it told nothing new: the same object each time that it comes over again.
        """
        self.calm_answer = NOTHING_HEARD
        """What it was for the machine."""

    def is_of(self, asked: Inquiry | Farewell) -> bool:
        """Whether this is what was told by a question, its epoch included."""
        return asked is self.inquiry or asked == self.inquiry

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
    if said is not None and (asked is said.inquiry or asked == said.inquiry) and asked.member_epoch != JOIN_EPOCH:
        return said.short
    short = _short(asked)
    if isinstance(asked, Farewell) or (asked.member_epoch != JOIN_EPOCH and said is not None and said.covers(asked)):
        return short
    if not names_topics:
        return replace(short, owned=catalog.to_ids(asked.owned))
    takes_seat = asked.instance_id is not None and asked.member_epoch == JOIN_EPOCH
    return replace(
        short,
        rack_id=asked.rack_id,
        rebalance_timeout_ms=asked.rebalance_timeout_ms,
        subscribed_topic_names=tuple(sorted(asked.topics)),
        # A KIP-848 client that had the seat may have left a pattern with it, which the broker goes by, too (K2.30).
        subscribed_topic_regex="" if takes_seat else None,
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
        heartbeat_interval_ms=max(INTERVAL_MIN_MS, reply.heartbeat_interval_ms),
    )


FAREWELLS_MAX, NAMES_CHARS_MAX = 10_000, 1_000
"""Members whose leaving could not be said, of all groups together; the broker ends the others by their session, as it
does with one whose names are longer than anybody's: Kafka lets each have 32 kB, and so many were a gigabyte.
"""


@dataclass(frozen=True, slots=True)
class Unsaid:
    """A farewell that could not be said, and whom the broker took its member's client for; None: nobody here knows."""

    farewell: Farewell
    principal: Hashable | None = None


class Farewells:
    """Members that are gone with their connection: the next one of their group says so, or else the others would wait
    for the broker's session, 45 s where a classic client asked for six.
    """

    def __init__(self) -> None:
        self._by_group: OrderedDict[GroupId, dict[Hashable | None, list[Unsaid]]] = OrderedDict()
        self.groups = self._by_group.keys()
        """Those of which somebody is to be seen off: no function of ours, since it is asked at each heartbeat."""
        self._count = 0

    def keep(self, unsaid: Unsaid) -> None:
        """Let it be said later; beyond the limit the oldest group's are never said."""
        gone = unsaid.farewell
        if len(gone.group_id) + len(gone.member_id) + len(gone.instance_id or "") > NAMES_CHARS_MAX:
            return
        self._by_group.setdefault(gone.group_id, {}).setdefault(unsaid.principal, []).append(unsaid)
        self._count += 1
        while self._count > FAREWELLS_MAX:
            self._count -= sum(map(len, self._by_group.popitem(last=False)[1].values()))

    def take(self, group_id: GroupId, principal: Hashable | None) -> Sequence[Unsaid]:
        """What a client of this principal is to say for its group, once: a right that is another's is not used."""
        # At each heartbeat of the group: those of others are not looked at.
        found = [] if principal is None else self._by_group.get(group_id, {}).pop(principal, [])
        self._note_taken(group_id, len(found))
        return found

    def take_seat(self, group_id: GroupId, instance_id: InstanceId) -> Sequence[Unsaid]:
        """Who sat on a static seat that somebody takes now: whoever may join with an instance id, may say so, too.

        The seat is handed on, whatever was to be said before: the broker keeps its partitions for the newcomer.
        """
        of_group = self._by_group.get(group_id, {})
        found = [one for kept in of_group.values() for one in kept if one.farewell.instance_id == instance_id]
        for principal in dict.fromkeys(one.principal for one in found):
            kept = [one for one in of_group.pop(principal) if one.farewell.instance_id != instance_id]
            if kept:
                of_group[principal] = kept
        self._note_taken(group_id, len(found))
        return [replace(one, farewell=replace(one.farewell, member_epoch=STATIC_LEAVE_EPOCH)) for one in found]

    def _note_taken(self, group_id: GroupId, count: int) -> None:
        self._count -= count
        if count and not self._by_group[group_id]:
            del self._by_group[group_id]
