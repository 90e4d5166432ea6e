"""Groups of road upstream in the words of the admin room: their translated members, as the bridge knows them.

Members that came to the broker by another way only the broker knows.
"""

from collections.abc import Iterator, Mapping
from typing import assert_never

from bridge.admin.contracts import GroupSummary, GroupView, MemberView
from bridge.app.classic_views import by_topic
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.engine.commands import GroupType
from bridge.migration.route import Road
from bridge.telemetry.metrics import GroupCount
from translators.classic_member.states import (
    Absent,
    CompletingRebalance,
    Fenced,
    Leaving,
    NotCalled,
    PreparingRebalance,
    Seated,
    Stable,
    State,
    seated,
)
from translators.classic_member.tenure import generation_of, usable
from translators.dialects.ids import GroupId, MemberId, MemberRef

Members = Mapping[MemberId, State]


class UpstreamViews:
    """What the bridge knows of these groups at this moment."""

    def __init__(self, groups: UpstreamGroups) -> None:
        self._groups = groups

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
        """The groups for the metrics."""
        for group_id, members in self._by_group().items():
            yield GroupCount(
                group_id=group_id,
                state=_state_of(members),
                classic_members=len(members),
                consumer_members=0,
            )

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
    return "Stable" if all(_is_settled(state) for state in members.values()) else "Reconciling"


def _is_settled(state: State) -> bool:
    return isinstance(state, Stable) and isinstance(state.call, NotCalled) and _has_all(state)


def _has_all(state: Seated) -> bool:
    return usable(state.tenure) == state.membership.granted


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
