"""A group as it stands before a move: what its broker says of it, and what its members have said here."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from bridge.coordinators.moving.proof import GATHER_S
from bridge.migration.moves.members import ClassicMember, has_yet_to_let_go
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.roster import Roster, Spoken
from translators.dialects.admin import DescribedGroup, DescribedMember
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer import DescribedConsumerGroup, DescribedConsumerMember
from translators.dialects.consumer_protocol import (
    CONSUMER,
    TRANSLATABLE,
    MalformedBlob,
    decode_assignment,
    decode_subscription,
)
from translators.dialects.errors import quote
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, TopicPartition

SESSION_TIMEOUT_MS = 45_000
"""What a member is taken to have asked for that nobody heard join: Java's default since 3.0."""
SHORTEST_SESSION_MS = 6_000
"""As short as it may be then: Kafka's default of `group.min.session.timeout.ms`."""
REBALANCE_TIMEOUT_MS = 300_000
"""The same of its rebalance timeout: Java's default `max.poll.interval.ms`."""
UNHEARD_GENERATION = -1
SHARE_OF_SESSION = 3
"""A request is held for at most this part of the shortest session in its group."""
NAMED_MAX = 3
"""How many members an obstacle names."""
AT_REST = "Stable"
CLASSIC_MEMBER = 0


@dataclass(frozen=True, slots=True)
class Survey:
    """The classic members of a group, and what stands in the way of moving them.

    What members have is known only of a group that `is_at_rest`: of any other its broker shows no assignments.
    """

    members: Mapping[MemberId, ClassicMember]
    obstacles: tuple[Obstacle, ...]
    is_at_rest: bool
    is_empty: bool = False


def survey(described: DescribedGroup | DescribedConsumerGroup, roster: Roster) -> Survey:
    """What is known of a group that its broker has just described."""
    heard = roster.members_of(described.group_id)
    if isinstance(described, DescribedConsumerGroup):
        return _of_consumer_group(described, heard)
    return _of_classic_group(described, heard)


def _of_classic_group(group: DescribedGroup, heard: Mapping[MemberId, Spoken]) -> Survey:
    if group.group_state != AT_REST or any(map(lets_go, group.members)):
        return Survey({}, (), is_at_rest=False, is_empty=not group.members)
    obstacles = list(_of_group(group))
    members: dict[MemberId, ClassicMember] = {}
    for one in group.members:
        try:
            members[one.member_id] = _classic(one, group.protocol_data, heard.get(one.member_id))
        except MalformedBlob as malformed:
            obstacles.append(_unreadable(one.member_id, malformed))
    if any(member.has_user_data for member in members.values()):
        members = {one: replace(member, has_user_data=True) for one, member in members.items()}
    return Survey(members, tuple(obstacles), is_at_rest=True)


def lets_go(one: DescribedMember) -> bool:
    """Whether a member of a classic group may use more than it is dealt; of one that can't be read nothing is said."""
    try:
        return has_yet_to_let_go(one.metadata, decode_assignment(one.assignment).partitions)
    except MalformedBlob:
        return False


def _of_group(group: DescribedGroup) -> Iterator[Obstacle]:
    if group.protocol_type != CONSUMER:
        yield Obstacle(
            "EB-MOVE-102",
            f"protocol type {quote(group.protocol_type)!r} of {quote(group.group_id)} is not {CONSUMER!r}",
            "leave it on road pass",
        )
    if group.protocol_data not in TRANSLATABLE:
        yield Obstacle(
            "EB-MOVE-115",
            f"the group works by {quote(group.protocol_data)!r}, an assignor without a server-side equivalent",
            f"restart its clients with one of {', '.join(sorted(TRANSLATABLE))}",
        )


def _classic(one: DescribedMember, protocol_name: str, said: Spoken | None) -> ClassicMember:
    """A member of a classic group: in its own words, where its broker still has those that were heard here, else in the
    broker's; raises MalformedBlob.
    """
    decode_subscription(one.metadata)
    request = said.request if said is not None and _is_its(said.request, protocol_name, one.metadata) else None
    client = _client(one.client_id, one.client_host, said)
    assignment = decode_assignment(one.assignment)
    return ClassicMember(
        member_id=one.member_id,
        instance_id=one.instance_id,
        client=client,
        protocols=(Protocol(protocol_name, one.metadata),) if request is None else request.protocols,
        protocol_name=protocol_name,
        session_timeout_ms=SESSION_TIMEOUT_MS if request is None else request.session_timeout_ms,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if request is None else request.rebalance_timeout_ms,
        generation=UNHEARD_GENERATION if said is None or said.generation is None else said.generation,
        using=assignment.partitions,
        has_user_data=bool(assignment.user_data),
    )


def _is_its(request: JoinGroup, protocol_name: str, metadata: bytes) -> bool:
    return any(protocol.name == protocol_name and protocol.metadata == metadata for protocol in request.protocols)


def _client(client_id: str, client_host: str, said: Spoken | None) -> ClientIdentity:
    if said is not None:
        return said.client
    return ClientIdentity(client_id=client_id, client_host=client_host.removeprefix("/"))


def _of_consumer_group(group: DescribedConsumerGroup, heard: Mapping[MemberId, Spoken]) -> Survey:
    """A consumer group's classic members; its others speak the new protocol already, so there is nothing to move."""
    members: dict[MemberId, ClassicMember] = {}
    obstacles: list[Obstacle] = []
    for one in group.members:
        if one.member_type == CLASSIC_MEMBER:
            member = _classic_of_consumer_group(one, heard.get(one.member_id))
            try:
                if member.protocols:
                    member.subscription()
            except MalformedBlob as malformed:
                obstacles.append(_unreadable(one.member_id, malformed))
            else:
                members[one.member_id] = member
    is_at_rest = group.group_state == AT_REST
    return Survey(members, tuple(obstacles), is_at_rest, is_empty=not group.members)


def _classic_of_consumer_group(one: DescribedConsumerMember, said: Spoken | None) -> ClassicMember:
    """A classic member of a consumer group, without protocols if it was not heard here: its broker shows no assignors,
    and no bytes of its subscription.
    """
    request = None if said is None or not said.request.protocols else said.request
    protocols = () if request is None else request.protocols
    names = [protocol.name for protocol in protocols]
    return ClassicMember(
        member_id=one.member_id,
        instance_id=one.instance_id,
        client=_client(one.client_id, one.client_host, said),
        protocols=protocols,
        protocol_name=next((name for name in names if name in TRANSLATABLE), names[0] if names else ""),
        session_timeout_ms=SESSION_TIMEOUT_MS if request is None else request.session_timeout_ms,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS if request is None else request.rebalance_timeout_ms,
        generation=UNHEARD_GENERATION if said is None or said.generation is None else said.generation,
        using=frozenset(
            TopicPartition(topic.topic_name, partition) for topic in one.assignment for partition in topic.partitions
        ),
    )


def _unreadable(member_id: MemberId, malformed: MalformedBlob) -> Obstacle:
    return Obstacle(
        "EB-MOVE-105",
        f"subscription or assignment of {quote(member_id)} can't be read as that of a consumer: {quote(malformed)}",
        "see what this client sends; until then the group stays where it is",
        member_id,
    )


def left_out(group_id: GroupId, members: Mapping[MemberId, ClassicMember]) -> Mapping[MemberId, Obstacle]:
    """Those of a group's members at its broker that can't be moved by their own words, and why not."""
    elsewhere = {one: _elsewhere(group_id, one) for one, member in members.items() if member.is_elsewhere}
    return {one: _unheard(group_id, one) for one, member in members.items() if not member.protocols} | elsewhere


def _elsewhere(group_id: GroupId, member_id: MemberId) -> Obstacle:
    return Obstacle(
        "EB-MOVE-210",
        f"{quote(member_id)} of {quote(group_id)} was not heard here within {GATHER_S:.0f} s: it comes by another way,"
        " or not any more, and stays what it is",
        "lead its client here if it is to be moved, too, and order the move again",
        member_id,
    )


def _unheard(group_id: GroupId, member_id: MemberId) -> Obstacle:
    """Why a member stays whose JoinGroup nobody here has heard: its machine would offer assignors in its place that its
    client may not have, and nobody could join the group any more.
    """
    return Obstacle(
        "EB-MOVE-219",
        f"which assignors {quote(member_id)} offers is not known: it joined {quote(group_id)} before this bridge was"
        " started, or by another way, and of a consumer group brokers show none",
        "order the move again when it has joined anew by the bridge; until then it stays where it is",
        member_id,
    )


def hold_ms_of(members: Iterable[ClassicMember]) -> int:
    """How long requests of these members may be held: so short that none of their clients is taken for dead, also of
    those whose session is not known.
    """
    return min(map(_shortest_session_ms, members)) // SHARE_OF_SESSION


def _shortest_session_ms(member: ClassicMember) -> int:
    is_assumed = member.generation == UNHEARD_GENERATION and member.session_timeout_ms == SESSION_TIMEOUT_MS
    return SHORTEST_SESSION_MS if is_assumed else member.session_timeout_ms


def already_there(order: MoveOrder) -> Obstacle:
    """Its members are where they are ordered to."""
    whom = "the members that are named" if order.members else "all members that come by this bridge"
    return Obstacle(
        "EB-MOVE-103",
        f"{whom} of {quote(order.group_id)} are on {order.destination} already",
        "nothing is left to do: `epochbridge describe` shows them",
    )


def is_its_brokers(group_id: GroupId) -> Obstacle:
    """It is to go back to its broker, and nobody of it is here."""
    return Obstacle(
        "EB-MOVE-103",
        f"this bridge has no member of {quote(group_id)}, which is its broker's already",
        "nothing is left to do: `epochbridge census` shows whether there is such a group and who its members are",
    )


def is_no_member(order: MoveOrder) -> Obstacle:
    """Nobody has the ids that are named."""
    named = ", ".join(quote(one) for one in order.members[:NAMED_MAX])
    return Obstacle(
        "EB-MOVE-103",
        f"{quote(order.group_id)} has no member that could be moved of those that are named: {named}",
        "take their ids from `epochbridge census` with the group's name; a client has another one when it has joined"
        " anew",
    )


def nobody(group_id: GroupId) -> Obstacle:
    """There is no member to be moved."""
    return Obstacle(
        "EB-MOVE-103",
        f"{quote(group_id)} has no members that could be moved",
        "see with `epochbridge census` whether the name is right and who its members are; of one that is empty name it"
        " in a rule, and it begins there with its next member",
    )
