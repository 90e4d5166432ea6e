"""A classic member as both sides of a move need it, and its form in the journal."""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NotRequired, TypedDict

from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import (
    CONSUMER,
    NO_GENERATION,
    MalformedBlob,
    Subscription,
    decode_sticky_user_data,
    decode_subscription,
    encode_subscription,
)
from translators.dialects.coordinator import TakenOver
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    TopicName,
    TopicPartition,
    Via,
)

FIRST_WITH_OWNED = 1
FIRST_WITH_GENERATION = 2
_INT32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """What a classic client said in its last JoinGroup, under which protocol it works, and what it has.

    `generation` is the one that its client knows, `using` what it may be using under it. It has no `protocols` if
    nobody here heard it join, and its broker does not show them. `has_user_data` says that assignments of its group
    carry user data at their broker, which then refuses every member a take-over; no journal keeps that. One that
    `is_elsewhere` was waited for and not heard here. `epoch` is that of a consumer member at its broker.
    """

    member_id: MemberId
    instance_id: InstanceId | None
    client: ClientIdentity
    protocols: tuple[Protocol, ...]
    protocol_name: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    generation: int
    using: frozenset[TopicPartition]
    has_user_data: bool = False
    is_elsewhere: bool = False
    epoch: int = -1

    def subscription(self) -> Subscription:
        """What it subscribes to under its protocol; raises `MalformedBlob`, also where it has no such protocol."""
        for protocol in self.protocols:
            if protocol.name == self.protocol_name:
                return decode_subscription(protocol.metadata)
        raise MalformedBlob(f"protocol: {self.protocol_name!r} is not among those of the member")


def taken_over(member: ClassicMember, group_id: GroupId, now_ms: int, via: Via) -> TakenOver:
    """The member with a machine of its own from now on, which its broker knows at its `epoch`: its client has
    everything that it was handed, is at work, and has its whole session before it. Raises `MalformedBlob`.
    """
    return TakenOver(
        member=MemberRef(group_id, member.member_id),
        client=member.client,
        instance_id=member.instance_id,
        protocols=member.protocols,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocol_name=member.protocol_name,
        wants=member.subscription(),
        epoch=member.epoch,
        generation=member.generation,
        handed=member.using,
        using=member.using,
        session_deadline_ms=now_ms + member.session_timeout_ms,
        via=via,
    )


def rejoining(member: ClassicMember, group_id: GroupId, generation: int) -> JoinGroup:
    """Its JoinGroup, said by the bridge: what it owns stands in every subscription, whatever its assignor, under the
    `generation` that the broker knows it by. Raises `MalformedBlob`.
    """
    return JoinGroup(
        group_id=group_id,
        member_id=member.member_id,
        instance_id=member.instance_id,
        protocol_type=CONSUMER,
        protocols=tuple(
            Protocol(one.name, with_owned(one.metadata, member.using, member.generation, generation))
            for one in member.protocols
        ),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        skips_assignment=True,
    )


def restate(protocols: tuple[Protocol, ...], owned: frozenset[TopicPartition], generation: int) -> tuple[Protocol, ...]:
    """The same subscriptions, saying that the client owns `owned` as of `generation` (-1 where it is not known).

    A broker that coordinates a consumer group hands nothing of it to others before the member lets go, and no broker
    takes the JoinGroup of a played round for an unchanged one, as the generation is newer in every round: so each is
    raised to the version that says one. Raises `MalformedBlob`.
    """
    return tuple(
        Protocol(one.name, encode_subscription(_owning(decode_subscription(one.metadata), owned, generation)))
        for one in protocols
    )


def _owning(said: Subscription, owned: frozenset[TopicPartition], generation: int) -> Subscription:
    return replace(said, version=max(said.version, FIRST_WITH_GENERATION), owned=owned, generation=generation)


def has_yet_to_let_go(blob: bytes, assigned: frozenset[TopicPartition]) -> bool:
    """Whether a cooperative member of a classic group has not joined since it was dealt less than it had: its client
    may use that still, however stable the group is. Another has it after the next round alone, while in a group that
    its coordinator deals whoever comes first has it.
    """
    try:
        return not (decode_subscription(blob).owned or frozenset()) <= assigned
    except MalformedBlob:
        # Who can't be read says nothing of what it has.
        return False


def with_owned(blob: bytes, owned: frozenset[TopicPartition], known: int, generation: int) -> bytes:
    """The same subscription with these owned partitions, and with `generation` where it says `known`.

    Its version stays if it can say what is owned, as no round follows that would need a newer generation in it
    (`restate`); a sticky assignor's memory is brought up to date. Raises `MalformedBlob`.
    """
    said = decode_subscription(blob)
    version = max(said.version, FIRST_WITH_OWNED)
    told = replace(said, version=version, owned=owned, user_data=_user_data(said.user_data, known, generation))
    return encode_subscription(replace(told, generation=generation) if version >= FIRST_WITH_GENERATION else told)


def with_generation(blob: bytes, known: int, generation: int) -> bytes:
    """The same subscription, with `generation` where it says `known`; bytes that say nothing of it stay as they are.

    Leaders of Java clients 2.8 to 3.2 deal a partition twice when members of one group say different generations.
    Raises `MalformedBlob`.
    """
    said = decode_subscription(blob)
    user_data = _user_data(said.user_data, known, generation)
    told = generation if said.generation == known and known != NO_GENERATION else said.generation
    if user_data == said.user_data and told == said.generation:
        return blob
    return encode_subscription(replace(said, generation=told, user_data=user_data))


def _user_data(blob: bytes | None, known: int, generation: int) -> bytes | None:
    """A sticky assignor's memory ends with the generation that it is of (KIP-341)."""
    if not blob:
        return blob
    found = decode_sticky_user_data(blob)
    if found is None or found.generation != known or known == NO_GENERATION:
        return blob
    return blob[:-_INT32_BYTES] + generation.to_bytes(_INT32_BYTES, signed=True)


# ---------------------------------------------------------------------------------------------------- in the journal


class WrittenMember(TypedDict):
    """A member as JSON has it."""

    member: str
    instance: str | None
    client: list[str]
    protocols: list[tuple[str, str]]
    protocol: str
    session: int
    rebalance: int
    generation: int
    using: list[tuple[str, int]]
    elsewhere: NotRequired[bool]
    epoch: NotRequired[int]


def to_json(members: Iterable[ClassicMember]) -> list[WrittenMember]:
    """The members as JSON has them."""
    return [_written(member) for member in members]


def _written(member: ClassicMember) -> WrittenMember:
    written: WrittenMember = {
        "member": member.member_id,
        "instance": member.instance_id,
        "client": [
            member.client.client_id,
            member.client.client_host,
            member.client.software_name,
            member.client.software_version,
        ],
        "protocols": [(one.name, b64encode(one.metadata).decode()) for one in member.protocols],
        "protocol": member.protocol_name,
        "session": member.session_timeout_ms,
        "rebalance": member.rebalance_timeout_ms,
        "generation": member.generation,
        "using": sorted((str(one.topic), one.partition) for one in member.using),
    }
    if member.is_elsewhere:
        written["elsewhere"] = True
    if member.epoch >= 0:
        written["epoch"] = member.epoch
    return written


def from_json(written: Iterable[WrittenMember]) -> list[ClassicMember]:
    """What `to_json` wrote; raises KeyError, TypeError, IndexError and ValueError for anything else."""
    return [
        ClassicMember(
            member_id=MemberId(one["member"]),
            instance_id=None if one["instance"] is None else InstanceId(one["instance"]),
            client=ClientIdentity(
                client_id=one["client"][0],
                client_host=one["client"][1],
                software_name=one["client"][2],
                software_version=one["client"][3],
            ),
            protocols=tuple(Protocol(name, b64decode(blob)) for name, blob in one["protocols"]),
            protocol_name=one["protocol"],
            session_timeout_ms=one["session"],
            rebalance_timeout_ms=one["rebalance"],
            generation=one["generation"],
            using=frozenset(TopicPartition(TopicName(topic), partition) for topic, partition in one["using"]),
            is_elsewhere=one.get("elsewhere", False),
            epoch=one.get("epoch", -1),
        )
        for one in written
    ]
