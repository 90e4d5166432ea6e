"""The values a classic group is made of: its phases, its members and who may be told what of them.

It must not know how they change.
"""

from dataclasses import dataclass
from enum import StrEnum

from translators.dialects.classic import Protocol
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, InstanceId, MemberId

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a newcomer may be parked in its first JoinGroup, whatever its session timeout (K1.22)."""


class Phase(StrEnum):
    """Where a classic group stands, in the words that answers use (K1.1); Dead is only reached by unloading (K1.2)."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.EMPTY: frozenset({Phase.PREPARING_REBALANCE, Phase.DEAD}),
    Phase.PREPARING_REBALANCE: frozenset({Phase.EMPTY, Phase.COMPLETING_REBALANCE, Phase.DEAD}),
    Phase.COMPLETING_REBALANCE: frozenset({Phase.PREPARING_REBALANCE, Phase.STABLE, Phase.DEAD}),
    Phase.STABLE: frozenset({Phase.PREPARING_REBALANCE, Phase.DEAD}),
    Phase.DEAD: frozenset({Phase.DEAD}),
}
"""Which phase may follow which (K1.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """One seat of a classic group: what its client told, and the bytes its leader assigned to it last.

    All protocols it offers are kept, not only the chosen one as Kafka does in its records (K1.70, K1.72).
    """

    member_id: MemberId
    instance_id: InstanceId | None
    identity: ClientIdentity
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""


DEPARTED = ClassicMember(
    member_id=NO_MEMBER_ID,
    instance_id=None,
    identity=ClientIdentity(client_id="", client_host=""),
    session_timeout_ms=0,
    rebalance_timeout_ms=0,
    protocols=(),
)
"""Stands in records for all who left since the last sync, where only that somebody did has to be told."""


@dataclass(frozen=True, slots=True)
class ShownGeneration:
    """The generation that a member's client knows, where it is not its group's."""

    member_id: MemberId
    generation: int


def metadata_of(member: ClassicMember, protocol_name: str | None) -> bytes:
    """What a member says under a protocol; empty where it does not offer it."""
    return next((offer.metadata for offer in member.protocols if offer.name == protocol_name), b"")


def names_of(protocols: tuple[Protocol, ...]) -> tuple[str, ...]:
    """The names of protocols in the order of preference."""
    return tuple(protocol.name for protocol in protocols)
