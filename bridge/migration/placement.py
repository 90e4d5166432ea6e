"""Where a group goes that the bridge hears of for the first time: by its rule, unless its broker has something else of
that name, or members of it.
"""

from dataclasses import dataclass
from enum import StrEnum, auto

from bridge.migration.route import Road
from translators.dialects.admin import OTHER_KINDS, DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import GroupId, MemberId

CLIENT_IDS_SHOWN = 5
CLASSIC_MEMBER = 0


class StayReason(StrEnum):
    """Why a group stays where no rule sends it."""

    KIND = auto()
    """It is no consumer group: a broker alone coordinates streams and share groups, those of Connect and others."""
    MEMBERS = auto()
    """It has members at its broker, which would not hear of a change."""
    ABILITY = auto()
    """Its brokers do not speak the protocol that its rule's road needs."""
    JOURNAL = auto()
    """The journal has members of it, which would not hear of a change either."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A group stays on `road` although its rule says `rule`; `sentence` says why, and `remedy` what ends it."""

    group_id: GroupId
    road: Road
    rule: Road
    reason: StayReason
    kind: str
    sentence: str
    remedy: str


def judge_stay(group_id: GroupId, rule: Road, described: DescribedGroup | DescribedConsumerGroup) -> Stay | None:
    """Why a group whose rule is not `pass` stays at the broker that described it so; None: it goes by its rule.

    On road `upstream` members of a consumer group are no reason: there the broker coordinates anyway.
    """
    if isinstance(described, DescribedConsumerGroup):
        return stay_for_members(group_id, rule, described) if rule is Road.EMBEDDED else None
    if described.protocol_type in OTHER_KINDS:
        return stay_for_kind(group_id, rule, described.protocol_type)
    if not described.members:
        return None
    if described.protocol_type not in ("", CONSUMER):
        return stay_for_kind(group_id, rule, described.protocol_type)
    return stay_for_members(group_id, rule, described)


def classic_members(described: DescribedConsumerGroup) -> tuple[MemberId, ...]:
    """Those whose clients the broker itself speaks the classic protocol with: they came by no bridge, or passed it."""
    return tuple(one.member_id for one in described.members if one.member_type == CLASSIC_MEMBER)


def stay_for_kind(group_id: GroupId, rule: Road, kind: str) -> Stay:
    """A group of another kind than consumer groups: `kind` is "streams", "share" or a classic protocol type."""
    words = f"it is a {quote(kind)} group" if kind in OTHER_KINDS else f"its protocol type is {quote(kind)!r}"
    sentence = f"{words}, and the bridge coordinates consumer groups only: it passes"
    remedy = f"nothing has to be done; a rule `pass` before the one that says `{rule}` says so, too"
    return Stay(group_id, Road.PASS, rule, StayReason.KIND, quote(kind), sentence, remedy)


def stay_for_members(group_id: GroupId, rule: Road, described: DescribedGroup | DescribedConsumerGroup) -> Stay | None:
    """A group with members at its broker, which may or may not have come through this bridge; None without any."""
    if not described.members and described.error is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return None
    kind = CONSUMER if isinstance(described, DescribedConsumerGroup) else "classic"
    names = sorted({quote(member.client_id) for member in described.members})
    shown = ", ".join(names[:CLIENT_IDS_SHOWN]) + (", …" if len(names) > CLIENT_IDS_SHOWN else "")
    whose = f"{counted(len(described.members), 'member')} (client ids {shown})"
    if not described.members:
        whose = "members of whose topics the bridge's own login may not DESCRIBE all"
    sentence = f"it lives at its broker with {whose}, and a rule switches no live group: it passes"
    remedy = (
        f"move it while it runs: epochbridge move {quote(group_id)} --to {rule}; or stop its clients: when it is empty "
        "its rule counts"
    )
    return Stay(group_id, Road.PASS, rule, StayReason.MEMBERS, kind, sentence, remedy)


def stay_for_ability(group_id: GroupId, rule: Road) -> Stay:
    """A group that a rule sends to `upstream`, whose brokers do not speak KIP-848."""
    sentence = (
        "its brokers do not speak the consumer protocol (they offer no ConsumerGroupHeartbeat, or their feature "
        "group.version is off): it passes"
    )
    remedy = (
        "upgrade the brokers to Kafka 4 and its feature (kafka-features.sh upgrade --feature group.version=1); or let "
        "the rule say `embedded`, which needs neither"
    )
    return Stay(group_id, Road.PASS, rule, StayReason.ABILITY, "classic", sentence, remedy)


def stay_in_journal(group_id: GroupId, road: Road, rule: Road) -> Stay:
    """A group that the bridge coordinates on `road`, as its journal says, though the rule is another one by now."""
    sentence = f"it lives on road {road}, and a rule switches no live group: it stays there"
    remedy = (
        f"move it while it runs: epochbridge move {quote(group_id)} --to {rule}; or stop its clients: when it is empty "
        "its rule counts"
    )
    return Stay(group_id, road, rule, StayReason.JOURNAL, CONSUMER, sentence, remedy)
