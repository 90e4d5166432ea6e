"""Laws of conversions, whatever a group is in the middle of: what `tests.support.conversion_world` checks at each.

They know commands and state, and must not know how a group is converted.
"""

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bridge.engine.commands import (
    BeginCommit,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    ConvertGroup,
    EndCommit,
    GroupType,
    PassDeadlines,
    Speaks,
)
from bridge.engine.model import Phase
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import commit_of, join_of
from tests.support.conversion_world import (
    EVERYTHING,
    PARTITIONS,
    ConversionWorld,
    Named,
    protocols_of,
    share_of,
)
from tests.support.engine_bench import GROUP, IDENTITY, beat_request, join_request
from tests.support.snapshots import durable
from translators.dialects.classic import Heartbeat, LeaveGroup, LeavingMember, MemberAssignment, SyncGroup
from translators.dialects.configs import MigrationPolicy
from translators.dialects.consumer_protocol import encode_assignment
from translators.dialects.ids import LEAVE_EPOCH, InstanceId, MemberId, TopicPartition

NATIVES = ("n1", "n2", "n3")
INSTANCES = st.sampled_from([None, None, "A", "B"])
KINDS = st.sampled_from([("range",), ("range", "sticky"), ("cooperative-sticky",), ("cooperative-sticky", "range")])
SHARES = st.sampled_from(["kept", "kept", "dealt", "partly", "doubled"])
PHASES = st.sampled_from(["as it is", "as it is", "somebody joins", "followers wait", "a commit is on its way"])
NUMBERS = st.integers(0, 9)


class ConversionLaws(RuleBasedStateMachine):
    """Classic clients, native members and an operator move one group between the types."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ConversionWorld(EngineSettings())

    @initialize(
        policy=st.sampled_from(list(MigrationPolicy)),
        begins_classic=st.booleans(),
        most=st.sampled_from([3, 100]),
        kinds=st.lists(KINDS, min_size=1, max_size=3),
        shares=SHARES,
    )
    def start(
        self, policy: MigrationPolicy, begins_classic: bool, most: int, kinds: list[tuple[str, ...]], shares: str
    ) -> None:
        """The settings, and mostly a classic group that is settled."""
        self.world = ConversionWorld(
            EngineSettings(
                group_begins_classic=begins_classic,
                group_consumer_migration_policy=policy,
                group_consumer_max_size=most,
            )
        )
        for place, kind in enumerate(kinds):
            self.come(kind, "A" if place == 1 else None)
        for _ in kinds:
            self.pass_time(3_000, silent=False)
        self.sync_everybody(shares, waits=False)

    # ------------------------------------------------------------------ classic clients

    @rule(kinds=KINDS, instance=INSTANCES)
    def come(self, kinds: tuple[str, ...], instance: str | None) -> None:
        """A newcomer joins; a member of a consumer group joins by its machine."""
        ref = self.world.bench.ref()
        if self.world.consumers is not None and self.world.consumers.members:
            self.join_translated(MemberId(f"new-{ref.sequence}"), instance)
            return
        request = replace(join_of("", instance), protocols=protocols_of(kinds, None), needs_member_id=False)
        fresh_id = MemberId(str(ref.sequence))
        self.world.tell(ClassicJoin(ref=ref, request=request, identity=IDENTITY, fresh_id=fresh_id))

    @rule(instance=INSTANCES)
    def ask_for_an_id(self, instance: str | None) -> None:
        """A newcomer of a classic group is promised an id, and may never come back (KIP-394)."""
        if self.world.consumers is None:
            ref = self.world.bench.ref()
            request = replace(join_of("", instance), protocols=protocols_of(("range",), None))
            self.world.tell(ClassicJoin(ref=ref, request=request, identity=IDENTITY, fresh_id=MemberId("promised")))

    @rule(number=NUMBERS, kept=st.frozensets(st.integers(0, PARTITIONS - 1)), is_silent=st.booleans())
    def come_again(self, number: int, kept: frozenset[int], is_silent: bool) -> None:
        """A member joins again and says what it owns, truly or not."""
        member_id = self.pick(number)
        owned = None if is_silent else frozenset(one for one in EVERYTHING if one.partition in kept)
        group = self.world.classic
        if group is None:
            self.beat_translated(member_id, owned)
            return
        member = group.members.get(member_id)
        if member is not None:
            names = tuple(protocol.name for protocol in member.protocols)
            says = None if owned is None or names[0] == "range" else owned & share_of(group, member_id)
            request = replace(join_of(member_id, member.instance_id), protocols=protocols_of(names, says))
            ref = self.world.bench.ref()
            self.world.tell(ClassicJoin(ref=ref, request=request, identity=IDENTITY, fresh_id=MemberId("none")))

    @rule(shares=SHARES, waits=st.booleans())
    def sync_everybody(self, shares: str, waits: bool) -> None:
        """All members sync, or all but the leader."""
        group = self.world.classic
        if group is None or group.phase not in (Phase.COMPLETING_REBALANCE, Phase.STABLE):
            return
        blobs = tuple(MemberAssignment(one, encode_assignment(share)) for one, share in self.deal(shares).items())
        for member_id in tuple(group.members):
            if self.world.classic is not group or (waits and member_id == group.roster.leader):
                continue
            request = SyncGroup(
                group_id=GROUP,
                generation=group.generation_of(member_id),
                member_id=member_id,
                instance_id=group.members[member_id].instance_id,
                assignments=blobs,
            )
            self.world.tell(ClassicSync(self.world.bench.ref(), request))

    @rule(number=NUMBERS)
    def beat(self, number: int) -> None:
        """A member lives, as far as it knows in its generation."""
        member_id, group = self.pick(number), self.world.classic
        if group is None:
            self.beat_translated(member_id, None)
        elif member_id in group.members:
            request = Heartbeat(GROUP, group.generation_of(member_id), member_id, group.members[member_id].instance_id)
            self.world.tell(ClassicHeartbeat(self.world.bench.ref(), request))

    @rule(numbers=st.lists(NUMBERS, min_size=1, max_size=3))
    def leave(self, numbers: list[int]) -> None:
        """Members leave together, of whatever kind."""
        entries = tuple(LeavingMember(member_id=self.pick(number)) for number in numbers)
        self.world.tell(ClassicLeave(self.world.bench.ref(), LeaveGroup(group_id=GROUP, members=entries)))

    @rule(number=NUMBERS)
    def begin_commit(self, number: int) -> None:
        """A member of a classic group commits a partition."""
        group, member_id = self.world.classic, self.pick(number)
        if group is not None and member_id in group.members:
            commit = commit_of(member_id, group.generation_of(member_id))
            self.world.tell(BeginCommit(self.world.bench.ref(), commit))

    @rule()
    def end_commit(self) -> None:
        """The broker answers the oldest commit."""
        if self.world.commits:
            self.world.tell(EndCommit(self.world.commits.pop(0)))

    # ------------------------------------------------------------------ native members

    @rule(name=st.sampled_from(NATIVES), instance=INSTANCES)
    def come_native(self, name: str, instance: str | None) -> None:
        """A KIP-848 member joins, perhaps on the seat of another, of whatever protocol."""
        seat = None if instance is None else InstanceId(instance)
        self.world.tell(self.world.bench.command(replace(join_request(name), instance_id=seat)))

    @rule(names=st.sets(st.sampled_from(NATIVES), min_size=1))
    def go_native(self, names: set[str]) -> None:
        """KIP-848 members leave together."""
        commands = [self.world.bench.command(beat_request(name, LEAVE_EPOCH)) for name in sorted(names)]
        if self.world.classic is None:
            self.world.tell(*commands)

    @rule(names=st.sets(st.sampled_from(NATIVES), min_size=1), phase=PHASES)
    def visit(self, names: set[str], phase: str) -> None:
        """KIP-848 members come, perhaps in the middle of a rebalance, and go together when everybody has settled."""
        self.unsettle(phase)
        for name in sorted(names):
            self.come_native(name, None)
        self.settle()
        self.go_native(names)
        self.settle()

    @rule(kept=st.frozensets(st.integers(0, PARTITIONS - 1)), absent=st.integers(-3, 3), commits=st.booleans())
    def rejoin(self, kept: frozenset[int], absent: int, commits: bool) -> None:
        """Everybody joins again, or all but one, perhaps with a commit on its way."""
        if commits:
            self.begin_commit(0)
        for number in range(len(self.world.members())):
            if number != absent:
                self.come_again(number, kept, is_silent=False)

    @rule()
    def settle(self) -> None:
        """Everybody in a consumer group reports until nothing moves, which may turn the group classic."""
        for _ in range(4):
            for member_id in self.world.members():
                self.beat_translated(member_id, None, is_honest=True)

    # ------------------------------------------------------------------ the operator, and time

    @rule(to=st.sampled_from(list(GroupType)), is_dry_run=st.booleans(), phase=PHASES)
    def order(self, to: GroupType, is_dry_run: bool, phase: str) -> None:
        """An operator converts the group, or asks what would come of it."""
        self.unsettle(phase)
        before = durable(self.world.bench.state)
        command = ConvertGroup(ref=self.world.bench.ref(), group_id=GROUP, to=to, is_dry_run=is_dry_run)
        self.world.tell(command)
        assert not is_dry_run or durable(self.world.bench.state) == before

    @rule(milliseconds=st.sampled_from([1, 3_000, 9_999, 60_000]), silent=st.booleans())
    def pass_time(self, milliseconds: int, silent: bool) -> None:
        """Time passes; who is silent may be given up."""
        if not silent:
            milliseconds = min(milliseconds, 9_999)
            for number in range(len(self.world.members())):
                self.beat(number)
        self.world.bench.now_ms += milliseconds
        self.world.tell(PassDeadlines())

    @rule(chance=NUMBERS)
    def restart(self, chance: int) -> None:
        """Now and then the bridge dies."""
        if not chance:
            self.world.restart()

    # ------------------------------------------------------------------ how they do it

    def pick(self, number: int) -> MemberId:
        """Mostly a member, else an id that somebody was told once."""
        members = self.world.members()
        if members and number < 8:
            return members[number % len(members)]
        return self.world.ids[number % len(self.world.ids)]

    def deal(self, shares: str) -> dict[MemberId, Named]:
        """What a leader makes of the group: the same as before as far as possible, dealt anew, too little, too much."""
        group = self.world.classic
        members = [] if group is None else list(group.members)
        dealt: dict[MemberId, set[TopicPartition]] = {member_id: set() for member_id in members}
        kept = {one: member for member in members if group is not None for one in share_of(group, member)}
        for place, partition in enumerate(sorted(EVERYTHING)):
            if shares == "partly" and place == PARTITIONS - 1:
                continue
            owner = kept.get(partition) if shares == "kept" else None
            dealt[owner or members[place % len(members)]].add(partition)
            if shares == "doubled" and not place:
                dealt[members[-1]].add(partition)
        return {member_id: frozenset(share) for member_id, share in dealt.items()}

    def unsettle(self, phase: str) -> None:
        """Bring a classic group into the middle of a rebalance."""
        if self.world.classic is None or phase == "as it is":
            return
        if phase == "somebody joins":
            self.come_again(0, frozenset(), is_silent=True)
            return
        self.rejoin(frozenset(range(PARTITIONS)), absent=-1, commits=phase == "a commit is on its way")
        self.sync_everybody("dealt", waits=phase == "followers wait")

    def join_translated(self, member_id: MemberId, instance: str | None) -> None:
        """A classic client's machine joins a consumer group."""
        seat = None if instance is None else InstanceId(instance)
        command = self.world.bench.command(replace(join_request(member_id), instance_id=seat), Speaks.CLASSIC)
        self.world.tell(replace(command, fresh_id=member_id))

    def beat_translated(self, member_id: MemberId, owned: Named | None, *, is_honest: bool = False) -> None:
        """A member of a consumer group says what it owns: all it was given, or some of it."""
        group = self.world.consumers
        member = None if group is None else group.members.get(member_id)
        if member is None or member.current.epoch < 0:
            return
        held = frozenset(member.current.assigned)
        if not is_honest and owned is not None:
            held = frozenset(one for one in held if one.partition in {two.partition for two in owned})
        request = beat_request(member_id, member.current.epoch, held if is_honest or owned is not None else None)
        self.world.tell(self.world.bench.command(request, member.subscription.speaks))

    # ------------------------------------------------------------------ what always holds

    @invariant()
    def state_is_what_its_records_make(self) -> None:
        """Replay equals live, no group is of two types, nothing has two owners."""
        self.world.check()


TestConversionLaws = ConversionLaws.TestCase
TestConversionLaws.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
