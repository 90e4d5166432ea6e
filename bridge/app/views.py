"""Groups of every road put into the words of the admin room and of the metrics."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import assert_never

from bridge.admin.contracts import GroupSummary, GroupView, MemberView, TopicPartitions
from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.machines import is_settled
from bridge.coordinators.placement import GroupPlaces
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.engine.commands import GroupType, Speaks
from bridge.engine.consumer.target import choose_assignor
from bridge.engine.convert.readiness import find_departure_fault, find_upgrade_fault
from bridge.engine.describe import ClassicGroupSnapshot, MemberSnapshot, classic_snapshot, group_snapshot
from bridge.engine.model import ClassicMember, MemberState, Phase
from bridge.engine.outcome import NotConverted
from bridge.engine.queries import CONSUMER_PROTOCOL_TYPE, group_state
from bridge.engine.state import ClassicGroup, Group
from bridge.migration.placement import Stay
from bridge.migration.route import Road
from bridge.net.proxy import Proxy
from bridge.telemetry.metrics import GroupCount
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    PreparingRebalance,
    Stable,
    State,
    seated,
)
from translators.classic_member.tenure import generation_of, usable
from translators.dialects.consumer_protocol import MalformedBlob, decode_assignment
from translators.dialects.errors import Refusal
from translators.dialects.ids import GroupId, MemberId, MemberRef, TopicIdPartition, TopicPartition

# ------------------------------------------------------------------------------------ classic views
# The members of classic groups, run by their own leaders, in the words of the admin room.


def member_views(group: ClassicGroupSnapshot) -> tuple[MemberView, ...]:
    """Everybody in a group; what is assigned can be shown only where it is written as consumers write it."""
    return tuple(_view(group, member) for member in group.members)


def by_topic(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Partitions under their topics, all in order."""
    return tuple(
        TopicPartitions(topic, tuple(each.partition for each in group))
        for topic, group in groupby(sorted(partitions), key=attrgetter("topic"))
    )


def _view(group: ClassicGroupSnapshot, member: ClassicMember) -> MemberView:
    assigned = by_topic(_assigned(group, member))
    return MemberView(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.identity.client_id,
        client_host=member.identity.client_host,
        library=member.identity.software_name,
        library_version=member.identity.software_version,
        protocol="classic",
        state=_state(group, member),
        generation=group.generation,
        member_epoch=None,
        assigned=assigned,
        target=assigned,
        pending_revocation=(),
    )


def _state(group: ClassicGroupSnapshot, member: ClassicMember) -> str:
    """What the member waits for, in the words for translated ones; else how the group stands."""
    if member.member_id in group.joining:
        return Phase.PREPARING_REBALANCE.value
    return Phase.COMPLETING_REBALANCE.value if member.member_id in group.syncing else group.state


def _assigned(group: ClassicGroupSnapshot, member: ClassicMember) -> frozenset[TopicPartition]:
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or not member.assignment:
        return frozenset()
    try:
        return decode_assignment(member.assignment).partitions
    except MalformedBlob:
        return frozenset()


# ----------------------------------------------------------------------------------- upstream views
# Groups of road upstream in the words of the admin room: their translated members, as the bridge knows them.
#
# Members that came to the broker by another way only the broker knows.

Members = Mapping[MemberId, State]
_STABLE, _RECONCILING = "Stable", "Reconciling"


class UpstreamViews:
    """What the bridge knows of these groups at this moment."""

    def __init__(self, groups: UpstreamGroups) -> None:
        self._groups = groups

    @property
    def closed(self) -> Refusal | None:
        """Why nothing can be decided for them just now: their journal can't be written."""
        return self._groups.task.ledger.closed

    def summaries(self) -> Iterator[GroupSummary]:
        """All groups with translated members."""
        for group_id, members in self._by_group().items():
            yield _summary(group_id, members)

    def view(self, group_id: GroupId) -> GroupView | None:
        """One group; None without a translated member."""
        members = self._groups.members_of(group_id)
        if not members:
            return None
        views = tuple(self._member(MemberRef(group_id, member_id), state) for member_id, state in members.items())
        return GroupView(summary=_summary(group_id, members), members=views)

    def counts(self) -> Iterator[GroupCount]:
        """The groups for the metrics; O(groups)."""
        for group_id, size, is_at_rest in self._groups.sizes():
            state = _STABLE if is_at_rest else _RECONCILING
            yield GroupCount(group_id=group_id, state=state, classic_members=size, consumer_members=0)

    def _by_group(self) -> dict[GroupId, dict[MemberId, State]]:
        found: dict[GroupId, dict[MemberId, State]] = {}
        for key, state in self._groups.members():
            found.setdefault(key.group_id, {})[key.member_id] = state
        return found

    def _member(self, key: MemberRef, state: State) -> MemberView:
        client, member = self._groups.client_of(key), seated(state)
        return MemberView(
            member_id=key.member_id,
            instance_id=_instance_id(state),
            client_id=client.client_id,
            client_host=client.client_host,
            library=client.software_name,
            library_version=client.software_version,
            protocol="classic",
            state=type(state).__name__,
            generation=None if member is None else generation_of(member.tenure),
            member_epoch=None if member is None else member.membership.epoch,
            assigned=() if member is None else by_topic(usable(member.tenure)),
            target=() if member is None else by_topic(member.membership.granted),
            pending_revocation=() if member is None else by_topic(usable(member.tenure) - member.membership.granted),
        )


def _summary(group_id: GroupId, members: Members) -> GroupSummary:
    """The group as far as its translated members show it: the newest epoch that any of them was told."""
    present = [member for member in map(seated, members.values()) if member is not None]
    epoch = max((member.membership.epoch for member in present), default=0)
    return GroupSummary(
        group_id=group_id,
        road=Road.UPSTREAM.value,
        type=GroupType.CONSUMER.value,
        state=_state_of(members),
        group_epoch=epoch,
        assignment_epoch=epoch,
        assignor=", ".join(sorted({member.membership.profile.protocol_name for member in present})),
        member_count=len(members),
    )


def _state_of(members: Members) -> str:
    """Kafka's word for a consumer group of which these are the members."""
    return _STABLE if all(map(is_settled, members.values())) else _RECONCILING


def _instance_id(state: State) -> str | None:
    match state:
        case Stable() | CompletingRebalance() | PreparingRebalance():
            return state.membership.seat.instance_id
        case Leaving() | Fenced():
            return state.seat.instance_id
        case Absent():
            return None
        case _:
            assert_never(state)


# -------------------------------------------------------------------------------------------- views
# The coordinators' state put into the words of the admin room and of the metrics.

_NATIVE_STATES = {
    MemberState.STABLE: "Stable",
    MemberState.UNREVOKED_PARTITIONS: "UnrevokedPartitions",
    MemberState.UNRELEASED_PARTITIONS: "UnreleasedPartitions",
}
_PROTOCOLS = {Speaks.CLASSIC: "classic", Speaks.CONSUMER: "consumer"}
Standing = tuple[Phase, int, int, tuple[MemberId, ...]]
"""Phase, generations and members of a classic group: while they stay, so does what its members say."""


class AppSnapshots:
    """What the bridge knows at this moment (`admin.contracts.Snapshots`)."""

    def __init__(
        self, groups: EmbeddedGroups, proxy: Proxy, places: GroupPlaces, upstream: UpstreamViews | None = None
    ) -> None:
        self._groups = groups
        self._upstream = upstream
        self._stays = places.stays
        self._owner = groups.owner
        self._proxy = proxy
        self._faults: dict[GroupId, tuple[Standing, str | None]] = {}

    def groups(self) -> Sequence[GroupSummary]:
        """All groups that the bridge coordinates, those it refuses because they are bypassed, and those that pass
        although a rule sends them elsewhere.
        """
        known = [self._summary(group) for group in self._owner.shard.groups.values()]
        known += [self._classic_summary(group) for group in self._owner.shard.classic_groups.values()]
        if self._upstream is not None:
            known += self._upstream.summaries()
        served = {summary.group_id for summary in known}
        bypassed = self._groups.join_checks.bypassed
        refused = [_refused(group_id, bypassed[group_id]) for group_id in bypassed if group_id not in served]
        shown = served | bypassed.keys()
        passing = [_passing(stay) for group_id, stay in self._stays.items() if group_id not in shown]
        return sorted(known + refused + passing, key=attrgetter("group_id"))

    def group(self, name: str) -> GroupView | None:
        """One group by its id; None if the bridge does not coordinate it."""
        group_id = GroupId(name)
        snapshot = group_snapshot(self._owner.shard, group_id)
        if snapshot is not None:
            members = tuple(self._member(group_id, member) for member in snapshot.members)
            return GroupView(summary=self._summary(self._owner.shard.groups[group_id]), members=members)
        classic = self._owner.shard.classic_groups.get(group_id)
        if classic is not None:
            members = member_views(classic_snapshot(classic))
            return GroupView(summary=self._classic_summary(classic), members=members)
        translated = None if self._upstream is None else self._upstream.view(group_id)
        if translated is not None:
            return translated
        reason, stay = self._groups.join_checks.bypassed.get(group_id), self._stays.get(group_id)
        if reason is not None:
            return GroupView(summary=_refused(group_id, reason), members=())
        return None if stay is None else GroupView(summary=_passing(stay), members=())

    def readiness(self) -> Sequence[str]:
        """Why clients should not come, in sentences; empty when they should."""
        why = self._proxy.why_not_ready
        return (why,) if why else ()

    def troubles(self) -> Sequence[str]:
        """What clients of some groups, or of some brokers, are told to come again for, in sentences."""
        closed = {"embedded": self._groups.ledger.closed}
        if self._upstream is not None:
            closed["upstream"] = self._upstream.closed
        still = (
            f"groups on road {road} stand still, and their clients are told to come again: {refusal.reason}"
            for road, refusal in closed.items()
            if refusal is not None
        )
        return (*still, *self._proxy.cluster.unreached())

    def counts(self) -> Iterable[GroupCount]:
        """The groups for the metrics, which anybody may ask for as often as it likes: O(groups)."""
        for group in self._owner.shard.groups.values():
            yield GroupCount(
                group_id=group.group_id,
                state=group_state(group),
                classic_members=len(group.members) - group.natives,
                consumer_members=group.natives,
            )
        for classic in self._owner.shard.classic_groups.values():
            yield GroupCount(
                group_id=classic.group_id,
                state=classic.phase.value,
                group_type="classic",
                classic_members=len(classic.members),
                consumer_members=0,
            )
        if self._upstream is not None:
            yield from self._upstream.counts()

    def _reason(self, group_id: GroupId) -> str | None:
        groups = self._groups
        told = None if groups.bridges is None else groups.bridges.told_of(group_id)
        stay = self._stays.get(group_id)
        lived = None if stay is None else f"{stay.sentence}; {stay.remedy}"
        return groups.join_checks.bypassed.get(group_id) or told or groups.offsets.told.get(group_id) or lived

    def _summary(self, group: Group) -> GroupSummary:
        return GroupSummary(
            group_id=group.group_id,
            road=Road.EMBEDDED.value,
            type=GroupType.CONSUMER.value,
            state=group_state(group),
            group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor=choose_assignor(self._owner.shard, group),
            member_count=len(group.members),
            reason=self._reason(group.group_id),
            not_convertible=_text(find_departure_fault(self._owner.shard, group.group_id)),
        )

    def _classic_summary(self, group: ClassicGroup) -> GroupSummary:
        return GroupSummary(
            group_id=group.group_id,
            road=Road.EMBEDDED.value,
            type=GroupType.CLASSIC.value,
            state=group.phase.value,
            group_epoch=group.roster.generation,
            assignment_epoch=group.synced.generation,
            assignor=group.roster.protocol_name or "",
            member_count=len(group.members),
            reason=self._reason(group.group_id),
            not_convertible=self._upgrade_fault(group),
        )

    def _upgrade_fault(self, group: ClassicGroup) -> str | None:
        """Why a classic group can't be upgraded; found anew when it has moved, since all bytes of its members are read.

        The list is asked for every second by whoever watches.
        """
        standing = (group.phase, group.roster.generation, group.synced.generation, tuple(group.members))
        known = self._faults.get(group.group_id)
        if known is None or known[0] != standing:
            self._faults = {
                one: found for one, found in self._faults.items() if one in self._owner.shard.classic_groups
            }
            known = (standing, _text(find_upgrade_fault(self._owner.shard, group.group_id)))
            self._faults[group.group_id] = known
        return known[1]

    def _member(self, group_id: GroupId, member: MemberSnapshot) -> MemberView:
        state = self._owner.machines.get(MemberRef(group_id, member.member_id))
        return MemberView(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id=member.identity.client_id,
            client_host=member.identity.client_host,
            library=member.identity.software_name,
            library_version=member.identity.software_version,
            protocol=_PROTOCOLS[member.speaks],
            state=_NATIVE_STATES[member.state] if state is None else type(state).__name__,
            generation=_generation(state),
            member_epoch=member.epoch,
            assigned=self._by_topic(member.current),
            target=self._by_topic(member.target),
            pending_revocation=self._by_topic(member.pending_revocation),
        )

    def _by_topic(self, partitions: Iterable[TopicIdPartition]) -> tuple[TopicPartitions, ...]:
        return by_topic(self._owner.catalog.to_names(partitions))


def _generation(state: State | None) -> int | None:
    match state:
        case None:
            return None
        case Absent() | Leaving():
            return None
        case Fenced() | PreparingRebalance() | CompletingRebalance() | Stable():
            return generation_of(state.tenure)
        case _:
            assert_never(state)


def _text(fault: NotConverted | None) -> str | None:
    return None if fault is None else fault.text


def _passing(stay: Stay) -> GroupSummary:
    return GroupSummary(
        group_id=stay.group_id,
        road=stay.road.value,
        type=stay.kind,
        state="Passing",
        group_epoch=0,
        assignment_epoch=0,
        assignor="",
        member_count=0,
        reason=f"{stay.sentence}; {stay.remedy}",
    )


def _refused(group_id: GroupId, reason: str) -> GroupSummary:
    return GroupSummary(
        group_id=group_id,
        road=Road.EMBEDDED.value,
        type=GroupType.CONSUMER.value,
        state="Bypassed",
        group_epoch=0,
        assignment_epoch=0,
        assignor="",
        member_count=0,
        reason=reason,
    )
