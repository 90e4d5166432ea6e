"""A consumer group that has classic members alone, shown as the classic group that Kafka would have of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from bridge.coordinators.machines import Machines, Stage
from bridge.engine.commands import GroupType
from bridge.engine.describe import ClassicSketch
from bridge.engine.model import Phase
from bridge.engine.queries import ASSIGNING, EMPTY, RECONCILING, group_state, looks_classic
from bridge.engine.state import Shard
from translators.classic_member.profile import Profile
from translators.classic_member.states import Seated, seated
from translators.classic_member.tenure import Tenure
from translators.dialects.admin import DescribedMember, ListedGroup
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.ids import GroupId, MemberRef


class ClassicView:
    """Classic members of consumer groups as tools know them: state, protocol, what each offered and what it has."""

    def __init__(self, shard: Shard, machines: Machines) -> None:
        self._shard = shard
        self._machines = machines

    def is_one(self, group_id: GroupId) -> bool:
        """Whether a group is a consumer group of which no tool should know."""
        return group_id in self._shard.groups and looks_classic(self._shard, group_id)

    def listed(self, entry: ListedGroup) -> ListedGroup:
        """An entry of ListGroups as it is shown."""
        if not self.is_one(entry.group_id):
            return entry
        return replace(entry, group_state=self._phase(entry.group_id).value, group_type=GroupType.CLASSIC.value)

    def described(self, sketch: ClassicSketch) -> ClassicSketch:
        """The classic view of such a group: protocol and subscriptions only while it is Stable, as in Kafka (K6.2)."""
        view, members = sketch
        phase = self._phase(view.group_id)
        at_work = dict(self._seated(view.group_id))
        names = Counter(state.membership.profile.protocol_name for state in at_work.values())
        # Members may be answered different protocols here; most of them were answered this one.
        name = min(names, key=lambda one: (-names[one], one), default="") if phase is Phase.STABLE else ""

        def shown(member: DescribedMember) -> DescribedMember:
            state = at_work.get(MemberRef(view.group_id, member.member_id))
            if state is None:
                return replace(member, metadata=b"", assignment=b"")
            return replace(member, metadata=_offered(state.membership.profile, name), assignment=_handed(state))

        return replace(view, group_state=phase.value, protocol_data=name), map(shown, members)

    def _phase(self, group_id: GroupId) -> Phase:
        group = self._shard.groups[group_id]
        stage = group_state(group)
        if stage == EMPTY:
            return Phase.EMPTY
        if stage == ASSIGNING or self._machines.any_in(group_id, Stage.JOINING):
            return Phase.PREPARING_REBALANCE
        if stage == RECONCILING or self._machines.any_in(group_id, Stage.COMPLETING):
            return Phase.COMPLETING_REBALANCE
        return Phase.STABLE

    def _seated(self, group_id: GroupId) -> Iterator[tuple[MemberRef, Seated]]:
        for member_id in self._shard.groups[group_id].members:
            key = MemberRef(group_id, member_id)
            state = seated(self._machines.get(key))
            if state is not None:
                yield key, state


def _handed(state: Seated) -> bytes:
    """What the client was handed last, as it was written for it; nothing if it never was."""
    if not isinstance(state.tenure, Tenure):
        return b""
    return encode_assignment(state.tenure.handed, state.membership.profile.blob_version)


def _offered(profile: Profile, name: str) -> bytes:
    """The subscription that a member sent with the group's protocol, or else with its own; nothing without a name."""
    if not name:
        return b""
    offers = {protocol.name: protocol.metadata for protocol in profile.protocols}
    return offers.get(name, offers.get(profile.protocol_name, b""))
