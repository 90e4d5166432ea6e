"""Whether a group could move to another road at this moment, and what stands in its way: the preflight of every move.

It is a pure function over what was seen.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from bridge.migration.abilities import BrokerAbilities, TakeOverWay
from bridge.migration.observed import GroupKind, MemberProtocol, ObservedGroup, ObservedMember, UserData
from bridge.migration.reasons import Assessment, Reason, Weight
from bridge.migration.route import ROADS_OF_RULES, Road
from translators.dialects.configs import MigrationPolicy
from translators.dialects.consumer_protocol import TRANSLATABLE
from translators.dialects.counts import counted
from translators.dialects.errors import quote
from translators.dialects.ids import MemberId

NAMED_MAX = 3
"""How many members a sentence names; the reason itself holds all of them."""
AT_REST = frozenset({"Stable", ""})
"""States in which a move may begin; of a group of which nobody told the state the move finds out."""
OF_A_LOOK = frozenset(
    {"EB-MOVE-107", "EB-MOVE-108", "EB-MOVE-116", "EB-MOVE-118", "EB-MOVE-119", "EB-MOVE-122", "EB-MOVE-132"}
)
"""Reasons that a look at the group alone gives, whatever brokers can do."""
OLD_COMMIT_VERSION = 1
"""Kafka 4 begins at 2 (KIP-896)."""
STICKY_ASSIGNORS = frozenset({"sticky", "cooperative-sticky"})


@dataclass(frozen=True, slots=True)
class Seen:
    """What a check looks at."""

    group: ObservedGroup
    abilities: BrokerAbilities


Check = Callable[[Seen], Iterator[Reason]]


def assess(group: ObservedGroup, abilities: BrokerAbilities, destination: Road) -> Assessment:
    """Whether a group could move to a road of rules now, and what stands in its way; nothing where it is already.

    A group that moves between embedded and upstream goes by way of pass, and has to be ready for that, too.
    """
    if destination is group.road:
        return Assessment(destination)
    checks = _ALWAYS
    if group.is_of_consumers:
        # In the middle of a move, and where ids are mapped, it is the broker that coordinates.
        is_passing = group.road not in (Road.EMBEDDED, Road.UPSTREAM)
        by_way = () if is_passing or destination is Road.PASS else _CHECKS[Road.PASS]
        checks = (*_ALWAYS, *_BEFORE_ANY, *by_way, *_CHECKS[destination], *_TO_STAY.get(destination, ()))
    return Assessment(destination, tuple(reason for check in checks for reason in check(Seen(group, abilities))))


def assess_all(group: ObservedGroup, abilities: BrokerAbilities) -> tuple[Assessment, ...]:
    """The same for each destination but the road that the group takes now."""
    return tuple(assess(group, abilities, road) for road in ROADS_OF_RULES if road is not group.road)


# -------------------------------------------------------------------------------------------------- any destination


def _check_kind(seen: Seen) -> Iterator[Reason]:
    if seen.group.kind in (GroupKind.SHARE, GroupKind.STREAMS):
        yield Reason(
            "EB-MOVE-101",
            f"{quote(seen.group.group_id)} is a {seen.group.kind.value} group, which its broker alone can coordinate",
            "leave it on road pass",
        )
    elif not seen.group.is_of_consumers:
        yield Reason(
            "EB-MOVE-102",
            f"protocol type {quote(seen.group.protocol_type)!r} of {quote(seen.group.group_id)} is not 'consumer':"
            " its members share out something else than partitions",
            "leave it on road pass",
        )


def _check_members(seen: Seen) -> Iterator[Reason]:
    if seen.group.is_of_consumers and not seen.group.members:
        yield Reason(
            "EB-MOVE-103",
            f"{quote(seen.group.group_id)} has no members ({seen.group.state or 'nobody was seen yet'})",
            "there is nobody to move: name the group in a rule, and it begins there with its next member",
        )


def _check_rest(seen: Seen) -> Iterator[Reason]:
    if seen.group.members and seen.group.state not in AT_REST:
        yield Reason(
            "EB-MOVE-104",
            f"{quote(seen.group.group_id)} is in state {quote(seen.group.state)}, and a move begins at rest",
            "ask again when its rebalance is over",
            Weight.PASSES,
        )


def _check_blobs(seen: Seen) -> Iterator[Reason]:
    """A generation inside a blob has to be mapped: leaders of Java 2.8 to 3.2 deal a partition twice where members say
    different ones.
    """
    unreadable = [member for member in seen.group.members if not member.is_readable]
    if unreadable:
        yield Reason(
            "EB-MOVE-105",
            f"subscription or assignment of {_named(unreadable)} can't be read as that of a consumer",
            "see what these clients send; until then the group stays where it is",
            members=_ids(unreadable),
        )
    opaque = [
        member
        for member in seen.group.members
        if member.subscription_data is UserData.OPAQUE and not STICKY_ASSIGNORS.isdisjoint(member.assignors)
    ]
    if opaque:
        yield Reason(
            "EB-MOVE-106",
            f"user data in the subscription of {_named(opaque)} may hold a generation, and its form is not known",
            "restart these clients with another assignor, or upgrade their library",
            members=_ids(opaque),
        )


def _check_commits(seen: Seen) -> Iterator[Reason]:
    if seen.group.has_foreign_commits:
        yield Reason(
            "EB-MOVE-107",
            f"committed offsets of {quote(seen.group.group_id)} moved without a commit that came by this bridge",
            "find who commits for the group by another way (a member, a producer's transaction, a tool), and lead it"
            " here",
        )
    elif seen.group.has_foreign_commits is None:
        yield Reason(
            "EB-MOVE-108",
            f"whether somebody commits offsets of {quote(seen.group.group_id)} by another way than this bridge is not"
            " known: its broker did not tell them",
            "order it again when the group's coordinator answers; the log says what it answered",
        )


# -------------------------------------------------------------------------------------------------- to upstream


def _check_consumer_protocol(seen: Seen) -> Iterator[Reason]:
    if seen.abilities.takeover is TakeOverWay.UNKNOWN:
        yield Reason(
            "EB-MOVE-110",
            "it is not known whether the brokers can take over a member: none was asked",
            "run `epochbridge doctor`; it says what could not be looked at, and why",
        )
    elif seen.abilities.takeover is TakeOverWay.IMPOSSIBLE:
        yield Reason(
            "EB-MOVE-111",
            "the brokers do not coordinate the consumer protocol (ConsumerGroupHeartbeat is not offered)",
            "move the group to embedded, or upgrade the brokers to Kafka 4",
        )


def _check_upgrade_policy(seen: Seen) -> Iterator[Reason]:
    policy = seen.abilities.policy
    if policy is not None and not policy.upgrades:
        yield Reason(
            "EB-MOVE-112",
            f"group.consumer.migration.policy of the brokers is {policy.value}: they refuse a take-over (69)",
            "set it to bidirectional on every broker, or move the group to embedded",
        )
    elif policy is MigrationPolicy.UPGRADE:
        yield Reason(
            "EB-MOVE-113",
            "group.consumer.migration.policy of the brokers is upgrade: after a move back the group stays a consumer"
            " group of classic members, and a newcomer disturbs all of them",
            "set it to bidirectional on every broker before you move the group back",
            Weight.NOTES,
        )


def _check_consumer_size(seen: Seen) -> Iterator[Reason]:
    count, most = len(seen.group.members), seen.abilities.consumer_size_max
    if most is not None and count > most:
        yield Reason(
            "EB-MOVE-114",
            f"{counted(count, 'member is', 'members are')} more than the {most} of group.consumer.max.size",
            "raise it on every broker, or move the group to embedded",
        )


def _check_translatable(seen: Seen) -> Iterator[Reason]:
    others = [member for member in seen.group.members if not member.is_translatable]
    if others:
        offered = sorted({name for member in others for name in member.assignors})
        yield Reason(
            "EB-MOVE-115",
            f"{_doing(others, 'offers', 'offer')} {quote(', '.join(offered))}, and no assignor with a server-side"
            " equivalent",
            f"restart these clients with one of {', '.join(sorted(TRANSLATABLE))}",
            members=_ids(others),
        )


def _check_visible_topics(seen: Seen) -> Iterator[Reason]:
    blind = [member for member in seen.group.members if member.hidden_topics]
    if blind:
        hidden = sorted({topic for member in blind for topic in member.hidden_topics or ()})
        yield Reason(
            "EB-MOVE-116",
            f"{_named(blind)} may not describe what is subscribed to ({quote(', '.join(hidden))}): the consumer"
            " protocol refuses that (29), the classic one does not mind",
            "grant DESCRIBE on these topics, or take them out of the subscription",
            members=_ids(blind),
        )
    unasked = [member for member in seen.group.members if member.hidden_topics is None]
    if unasked:
        yield Reason(
            "EB-MOVE-122",
            f"which subscribed topics {_named(unasked)} may not describe is not known: no broker told",
            "nothing is to be done: the broker refuses a take-over (29) of whoever may not, and changes nothing",
            Weight.NOTES,
            _ids(unasked),
        )


def _check_strangers(seen: Seen) -> Iterator[Reason]:
    strangers = _strangers(seen.group)
    if not strangers:
        return
    if seen.abilities.takeover is TakeOverWay.WHOLE_GROUP:
        yield Reason(
            "EB-MOVE-117",
            f"{_away(strangers)}, and these brokers (4.0) call every member that is not taken over at once",
            "lead these clients here, or upgrade the brokers to 4.1 or newer",
            Weight.DISTURBS,
            _ids(strangers),
        )
    else:
        yield Reason(
            "EB-MOVE-118",
            f"{_away(strangers)}: whoever does not stays a member of the classic protocol, and has no vote on the"
            " assignor",
            "lead these clients here if they are to be moved, too",
            Weight.NOTES,
            _ids(strangers),
        )


def _check_assignment_data(seen: Seen) -> Iterator[Reason]:
    carried = [member for member in seen.group.members if member.assignment_data in (UserData.STICKY, UserData.OPAQUE)]
    if not carried:
        return
    strangers = _strangers(seen.group)
    if strangers:
        yield Reason(
            "EB-MOVE-119",
            f"user data in the assignment of {_named(carried)} makes brokers refuse a take-over (69), and the round"
            f" that leaves it behind can't be played while {_away(strangers)}",
            "lead these clients here first",
            members=_ids(strangers),
        )
    else:
        yield Reason(
            "EB-MOVE-120",
            f"user data in the assignment of {_named(carried)} makes brokers refuse a take-over (69): the bridge plays"
            " a round before, which leaves it behind, and of which no client hears",
            "nothing is to be done, as long as all members come through this bridge",
            Weight.NOTES,
            _ids(carried),
        )


def _check_short_sessions(seen: Seen) -> Iterator[Reason]:
    session_ms = seen.abilities.consumer_session_ms
    if session_ms is None:
        return
    shorter = [member for member in seen.group.members if 0 < (member.session_timeout_ms or 0) < session_ms]
    if shorter:
        least_ms = min(member.session_timeout_ms or session_ms for member in shorter)
        yield Reason(
            "EB-MOVE-121",
            f"{_doing(shorter, 'has', 'have')} sessions from {least_ms} ms on; on upstream the bridge lets such a one"
            f" go by any connection of its principal, else the broker finds out after {session_ms} ms",
            "set group.consumer.session.timeout.ms of the brokers as low as you need it",
            Weight.NOTES,
            _ids(shorter),
        )


# -------------------------------------------------------------------------------------------------- to embedded


def _check_own_questions(seen: Seen) -> Iterator[Reason]:
    if not seen.abilities.may_ask:
        yield Reason(
            "EB-MOVE-130",
            f"the bridge can't ask the cluster in its own name (login: {seen.abilities.login.value}), and nobody else"
            " would keep the members alive at the broker",
            "set upstream.sasl.mechanism, upstream.sasl.username and upstream.sasl.password.path",
        )


def _check_everybody_is_here(seen: Seen) -> Iterator[Reason]:
    strangers = _strangers(seen.group)
    if strangers:
        yield Reason(
            "EB-MOVE-132",
            f"{_away(strangers)}, and road embedded takes whole groups",
            "lead these clients here, or move the group to upstream, where each member goes by itself",
            members=_ids(strangers),
        )
    elif not seen.group.is_complete:
        yield Reason(
            "EB-MOVE-133",
            f"it is not proved that all members of {quote(seen.group.group_id)} come through this bridge: its"
            " coordinator did not describe it",
            "let the bridge describe groups: an open cluster, or a login with DESCRIBE on the group",
        )


def _check_natives(seen: Seen) -> Iterator[Reason]:
    natives = [member for member in seen.group.members if member.protocol is MemberProtocol.CONSUMER]
    if natives:
        yield Reason(
            "EB-MOVE-134",
            f"{_doing(natives, 'speaks', 'speak')} the consumer protocol to the broker: a group with such members is"
            " not adopted",
            "move the group to upstream",
            members=_ids(natives),
        )
    elif seen.group.kind is GroupKind.CONSUMER and seen.group.road is Road.PASS:
        yield Reason(
            "EB-MOVE-135",
            f"{quote(seen.group.group_id)} is a consumer group at the broker, and only classic groups are adopted",
            "move it to upstream, or make a classic group of it first: `epochbridge move GROUP --to pass`",
        )


def _check_own_leader(seen: Seen) -> Iterator[Reason]:
    others = [member for member in seen.group.members if not member.is_translatable]
    if others:
        offered = sorted({name for member in others for name in member.assignors})
        yield Reason(
            "EB-MOVE-136",
            f"{_doing(others, 'offers', 'offer')} {quote(', '.join(offered))}, and no assignor with a server-side"
            " equivalent: on embedded the group stays a classic one, run by its own leader",
            "nothing is to be done; for the gains of the consumer protocol restart them with a standard assignor",
            Weight.NOTES,
            _ids(others),
        )


# -------------------------------------------------------------------------------------------------- back to pass


def _check_sessions(seen: Seen) -> Iterator[Reason]:
    least_ms, most_ms = seen.abilities.session_min_ms or 0, seen.abilities.session_max_ms
    outside = [
        member
        for member in seen.group.members
        if member.protocol is MemberProtocol.CLASSIC
        and member.session_timeout_ms is not None
        and not (least_ms <= member.session_timeout_ms <= (most_ms or member.session_timeout_ms))
    ]
    if outside:
        sessions = sorted({member.session_timeout_ms or 0 for member in outside})
        yield Reason(
            "EB-MOVE-140",
            f"session timeouts of {_named(outside)} ({sessions[0]} to {sessions[-1]} ms) are outside of what"
            f" brokers take ({least_ms} to {most_ms} ms): they answer 26",
            "change group.min.session.timeout.ms or group.max.session.timeout.ms of the brokers, or these clients",
            members=_ids(outside),
        )


def _check_classic_size(seen: Seen) -> Iterator[Reason]:
    count, most = len(seen.group.members), seen.abilities.classic_size_max
    if most is not None and count > most:
        yield Reason(
            "EB-MOVE-141",
            f"{counted(count, 'member is', 'members are')} more than the {most} of group.max.size",
            "raise it on every broker",
        )


def _check_common_protocol(seen: Seen) -> Iterator[Reason]:
    offers = [
        set(member.assignors)
        for member in seen.group.members
        if member.protocol is MemberProtocol.CLASSIC and member.assignors
    ]
    if offers and not set.intersection(*offers):
        names = ", ".join(sorted(set.union(*offers)))
        yield Reason(
            "EB-MOVE-142",
            f"no protocol is offered by all members of {quote(seen.group.group_id)} (they offer {quote(names)}), and a"
            " broker needs one (23)",
            "give all clients one assignor in common, strangers to this bridge included",
        )


def _check_natives_may_stay(seen: Seen) -> Iterator[Reason]:
    natives = [member for member in seen.group.members if member.protocol is MemberProtocol.CONSUMER]
    if natives and seen.group.road is Road.EMBEDDED:
        yield Reason(
            "EB-MOVE-143",
            f"{_doing(natives, 'speaks', 'speak')} the consumer protocol to the bridge: such members can't be in the"
            " classic group that a release makes at the broker",
            "restart them with group.protocol=classic, move the group, and restart them at the broker with"
            " group.protocol=consumer",
            members=_ids(natives),
        )


def _check_way_back(seen: Seen) -> Iterator[Reason]:
    if seen.group.road is Road.UPSTREAM and seen.abilities.policy is MigrationPolicy.DISABLED:
        yield Reason(
            "EB-MOVE-144",
            "group.consumer.migration.policy of the brokers is disabled: they refuse classic members in a consumer"
            " group (23)",
            "set it to bidirectional on every broker first",
        )


def _check_old_commits(seen: Seen) -> Iterator[Reason]:
    first = seen.abilities.first_commit_version
    old = [member for member in seen.group.members if member.has_old_commits]
    if old and first is not None and first > OLD_COMMIT_VERSION:
        yield Reason(
            "EB-MOVE-145",
            f"{_doing(old, 'commits', 'commit')} by OffsetCommit {OLD_COMMIT_VERSION}, which these brokers do not take"
            f" (they begin at {first}, as Kafka 4 does): the bridge asks them in the next version, and on road pass"
            " nobody does, so that such a client reads on and never commits again",
            "upgrade these clients' library, or tell it the version of its brokers (sarama: Version of 0.11 or newer),"
            " and order it again when they have committed; or leave the group where it is",
            Weight.DISTURBS,
            _ids(old),
        )


_ALWAYS: tuple[Check, ...] = (_check_kind, _check_members)
_BEFORE_ANY: tuple[Check, ...] = (_check_rest, _check_blobs)
_CHECKS: Mapping[Road, tuple[Check, ...]] = {
    Road.UPSTREAM: (
        _check_commits,
        _check_consumer_protocol,
        _check_upgrade_policy,
        _check_consumer_size,
        _check_translatable,
        _check_visible_topics,
        _check_strangers,
        _check_assignment_data,
        _check_short_sessions,
    ),
    Road.EMBEDDED: (
        _check_commits,
        _check_own_questions,
        _check_everybody_is_here,
        _check_natives,
        _check_own_leader,
    ),
    Road.PASS: (
        _check_sessions,
        _check_classic_size,
        _check_common_protocol,
        _check_natives_may_stay,
        _check_way_back,
    ),
}


_TO_STAY: Mapping[Road, tuple[Check, ...]] = {Road.PASS: (_check_old_commits,)}
"""Of who only comes by this road on its way to another nothing of this is to be feared: until its client joins anew
the bridge still maps what it says.
"""


def _strangers(group: ObservedGroup) -> list[ObservedMember]:
    return [member for member in group.members if member.is_behind_bridge is False]


def _ids(members: Iterable[ObservedMember]) -> tuple[MemberId, ...]:
    return tuple(member.member_id for member in members)


def _away(strangers: list[ObservedMember]) -> str:
    return f"{_doing(strangers, 'does not come', 'do not come')} through this bridge"


def _doing(members: list[ObservedMember], one: str, many: str) -> str:
    """The members as `_named` has them, and the verb for so many."""
    return f"{_named(members)} {one if len(members) == 1 else many}"


def _named(members: list[ObservedMember]) -> str:
    """`3 members (a, b, c)`, by client id or else member id; at most so many names."""
    shown = [quote(member.instance_id or member.client_id or member.member_id) for member in members[:NAMED_MAX]]
    names = ", ".join(dict.fromkeys(shown)) + (", …" if len(members) > NAMED_MAX else "")
    return f"{counted(len(members), 'member')} ({names})"
