"""A group is not given what its pattern matches and whoever had that resolved may not see."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.joins import WaitingRequests
from bridge.coordinators.embedded.pattern_rights import AGAIN_MS, FRESH_MS
from bridge.coordinators.embedded.shares import ShareLimits
from bridge.coordinators.embedded.weights import pattern_bytes
from bridge.engine.settings import EngineSettings
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import Request
from tests.support.embedded_world import FakeVia, World, embedded_world, native_join, told_of_topics
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    STATIC_LEAVE_EPOCH,
    GroupId,
    InstanceId,
    MemberId,
    RequestRef,
    Topic,
    TopicId,
    TopicName,
)
from translators.dialects.offsets import FetchedGroup, OffsetFetch, OffsetFetchReply

SETTINGS = EngineSettings(group_initial_rebalance_delay_ms=0, departure_wait_ms=0)
SECRET, LATER = (Topic(TopicId(bytes([number]) * 16), TopicName(f"t-{number}"), 1) for number in (7, 8))
UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
HIDDEN = frozenset({SECRET.name, LATER.name})
OTHER, SEAT = GroupId("other"), InstanceId("seat")
BEAT = ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId("a"), member_epoch=1)


@dataclass(slots=True)
class Sight(FakeVia):
    """A connection whose client may not see some topics, and what was asked on it; `error` refuses the question."""

    hidden: frozenset[TopicName] = HIDDEN
    error: ErrorCode = ErrorCode.NONE
    is_silent: bool = False
    asked: list[tuple[TopicName, ...]] = field(default_factory=list)

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.BrokerAccess`."""
        assert isinstance(request, OffsetFetch)
        (group,) = request.groups
        self.asked.append(tuple(one.name for one in group.topics or ()))
        if self.is_silent:
            return
        if self.error is not ErrorCode.NONE:
            on_answer(OffsetFetchReply(groups=(FetchedGroup(group_id=group.group_id, topics=(), error=self.error),)))
            return
        topics = group.topics or ()
        told = (
            told_of_topics(
                replace(group, topics=tuple(one for one in topics if (one.name in self.hidden) is hides)), code
            )
            for hides, code in ((True, ErrorCode.TOPIC_AUTHORIZATION_FAILED), (False, ErrorCode.NONE))
        )
        both = tuple(one for part in told for one in part.topics)
        on_answer(OffsetFetchReply(groups=(FetchedGroup(group_id=group.group_id, topics=both),)))


def comes(member_id: str = "a") -> ConsumerGroupHeartbeat:
    """A member with a pattern that matches all."""
    return replace(native_join(member_id), subscribed_topic_names=None, subscribed_topic_regex=".*")


async def told(world: World, request: ConsumerGroupHeartbeat, via: FakeVia) -> ConsumerGroupHeartbeatReply:
    """What a heartbeat is answered."""
    return await world.answer(world.send(request, via), ConsumerGroupHeartbeatReply)


def has(world: World, topics: Iterable[Topic]) -> set[TopicName]:
    """Of which of these topics, and of the one that all see, somebody is to have partitions."""
    names = {topic.topic_id: topic.name for topic in topics}
    target = world.groups.owner.shard.groups[GROUP].target
    return {names.get(one.topic_id, TOPIC) for share in target.values() for one in share}


async def changed(world: World, *topics: Topic) -> None:
    """The cluster has further topics, and everybody knows."""
    world.broker.topics = [*world.broker.topics, *topics]
    await world.groups.look_at_topics()
    await wait_all_tasks_blocked()


async def test_group_is_given_what_the_first_that_came_may_see(autojump_clock: MockClock) -> None:
    """Also behind a restart; whoever comes next with the pattern asks nobody."""
    journal, via, other = MemoryJournal(), Sight(), Sight(connection=2, hidden=frozenset())
    async with embedded_world(SETTINGS) as world:
        world.groups.keep(journal)
        world.broker.topics.append(SECRET)
        assert (await told(world, comes(), via)).error is ErrorCode.NONE
        assert via.asked == [(TOPIC, SECRET.name)]
        assert has(world, (SECRET,)) == {TOPIC}
        assert (await told(world, comes("b"), other)).error is ErrorCode.NONE
        assert other.asked == []
        live = world.groups.owner.shard.groups[GROUP]
        assert live.hidden == {".*": frozenset({SECRET.name})}
        await wait_all_tasks_blocked()
    async with embedded_world(SETTINGS) as world:
        world.groups.keep(journal)
        again = world.groups.owner.shard.groups[GROUP]
        assert (again.hidden, again.target, again.epoch) == (live.hidden, live.target, live.epoch)


async def test_topic_that_comes_later_is_asked_about_by_the_next_that_is_heard(autojump_clock: MockClock) -> None:
    """Before it is told of any partition."""
    via = Sight()
    async with embedded_world(SETTINGS) as world:
        joined = await told(world, comes(), via)
        await changed(world, LATER)
        beaten = await told(world, replace(BEAT, member_epoch=joined.member_epoch), via)
        assert via.asked == [(TOPIC,), (TOPIC, LATER.name)]
        assert has(world, (LATER,)) == {TOPIC}
        assert LATER.topic_id not in {one.topic_id for one in beaten.assignment or ()}


async def test_right_that_is_given_counts_when_it_is_asked_again(autojump_clock: MockClock) -> None:
    """As in Kafka after ten minutes, where nothing else changes."""
    via = Sight()
    async with embedded_world(replace(SETTINGS, group_consumer_session_timeout_ms=2 * AGAIN_MS)) as world:
        world.broker.topics.append(SECRET)
        joined = await told(world, comes(), via)
        via.hidden = frozenset()
        autojump_clock.jump((AGAIN_MS - 1) / 1000)
        whole = replace(comes(), member_epoch=joined.member_epoch, rebalance_timeout_ms=60_000)
        await told(world, whole, via)
        assert has(world, (SECRET,)) == {TOPIC}
        autojump_clock.jump(1.0)
        await told(world, whole, via)
        assert has(world, (SECRET,)) == {TOPIC, SECRET.name}
        assert world.groups.owner.shard.groups[GROUP].hidden == {}


async def test_group_at_rest_is_asked_about_again(autojump_clock: MockClock) -> None:
    """Its heartbeats are answered without a look at anything: but for the one that asks, and those before it."""
    via = Sight()
    async with embedded_world(replace(SETTINGS, group_consumer_session_timeout_ms=3 * AGAIN_MS)) as world:
        world.broker.topics.append(SECRET)
        rests = replace(BEAT, member_epoch=(await told(world, comes(), via)).member_epoch)
        await told(world, rests, via)
        via.hidden, via.is_silent = frozenset(), True
        for pause_ms, rested in ((AGAIN_MS - FRESH_MS, True), (FRESH_MS, False)):
            await trio.sleep(pause_ms / 1000)
            assert world.groups.beat(CLIENT, rests) is rested
        assert (await told(world, rests, via)).member_epoch == rests.member_epoch
        assert world.groups.beat(CLIENT, rests), "nobody asks all the time whoever does not answer"
        await trio.sleep((FRESH_MS + 1) / 1000)
        assert not world.groups.beat(CLIENT, rests)
        via.is_silent = False
        await told(world, rests, via)
        assert has(world, (SECRET,)) == {TOPIC, SECRET.name}
        assert len(via.asked) == 3


async def test_group_of_two_patterns_is_asked_about_both(autojump_clock: MockClock) -> None:
    """Whoever of it is heard first; and nothing is kept of a group that is gone."""
    via, patterns = Sight(hidden=frozenset()), {"a": TOPIC, "b": SECRET.name}
    async with embedded_world(replace(SETTINGS, group_consumer_session_timeout_ms=5 * AGAIN_MS)) as world:
        world.broker.topics.append(SECRET)
        joins = [replace(comes(name), subscribed_topic_regex=pattern) for name, pattern in patterns.items()]
        epoch = max([(await told(world, request, via)).member_epoch for request in joins])
        await told(world, replace(BEAT, member_epoch=epoch - 1), via)
        rests = [replace(BEAT, member_id=MemberId(name), member_epoch=epoch) for name in patterns]
        for request in rests:
            assert (await told(world, request, via)).error is ErrorCode.NONE
        for times in (1, 2):
            await trio.sleep(AGAIN_MS / 1000)
            for request in rests:
                assert not world.groups.beat(CLIENT, request)
                await told(world, request, via)
                await trio.sleep((FRESH_MS + 1) / 1000)
            assert len(via.asked) == 2 + 2 * times
            assert [world.groups.beat(CLIENT, request) for request in rests] == [True, True]
        for request in rests:
            await told(world, replace(request, member_epoch=-1), via)
        await trio.sleep(AGAIN_MS / 1000)
        assert world.groups.join_checks.rights.next_due_ms() is None


async def test_those_who_come_at_once_ask_once(autojump_clock: MockClock) -> None:
    """And wait for the same answer."""
    via = Sight()
    async with embedded_world(SETTINGS) as world:
        world.broker.topics.append(SECRET)
        refs = [world.send(comes(f"m-{number}"), via) for number in range(50)]
        for ref in refs:
            assert (await world.answer(ref, ConsumerGroupHeartbeatReply)).error is ErrorCode.NONE
        assert len(via.asked) == 1
        assert has(world, (SECRET,)) == {TOPIC}


async def refused(make: Callable[[], Sight]) -> ConsumerGroupHeartbeatReply:
    """What a member is told that comes where brokers do not say what it may see."""
    async with embedded_world(SETTINGS) as world:
        reply = await told(world, comes(), make())
        assert GROUP not in world.groups.owner.shard.groups
        return reply


async def test_who_comes_is_refused_where_no_broker_says_what_it_may_see(autojump_clock: MockClock) -> None:
    """What nobody says is no right."""
    assert (await refused(lambda: Sight(is_silent=True))).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await refused(lambda: Sight(versions={}))).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    denied = await refused(lambda: Sight(error=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    assert denied.error is ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_member_goes_on_while_its_broker_says_nothing(autojump_clock: MockClock) -> None:
    """And is given nothing new; it is asked again soon, and not with every heartbeat."""
    via = Sight()
    async with embedded_world(SETTINGS) as world:
        joined = await told(world, comes(), via)
        await changed(world, LATER)
        via.is_silent = True
        epoch = joined.member_epoch
        for _ in range(3):
            beaten = await told(world, replace(BEAT, member_epoch=epoch), via)
            assert beaten.error is ErrorCode.NONE
            epoch = beaten.member_epoch
        assert len(via.asked) == 2
        assert has(world, (LATER,)) == {TOPIC}
        via.is_silent, via.hidden = False, frozenset()
        autojump_clock.jump(FRESH_MS / 1000)
        await told(world, replace(comes(), member_epoch=epoch), via)
        assert has(world, (LATER,)) == {TOPIC, LATER.name}


async def test_what_is_hidden_goes_with_the_last_that_has_the_pattern(autojump_clock: MockClock) -> None:
    """And stays while its only member says everything over again."""
    via = Sight()
    async with embedded_world(SETTINGS) as world:
        world.broker.topics.append(SECRET)
        joined = await told(world, comes(), via)
        whole = replace(comes(), member_epoch=joined.member_epoch, rack_id="b")
        await told(world, whole, via)
        group = world.groups.owner.shard.groups[GROUP]
        assert group.hidden == {".*": frozenset({SECRET.name})}
        await told(world, replace(whole, subscribed_topic_regex="", subscribed_topic_names=(TOPIC,)), via)
        assert group.hidden == {}


async def test_member_is_not_refused_because_too_many_wait(autojump_clock: MockClock) -> None:
    """It asked for nothing that others have to wait for."""
    via = Sight()
    async with embedded_world(SETTINGS) as world:
        joined = await told(world, comes(), via)
        await changed(world, LATER)
        world.groups.joins.waiting = WaitingRequests(0)
        whole = replace(comes(), member_epoch=joined.member_epoch)
        assert (await told(world, whole, via)).error is ErrorCode.NONE
        assert via.asked == [(TOPIC,)]


async def test_what_is_hidden_from_a_group_is_part_of_its_share(autojump_clock: MockClock) -> None:
    """A client that sees ten of 10,000 topics had 300 kB written for each group in which it has a pattern, and weighed
    nothing by that.
    """
    topics = [Topic(TopicId(bytes([number]) * 16), TopicName(f"{number}" * 100), 1) for number in range(10, 50)]
    via, names = Sight(hidden=frozenset(topic.name for topic in topics)), frozenset(topic.name for topic in topics)
    matched = pattern_bytes(".*", (*names, TOPIC))
    for room_bytes, code in ((2 * matched + 2_000, ErrorCode.NONE), (matched + 2_000, UNAVAILABLE)):
        limits = EmbeddedSettings(shares=ShareLimits(room_bytes, 1_000_000, 1_000_000))
        async with embedded_world(SETTINGS, settings=limits) as world:
            journal = MemoryJournal()
            world.groups.keep(journal)
            world.broker.topics += topics
            assert (await told(world, comes(), via)).error is code
            await wait_all_tasks_blocked()
            assert (b"topics-hidden" in b"".join(journal.replay())) is (code is ErrorCode.NONE)


async def test_what_is_hidden_is_kept_by_the_group_alone(autojump_clock: MockClock) -> None:
    """10,000 answers about 10,000 topics each were kept beside the groups, and for those that nobody was let into."""
    via, settings = Sight(), replace(SETTINGS, group_consumer_session_timeout_ms=20 * FRESH_MS)
    async with embedded_world(settings) as world:
        rights = world.groups.join_checks.rights
        world.broker.topics.append(SECRET)
        joined = await told(world, replace(comes("a"), instance_id=SEAT), via)
        group = world.groups.owner.shard.groups[GROUP]
        autojump_clock.jump(FRESH_MS / 1000)
        assert (await told(world, replace(comes("b"), group_id=OTHER), via)).error is ErrorCode.NONE
        hidden = [found.hidden for found in rights._found._values.values()]
        assert hidden == [frozenset({SECRET.name}), None] or hidden == [None, frozenset({SECRET.name})]
        # Who takes over the seat asks nobody, and a broker that says nothing makes nothing visible.
        away = replace(BEAT, member_epoch=STATIC_LEAVE_EPOCH, instance_id=SEAT)
        assert (await told(world, away, via)).error is ErrorCode.NONE
        joined = await told(world, replace(comes("again"), instance_id=SEAT), via)
        assert (joined.error, group.hidden) == (ErrorCode.NONE, {".*": frozenset({SECRET.name})})
        await changed(world, LATER)
        via.is_silent = True
        beat = replace(BEAT, member_id=MemberId("again"), member_epoch=joined.member_epoch)
        assert (await told(world, beat, via)).error is ErrorCode.NONE
        assert group.hidden == {".*": HIDDEN}
