"""Whatever members do, the sums that shares are judged by are those of the members that are there."""

from dataclasses import replace
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.coordinators.embedded.shares import (
    MEMBERS_PERCENT,
    Holdings,
    ShareLimits,
    may_hold,
    members_of,
    weigh,
)
from bridge.coordinators.embedded.weights import group_bytes, hidden_bytes, pattern_bytes
from bridge.engine.commands import ConvertGroup, ForgetRegularExpressions, GroupType, ResolveRegularExpression
from bridge.engine.settings import EngineSettings
from tests.support.embedded_world import join_request, leave_request, native_join
from tests.support.owned_group import CLIENT, GROUP, OwnedGroup
from translators.dialects.classic import Heartbeat, JoinGroupReply, MemberAssignment, Protocol, SyncGroup
from translators.dialects.configs import MigrationPolicy
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId, RequestRef, TopicName

HAPPENINGS = (
    *("join",) * 5,
    *("sync",) * 2,
    *("beat", "leave", "native", "native", "go", "delete", "convert", "convert", "restart", "recover"),
    *("pattern", "pattern", "pattern", "resolve", "resolve", "forget"),
    *("wait",) * 2,
)
STEPS = st.tuples(
    st.sampled_from(HAPPENINGS),
    st.sampled_from([GROUP, GROUP, GROUP, GroupId("other")]),
    st.integers(0, 3),
    st.sampled_from([None, None, InstanceId("seat")]),
    st.sampled_from([0, 1, 10, 50, 4_000, 12_000]),
)
HOSTS = (CLIENT, replace(CLIENT, client_host="/10.0.0.9"))
Step = tuple[str, GroupId, int, InstanceId | None, int]


class Life:
    """Some clients, who remember the ids and generations they were told, and a journal in a list."""

    def __init__(self, *, begins_classic: bool) -> None:
        chosen = EngineSettings(
            group_initial_rebalance_delay_ms=0,
            departure_wait_ms=0,
            group_begins_classic=begins_classic,
            group_consumer_migration_policy=MigrationPolicy.BIDIRECTIONAL,
        )
        self.group = OwnedGroup(settings=chosen)
        self.owner = self.group.owner
        self.owner.shares.limit(ShareLimits(10**9, 10**9, 10**9))
        self.journal: list[bytes] = []
        self.owner.revive((), 0)
        self.ids: dict[tuple[GroupId, int], MemberId] = {}
        self.generations: dict[tuple[GroupId, int], int] = {}
        self.orders = count(1_000_000)

    def take(self, step: Step) -> None:
        """Let one thing happen, and write it down."""
        name, group_id, number, instance_id, size = step
        key = (group_id, number)
        member_id = self.ids.get(key, MemberId(""))
        match name:
            case "join":
                self._join(key, instance_id, size)
            case "sync":
                self._sync(key, size)
            case "beat":
                self.group.send(Heartbeat(group_id, self.generations.get(key, 1), member_id, None))
            case "leave":
                self.group.send(replace(leave_request(member_id), group_id=group_id))
            case "native" | "go":
                self._take_native(name, key, instance_id, size)
            case "pattern" | "resolve" | "forget":
                self._take_pattern(name, group_id, number, size)
            case "wait":
                self.group.wait(size)
            case "delete" | "convert" | "recover":
                self._order(name, group_id, size)
            case _:
                self.owner.revive(self.journal, self.group.now_ms)
        self.journal += self.owner.entries()

    def _order(self, name: str, group_id: GroupId, size: int) -> None:
        if name == "delete":
            self.owner.delete_group(group_id, self.group.now_ms)
        elif name == "recover":
            self.owner.recover(self.group.now_ms)
        else:
            to = (GroupType.CLASSIC, GroupType.CONSUMER)[size % 2]
            ref = RequestRef(0, 0, next(self.orders))
            self.group.tell(ConvertGroup(ref=ref, group_id=group_id, to=to, is_dry_run=False))

    def _sync(self, key: tuple[GroupId, int], size: int) -> None:
        assigned = tuple(MemberAssignment(one, b"a" * size) for one in set(self.ids.values()))
        self.group.send(
            SyncGroup(
                group_id=key[0],
                generation=self.generations.get(key, 1),
                member_id=self.ids.get(key, MemberId("")),
                instance_id=None,
                assignments=assigned,
            )
        )

    def _take_native(self, name: str, key: tuple[GroupId, int], instance_id: InstanceId | None, size: int) -> None:
        topics = tuple(TopicName("t" * (1 + one)) for one in range(1 + size % 5))
        joined = replace(native_join(f"n{key[1]}"), group_id=key[0], subscribed_topic_names=topics)
        epoch = 0 if name == "native" else -1
        self.group.send(replace(joined, member_epoch=epoch, instance_id=instance_id))

    def _take_pattern(self, name: str, group_id: GroupId, number: int, size: int) -> None:
        if name == "pattern":
            hidden = frozenset(TopicName("t" * (1 + one)) for one in range(size % 4))
            joined = replace(native_join(f"n{number}"), group_id=group_id, subscribed_topic_names=None, hidden=hidden)
            self.group.send(replace(joined, subscribed_topic_regex="tu"[size % 2]), client=HOSTS[number % 2])
        elif name == "resolve":
            topics = frozenset(TopicName("t" * (1 + one)) for one in range(size % 7))
            self.group.tell(ResolveRegularExpression("tu"[number % 2], topics))
        else:
            self.group.tell(ForgetRegularExpressions(frozenset(self.owner.shard.unused_patterns)))

    def _join(self, key: tuple[GroupId, int], instance_id: InstanceId | None, size: int) -> None:
        blob = encode_subscription(
            Subscription(version=0, topics=(TopicName("t"),), owned=frozenset(), user_data=b"u" * size)
        )
        request = replace(
            join_request(""), group_id=key[0], instance_id=instance_id, protocols=(Protocol("range", blob),)
        )
        for _ in range(2):
            (ref,) = self.group.send(replace(request, member_id=self.ids.get(key, MemberId(""))))
            reply = self.group.replies.get(ref)
            if not isinstance(reply, JoinGroupReply):
                return
            if reply.error is ErrorCode.UNKNOWN_MEMBER_ID:
                self.ids.pop(key, None)
            elif reply.error in {ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED}:
                self.ids[key], self.generations[key] = reply.member_id, reply.generation
                if reply.error is ErrorCode.NONE:
                    return

    def check(self) -> None:
        """The sums are those of a recount."""
        shares, by_group, by_host = self.owner.shares, dict[GroupId, int](), dict[str, int]()
        shares.settle()
        for key in members_of(self.owner.shard, self.owner.machines):
            weight = weigh(self.owner.shard, self.owner.machines, key)
            if weight is not None:
                by_group[key.group_id] = by_group.get(key.group_id, 0) + weight.size_bytes
                by_host[weight.host] = by_host.get(weight.host, 0) + weight.size_bytes
        for group_id in (*self.owner.shard.groups, *self.owner.shard.classic_groups):
            by_group[group_id] = by_group.get(group_id, 0) + group_bytes(group_id)
            founder = shares.founders.charged.get(group_id)
            if founder is not None:
                by_host[founder] = by_host.get(founder, 0) + group_bytes(group_id)
        total, shard = sum(by_group.values()), self.owner.shard
        members = {
            (group_id, one.subscription.identity.client_host, one.subscription.pattern)
            for group_id, group in shard.groups.items()
            for one in group.members.values()
        }
        for pattern in {pattern for _, _, pattern in members if pattern}:
            resolved = shard.patterns.get(pattern)
            size_bytes = pattern_bytes(pattern, () if resolved is None else resolved.topics)
            total += size_bytes
            for group_id in {group_id for group_id, _, its in members if its == pattern}:
                by_group[group_id] += size_bytes
            for host in {host for _, host, its in members if its == pattern}:
                by_host[host] += size_bytes
        for group_id, pattern in {(group_id, pattern) for group_id, _, pattern in members if pattern}:
            size_bytes = hidden_bytes(group_id, pattern, shard.groups[group_id].hidden.get(pattern, ()))
            total += size_bytes
            by_group[group_id] += size_bytes
            for host in {host for its, host, one in members if (its, one) == (group_id, pattern)}:
                by_host[host] += size_bytes
        assert (shares.by_group, shares.by_host, shares.total_bytes) == (by_group, by_host, total)


@settings(deadline=None, max_examples=100)
@given(steps=st.lists(STEPS, min_size=15, max_size=40), begins_classic=st.booleans(), every=st.integers(1, 3))
def test_sums_are_those_of_a_recount(steps: list[Step], *, begins_classic: bool, every: int) -> None:
    """After any steps, also when several happened since the sums were last brought up to date."""
    life = Life(begins_classic=begins_classic)
    for number, step in enumerate(steps):
        life.take(step)
        if number % every == 0:
            life.check()
    life.check()


ALL_BYTES = 1_000_000
SHARE_BYTES = ALL_BYTES // 4
WANTED = st.tuples(st.integers(0, 9), st.integers(1, ALL_BYTES // 3), st.booleans())


class Journal:
    """What some addresses hold of a journal that takes what it may."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}

    def ask(self, host: int, size_bytes: int, *, is_member: bool) -> bool:
        """Whether the address gets so much more."""
        host_bytes = self.held.get(host, 0) + size_bytes
        would_be = Holdings(sum(self.held.values()) + size_bytes, host_bytes, len(self.held.keys() | {host}))
        if host_bytes > SHARE_BYTES or not may_hold(would_be, ALL_BYTES, is_member=is_member):
            return False
        self.held[host] = host_bytes
        return True


@given(asked=st.lists(WANTED, max_size=80))
def test_journal_is_never_filled_and_who_holds_little_is_served_while_there_is_room(
    asked: list[tuple[int, int, bool]],
) -> None:
    """Whoever asks for whatever: a part stays free, and a member with less than an equal part is let grow up to it."""
    journal = Journal()
    for host, size_bytes, is_member in asked:
        total = sum(journal.held.values()) + size_bytes
        held, hosts = journal.held.get(host, 0) + size_bytes, len(journal.held.keys() | {host})
        got = journal.ask(host, size_bytes, is_member=is_member)
        assert sum(journal.held.values()) * 100 <= ALL_BYTES * MEMBERS_PERCENT
        if is_member and held * hosts <= SHARE_BYTES and total * 100 <= ALL_BYTES * MEMBERS_PERCENT:
            assert got


@given(asked=st.lists(st.tuples(st.integers(1, 4), st.integers(1, SHARE_BYTES)), max_size=80))
def test_four_addresses_leave_a_part_to_a_fifth(asked: list[tuple[int, int]]) -> None:
    """However they ask, and also when each takes to the last byte what it can get."""
    journal = Journal()
    for host, size_bytes in (*asked, *((host, 1 << bit) for host in (1, 2, 3, 4) for bit in range(17, -1, -1))):
        journal.ask(host, size_bytes, is_member=False)
    assert journal.ask(5, SHARE_BYTES // 5, is_member=False)
