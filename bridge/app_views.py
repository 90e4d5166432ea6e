"""The coordinators' state put into the words of the admin room and of the metrics.

It must not know HTTP, or how a group is decided.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from bridge.admin.contracts import GroupSummary, GroupView, MemberView, TopicPartitions
from bridge.coordinators.embedded import EmbeddedGroups
from bridge.engine.commands import AskRef, Speaks
from bridge.engine.describe import GroupSnapshot, MemberSnapshot, group_snapshot
from bridge.engine.model import MemberState
from bridge.migration.route import Road
from bridge.net.proxy import Proxy
from bridge.telemetry.metrics import GroupCount
from translators.classic_member.states import Absent, Fenced, State
from translators.classic_member.states import Leaving as LeavingState
from translators.classic_member.tenure import generation_of
from translators.dialects.ids import GroupId, TopicIdPartition

GROUP_TYPE = "consumer"
_NATIVE_STATES = {
    MemberState.STABLE: "Stable",
    MemberState.UNREVOKED_PARTITIONS: "UnrevokedPartitions",
    MemberState.UNRELEASED_PARTITIONS: "UnreleasedPartitions",
}
_PROTOCOLS = {Speaks.CLASSIC: "classic", Speaks.CONSUMER: "consumer"}


class AppSnapshots:
    """What the bridge knows at this moment (`admin.contracts.Snapshots`)."""

    def __init__(self, groups: EmbeddedGroups, proxy: Proxy) -> None:
        self._groups = groups
        self._owner = groups.owner
        self._proxy = proxy

    def groups(self) -> Sequence[GroupSummary]:
        """All groups that the bridge coordinates, and those it refuses because they are bypassed."""
        known = [self._summary(snapshot) for snapshot in self._snapshots()]
        bypassed = self._groups.gate.bypassed
        refused = [
            _refused(group_id, bypassed[group_id]) for group_id in bypassed if group_id not in self._owner.shard.groups
        ]
        return sorted(known + refused, key=attrgetter("group_id"))

    def group(self, name: str) -> GroupView | None:
        """One group by its id; None if the bridge does not coordinate it."""
        group_id = GroupId(name)
        snapshot = group_snapshot(self._owner.shard, group_id)
        if snapshot is not None:
            members = tuple(self._member(group_id, member) for member in snapshot.members)
            return GroupView(summary=self._summary(snapshot), members=members)
        reason = self._groups.gate.bypassed.get(group_id)
        return None if reason is None else GroupView(summary=_refused(group_id, reason), members=())

    def readiness(self) -> Sequence[str]:
        """Why clients should not come, in sentences; empty when they should."""
        if self._proxy.is_ready:
            return ()
        if self._proxy.cluster.is_reachable:
            return ("the bridge is draining",)
        return ("no broker of the bootstrap list answers",)

    def counts(self) -> Iterable[GroupCount]:
        """The groups for the metrics."""
        for snapshot in self._snapshots():
            classic = sum(member.speaks is Speaks.CLASSIC for member in snapshot.members)
            yield GroupCount(
                group_id=snapshot.group_id,
                state=snapshot.state,
                classic_members=classic,
                consumer_members=len(snapshot.members) - classic,
            )

    def _snapshots(self) -> Iterator[GroupSnapshot]:
        for group_id in tuple(self._owner.shard.groups):
            snapshot = group_snapshot(self._owner.shard, group_id)
            if snapshot is not None:
                yield snapshot

    def _summary(self, snapshot: GroupSnapshot) -> GroupSummary:
        return GroupSummary(
            group_id=snapshot.group_id,
            road=Road.EMBEDDED.value,
            type=GROUP_TYPE,
            state=snapshot.state,
            group_epoch=snapshot.epoch,
            assignment_epoch=snapshot.assignment_epoch,
            assignor=snapshot.assignor,
            member_count=len(snapshot.members),
            reason=self._groups.gate.bypassed.get(snapshot.group_id),
        )

    def _member(self, group_id: GroupId, member: MemberSnapshot) -> MemberView:
        state = self._owner.machines.get(AskRef(group_id, member.member_id))
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
        named = sorted(self._owner.catalog.to_names(partitions))
        return tuple(
            TopicPartitions(topic, tuple(each.partition for each in group))
            for topic, group in groupby(named, key=attrgetter("topic"))
        )


def _generation(state: State | None) -> int | None:
    if state is None or isinstance(state, Absent | LeavingState):
        return None
    return state.tenure.last_generation if isinstance(state, Fenced) else generation_of(state.tenure)


def _refused(group_id: GroupId, reason: str) -> GroupSummary:
    return GroupSummary(
        group_id=group_id,
        road=Road.EMBEDDED.value,
        type=GROUP_TYPE,
        state="Bypassed",
        group_epoch=0,
        assignment_epoch=0,
        assignor="",
        member_count=0,
        reason=reason,
    )
