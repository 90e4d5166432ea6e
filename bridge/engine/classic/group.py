"""The container that holds one classic group: what survives a restart, the rebalance that runs, and indexes.

It must not know how to decide, and nobody but `apply` writes to it.
"""

from dataclasses import dataclass, field

from bridge.engine.classic.model import ClassicMember, Phase
from bridge.engine.model import DeadlineKey, DeadlineKind, InitialDelay
from translators.dialects.ids import GroupId, InstanceId, MemberId, ReplyTo


@dataclass(slots=True, kw_only=True)
class Roster:
    """Who is in a group, in which generation, under which protocol and leader."""

    generation: int = 0
    protocol_type: str = ""
    protocol_name: str | None = None
    leader: MemberId | None = None
    members: dict[MemberId, ClassicMember] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ClassicGroup:
    """One classic group.

    `synced` is what survives: the roster of the last generation that got its assignments, less who left since
    (`has_lost_member`), with static seats under the id that holds them now. `roster` is the group as it is this moment;
    it equals `synced` while the group is Stable or Empty. No generation up to `last_generation` is given out again,
    also not after a restart in the middle of a rebalance, when Kafka repeats it.

    `joining` and `syncing` are parked requests, `unsynced` who has yet to send the SyncGroup of this generation,
    `newcomers` who never completed a join, `pending` ids that were promised (KIP-394). `delay` is set in the rebalance
    that began Empty. Assignments are not handed out before the commits in `draining` have ended (decision 2),
    nor to those in `succeeding`, who took over a seat of a Stable group meanwhile.
    `offers` counts members by the protocol names they offer. `aliases` are generations that members were shown before
    the group turned classic, good until its first rebalance (decision 8). `subscriptions` is what members said when
    the generation began, None before the first: by it, not by who joins meanwhile, topics count as subscribed (K1.39).
    """

    group_id: GroupId
    last_generation: int = 0
    synced: Roster = field(default_factory=Roster)
    has_lost_member: bool = False

    roster: Roster = field(default_factory=Roster)
    phase: Phase = Phase.EMPTY
    delay: InitialDelay | None = None
    joining: dict[MemberId, ReplyTo] = field(default_factory=dict)
    syncing: dict[MemberId, ReplyTo] = field(default_factory=dict)
    unsynced: dict[MemberId, None] = field(default_factory=dict)
    newcomers: set[MemberId] = field(default_factory=set)
    pending: dict[MemberId, None] = field(default_factory=dict)
    draining: frozenset[int] = frozenset()
    succeeding: set[MemberId] = field(default_factory=set)
    aliases: dict[MemberId, int] = field(default_factory=dict)
    subscriptions: tuple[bytes, ...] | None = None

    instances: dict[InstanceId, MemberId] = field(default_factory=dict)
    offers: dict[tuple[str, ...], int] = field(default_factory=dict)

    @property
    def members(self) -> dict[MemberId, ClassicMember]:
        """Everybody who has a seat at this moment."""
        return self.roster.members

    def generation_of(self, member_id: MemberId) -> int:
        """The generation that a member's client knows."""
        return self.aliases.get(member_id, self.roster.generation)


def session_key(group_id: GroupId, member_id: MemberId) -> DeadlineKey:
    """The key of a member's session, or of the time a promised id is kept."""
    return DeadlineKey(DeadlineKind.CLASSIC_SESSION, group_id, member_id)


def join_key(group_id: GroupId) -> DeadlineKey:
    """The key of the end of a join phase, initial delay included."""
    return DeadlineKey(DeadlineKind.CLASSIC_JOIN, group_id)


def sync_key(group_id: GroupId) -> DeadlineKey:
    """The key of the time until which every member has to sync."""
    return DeadlineKey(DeadlineKind.CLASSIC_SYNC, group_id)


def rebalance_timeout_ms(group: ClassicGroup) -> int:
    """How long members may take: the longest that any of them asked for, 0 without members (K1.4)."""
    return max((member.rebalance_timeout_ms for member in group.members.values()), default=0)
