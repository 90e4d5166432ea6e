"""How much of the journal each group and each client address holds, and who would get more than its share.

Sums follow from the members and the groups that are there, each weighed again when something was recorded of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.embedded.founders import Founders
from bridge.coordinators.embedded.pattern_shares import (
    NOTHING,
    Growth,
    HiddenKey,
    Holder,
    KeyT,
    PatternShares,
    hidden_written,
    pattern_written,
)
from bridge.coordinators.embedded.weights import (
    DEALT_BYTES,
    MACHINE_LISTS,
    UNNAMED,
    assignments_bytes,
    blob_bytes,
    classic_bytes,
    heartbeat_growth,
    hidden_bytes,
    join_bytes,
    join_bytes_at_most,
    profile_bytes,
    subscription_bytes,
    translated_bytes,
)
from bridge.coordinators.machines import Machines
from bridge.engine.records import (
    ClassicGroupCreated,
    ClassicGroupSynced,
    ClassicMemberForgotten,
    ClassicMemberReplaced,
    ClassicMemberSeated,
    CurrentAssigned,
    GroupCreated,
    GroupDeleted,
    MemberForgotten,
    MemberSubscribed,
    Record,
    RegularExpressionResolved,
    TargetAssigned,
    TopicsHidden,
)
from bridge.engine.state import ClassicGroup, Shard
from translators.classic_member.states import seated
from translators.dialects.classic import JoinGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import JOIN_EPOCH, GroupId, InstanceId, MemberId, MemberRef
from translators.dialects.messages import GroupRequest


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The most bytes that one group, and one client address, may hold, and how large the journal may be."""

    group_bytes: int
    client_bytes: int
    all_bytes: int


class Holdings(NamedTuple):
    """What would be held of the journal: by all, by the clients at one address, and by how many addresses."""

    total_bytes: int
    host_bytes: int
    hosts: int


SHARED_PERCENT, NEWCOMERS_PERCENT, MEMBERS_PERCENT = 50, 75, 90
"""How full a journal may become: by whoever it is; beside that, by equal parts; beside that, by members that are there.
The rest is for the history of what they do, until it is condensed.
"""


def may_hold(would_be: Holdings, all_bytes: int, *, is_member: bool) -> bool:
    """Whether a journal of `all_bytes` has room for that, so that a few who fill it leave some to everybody else.

    A half is whoever's. Of the next quarter each address may be brought to an equal part only: whoever has more than
    that is refused, so that up to four addresses that ask for all they can get leave a part to a fifth. What comes then
    is for members that are there and say a little more, and no newcomer's.
    """
    quarter = all_bytes * (NEWCOMERS_PERCENT - SHARED_PERCENT) // PERCENT
    if would_be.total_bytes * PERCENT <= all_bytes * SHARED_PERCENT:
        return True
    most = MEMBERS_PERCENT if is_member else NEWCOMERS_PERCENT
    is_modest = would_be.hosts == 1 or would_be.host_bytes * would_be.hosts <= quarter
    return is_modest and would_be.total_bytes * PERCENT <= all_bytes * most


class Weight(NamedTuple):
    """What a member takes, from which address its client came, and which pattern it has, which counts by itself.

    `dealt_bytes` of it its client did not say: the partitions that it was given. 30,000 groups of one member each, that
    read 1,000 partitions, filled a journal though nobody had said much.
    """

    host: str
    size_bytes: int
    pattern: str | None = None
    dealt_bytes: int = 0


PERCENT = 100
NameT = TypeVar("NameT", bound=str)
Weights = dict[GroupId, dict[MemberId, Weight]]


class Shares:
    """Sums by group and by address; without limits nothing is counted and nobody refused.

    Members that something happened to are weighed before the next join is judged, O(1) each. What was admitted and is
    not yet carried out is reserved until `end_turn`.
    """

    def __init__(self, shard: Shard, machines: Machines, *, keeps_groups: bool = True) -> None:
        """`keeps_groups`: whether groups and clients are written down, too, and not only members with a machine."""
        self.limits: ShareLimits | None = None
        self._keeps_groups = keeps_groups
        self.by_group: dict[GroupId, int] = {}
        self.by_host: dict[str, int] = {}
        self.total_bytes = 0
        self._shard = shard
        self._machines = machines
        self._weights: Weights = {}
        self._touched: dict[MemberRef, None] = {}
        self._touched_groups: dict[GroupId, None] = {}
        self._touched_patterns: dict[str, None] = {}
        self._touched_hidden: dict[HiddenKey, None] = {}
        self.patterns = PatternShares[str](partial(pattern_written, shard))
        self._hidden = PatternShares[HiddenKey](partial(hidden_written, shard))
        self.founders = Founders(shard)
        self._is_stale = True
        self._is_reserved = False
        self._reserved_by_group: dict[GroupId, int] = {}
        self._reserved_by_host: dict[str, int] = {}
        self._reserved_bytes = 0

    def limit(self, limits: ShareLimits) -> None:
        """Count from now on, and refuse who wants more."""
        self.limits = limits
        self._machines.on_profile = self._touch
        self.recount()

    def recount(self) -> None:
        """Members came or went in ways that were not recorded: all are weighed before the next join is judged."""
        self._is_stale = True
        self._forget_touched()

    def _forget_touched(self) -> None:
        self._touched.clear()
        self._touched_groups.clear()
        self._touched_patterns.clear()
        self._touched_hidden.clear()

    def note(self, records: Iterable[Record]) -> None:
        """These records were applied."""
        if self.limits is None or self._is_stale:
            return
        for record in records:
            match record:
                case MemberSubscribed():
                    self._touch(MemberRef(record.group_id, record.subscription.member_id))
                case MemberForgotten() | ClassicMemberForgotten() | TargetAssigned() | CurrentAssigned():
                    self._touch(MemberRef(record.group_id, record.member_id))
                case ClassicMemberSeated():
                    self._touch(MemberRef(record.group_id, record.member.member_id))
                case ClassicMemberReplaced():
                    self._touch(MemberRef(record.group_id, record.former_id))
                    self._touch(MemberRef(record.group_id, record.member.member_id))
                case ClassicGroupSynced() | GroupDeleted():
                    self._touched_groups[record.group_id] = None
                case ClassicGroupCreated() | GroupCreated():
                    self.founders.note(record.group_id)
                    self._touched_groups[record.group_id] = None
                case RegularExpressionResolved() | TopicsHidden():
                    self._note_pattern(record)
                case _:
                    pass

    def _note_pattern(self, record: RegularExpressionResolved | TopicsHidden) -> None:
        if isinstance(record, TopicsHidden):
            self._touched_hidden[HiddenKey(record.group_id, record.pattern)] = None
        else:
            self._touched_patterns[record.pattern] = None

    def end_turn(self) -> None:
        """What was admitted is about to be carried out, or refused for other reasons."""
        self.founders.end_turn()
        if self._is_reserved:
            self._is_reserved = False
            self._reserved_by_group.clear()
            self._reserved_by_host.clear()
            self._reserved_bytes = 0
            self.patterns.end_turn()
            self._hidden.end_turn()

    def foresee(self, arrival: Arrival) -> Refusal | None:
        """What `judge` would say, of whom nothing is reserved."""
        return self._weigh_in(arrival, reserves=False)

    def judge(self, arrival: Arrival) -> Refusal | None:
        """Refuse a request that would bring its group or its client's address over the share; O(what it says).

        A member that says no more than before is never refused, even if its share has become smaller.
        """
        return self._weigh_in(arrival, reserves=True)

    def _weigh_in(self, arrival: Arrival, *, reserves: bool) -> Refusal | None:
        limits, request = self.limits, arrival.request
        if limits is None:
            return None
        said_bytes, pattern = self._growth_at_most(arrival), _pattern_of(request)
        if said_bytes <= 0 and pattern is None:
            return None
        if not self._is_reserved:
            self.settle()
        holder = Holder(request.group_id, arrival.client.client_host)
        begun = self.founders.growth(request.group_id) if self._keeps_groups else NOTHING
        shared = self.patterns.growth(pattern, holder).plus(self._hidden_growth(request, pattern, holder))
        growth = Growth.of_all(said_bytes).plus(shared).plus(begun)
        if growth.group_bytes <= 0 and growth.host_bytes <= 0:
            return None
        refusal = self._refuse(arrival, growth, limits)
        if refusal is not None and isinstance(request, JoinGroup):
            growth = Growth.of_all(self._join_growth(arrival, request)).plus(begun)
            refusal = self._refuse(arrival, growth, limits) if growth.group_bytes > 0 else None
        if refusal is None and reserves:
            self._reserve(holder, growth, pattern)
        return refusal

    def _reserve(self, holder: Holder, growth: Growth, pattern: str | None) -> None:
        self._is_reserved = True
        _add_to(self._reserved_by_group, holder.group_id, growth.group_bytes)
        _add_to(self._reserved_by_host, holder.host, growth.host_bytes)
        self._reserved_bytes += growth.all_bytes
        self.patterns.reserve(pattern, holder)
        self._hidden.reserve(HiddenKey(holder.group_id, pattern) if pattern else None, holder)
        self.founders.reserve(holder)

    def settle(self) -> None:
        """Bring the sums up to date."""
        if self._is_stale:
            self._is_stale = False
            self._forget_touched()
            self.patterns.clear()
            self._hidden.clear()
            self.founders.clear()
            self.by_group.clear()
            self.by_host.clear()
            self.total_bytes = 0
            self._weights.clear()
            for key in members_of(self._shard, self._machines):
                self._weigh_again(key)
            self._weigh_groups_again(self.founders.groups())
            return
        for group_id in self._touched_groups:
            for member_id in (*self._weights.get(group_id, ()), *_members_in(self._shard, group_id)):
                self._touched[MemberRef(group_id, member_id)] = None
        for key in self._touched:
            self._weigh_again(key)
        self._touched.clear()
        self._weigh_groups_again(self._touched_groups)
        self._touched_groups.clear()
        self._weigh_shared_again(self.patterns, self._touched_patterns)
        self._touched_patterns.clear()
        self._weigh_shared_again(self._hidden, self._touched_hidden)
        self._touched_hidden.clear()

    def _weigh_shared_again(self, shared: PatternShares[KeyT], keys: Iterable[KeyT]) -> None:
        for key in keys:
            more, groups, hosts = shared.weigh_again(key)
            for group_id in groups:
                _add_to(self.by_group, group_id, more)
            for host in hosts:
                _add_to(self.by_host, host, more)
            self.total_bytes += more

    def founders_told(self) -> Mapping[str, str]:
        """What has to outlive a restart of who began groups that nobody is in."""
        if self.limits is None:
            return {}
        self.settle()
        return self.founders.told(self._weights.__contains__)

    def _touch(self, key: MemberRef) -> None:
        if not self._is_stale:
            self._touched[key] = None

    def _refuse(self, arrival: Arrival, growth: Growth, limits: ShareLimits) -> Refusal | None:
        group_id, host = arrival.request.group_id, arrival.client.client_host
        in_group = self.by_group.get(group_id, 0) + self._reserved_by_group.get(group_id, 0)
        if in_group + growth.group_bytes > limits.group_bytes:
            return _over("its group", limits.group_bytes, "journal.share.group")
        of_host = self.by_host.get(host, 0) + self._reserved_by_host.get(host, 0)
        if of_host + growth.host_bytes > limits.client_bytes:
            return _over(f"clients at {quote(host)}", limits.client_bytes, "journal.share.client")
        hosts = len(self.by_host) + (host not in self.by_host)
        would_be = Holdings(
            self.total_bytes + self._reserved_bytes + growth.all_bytes, of_host + growth.host_bytes, hosts
        )
        if may_hold(would_be, limits.all_bytes, is_member=False):
            return None
        if self._is_member(arrival) and may_hold(would_be, limits.all_bytes, is_member=True):
            return None
        return _over_equal_part(host)

    def _is_member(self, arrival: Arrival) -> bool:
        """Whether somebody is there already who says more now; a leader that hands out assignments is one."""
        request = arrival.request
        if isinstance(request, (JoinGroup, ConsumerGroupHeartbeat)):
            return self._known(request.group_id, request.member_id, request.instance_id) > 0
        return True

    def _growth_at_most(self, arrival: Arrival) -> int:
        """What a request adds; of a JoinGroup all that it says, which costs less to know than what is new of it."""
        request = arrival.request
        if isinstance(request, JoinGroup):
            return join_bytes_at_most(request, arrival.client)
        if isinstance(request, ConsumerGroupHeartbeat):
            return self._heartbeat_growth(arrival, request)
        if isinstance(request, SyncGroup) and request.assignments:
            return self._assignment_growth(request)
        return 0

    def _join_growth(self, arrival: Arrival, request: JoinGroup) -> int:
        is_translated = request.group_id not in self._shard.classic_groups
        client = arrival.client if self._keeps_groups else UNNAMED
        wanted = join_bytes(request, client, is_translated=is_translated)
        return wanted - self._known(request.group_id, request.member_id, request.instance_id)

    def _heartbeat_growth(self, arrival: Arrival, request: ConsumerGroupHeartbeat) -> int:
        is_join = request.member_epoch == JOIN_EPOCH
        says_something = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        if request.member_epoch < JOIN_EPOCH or not (is_join or says_something):
            return 0
        group = self._shard.groups.get(request.group_id)
        holder = request.member_id
        if group is not None and request.instance_id is not None:
            holder = group.instances.get(request.instance_id, holder)
        known = None if group is None else group.members.get(holder)
        return heartbeat_growth(request, arrival.client, None if known is None else known.subscription)

    def _hidden_growth(self, request: GroupRequest, pattern: str | None, holder: Holder) -> Growth:
        """What is hidden from a group that begins to have a pattern, or from an address whose clients do; when topics
        change it is written anew, and nobody says more by that.
        """
        if not pattern or not isinstance(request, ConsumerGroupHeartbeat) or not request.hidden:
            return NOTHING
        will_be = partial(hidden_bytes, request.group_id, pattern, request.hidden)
        return self._hidden.growth(HiddenKey(request.group_id, pattern), holder, will_be)

    def _assignment_growth(self, request: SyncGroup) -> int:
        """A leader of a classic group brings bytes for everybody; whoever else brings some is not heard."""
        group = self._shard.classic_groups.get(request.group_id)
        if group is None or group.roster.leader != request.member_id:
            return 0
        known = sum(blob_bytes(member.assignment) for member in group.synced.members.values())
        return assignments_bytes(request.assignments) - known

    def _known(self, group_id: GroupId, member_id: MemberId, instance_id: InstanceId | None) -> int:
        """What is kept of the words of the member that this request is of, or whose seat it takes over."""
        holder = member_id
        if instance_id is not None:
            group = self._shard.groups.get(group_id) or self._shard.classic_groups.get(group_id)
            at_work = self._machines.seat_of(group_id, instance_id)
            named = holder if group is None else group.instances.get(instance_id, holder)
            holder = named if at_work is None else at_work
        weight = weigh(self._shard, self._machines, MemberRef(group_id, holder))
        return 0 if weight is None else weight.size_bytes - weight.dealt_bytes

    def _weigh_again(self, key: MemberRef) -> None:
        members = self._weights.setdefault(key.group_id, {})
        before = members.pop(key.member_id, None)
        after = weigh(self._shard, self._machines, key)
        if after is not None:
            members[key.member_id] = after
            holder = Holder(key.group_id, after.host)
            self._add(holder, Growth.of_all(after.size_bytes), 1)
            if after.pattern:
                hidden = self._hidden.begin(HiddenKey(key.group_id, after.pattern), holder)
                self._add(holder, self.patterns.begin(after.pattern, holder).plus(hidden), 1)
        if before is not None:
            holder = Holder(key.group_id, before.host)
            self._add(holder, Growth.of_all(before.size_bytes), -1)
            if before.pattern:
                hidden = self._hidden.end(HiddenKey(key.group_id, before.pattern), holder)
                self._add(holder, self.patterns.end(before.pattern, holder).plus(hidden), -1)
        if not members:
            del self._weights[key.group_id]

    def _weigh_groups_again(self, group_ids: Iterable[GroupId]) -> None:
        for group_id in group_ids:
            first = next(iter(self._weights.get(group_id, {}).values()), None)
            for charge in self.founders.weigh_again(group_id, None if first is None else first.host):
                _add_to(self.by_group, group_id, charge.size_bytes)
                if charge.host is not None:
                    _add_to(self.by_host, charge.host, charge.size_bytes)
                self.total_bytes += charge.size_bytes

    def _add(self, holder: Holder, growth: Growth, sign: int) -> None:
        _add_to(self.by_group, holder.group_id, sign * growth.group_bytes)
        _add_to(self.by_host, holder.host, sign * growth.host_bytes)
        self.total_bytes += sign * growth.all_bytes


def _pattern_of(request: GroupRequest) -> str | None:
    """The pattern that a member comes with, or changes to."""
    if isinstance(request, ConsumerGroupHeartbeat) and request.member_epoch >= JOIN_EPOCH:
        return request.subscribed_topic_regex or None
    return None


def weigh(shard: Shard, machines: Machines, key: MemberRef) -> Weight | None:
    """What a member takes, as it is now; None for nobody."""
    classic = shard.classic_groups.get(key.group_id)
    if classic is not None:
        return _weigh_classic(classic, key.member_id)
    group = shard.groups.get(key.group_id)
    member = None if group is None else group.members.get(key.member_id)
    at_work = seated(machines.get(key))
    dealt = 0 if at_work is None else DEALT_BYTES * MACHINE_LISTS * len(at_work.membership.granted)
    if member is not None:
        subscription = member.subscription
        said = 0 if at_work is None else profile_bytes(at_work.membership.profile)
        size_bytes = said + subscription_bytes(key.group_id, subscription)
        targeted = 0 if group is None else len(group.target.get(key.member_id, ()))
        dealt += DEALT_BYTES * (targeted + len(member.current.assigned) + len(member.current.pending_revocation))
        return Weight(subscription.identity.client_host, size_bytes + dealt, subscription.pattern, dealt)
    if at_work is None:
        return None
    membership = at_work.membership
    size_bytes = translated_bytes(key, membership.seat.instance_id, membership.profile)
    return Weight(machines.client_of(key).client_host, size_bytes + dealt, dealt_bytes=dealt)


def members_of(shard: Shard, machines: Machines) -> Iterator[MemberRef]:
    """Everybody who takes anything, each once."""
    for group_id in (*shard.groups, *shard.classic_groups):
        for member_id in _members_in(shard, group_id):
            yield MemberRef(group_id, member_id)
    for key in machines:
        group = shard.groups.get(key.group_id)
        if key.group_id not in shard.classic_groups and (group is None or key.member_id not in group.members):
            yield key


def _members_in(shard: Shard, group_id: GroupId) -> tuple[MemberId, ...]:
    classic = shard.classic_groups.get(group_id)
    if classic is not None:
        return tuple(dict.fromkeys((*classic.members, *classic.synced.members)))
    group = shard.groups.get(group_id)
    return () if group is None else tuple(group.members)


def _weigh_classic(group: ClassicGroup, member_id: MemberId) -> Weight | None:
    """The roster of now is what the next sync writes; until then the journal has the assignments of the last one."""
    synced = group.synced.members.get(member_id)
    member = group.members.get(member_id) or synced
    if member is None:
        return None
    assignment = b"" if synced is None else synced.assignment
    return Weight(member.identity.client_host, classic_bytes(group.group_id, member, assignment))


def _add_to(sums: dict[NameT, int], key: NameT, size_bytes: int) -> None:
    left = sums.get(key, 0) + size_bytes
    if left:
        sums[key] = left
    else:
        sums.pop(key, None)


def _over(whose: str, most: int, setting: str) -> Refusal:
    """The same words each time, so that the log has them once in a while only."""
    reason = f"EB-JOURNAL-014: {whose} would hold more than {most} bytes of the journal, see {quote(setting)}"
    return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)


def _over_equal_part(host: str) -> Refusal:
    reason = f"EB-JOURNAL-014: clients at {quote(host)} would hold more than an equal part, see 'journal.bytes.max'"
    return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
