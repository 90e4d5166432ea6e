"""Classic groups of real consumers to convert: subscriptions and assignments that can be read, in every phase."""

from collections.abc import Mapping
from dataclasses import replace

from bridge.engine.commands import BecomeClassic, ConvertGroup, GroupType, Speaks
from bridge.engine.model import Phase
from bridge.engine.outcome import (
    Converted,
    GroupUpgraded,
    MemberAnswer,
    Message,
    NotConverted,
    Notice,
    TranslatedSeat,
)
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Group
from tests.support.classic_bench import DELAY_MS, ClassicBench, join_of, old_join_of
from tests.support.engine_bench import FOO, GROUP, IDENTITY, join_request
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition

BEGINS_CLASSIC = EngineSettings(group_begins_classic=True, departure_wait_ms=0)
EAGER, COOPERATIVE = "range", "cooperative-sticky"


def named(*numbers: int) -> frozenset[TopicPartition]:
    """Partitions of foo, by name."""
    return frozenset(TopicPartition(FOO, number) for number in numbers)


def says(name: str, owned: frozenset[TopicPartition] | None = None) -> tuple[Protocol, ...]:
    """One protocol whose metadata subscribes to foo and tells what is owned."""
    version = 0 if owned is None else 1
    return (Protocol(name, encode_subscription(Subscription(version=version, topics=(FOO,), owned=owned))),)


def consumer_join(member: str = "", instance: str | None = None, name: str = EAGER) -> JoinGroup:
    """A consumer's JoinGroup."""
    request = join_of(member, instance) if instance is not None else old_join_of(member)
    return replace(request, protocols=says(name))


class ConversionBench(ClassicBench):
    """A classic bench whose groups can be converted."""

    def join_all(self, *instances: str | None, name: str = EAGER) -> list[MemberId]:
        """Newcomers join in one rebalance, which ends; nobody has synced."""
        refs = [self.join(consumer_join("", instance, name)) for instance in instances]
        while self.phase is Phase.PREPARING_REBALANCE:
            self.pass_time(DELAY_MS)
        return [self.admitted(ref).member_id for ref in refs]

    def hand_out(self, shares: Mapping[MemberId, frozenset[TopicPartition]], *silent: MemberId) -> None:
        """The leader brings the assignments, and everybody but the silent ones syncs."""
        blobs: dict[str, bytes] = {member_id: encode_assignment(share) for member_id, share in shares.items()}
        leader = self.group.roster.leader
        assert leader is not None
        self.sync(leader, self.group.members[leader].instance_id, assigns=blobs)
        for member_id in shares.keys() - {leader, *silent}:
            self.sync(member_id, self.group.members[member_id].instance_id)

    def settle(self, *instances: str | None, name: str = EAGER) -> list[MemberId]:
        """A Stable group in which the members share foo's six partitions in turn."""
        members = self.join_all(*instances, name=name)
        self.hand_out({one: named(*range(place, 6, len(members))) for place, one in enumerate(members)})
        return members

    # ------------------------------------------------------------------ conversions

    @property
    def consumers(self) -> Group:
        """The group, once it is a consumer group."""
        return self.bench.state.groups[GROUP]

    def native_join(self, member: str, request: ConsumerGroupHeartbeat | None = None) -> ErrorCode:
        """A KIP-848 member joins; the code of its answer."""
        outcome = self.tell(self.bench.command(request or join_request(member)))
        answer = outcome.replies[0][1]
        assert isinstance(answer, MemberAnswer)
        return answer.reply.error

    def order(self, to: GroupType, *, is_dry_run: bool = False) -> Message | None:
        """An operator's order, and the answer if there is one at once."""
        ref = self.bench.ref()
        self.tell(ConvertGroup(ref=ref, group_id=GROUP, to=to, is_dry_run=is_dry_run))
        return self.replies.get(ref)

    def converted(self, to: GroupType = GroupType.CONSUMER, *, is_dry_run: bool = False) -> Converted:
        """The answer to an order that is carried out."""
        answer = self.order(to, is_dry_run=is_dry_run)
        assert isinstance(answer, Converted), answer
        return answer

    def refused(self, to: GroupType = GroupType.CONSUMER) -> NotConverted:
        """The answer to an order that is refused."""
        answer = self.order(to)
        assert isinstance(answer, NotConverted), answer
        return answer

    def upgraded(self) -> GroupUpgraded:
        """The notice of the upgrade that the last turn made."""
        return next(notice for notice in self.notices if isinstance(notice, GroupUpgraded))

    def seat(self, member_id: MemberId) -> TranslatedSeat:
        """One seat of that notice, newcomers included."""
        notice = self.upgraded()
        return next(one for one in (*notice.seats, *notice.newcomers) if one.member.member_id == member_id)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the last turn had to say."""
        return self.bench.outcome.notices

    def seats(self, generations: Mapping[MemberId, int]) -> tuple[ClassicSeat, ...]:
        """Seats as machines know them: the generations as told, and what the engine has assigned."""
        state, group = self.bench.state, self.consumers
        return tuple(
            ClassicSeat(
                member_id=member_id,
                instance_id=member.subscription.instance_id,
                identity=IDENTITY,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                protocols=says(EAGER),
                generation=generations[member_id],
                using=frozenset(
                    TopicPartition(state.topics[one.topic_id].name, one.partition) for one in member.current.assigned
                ),
                session_deadline_ms=self.bench.now_ms + 10_000,
            )
            for member_id, member in group.members.items()
            if member.subscription.speaks is Speaks.CLASSIC
        )

    def become_classic(self, generations: Mapping[MemberId, int], ref: RequestRef | None = None) -> None:
        """Answer `DowngradeDue`."""
        self.tell(BecomeClassic(ref=ref, group_id=GROUP, seats=self.seats(generations)))
