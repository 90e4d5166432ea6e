"""Laws that hold for the engine whatever members, admins, topics and time do.

They know commands and state, and must not know how a turn is carried out.
"""

from dataclasses import dataclass, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bridge.engine.assignors.interface import Assignment, AssignmentSpec, IncrementalAssignor, IndexSource, TargetIndex
from bridge.engine.assignors.load_index import LoadIndex
from bridge.engine.assignors.range import Range
from bridge.engine.assignors.uniform import Uniform, UniformIndex
from bridge.engine.commands import (
    AlterGroupConfigs,
    BeginCommit,
    ChangeTopics,
    Command,
    DeleteGroup,
    EndCommit,
    ForgetRegularExpressions,
    MemberHeartbeat,
    PassDeadlines,
    RemoveMembers,
    ResolveRegularExpression,
    Speaks,
)
from bridge.engine.consumer.heartbeats import take_calm_heartbeat
from bridge.engine.consumer.target import make_spec
from bridge.engine.indexes import index_loads
from bridge.engine.model import MemberState
from bridge.engine.outcome import MemberAnswer, Message, Outcome
from bridge.engine.queries import has_news, next_deadline
from bridge.engine.records import GroupDeleted, MemberSubscribed, TargetEpochReached
from bridge.engine.settings import ASSIGNORS, HEARTBEAT_INTERVAL, PREFIX, SESSION_TIMEOUT, EngineSettings
from bridge.engine.state import Group, settings_of, topic_ids_of, topic_names_of
from tests.support.assignments import find_misplaced, find_uneven
from tests.support.derived_indexes import find_stale
from tests.support.engine_bench import (
    GROUP,
    IDENTITY,
    Bench,
    Partitions,
    beat_request,
    calm_reply,
    join_request,
    parts,
    topic,
    topic_id,
)
from tests.support.snapshots import durable, snapshot
from translators.dialects.classic import LeaveGroup, LeavingMember
from translators.dialects.configs import Alteration, Operation
from translators.dialects.coordinator import CommitAdmitted
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ClientIdentity,
    InstanceId,
    MemberId,
    MemberRef,
    ReplyTo,
    TopicIdPartition,
    TopicName,
)
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

UNIFORM = Uniform()
RANGE = Range()
STRANGER = ClientIdentity(client_id="stranger", client_host="/127.0.0.1")
MEMBERS = st.sampled_from(["a", "b", "c", "d"])
SPEAKS = st.sampled_from(list(Speaks))
TOPICS = st.sampled_from([("foo",), ("bar",), ("foo", "bar"), ("foo", "later"), ("later",)])
HIDDEN = st.none() | st.frozensets(st.sampled_from([TopicName("bar"), TopicName("later")]))
"""What a broker says that a member may not see; None: it was not asked."""
OWNED = st.sampled_from(["nothing said", "nothing", "assigned", "all"])
TIMES_MS = st.sampled_from([1, 500, 3_000, 20_000, 50_000])


@dataclass(slots=True)
class Moody(IncrementalAssignor):
    """The built-in assignor, which fails while it is in the mood for it."""

    name: str = "uniform"
    fails: bool = False

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Answer, or raise."""
        if self.fails:
            raise RuntimeError("not now")
        return UNIFORM.assign(spec)

    def index(self, census: IndexSource) -> TargetIndex:
        """Remember as the built-in one does."""
        return MoodyIndex(self, census)


class MoodyIndex(UniformIndex):
    """An index of a moody assignor."""

    __slots__ = ("moody",)

    def __init__(self, moody: Moody, census: IndexSource) -> None:
        super().__init__(census)
        self.moody = moody

    def revise(self, target: Assignment) -> Assignment | None:
        """Answer, or raise."""
        if self.moody.fails:
            raise RuntimeError("not now")
        return super().revise(target)


class EngineLaws(RuleBasedStateMachine):
    """Four members of one group, dynamic or static, native or translated, with everything that can befall them."""

    def __init__(self) -> None:
        super().__init__()
        self.moody = Moody()
        self.bench = Bench()
        self.queue: list[Command] = []
        self.open: dict[ReplyTo, Command] = {}
        self.commits: list[int] = []
        self.epochs: dict[str, int] = {}

    @initialize(
        delay_ms=st.sampled_from([0, 3_000]),
        interval_ms=st.sampled_from([0, 1_000]),
        wait_ms=st.sampled_from([0, 3_000]),
        keeps_ms=st.sampled_from([(0, 0), (1_000, 0), (1_000, 9_000)]),
        assignor=st.sampled_from(["uniform", "range"]),
    )
    def start(self, delay_ms: int, interval_ms: int, wait_ms: int, keeps_ms: tuple[int, int], assignor: str) -> None:
        """The shard's settings."""
        chosen = EngineSettings(
            group_initial_rebalance_delay_ms=delay_ms,
            group_consumer_assignment_interval_ms=interval_ms,
            group_consumer_max_size=3,
            departure_wait_ms=keeps_ms[0],
            replacement_grace_ms=keeps_ms[1],
            group_consumer_assignors=(assignor,),
        )
        self.moody = Moody()
        self.bench = Bench(
            assignors={"uniform": self.moody, "range": RANGE}, settings=chosen, no_assignment_before_ms=wait_ms
        )

    @rule(
        member=MEMBERS,
        speaks=SPEAKS,
        topics=TOPICS,
        instance=st.sampled_from([None, "seat"]),
        claim=st.tuples(st.frozensets(st.integers(0, 7)), st.integers(-1, 3)),
    )
    def join(
        self,
        member: str,
        speaks: Speaks,
        topics: tuple[str, ...],
        instance: str | None,
        claim: tuple[frozenset[int], int],
    ) -> None:
        """A member joins, or joins again, perhaps taking the one static seat, and says what it had."""
        seat = None if instance is None else InstanceId(instance)
        command = self.bench.command(replace(join_request(member, *topics), instance_id=seat), speaks)
        claiming = replace(command, claimed=parts(*claim[0]), claimed_generation=claim[1])
        self.queue_ask(replace(claiming, fresh_id=MemberId(member)))

    @rule(
        name=st.sampled_from([SESSION_TIMEOUT, HEARTBEAT_INTERVAL, f"{PREFIX}{ASSIGNORS}"]),
        value=st.sampled_from([None, "6000", "50000", "range", "uniform"]),
    )
    def configure(self, name: str, value: str | None) -> None:
        """An admin alters a setting, or takes it back; many a value is none of it."""
        operation = Operation.DELETE if value is None else Operation.SET
        alterations = (Alteration(name, value, operation),)
        ref = self.bench.ref()
        self.queue.append(AlterGroupConfigs(ref=ref, group_id=GROUP, alterations=alterations))
        self.open[ref] = self.queue[-1]

    @rule(member=MEMBERS, instance=st.sampled_from([None, InstanceId("seat")]), hidden=HIDDEN)
    def join_by_pattern(self, member: str, instance: InstanceId | None, hidden: frozenset[TopicName] | None) -> None:
        """A member joins with a regular expression, perhaps on the static seat."""
        request = replace(join_request(member), subscribed_topic_names=None, subscribed_topic_regex="b.*")
        self.queue_ask(self.bench.command(replace(request, instance_id=instance, hidden=hidden)))

    @rule(member=MEMBERS, hidden=HIDDEN)
    def hear_what_is_hidden(self, member: str, hidden: frozenset[TopicName] | None) -> None:
        """A broker says of what the pattern matches what a member may not see."""
        known = self.seat(member)
        epoch = 1 if known is None else known.members[MemberId(member)].current.epoch
        if epoch > 0:
            self.queue_ask(self.bench.command(replace(beat_request(member, epoch), hidden=hidden)))

    @rule(member=MEMBERS, speaks=SPEAKS, says=OWNED, lag=st.sampled_from([0, 0, 0, 1]))
    def beat(self, member: str, speaks: Speaks, says: str, lag: int) -> None:
        """A member heartbeats, mostly at its own epoch."""
        known = self.seat(member)
        epoch = 1 if known is None else known.members[MemberId(member)].current.epoch
        if epoch > 0:
            request = beat_request(member, max(epoch - lag, 1), self.owned(member, says))
            self.queue_ask(self.bench.command(request, speaks))

    @rule(
        member=MEMBERS,
        says=st.sampled_from(["nothing said", "nothing said", "assigned"]),
        lag=st.sampled_from([0, 0, 0, 1]),
        instance=st.sampled_from([None, None, InstanceId("seat")]),
        client=st.sampled_from([IDENTITY, IDENTITY, STRANGER]),
    )
    def beat_calmly(
        self, member: str, says: str, lag: int, instance: InstanceId | None, client: ClientIdentity
    ) -> None:
        """Law: what is taken without a turn gets the answer of a turn, which then changes nothing more; what is not
        taken has changed nothing.
        """
        self.advance()
        known = self.seat(member)
        epoch = 1 if known is None else known.members[MemberId(member)].current.epoch
        request = replace(beat_request(member, epoch - lag, self.owned(member, says)), instance_id=instance)
        before = snapshot(self.bench.state)
        is_taken = take_calm_heartbeat(self.bench.state, request, client, self.bench.now_ms)
        after = snapshot(self.bench.state)
        assert replace(after, deadlines=before.deadlines) == before
        if not is_taken:
            assert after.deadlines == before.deadlines
            return
        command = replace(self.bench.command(request), identity=client)
        outcome = self.bench.tell(command)
        told_ms = settings_of(self.bench.state, GROUP).group_consumer_heartbeat_interval_ms
        assert [answer.reply for answer in self.bench.answers(outcome).values()] == [
            replace(calm_reply(request), heartbeat_interval_ms=told_ms)
        ]
        assert not outcome.notices
        assert not any(record.durable for record in outcome.records)
        assert snapshot(self.bench.state) == after

    @rule(member=MEMBERS, epoch=st.sampled_from([LEAVE_EPOCH, STATIC_LEAVE_EPOCH]))
    def leave(self, member: str, epoch: int) -> None:
        """A member leaves, for good or for a while."""
        instance = InstanceId("seat") if epoch == STATIC_LEAVE_EPOCH else None
        self.queue_ask(self.bench.command(replace(beat_request(member, epoch), instance_id=instance)))

    @rule(members=st.sets(MEMBERS, min_size=1))
    def remove(self, members: set[str]) -> None:
        """An admin removes members in a batch."""
        leaving = tuple(LeavingMember(member_id=MemberId(member)) for member in sorted(members))
        ref = self.bench.ref()
        self.queue.append(RemoveMembers(ref, LeaveGroup(group_id=GROUP, members=leaving)))
        self.open[ref] = self.queue[-1]

    @rule()
    def delete(self) -> None:
        """An admin deletes the group."""
        ref = self.bench.ref()
        self.queue.append(DeleteGroup(ref, GROUP))
        self.open[ref] = self.queue[-1]

    @rule(count=st.integers(1, 9), gone=st.booleans())
    def change_topics(self, count: int, gone: bool) -> None:
        """A topic appears, grows, or goes."""
        removed = (topic_id("later"),) if gone else ()
        added = () if gone else (topic("later", count),)
        self.queue.append(ChangeTopics(added, removed))

    @rule(matches=st.sets(st.sampled_from(["bar", "later"])))
    def resolve(self, matches: set[str]) -> None:
        """The pattern matches something else."""
        self.queue.append(ResolveRegularExpression("b.*", frozenset(TopicName(name) for name in matches)))

    @rule()
    def forget_patterns(self) -> None:
        """What nobody had when that was ordered is forgotten, unless somebody has it by then."""
        self.queue.append(ForgetRegularExpressions(frozenset(self.bench.state.unused_patterns)))

    @rule(member=MEMBERS, number=st.integers(0, 5), lag=st.sampled_from([0, 0, 1]))
    def begin_commit(self, member: str, number: int, lag: int) -> None:
        """A member commits a partition of foo."""
        known = self.seat(member)
        epoch = 1 if known is None else known.members[MemberId(member)].current.epoch
        offsets = TopicCommit(name=TopicName("foo"), partitions=(PartitionCommit(partition=number, offset=1),))
        commit = OffsetCommit(
            group_id=GROUP,
            generation=epoch - lag,
            member_id=MemberId(member),
            instance_id=None,
            topics=(offsets,),
        )
        ref = self.bench.ref()
        self.queue.append(BeginCommit(ref, commit))
        self.open[ref] = self.queue[-1]

    @rule(fails=st.booleans())
    def turn_moody(self, fails: bool) -> None:
        """The assignor begins to fail, or works again."""
        self.moody.fails = fails

    @rule()
    def end_commit(self) -> None:
        """The broker answers the oldest commit, or one that nobody knows."""
        self.queue.append(EndCommit(self.commits.pop(0) if self.commits else 999))

    @rule(milliseconds=TIMES_MS)
    def pass_time(self, milliseconds: int) -> None:
        """Time passes."""
        self.advance()
        self.bench.now_ms += milliseconds
        self.queue.append(PassDeadlines())
        self.advance()

    @rule()
    def advance(self) -> None:
        """What is queued is carried out in one turn."""
        before = self.bench.state.groups.get(GROUP)
        flying = frozenset(self.bench.state.in_flight.get(GROUP, ()))
        held = held_by(before)
        ended = {command.commit_id for command in self.queue if isinstance(command, EndCommit)}
        outcome = self.bench.tell(*self.queue)
        self.queue.clear()
        if GroupDeleted(GROUP) in outcome.records:
            self.epochs = {}
        self.settle_replies(outcome)
        self.check_range(outcome)
        if not ended:
            self.check_flights(flying, held)

    def check_range(self, outcome: Outcome) -> None:
        """Law: whatever was computed anew, a new target of `range` is what its definition says of the group (K9.2)."""
        group = self.bench.state.groups.get(GROUP)
        changes = [one for one in outcome.records if isinstance(one, TargetEpochReached | MemberSubscribed)]
        if group is not None and changes and changes[-1] == TargetEpochReached(GROUP, group.epoch, "range"):
            defined = RANGE.assign(make_spec(self.bench.state, group))
            assert {name: group.target.get(name, frozenset()) for name in group.members} == defined

    def queue_ask(self, command: MemberHeartbeat) -> None:
        """Put a heartbeat into the next turn and expect one answer."""
        self.queue.append(command)
        self.open[command.ref] = command

    def settle_replies(self, outcome: Outcome) -> None:
        """Law: every command is answered exactly once, parked ones later."""
        for ref, message in outcome.replies:
            del self.open[ref]
            if isinstance(message, CommitAdmitted):
                self.commits.append(message.commit_id)
            self.check_answer(message)
        group = self.bench.state.groups.get(GROUP)
        assert {ask.ref for ask in group.parked} == set(self.open) if group is not None else not self.open

    def check_answer(self, message: Message) -> None:
        """Law: an answer never names what others wait for, and a member never sees epoch 0."""
        if isinstance(message, MemberAnswer) and message.reply.error is ErrorCode.NONE:
            assert message.reply.member_epoch != 0
            assert message.pending.isdisjoint(message.reply.assignment or ())

    def check_flights(self, flying: frozenset[TopicIdPartition], held: dict[TopicIdPartition, MemberId]) -> None:
        """Law: a partition with a commit on its way is not given to another than who holds it (decision 2)."""
        now = held_by(self.bench.state.groups.get(GROUP))
        for partition in flying & now.keys():
            assert now[partition] == held.get(partition), f"{partition} changed hands with a commit on its way"

    def seat(self, member: str) -> Group | None:
        """The group, if the member is in it."""
        group = self.bench.state.groups.get(GROUP)
        return group if group is not None and member in group.members else None

    def owned(self, member: str, says: str) -> Partitions | None:
        """What a member says that it owns."""
        if says == "nothing said" or self.seat(member) is None:
            return None
        current = self.bench.current(member)
        said = {"nothing": frozenset(), "assigned": frozenset(current.assigned)}
        return said.get(says, frozenset(current.assigned) | frozenset(current.pending_revocation))

    @invariant()
    def partition_has_one_owner(self) -> None:
        """Assigned and pending revocation of all members are disjoint, and the index says whose (K2.40)."""
        group = self.bench.state.groups.get(GROUP)
        assert held_by(group) == ({} if group is None else group.owners)

    @invariant()
    def classic_members_read_by_names_alone(self) -> None:
        """Whosever seat they took, and whatever they spoke before (K4.11)."""
        group = self.bench.state.groups.get(GROUP)
        subscriptions = [] if group is None else [member.subscription for member in group.members.values()]
        assert not [one for one in subscriptions if one.speaks is Speaks.CLASSIC and one.pattern is not None]

    @invariant()
    def epochs_only_rise(self) -> None:
        """Group, assignment and member epochs never fall, and the target is never ahead of the group."""
        group = self.bench.state.groups.get(GROUP)
        if group is None:
            self.epochs = {}
            return
        assert group.epoch >= group.assignment_epoch
        seen = {"group": group.epoch, "target": group.assignment_epoch}
        assert all(value >= self.epochs.get(name, 0) for name, value in seen.items())
        assert all(member.current.epoch <= group.assignment_epoch for member in group.members.values())
        self.epochs = seen

    @invariant()
    def replay_equals_live(self) -> None:
        """Replaying every record gives the same state, replaying the durable ones the same durable state."""
        assert snapshot(self.bench.replayed()) == snapshot(self.bench.state)
        assert durable(self.bench.replayed(durable_only=True)) == durable(self.bench.state)

    @invariant()
    def indexes_are_what_members_targets_and_flights_make_of_them(self) -> None:
        """None of them says anything of its own, however it was kept in step."""
        assert find_stale(self.bench.state) == []

    @invariant()
    def load_index_is_what_a_fresh_one_would_be(self) -> None:
        """What records have kept in step equals what is built from members, topics and target."""
        group = self.bench.state.groups.get(GROUP)
        if group is not None and group.loads is not None:
            fresh = replace(group, loads=None)
            assignor = RANGE if group.assignor == "range" else UNIFORM
            assert group.loads.snapshot() == index_loads(self.bench.state, fresh, assignor).snapshot()
            assert not isinstance(group.loads, LoadIndex) or find_misplaced(group.loads) == []

    @invariant()
    def uniform_target_is_as_even_as_subscriptions_allow(self) -> None:
        """Whatever was looked at, from no member leads a chain of single moves to one with two partitions less."""
        group = self.bench.state.groups.get(GROUP)
        if group is not None and group.assignor == "uniform" and group.epoch == group.assignment_epoch:
            spec = make_spec(self.bench.state, group)
            assert find_uneven(spec, {name: group.target.get(name, frozenset()) for name in group.members}) == []

    @invariant()
    def target_covers_subscribed_partitions_once(self) -> None:
        """A group at its epoch has every partition of every subscribed topic in exactly one subscriber's target."""
        state = self.bench.state
        group = state.groups.get(GROUP)
        if group is None or group.epoch > group.assignment_epoch or group.delay is not None:
            return
        wanted: set[TopicIdPartition] = set()
        for member_id, member in group.members.items():
            topics = topic_ids_of(state, topic_names_of(state, group.hidden, member.subscription))
            assert {partition.topic_id for partition in group.target.get(member_id, ())} <= topics
            wanted |= {TopicIdPartition(one, n) for one in topics for n in range(state.partition_counts[one])}
        given = [partition for partitions in group.target.values() for partition in partitions]
        assert len(given) == len(set(given))
        assert set(given) == wanted

    @invariant()
    def who_has_no_news_is_settled(self) -> None:
        """`has_news` is false only for a member that is at the target epoch and has all of its target that is free."""
        state = self.bench.state
        group = state.groups.get(GROUP)
        for member_id, member in () if group is None else group.members.items():
            if group is not None and not has_news(state, MemberRef(GROUP, member_id)):
                assert member.current.state is not MemberState.UNREVOKED_PARTITIONS
                missing = group.target.get(member_id, frozenset()) - member.current.assigned.keys()
                assert missing <= group.owners.keys() | state.in_flight.get(GROUP, {}).keys()

    @invariant()
    def deadline_lies_ahead(self) -> None:
        """After `PassDeadlines` at its own time nothing overdue is left behind."""
        due_ms = next_deadline(self.bench.state)
        assert due_ms == min(self.bench.state.deadlines.due.values(), default=None)


def held_by(group: Group | None) -> dict[TopicIdPartition, MemberId]:
    """Who holds what, from the members; fails if two hold the same."""
    owners: dict[TopicIdPartition, MemberId] = {}
    for member_id, member in () if group is None else group.members.items():
        for partition in (*member.current.assigned, *member.current.pending_revocation):
            assert partition not in owners, f"{partition} is held by {owners.get(partition)} and {member_id}"
            owners[partition] = member_id
    return owners


TestEngineLaws = EngineLaws.TestCase
TestEngineLaws.settings = settings(max_examples=300, stateful_step_count=50, deadline=None)
