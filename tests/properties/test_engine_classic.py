"""Laws that hold for classic groups whatever clients, admins, restarts and time do.

They know commands and state, and must not know how a turn is carried out.
"""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bridge.engine.apply import apply
from bridge.engine.commands import (
    BeginCommit,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    DeleteGroup,
    EndCommit,
    PassDeadlines,
)
from bridge.engine.model import TRANSITIONS, Phase, names_of
from bridge.engine.outcome import Message, Outcome
from bridge.engine.queries import next_deadline
from bridge.engine.records import ClassicGroupCreated, ClassicGroupSynced, GroupDeleted, JoinPhaseCompleted, Record
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup, Shard
from tests.support.classic_bench import commit_of, join_of, offer, transaction_of
from tests.support.classic_soundness import check_deadlines, check_indexes, check_phase, check_waits
from tests.support.derived_indexes import find_stale
from tests.support.engine_bench import GROUP, IDENTITY, Bench, beat_request, join_request
from tests.support.snapshots import durable, snapshot
from translators.dialects.classic import (
    Heartbeat,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.coordinator import CommitAdmitted
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, InstanceId, MemberId, ReplyTo, RequestRef

INSTANCES = st.sampled_from([None, None, "A", "B"])
OFFERS = st.sampled_from([("range",), ("range", "sticky"), ("sticky", "range"), ("sticky",)])
TIMES_MS = st.sampled_from([1, 2_999, 3_000, 3_000, 3_000, 9_999, 60_000])
NUMBERS = st.integers(0, 9)
Maker = Callable[[RequestRef], Command]
"""A command for a place where its answer goes."""


class ClassicLaws(RuleBasedStateMachine):
    """A few clients of one group, static and dynamic, old and new, that remember the ids they were told, or mix them
    up.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.shadow = self.bench.fresh_shard()
        self.queue: list[Command] = []
        self.open: set[ReplyTo] = set()
        self.ids: list[MemberId] = [MemberId("stranger")]
        self.commits: list[int] = []
        self.generations: set[int] = set()
        self.begun: dict[int, int] = {}

    @initialize(
        delay_ms=st.sampled_from([0, 3_000]),
        most=st.sampled_from([2, 3, 100]),
        instances=st.lists(st.sampled_from([None, "A", "B"]), max_size=3),
    )
    def start(self, delay_ms: int, most: int, instances: list[str | None]) -> None:
        """The shard's settings, and mostly a group that is settled."""
        self.bench = Bench(settings=EngineSettings(group_initial_rebalance_delay_ms=delay_ms, group_max_size=most))
        self.shadow = self.bench.replayed()
        for instance in instances:
            self.join(None, instance, ("range",), is_old=True, skips=False)
        for _ in instances:
            self.pass_time(3_000)
            self.join_everybody(absent=-1)
        self.pass_time(3_000)
        self.sync_everybody(waits=False)

    # ------------------------------------------------------------------ what clients do

    @rule(instance=INSTANCES, offers=OFFERS, is_old=st.booleans(), skips=st.booleans())
    def join_as_newcomer(self, instance: str | None, offers: tuple[str, ...], is_old: bool, skips: bool) -> None:
        """A client without an id joins."""
        self.join(None, instance, offers, is_old, skips)

    @rule(number=NUMBERS, instance=INSTANCES, offers=OFFERS, names_instance=st.booleans())
    def join_again(self, number: int, instance: str | None, offers: tuple[str, ...], names_instance: bool) -> None:
        """A client joins with an id it was told, mostly with the instance that belongs to it."""
        member_id = self.pick(number)
        held = self.instance_of(member_id)
        self.join(member_id, held if names_instance else instance, offers, is_old=False, skips=False)

    @rule(number=NUMBERS, lag=st.sampled_from([0, 0, 0, 1]), leads=st.booleans())
    def sync(self, number: int, lag: int, leads: bool) -> None:
        """A member syncs; a leader brings assignments, or somebody who thinks so."""
        self.sync_as(self.pick(number), lag, leads)

    def sync_as(self, member_id: MemberId, lag: int, leads: bool) -> None:
        """Queue a SyncGroup."""
        group = self.group
        generation = 0 if group is None else group.roster.generation - lag
        known = tuple(group.members) if group is not None and leads else ()
        self.ask(
            lambda ref: ClassicSync(
                ref,
                SyncGroup(
                    group_id=GROUP,
                    generation=generation,
                    member_id=member_id,
                    instance_id=self.seat(member_id),
                    assignments=tuple(MemberAssignment(one, f"{generation} {one}".encode()) for one in known),
                ),
            )
        )

    @rule(waits=st.booleans())
    def sync_everybody(self, waits: bool) -> None:
        """All members sync, perhaps all but the leader: groups become Stable, or wait to."""
        self.advance()
        group = self.group
        for member_id in () if group is None else tuple(group.members):
            if group is not None and not (waits and member_id == group.roster.leader):
                self.sync_as(member_id, 0, leads=True)
        self.advance()

    @rule(absent=st.integers(-3, 3))
    def join_everybody(self, absent: int) -> None:
        """All members join, or all but one: generations come and go."""
        self.advance()
        group = self.group
        for position, member in enumerate(() if group is None else tuple(group.members.values())):
            if position != absent:
                self.join(member.member_id, member.instance_id, names_of(member.protocols), is_old=False, skips=False)
        self.advance()

    @rule(seconds=st.sampled_from([9, 18, 54, 63]), silent=st.integers(-3, 3))
    def live(self, seconds: int, silent: int) -> None:
        """Time passes while everybody heartbeats, or all but one."""
        for _ in range(0, seconds, 9):
            self.pass_time(9_000)
            group = self.group
            for position, member_id in enumerate(() if group is None else tuple(group.members)):
                if position != silent:
                    self.beat_as(member_id, 0)
            self.advance()

    @rule(number=NUMBERS, lag=st.sampled_from([0, 0, 1]))
    def beat(self, number: int, lag: int) -> None:
        """A member heartbeats."""
        self.beat_as(self.pick(number), lag)

    def beat_as(self, member_id: MemberId, lag: int) -> None:
        """Queue a Heartbeat."""
        generation = 0 if self.group is None else self.group.roster.generation - lag
        self.ask(lambda ref: ClassicHeartbeat(ref, Heartbeat(GROUP, generation, member_id, self.seat(member_id))))

    @rule(numbers=st.lists(NUMBERS, min_size=1, max_size=3), instance=INSTANCES)
    def leave(self, numbers: list[int], instance: str | None) -> None:
        """Members leave by id, and perhaps one by its instance."""
        entries = [LeavingMember(member_id=self.pick(number)) for number in numbers]
        if instance is not None:
            entries.append(LeavingMember(member_id=MemberId(""), instance_id=InstanceId(instance)))
        self.ask(lambda ref: ClassicLeave(ref, LeaveGroup(group_id=GROUP, members=tuple(entries))))

    @rule(number=NUMBERS, is_transaction=st.booleans())
    def begin_commit(self, number: int, is_transaction: bool) -> None:
        """A member commits, or a transaction without identity."""
        generation = 0 if self.group is None else self.group.roster.generation
        commit = transaction_of() if is_transaction else commit_of(self.pick(number), generation)
        self.advance()
        self.ask(lambda ref: BeginCommit(ref, commit))
        self.advance()

    @rule()
    def end_commit(self) -> None:
        """The broker answers the oldest commit."""
        self.queue.append(EndCommit(self.commits.pop(0) if self.commits else 999))

    @rule(chance=NUMBERS)
    def delete(self, chance: int) -> None:
        """Now and then an admin deletes the group."""
        if chance > 2:
            return
        self.ask(lambda ref: DeleteGroup(ref, GROUP))

    @rule(chance=NUMBERS)
    def come_native(self, chance: int) -> None:
        """Now and then a member of the consumer protocol joins, and mostly leaves an empty consumer group behind."""
        if chance > 2:
            return
        requests = [join_request("native"), *([beat_request("native", LEAVE_EPOCH)] if chance else [])]
        for request in requests:
            command = self.bench.command(request)
            self.queue.append(command)
            self.open.add(command.ref)

    @rule(milliseconds=TIMES_MS)
    def pass_time(self, milliseconds: int) -> None:
        """Time passes."""
        self.advance()
        self.bench.now_ms += milliseconds
        self.queue.append(PassDeadlines())
        self.advance()
        due_ms = next_deadline(self.bench.state)
        assert due_ms is None or due_ms > self.bench.now_ms

    @rule(chance=NUMBERS)
    def restart(self, chance: int) -> None:
        """Now and then the bridge dies and comes back with its journal; who waited asks again."""
        self.advance()
        if chance:
            return
        state = self.bench.replayed(durable_only=True)
        before = durable(state)
        assert before == durable(self.bench.state)
        self.bench.records = [record for record in self.bench.records if record.durable]
        self.shadow = self.bench.replayed()
        self.bench.state = state
        self.keep(resume(state, self.bench.now_ms))
        self.open.clear()
        self.commits.clear()
        self.begun.clear()

    # ------------------------------------------------------------------ how they do it

    def join(
        self, member_id: MemberId | None, instance: str | None, offers: tuple[str, ...], is_old: bool, skips: bool
    ) -> None:
        """Queue a JoinGroup."""
        request = replace(
            join_of(member_id or "", instance),
            protocols=offer(*offers),
            needs_member_id=not is_old,
            skips_assignment=skips,
        )
        self.ask(
            lambda ref: ClassicJoin(
                ref=ref, request=request, identity=IDENTITY, fresh_id=MemberId(str(self.bench.sequence))
            )
        )

    def ask(self, command: Maker) -> None:
        """Queue a command that expects one answer, now or later."""
        ref = self.bench.ref()
        self.queue.append(command(ref))
        self.open.add(ref)

    @rule()
    def advance(self) -> None:
        """What is queued is carried out in one turn."""
        outcome = self.bench.tell(*self.queue)
        self.queue.clear()
        self.settle_replies(outcome)
        del self.bench.records[len(self.bench.records) - len(outcome.records) :]
        self.keep(outcome.records)

    def keep(self, records: tuple[Record, ...]) -> None:
        """Law: replayed one by one, records lead through allowed phases and never give a generation out twice."""
        self.bench.records.extend(records)
        for record in records:
            before = self.phase_of(self.shadow)
            apply(self.shadow, record)
            after = self.phase_of(self.shadow)
            if before is not None and after is not None and before is not after:
                assert after in TRANSITIONS[before], f"{before} to {after} by {record}"
            self.check_generation(record)

    def check_generation(self, record: Record) -> None:
        """A generation is begun once, also over a restart; a group of the same name begins anew."""
        if isinstance(record, ClassicGroupCreated | GroupDeleted):
            self.generations = set()
        elif isinstance(record, JoinPhaseCompleted) or (isinstance(record, ClassicGroupSynced) and not record.members):
            assert record.generation not in self.generations
            self.generations.add(record.generation)

    def settle_replies(self, outcome: Outcome) -> None:
        """Law: every request is answered exactly once; what is not answered is parked, and nothing else."""
        for ref, message in outcome.replies:
            self.open.remove(ref)
            self.note(message)
        group = self.group
        self.check_flights(outcome)
        parked = [] if group is None else [*group.joining.values(), *group.syncing.values()]
        assert len(set(parked)) == len(parked)
        assert set(parked) == self.open

    def check_flights(self, outcome: Outcome) -> None:
        """Law: nobody is handed an assignment while a commit of an older generation is on its way (decision 2)."""
        flying = self.bench.state.flights.keys()
        self.begun = {commit_id: generation for commit_id, generation in self.begun.items() if commit_id in flying}
        is_handed_out = any(
            isinstance(message, SyncGroupReply) and message.error is ErrorCode.NONE for _, message in outcome.replies
        )
        # A SyncGroup of the former generation may be answered in the turn that ends it, by a rebalance or a last leave.
        has_moved_on = any(
            isinstance(record, JoinPhaseCompleted) or (isinstance(record, ClassicGroupSynced) and not record.members)
            for record in outcome.records
        )
        if is_handed_out and not has_moved_on and self.group is not None:
            assert all(generation >= self.group.roster.generation for generation in self.begun.values())
        generation = 0 if self.group is None else self.group.roster.generation
        self.begun |= dict.fromkeys(flying - self.begun.keys(), generation)

    def note(self, message: Message) -> None:
        """Remember ids and commits; what is handed out belongs to who asked, in its generation."""
        if isinstance(message, CommitAdmitted):
            self.commits.append(message.commit_id)
        elif isinstance(message, JoinGroupReply):
            if message.error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                self.ids.append(message.member_id)
            assert message.error is ErrorCode.NONE or message.generation == -1
            assert not message.members or message.leader == message.member_id
        elif isinstance(message, SyncGroupReply) and message.error is not ErrorCode.NONE:
            assert message.assignment == b""

    @property
    def group(self) -> ClassicGroup | None:
        """The group, if it is a classic one now."""
        return self.bench.state.classic_groups.get(GROUP)

    def pick(self, number: int) -> MemberId:
        """Mostly a member, also one whose first join is parked; else an id that somebody was told once."""
        members = [] if self.group is None else list(self.group.members)
        if members and number < 8:
            return members[number % len(members)]
        return self.ids[-1 - number % len(self.ids)]

    def instance_of(self, member_id: MemberId) -> str | None:
        """The instance of a member, None for others."""
        member = None if self.group is None else self.group.members.get(member_id)
        return None if member is None else member.instance_id

    def seat(self, member_id: MemberId) -> InstanceId | None:
        """The same as an id."""
        instance = self.instance_of(member_id)
        return None if instance is None else InstanceId(instance)

    @staticmethod
    def phase_of(state: Shard) -> Phase | None:
        """The phase of the group, if it is a classic one."""
        group = state.classic_groups.get(GROUP)
        return None if group is None else group.phase

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def replay_equals_live(self) -> None:
        """Replaying every record gives the same state, replaying the durable ones the same durable state."""
        assert snapshot(self.shadow) == snapshot(self.bench.state)
        assert durable(self.bench.replayed(durable_only=True)) == durable(self.bench.state)

    @invariant()
    def indexes_are_what_members_targets_and_flights_make_of_them(self) -> None:
        """None of them says anything of its own, however it was kept in step."""
        assert find_stale(self.bench.state) == []

    @invariant()
    def group_has_one_type(self) -> None:
        """No id is both kinds (K6.8)."""
        assert self.bench.state.groups.keys().isdisjoint(self.bench.state.classic_groups)

    @invariant()
    def group_is_sound(self) -> None:
        """Indexes, phase, deadlines and who is parked agree with each other."""
        if self.group is not None:
            check_indexes(self.group)
            check_phase(self.group)
            check_deadlines(self.group, self.bench.state)
            check_waits(self.group, self.bench.state)


TestClassicLaws = ClassicLaws.TestCase
TestClassicLaws.settings = settings(max_examples=300, stateful_step_count=50, deadline=None)
