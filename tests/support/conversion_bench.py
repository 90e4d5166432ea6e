"""A shard to test conversions with: classic groups of consumers whose subscriptions and assignments are real bytes.

It knows the engine's interface only, and must not know any one test.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from bridge.engine.classic.model import Phase
from bridge.engine.commands import BecomeClassic, ClassicSeat, ConvertGroup, GroupType, Speaks
from bridge.engine.outcome import Converted, GroupUpgraded, NotConverted, Notice, TranslatedSeat
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import DELAY_MS, REBALANCE_MS, SESSION_MS, ClassicBench, join_of
from tests.support.engine_bench import FOO, GROUP, IDENTITY, Bench
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.ids import InstanceId, MemberId, RequestRef, TopicName, TopicPartition

LIKE_A_BROKER = EngineSettings(group_begins_classic=True)
RANGE = ("range",)
COOPERATIVE = ("cooperative-sticky",)
Named = frozenset[TopicPartition]


def named(*numbers: int, of: str = "foo") -> Named:
    """Partitions of one topic by name."""
    return frozenset(TopicPartition(TopicName(of), number) for number in numbers)


def offers(
    names: Collection[str] = RANGE, *, owned: Named | None = None, topics: Collection[TopicName] = (FOO,)
) -> tuple[Protocol, ...]:
    """The protocols of a consumer, all with one subscription; without `owned` none is told."""
    version = 0 if owned is None else 1
    says = encode_subscription(Subscription(version=version, topics=tuple(topics), owned=owned))
    return tuple(Protocol(name, says) for name in names)


def consumer_join(member: str = "", instance: str | None = None, protocols: tuple[Protocol, ...] = ()) -> JoinGroup:
    """A JoinGroup of a consumer that is admitted at once."""
    return replace(join_of(member, instance), protocols=protocols or offers(), needs_member_id=False)


def seat_of(member: str, *numbers: int, generation: int = 7, names: Collection[str] = RANGE) -> ClassicSeat:
    """A translated member that uses these partitions of foo, as its machine tells."""
    return ClassicSeat(
        member_id=MemberId(member),
        instance_id=None,
        identity=IDENTITY,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        protocols=offers(names),
        generation=generation,
        using=named(*numbers),
        session_deadline_ms=5_000,
    )


@dataclass(slots=True)
class ConversionBench:
    """Consumers of the topic foo (six partitions) in one group, of whatever type."""

    settings: EngineSettings = LIKE_A_BROKER
    classic: ClassicBench = field(init=False)

    def __post_init__(self) -> None:
        """Start the shard."""
        self.classic = ClassicBench(settings=self.settings)

    @property
    def bench(self) -> Bench:
        """The engine's bench."""
        return self.classic.bench

    # ------------------------------------------------------------------ classic groups in a known state

    def join(
        self, count: int, names: Collection[str] = RANGE, instances: Mapping[int, str] | None = None
    ) -> list[MemberId]:
        """A group whose members were told generation 1 and have not synced; the first leads."""
        seats = instances or {}
        refs = [
            self.classic.join(consumer_join("", seats.get(number), offers(names, owned=_first_owned(names))))
            for number in range(count)
        ]
        while self.classic.phase is Phase.PREPARING_REBALANCE:
            self.classic.pass_time(DELAY_MS)
        return [self.classic.admitted(ref).member_id for ref in refs]

    def form(
        self, *shares: Named, names: Collection[str] = RANGE, instances: Mapping[int, str] | None = None
    ) -> list[MemberId]:
        """A Stable group in which each member was assigned its share; the first leads."""
        members = self.join(len(shares), names, instances)
        assigns = {member: encode_assignment(share) for member, share in zip(members, shares, strict=True)}
        self.sync(members, assigns)
        assert self.classic.phase is Phase.STABLE
        return members

    def sync(self, members: list[MemberId], assigns: Mapping[MemberId, bytes]) -> list[RequestRef]:
        """Everybody syncs, and the leader assigns."""
        leader = self.classic.group.roster.leader
        return [
            self.classic.sync(
                member, self._instance(member), assigns=dict(assigns.items()) if member == leader else None
            )
            for member in members
        ]

    def rejoin(self, member: MemberId, protocols: tuple[Protocol, ...] = ()) -> RequestRef:
        """A member joins again, as it did before unless told otherwise."""
        known = self.classic.group.members[member]
        return self.classic.join(consumer_join(member, known.instance_id, protocols or known.protocols))

    def _instance(self, member: MemberId) -> InstanceId | None:
        return self.classic.group.members[member].instance_id

    # ------------------------------------------------------------------ conversions

    def order(self, to: GroupType, *, is_dry_run: bool = False) -> Converted | NotConverted | None:
        """An operator's order; its answer, None if it waits for the seats."""
        ref = self.bench.ref()
        self.classic.tell(ConvertGroup(ref=ref, group_id=GROUP, to=to, is_dry_run=is_dry_run))
        return self.verdict(ref)

    def turn_classic(self, *seats: ClassicSeat, is_asked: bool = False, is_dry_run: bool = False) -> RequestRef:
        """The shell brings the seats of all members; where the answer goes if somebody asked."""
        ref = self.bench.ref()
        command = BecomeClassic(
            ref=ref if is_asked else None, group_id=GROUP, seats=tuple(seats), is_dry_run=is_dry_run
        )
        self.classic.tell(command)
        return ref

    def verdict(self, ref: RequestRef) -> Converted | NotConverted | None:
        """What became of an order."""
        message = self.classic.replies.get(ref)
        assert message is None or isinstance(message, Converted | NotConverted)
        return message

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the last turn had to say."""
        return self.bench.outcome.notices

    @property
    def upgraded(self) -> GroupUpgraded:
        """The notice of the upgrade that the last turn made."""
        return next(notice for notice in self.notices if isinstance(notice, GroupUpgraded))

    def seat(self, member: MemberId) -> TranslatedSeat:
        """What the last upgrade says of a member."""
        upgraded = self.upgraded
        return next(seat for seat in (*upgraded.seats, *upgraded.newcomers) if seat.member.member_id == member)

    def kinds(self) -> dict[MemberId, Speaks]:
        """Which protocol each member of the consumer group speaks."""
        return {one: member.subscription.speaks for one, member in self.bench.group.members.items()}


def _first_owned(names: Collection[str]) -> Named | None:
    """Cooperative clients tell what they own from the start."""
    return frozenset() if "cooperative-sticky" in names else None
