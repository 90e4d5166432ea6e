"""The small classic group at the broker by which bridges meet, and what they tell each other there."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import trio

from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.admin import DescribedGroup, DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, InstanceId, MemberId

# ------------------------------------------------------------------------------------ bridge claims
# What bridges before one cluster tell each other: which groups each one has, wants, and refuses for another's sake.

VERSION = 1
DIGEST_BYTES = 8
"""Of a group's name: 50,000 groups take 540 kB, which a broker keeps as one record of at most 1 MB by default."""
TEXT_CHARS_MAX = 249
GROUPS_MAX = 50_000
"""How many groups a bridge tells of; further ones are served without being claimed."""

Digest = bytes
NO_GROUPS: frozenset[Digest] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What one bridge says: who it is, where its clients come, and the digests of groups' names.

    `held` are those that it serves. It serves none that is only `wanted`: that is said first, and then looked whether
    anybody else has it or wants it too. `refused` are those whose clients come here and belong to another bridge.
    """

    bridge: str
    where: str
    held: frozenset[Digest] = NO_GROUPS
    wanted: frozenset[Digest] = NO_GROUPS
    refused: frozenset[Digest] = NO_GROUPS


class Standing(Enum):
    """What becomes of a group that this bridge wants."""

    OURS = auto()
    THEIRS = auto()
    UNDECIDED = auto()


class Judgement(NamedTuple):
    """How it stands, and with whom."""

    standing: Standing
    other: Claims | None = None


@lru_cache(maxsize=GROUPS_MAX)
def digest(group_id: GroupId) -> Digest:
    """What stands for a group's name."""
    return sha256(group_id.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]


def judge(mine: str, group: Digest, others: Iterable[Claims]) -> Judgement:
    """Whether the bridge `mine`, which has said that it wants a group, may have it after a look at all others.

    Everybody says what it wants before it looks, so of two that want a group at least one sees the other: who sees
    another waits, and of two that wait the one with the greater name gives way. So never both have it.
    """
    seen = tuple(others)
    holder = next((other for other in seen if group in other.held), None)
    if holder is not None:
        return Judgement(Standing.THEIRS, holder)
    rivals = sorted((other for other in seen if group in other.wanted), key=lambda other: other.bridge)
    if not rivals:
        return Judgement(Standing.OURS)
    return Judgement(Standing.THEIRS if rivals[0].bridge < mine else Standing.UNDECIDED, rivals[0])


def find_stronger(mine: str, group: Digest, others: Iterable[Claims]) -> Claims | None:
    """Who else has a group that `mine` has and keeps it: two that met by accident must not both go on."""
    return next((other for other in others if group in other.held and other.bridge < mine), None)


def encode(claims: Claims) -> bytes:
    """As it stands in a member's metadata."""
    document = {
        "version": VERSION,
        "bridge": claims.bridge,
        "where": claims.where,
        "held": _pack(claims.held),
        "wanted": _pack(claims.wanted),
        "refused": _pack(claims.refused),
    }
    return json.dumps(document, separators=(",", ":")).encode()


def decode(metadata: bytes) -> Claims | None:
    """What another bridge says; None for what is no such thing: anybody may join the group of the bridges."""
    try:
        document: object = json.loads(metadata)
        if not isinstance(document, dict):
            return None
        texts = {name: document.get(name) for name in ("bridge", "where", "held", "wanted", "refused")}
        bridge, where, held, wanted, refused = (text if isinstance(text, str) else "" for text in texts.values())
        return Claims(
            bridge=bridge[:TEXT_CHARS_MAX],
            where=where[:TEXT_CHARS_MAX],
            held=_unpack(held),
            wanted=_unpack(wanted),
            refused=_unpack(refused),
        )
    except (ValueError, RecursionError):
        return None


def _pack(groups: frozenset[Digest]) -> str:
    return b64encode(b"".join(sorted(groups)[:GROUPS_MAX])).decode()


def _unpack(text: str) -> frozenset[Digest]:
    packed = b64decode(text, validate=True)
    return frozenset(packed[at : at + DIGEST_BYTES] for at in range(0, len(packed), DIGEST_BYTES))


# ----------------------------------------------------------------------------------- bridge meeting
# The small classic group at the broker by which bridges meet: coming in, saying what one has, hearing the others.

PROTOCOL_TYPE, PROTOCOL = "epochbridge", "claims"
SESSION_MS = 30_000
"""A bridge that is dead for so long has nothing any more; with a round on top the others know within 35 s."""
REBALANCE_MS = 6_000
"""How long the others have to say again what they have when one comes or goes: two rounds."""
READ_TRIES, READ_PAUSE_S = 12, 0.25
_PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Who this bridge is, over restarts, where its clients come, and the group by which bridges meet."""

    bridge: str
    where: str
    group_id: GroupId


class Meeting:
    """The static membership of this bridge: `said` is what it said last, None for nothing or nothing that still counts.

    Everything here raises BrokerUnreachable; GroupRefused for what no second try mends.
    """

    def __init__(self, broker: Broker, place: Place) -> None:
        self.said: Claims | None = None
        self.is_said = False
        """Whether the broker surely has what was said last: else its answer was lost, and with it the member id."""
        self.has_company = False
        """Whether anybody else was in the group at the last look, heard or not."""
        self._broker = broker
        self._place = place
        self._instance_id = InstanceId(place.bridge)
        self._member = (NO_MEMBER_ID, -1)

    def has_said(self, group_id: GroupId) -> bool:
        """Whether the others can know that a group is wanted here."""
        return self.said is not None and digest(group_id) in self.said.wanted

    async def enter(self, claims: Claims) -> None:
        """Say what this bridge has and wants. As a static member it changes that without a rebalance."""
        join = JoinGroup(
            group_id=self._place.group_id,
            member_id=NO_MEMBER_ID,
            instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=(Protocol(PROTOCOL, encode(claims)),),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        self.is_said = False
        joined = await self._broker.ask_coordinator(join)
        if not isinstance(joined, JoinGroupReply) or joined.error is not ErrorCode.NONE:
            raise _problem(joined.error if isinstance(joined, JoinGroupReply) else ErrorCode.UNKNOWN_SERVER_ERROR)
        self._member, self.said = (MemberId(joined.member_id), joined.generation), claims
        sync = SyncGroup(
            group_id=self._place.group_id,
            generation=joined.generation,
            member_id=joined.member_id,
            instance_id=self._instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
        )
        synced = await self._broker.ask_coordinator(sync)
        if not isinstance(synced, SyncGroupReply) or synced.error is not ErrorCode.NONE:
            raise BrokerUnreachable("the others come and go: SyncGroup was refused; tried again soon")
        self.is_said = True

    async def beat(self) -> ErrorCode:
        """Say that this bridge lives; what the broker says to that."""
        member_id, generation = self._member
        reply = await self._broker.ask_coordinator(
            Heartbeat(self._place.group_id, generation, member_id, self._instance_id)
        )
        return reply.error if isinstance(reply, HeartbeatReply) else ErrorCode.UNKNOWN_SERVER_ERROR

    async def read(self) -> tuple[Claims, ...] | None:
        """What the other bridges say; None while one comes or goes, since a broker does not show it then."""
        for _ in range(READ_TRIES):
            found = await self._describe()
            if found.error not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
                raise _problem(found.error)
            self.has_company = any(member.instance_id != self._place.bridge for member in found.members)
            if found.group_state == "Stable" or not found.members:
                said = (decode(member.metadata) for member in found.members)
                return tuple(each for each in said if each is not None and each.bridge != self._place.bridge)
            await trio.sleep(READ_PAUSE_S)
        return None

    async def is_seat_taken(self) -> bool:
        """Two with one identity would take the seat from each other for ever: the earlier waits for the other to go."""
        return any(member.instance_id == self._place.bridge for member in (await self._describe()).members)

    async def leave(self) -> None:
        """Go at once, instead of after the session."""
        leaver = LeavingMember(member_id=NO_MEMBER_ID, instance_id=self._instance_id)
        await self._broker.ask_coordinator(LeaveGroup(group_id=self._place.group_id, members=(leaver,)))

    async def _describe(self) -> DescribedGroup:
        reply = await self._broker.ask_coordinator(DescribeGroups(group_ids=(self._place.group_id,)))
        if not isinstance(reply, DescribeGroupsReply) or not reply.groups:
            raise BrokerUnreachable("the group of the bridges was not described")
        return reply.groups[0]


def _problem(code: ErrorCode) -> Exception:
    return BrokerUnreachable(f"it said {code.name}") if code in _PASSING else GroupRefused(code.name)
