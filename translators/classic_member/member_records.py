"""What of a classic member is written down when it changes, and how it begins again from what was written."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import assert_never

from translators.classic_member.calling import first_call, review_call
from translators.classic_member.profile import Profile
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    MemberLimits,
    Membership,
    PreparingRebalance,
    Scheduled,
    Seat,
    Stable,
    State,
    seated,
)
from translators.classic_member.tenure import Partitions, Tenure, prune
from translators.dialects.counts import counted
from translators.dialects.ids import GroupId, InstanceId, MemberId
from translators.dialects.plain import (
    FLAG,
    NUMBER,
    NUMBERED_PARTITIONS,
    PARTITIONS,
    PROTOCOL,
    TEXT,
    TEXTS,
    Row,
    Table,
    UnreadableRecord,
    optional,
    row_of,
    structure,
)


@dataclass(frozen=True, slots=True)
class DurableMember:
    """The durable part of a member: how its coordinator knows it, and what its client was handed out."""

    membership: Membership
    tenure: Tenure


def durable_part(state: State) -> DurableMember | None:
    """Give the durable part of a state, None where a restart may forget the member (its client will join anew).

    Partitions that a parked client may have lost already are left out.
    """
    match state:
        case Stable() | CompletingRebalance():
            return DurableMember(state.membership, state.tenure)
        case PreparingRebalance():
            tenure = prune(state.tenure, state.membership.granted | state.using)
            return DurableMember(state.membership, tenure) if isinstance(tenure, Tenure) else None
        case Absent() | Leaving() | Fenced():
            return None
        case _:
            assert_never(state)


def resume(former: DurableMember, now_ms: int) -> Stable:
    """Begin with a member that is already at work: after a restart, or converted from a classic group.

    It has a full session, and asks its coordinator at once: send `DeadlinePassed` at `next_deadline`.
    """
    membership, tenure = former.membership, former.tenure
    limits = membership.seat.limits
    return Stable(
        membership=membership,
        tenure=tenure,
        call=review_call(first_call(tenure, limits, now_ms), membership, tenure, None, now_ms),
        talk=Scheduled(now_ms),
        session_deadline_ms=now_ms + membership.profile.session_timeout_ms,
    )


def end_session(state: State, now_ms: int, away_ms: int, until_ms: int) -> State:
    """A member that was just resumed, whose session ended in the time away, has until `until_ms` to be heard of."""
    if isinstance(state, Stable) and state.session_deadline_ms - now_ms <= away_ms:
        return replace(state, session_deadline_ms=until_ms)
    return state


def profile_of(state: State | None) -> Profile | None:
    """What a member's client said about itself; None for one that is no member for its client."""
    member = seated(state)
    return None if member is None else member.membership.profile


MemberKey = tuple[GroupId, MemberId]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSeated:
    """Who a member is and what its client said last, subscriptions with all their bytes."""

    group_id: GroupId
    member_id: MemberId
    instance_id: InstanceId | None
    profile: Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStands:
    """What a member's coordinator granted it, and what its client was handed out."""

    group_id: GroupId
    member_id: MemberId
    epoch: int
    granted: Partitions
    pending: Partitions | None
    tenure: Tenure


@dataclass(frozen=True, slots=True)
class MemberDropped:
    """A member need not be remembered any more."""

    group_id: GroupId
    member_id: MemberId


Entry = MemberSeated | MemberStands | MemberDropped

_PROFILE = structure(
    Profile,
    protocols=row_of(PROTOCOL),
    protocol_name=TEXT,
    topics=TEXTS,
    rack_id=optional(TEXT),
    owned=optional(PARTITIONS),
    is_eager=FLAG,
    session_timeout_ms=NUMBER,
    rebalance_timeout_ms=NUMBER,
)
_TENURE = structure(Tenure, generation=NUMBER, handed=PARTITIONS, since=NUMBERED_PARTITIONS, released=PARTITIONS)
TABLE = Table(
    (
        Row(
            tag="seated",
            record=MemberSeated,
            form=structure(MemberSeated, group_id=TEXT, member_id=TEXT, instance_id=optional(TEXT), profile=_PROFILE),
        ),
        Row(
            tag="stands",
            record=MemberStands,
            form=structure(
                MemberStands,
                group_id=TEXT,
                member_id=TEXT,
                epoch=NUMBER,
                granted=PARTITIONS,
                pending=optional(PARTITIONS),
                tenure=_TENURE,
            ),
        ),
        Row(tag="dropped", record=MemberDropped, form=structure(MemberDropped, group_id=TEXT, member_id=TEXT)),
    )
)


def changes(key: MemberKey, before: DurableMember | None, after: DurableMember | None) -> Iterator[Entry]:
    """What has to be written so that `before` becomes `after`: at most one entry a part."""
    if after is None:
        if before is not None:
            yield MemberDropped(*key)
        return
    if before is None or _seated(before) != _seated(after):
        yield _seated(after)
    if before is None or _stands(before) != _stands(after):
        yield _stands(after)


def encode(entry: Entry) -> bytes:
    """An entry as bytes."""
    return TABLE.encode(entry)


def decode(data: bytes) -> Entry:
    """The entry that was encoded, by this release or an older one; raises `plain.UnreadableRecord`."""
    entry = TABLE.decode(data)
    assert isinstance(entry, Entry), "the table has no others"
    return entry


@dataclass(slots=True)
class DurableMembers:
    """Members as the entries so far leave them."""

    _seated: dict[MemberKey, MemberSeated] = field(default_factory=dict)
    _stands: dict[MemberKey, MemberStands] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        """Let one entry count; the last one of a part does."""
        key = (entry.group_id, entry.member_id)
        match entry:
            case MemberSeated():
                self._seated[key] = entry
            case MemberStands():
                self._stands[key] = entry
            case MemberDropped():
                self._seated.pop(key, None)
                self._stands.pop(key, None)

    def clear(self) -> None:
        """Forget every member."""
        self._seated.clear()
        self._stands.clear()

    def entries(self) -> Iterable[Entry]:
        """The fewest entries that leave the same members."""
        for key, entry in self._seated.items():
            yield entry
            yield self._stands[key]

    def members(self, limits: MemberLimits) -> dict[MemberKey, DurableMember]:
        """The members in the order they came, under the limits of today; raises UnreadableRecord for half a member."""
        if self._seated.keys() != self._stands.keys():
            halves = sorted(self._seated.keys() ^ self._stands.keys())
            raise UnreadableRecord(
                f"of {counted(len(halves), 'member')} only one part was written, first of them {halves[0]!r}"
            )
        return {key: _durable(entry, self._stands[key], limits) for key, entry in self._seated.items()}


def _seated(former: DurableMember) -> MemberSeated:
    seat = former.membership.seat
    return MemberSeated(
        group_id=seat.group_id,
        member_id=seat.member_id,
        instance_id=seat.instance_id,
        profile=former.membership.profile,
    )


def _stands(former: DurableMember) -> MemberStands:
    membership = former.membership
    return MemberStands(
        group_id=membership.seat.group_id,
        member_id=membership.seat.member_id,
        epoch=membership.epoch,
        granted=membership.granted,
        pending=membership.pending,
        tenure=former.tenure,
    )


def _durable(entry: MemberSeated, stands: MemberStands, limits: MemberLimits) -> DurableMember:
    seat = Seat(group_id=entry.group_id, member_id=entry.member_id, instance_id=entry.instance_id, limits=limits)
    membership = Membership(
        seat=seat, profile=entry.profile, epoch=stands.epoch, granted=stands.granted, pending=stands.pending
    )
    return DurableMember(membership, stands.tenure)
