"""One group that changes its type at will, and a shell around the engine that does what machines must: go on with the
members of a classic group, bring the seats when it turns classic again, and lose no request.

It knows the engine's interface and checks what each conversion keeps; it must not know who moves it.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from bridge.engine.commands import (
    BecomeClassic,
    BeginCommit,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    ConvertGroup,
    EndCommit,
    MemberHeartbeat,
    PassDeadlines,
    Speaks,
)
from bridge.engine.convert.readiness import find_departure_fault
from bridge.engine.model import Ask, Phase
from bridge.engine.outcome import (
    DowngradeDue,
    GroupDowngraded,
    GroupUpgraded,
    MemberRemoved,
    Message,
    Outcome,
    TargetChanged,
    TranslatedSeat,
)
from bridge.engine.recovery import resume
from bridge.engine.settings import EngineSettings
from bridge.engine.state import ClassicGroup, Group
from tests.support.classic_bench import REBALANCE_MS, SESSION_MS, join_of
from tests.support.engine_bench import FOO, GROUP, IDENTITY, Bench, join_request
from tests.support.snapshots import durable, snapshot
from translators.dialects.classic import JoinGroupReply, Protocol
from translators.dialects.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_subscription,
)
from translators.dialects.coordinator import ClassicSeat, CommitAdmitted
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, ReplyTo, TopicIdPartition, TopicPartition

PARTITIONS = 6
RANGE = ("range",)
EVERYTHING = frozenset(TopicPartition(FOO, number) for number in range(PARTITIONS))
UNANSWERED = EndCommit | PassDeadlines
Told = (
    MemberHeartbeat
    | ClassicJoin
    | ClassicSync
    | ClassicHeartbeat
    | ClassicLeave
    | ConvertGroup
    | BecomeClassic
    | BeginCommit
    | UNANSWERED
)
Named = frozenset[TopicPartition]


def protocols_of(kinds: Collection[str], owned: Named | None) -> tuple[Protocol, ...]:
    """What a consumer of foo offers and says it owns; some also echo user data."""
    version = 0 if owned is None else 1
    says = Subscription(version=version, topics=(FOO,), owned=owned, user_data=b"\x00\x00\x00\x07")
    return tuple(Protocol(kind, encode_subscription(says)) for kind in kinds)


def share_of(group: ClassicGroup, member_id: MemberId) -> Named:
    """What a member was assigned in the last generation that synced."""
    member = group.synced.members.get(member_id)
    return frozenset() if member is None else decode_assignment(member.assignment).partitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A classic group as a turn found it."""

    phase: Phase
    shares: dict[MemberId, Named]
    generations: dict[MemberId, int]
    parked: frozenset[ReplyTo]
    newcomers: frozenset[MemberId]
    is_draining: bool

    @property
    def is_covered(self) -> bool:
        """Whether everything has exactly one owner, and everybody knows."""
        given = [one for share in self.shares.values() for one in share]
        return self.phase is Phase.STABLE and sorted(given) == sorted(EVERYTHING) and not self.is_draining


@dataclass(slots=True)
class ConversionWorld:
    """An engine, its shell, and every request that waits for an answer."""

    settings: EngineSettings
    bench: Bench = field(init=False)
    open: set[ReplyTo] = field(default_factory=set)
    commits: list[int] = field(default_factory=list)
    ids: list[MemberId] = field(default_factory=lambda: [MemberId("stranger")])
    shown: dict[MemberId, int] = field(default_factory=dict)
    offers: dict[MemberId, tuple[Protocol, ...]] = field(default_factory=dict)
    upgrades: int = 0
    downgrades: int = 0

    def __post_init__(self) -> None:
        """Start the engine."""
        self.bench = Bench(settings=self.settings)

    @property
    def classic(self) -> ClassicGroup | None:
        """The group, if it is a classic one now."""
        return self.bench.state.classic_groups.get(GROUP)

    @property
    def consumers(self) -> Group | None:
        """The group, if it is a consumer group now."""
        return self.bench.state.groups.get(GROUP)

    def members(self) -> list[MemberId]:
        """Everybody, of either type."""
        group = self.classic or self.consumers
        return [] if group is None else list(group.members)

    # ------------------------------------------------------------------ a turn

    def tell(self, *commands: Told) -> Outcome:
        """Carry out commands that are answered one day."""
        outcome = self._carry_out(*commands)
        self._check_waiting()
        return outcome

    def _carry_out(self, *commands: Told) -> Outcome:
        """One turn, and what the shell has to do about its notices."""
        self.open |= {command.ref for command in commands if not isinstance(command, UNANSWERED) and command.ref}
        before = None if self.classic is None else _before(self.classic)
        former = self.consumers
        asking = [] if former is None else list(former.parked)
        outcome = self.bench.tell(*commands)
        self._settle(outcome)
        following: list[Told] = []
        for notice in outcome.notices:
            if isinstance(notice, GroupUpgraded):
                assert before is not None
                following += self._go_up(notice, before, outcome)
            elif isinstance(notice, DowngradeDue):
                following.append(self._bring_seats(notice))
            elif isinstance(notice, GroupDowngraded):
                self._go_down(commands)
                following += [self._join_anew(ask) for ask in asking if former and ask.member_id in former.members]
        if former is not None and self.consumers is not former:
            # A machine whose member left waits for nothing.
            self.open -= {ask.ref for ask in asking if ask.member_id not in former.members}
        for command in following:
            self._carry_out(command)
        return outcome

    def restart(self) -> None:
        """The bridge dies and comes back with its journal; who waited asks again."""
        state = self.bench.replayed(durable_only=True)
        assert durable(state) == durable(self.bench.state)
        self.bench.records = [record for record in self.bench.records if record.durable]
        self.bench.state = state
        self.bench.records += resume(state, self.bench.now_ms)
        self.open.clear()
        self.commits.clear()

    def _settle(self, outcome: Outcome) -> None:
        """Law: every request is answered at most once, by what is not an error of the engine."""
        for ref, message in outcome.replies:
            self.open.remove(ref)
            self._note(message)

    def _note(self, message: Message) -> None:
        if isinstance(message, CommitAdmitted):
            self.commits.append(message.commit_id)
        elif isinstance(message, JoinGroupReply) and message.error is ErrorCode.NONE:
            assert message.generation > 0, "generation 0 is no generation"
            self.ids.append(message.member_id)
            self.shown[message.member_id] = message.generation

    def _check_waiting(self) -> None:
        """Law: what is not answered is parked, and nothing else."""
        parked: list[ReplyTo] = []
        if self.classic is not None:
            parked += [*self.classic.joining.values(), *self.classic.syncing.values()]
        if self.consumers is not None:
            parked += [ask.ref for ask in self.consumers.parked]
        assert len(parked) == len(set(parked))
        assert set(parked) == self.open

    # ------------------------------------------------------------------ up

    def _go_up(self, notice: GroupUpgraded, before: Before, outcome: Outcome) -> list[Told]:
        """Law: ids and generations stay, nobody has more than it had, nothing has two owners, no request is lost."""
        self.upgrades += 1
        seats = (*notice.seats, *notice.newcomers)
        assert [one.member.member_id for one in seats if one in notice.newcomers] == [
            one for one in before.shares if one in before.newcomers
        ]
        assert {one.member.member_id for one in seats} == before.shares.keys()
        handed_over = [ref for one in seats for ref in (one.joining, one.syncing) if ref is not None]
        assert len(handed_over) == len(set(handed_over))
        assert set(handed_over) == before.parked
        used = [partition for one in seats for partition in one.using]
        assert len(used) == len(set(used))
        for one in seats:
            # A cooperative member lets go behind its new assignment, and may have fallen silent before it said so.
            lets_go_late = all(offer.name == "cooperative-sticky" for offer in one.member.protocols)
            says_more = one.is_completing or lets_go_late
            told = decode_subscription(one.member.protocols[0].metadata).owned if says_more else None
            assert one.using <= before.shares[one.member.member_id] | (told or frozenset())
            assert one.generation == before.generations[one.member.member_id]
        if before.is_covered:
            self._check_calm(notice, before, outcome)
        return [command for one in seats for command in self._machine_of(one, one in notice.newcomers)]

    def _check_calm(self, notice: GroupUpgraded, before: Before, outcome: Outcome) -> None:
        """Law: in a settled group everybody goes on with just what it has, or with less if others need it."""
        group = self.consumers
        assert group is not None
        assert all(one.using == one.handed == before.shares[one.member.member_id] for one in notice.seats)
        told = {member for one in outcome.notices if isinstance(one, TargetChanged) for member in one.member_ids}
        sizes = [len(share) for share in before.shares.values()]
        for member_id, share in before.shares.items():
            target = group.target.get(member_id)
            if target is not None and max(sizes) - min(sizes) <= 1:
                assert self._named(target) <= share, "a bystander gains by an upgrade"
            if target is not None and self._named(target) == share:
                assert member_id not in told, "a bystander hears of an upgrade"

    def _machine_of(self, seat: TranslatedSeat, is_newcomer: bool) -> list[Told]:
        """What the member's machine does at once: a newcomer joins, whoever is parked says what it still owns."""
        member_id = seat.member.member_id
        self.open -= {seat.joining, seat.syncing}
        self.offers[member_id] = seat.member.protocols
        self.shown[member_id] = max(seat.generation, 1)
        if is_newcomer:
            request = replace(join_request(member_id), instance_id=seat.member.instance_id)
            return [replace(self.bench.command(request, Speaks.CLASSIC), fresh_id=member_id)]
        return []

    # ------------------------------------------------------------------ down

    def _bring_seats(self, notice: DowngradeDue) -> BecomeClassic:
        """Law: a group is due only when an all-classic group may become classic."""
        assert find_departure_fault(self.bench.state, GROUP) is None
        group = self.consumers
        seats = () if group is None else tuple(self._seat(group, member_id) for member_id in group.members)
        return BecomeClassic(ref=notice.ref, group_id=GROUP, seats=seats, is_dry_run=notice.is_dry_run)

    def _seat(self, group: Group, member_id: MemberId) -> ClassicSeat:
        member = group.members[member_id]
        held = member.current.assigned.keys() | member.current.pending_revocation.keys()
        return ClassicSeat(
            member_id=member_id,
            instance_id=member.subscription.instance_id,
            identity=IDENTITY,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            protocols=self.offers.get(member_id, protocols_of(RANGE, None)),
            generation=self.shown.get(member_id, 0),
            using=self._named(held),
            session_deadline_ms=self.bench.now_ms + SESSION_MS,
        )

    def _go_down(self, commands: tuple[Told, ...]) -> None:
        """Law: everybody keeps what it uses and the generation it was shown; a settled group calls nobody."""
        self.downgrades += 1
        group = self.classic
        assert group is not None
        seats = next(command.seats for command in commands if isinstance(command, BecomeClassic))
        assert list(group.members) == [seat.member_id for seat in seats]
        given: list[TopicPartition] = []
        for seat in seats:
            assert share_of(group, seat.member_id) == seat.using
            assert seat.generation in (0, group.generation_of(seat.member_id))
            given += seat.using
        assert len(given) == len(set(given))
        if seats:
            is_covered = sorted(given) == sorted(EVERYTHING)
            assert is_covered or group.phase is Phase.PREPARING_REBALANCE
        assert group.last_generation >= max((seat.generation for seat in seats), default=0)
        assert not [one for one in self.bench.outcome.notices if isinstance(one, MemberRemoved)]

    def _join_anew(self, ask: Ask) -> ClassicJoin:
        """The machine is gone, and the JoinGroup for which it had asked the engine waits in the classic group."""
        self.open.remove(ask.ref)
        request = replace(
            join_of(ask.member_id, ask.instance_id), protocols=self.offers.get(ask.member_id, protocols_of(RANGE, None))
        )
        return ClassicJoin(ref=self.bench.ref(), request=request, identity=IDENTITY, fresh_id=ask.member_id)

    def _named(self, partitions: Collection[TopicIdPartition]) -> Named:
        topics = self.bench.state.topics
        return frozenset(TopicPartition(topics[one.topic_id].name, one.partition) for one in partitions)

    # ------------------------------------------------------------------ what always holds

    def check(self) -> None:
        """Replay equals live, durable or not; no group is of two types; nothing has two owners."""
        state = self.bench.state
        assert snapshot(self.bench.replayed()) == snapshot(state)
        assert durable(self.bench.replayed(durable_only=True)) == durable(state)
        assert state.groups.keys().isdisjoint(state.classic_groups)
        group = self.consumers
        if group is not None:
            currents = [member.current for member in group.members.values()]
            held = [one for current in currents for one in (*current.assigned, *current.pending_revocation)]
            assert len(held) == len(set(held)) == len(group.owners)
            natives = [one for one in group.members.values() if one.subscription.speaks is Speaks.CONSUMER]
            assert (group.natives, group.natives and group.lost_natives) == (len(natives), 0)


def _before(group: ClassicGroup) -> Before:
    return Before(
        phase=group.phase,
        shares={member_id: share_of(group, member_id) for member_id in group.members},
        generations={member_id: group.generation_of(member_id) for member_id in group.members},
        parked=frozenset((*group.joining.values(), *group.syncing.values())),
        newcomers=frozenset(group.newcomers),
        is_draining=bool(group.draining),
    )
