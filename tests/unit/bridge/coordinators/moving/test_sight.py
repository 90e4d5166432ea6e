"""What is seen of a group before it is moved: topics that its clients may not see, and commits by another way."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.moving.sight import (
    HEAR_S,
    LOOK_S,
    LOOKS_MAX,
    TOPICS_S,
    WAYS_MAX,
    GroupEars,
    Look,
    Sight,
    find_hidden_topics,
    has_foreign_commits,
)
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from bridge.session.old_commits import OldCommits
from bridge.wire.apis import ApiKey
from tests.support.embedded_world import FakeBroker, FakeVia
from tests.support.moving_world import BLOB
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import Heartbeat, Protocol
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    NO_TOPIC_ID,
    NOWHERE,
    GroupId,
    MemberId,
    RequestRef,
    Topic,
    TopicId,
    TopicName,
    TopicPartition,
    Via,
    via_of,
)
from translators.dialects.offsets import (
    FetchedGroup,
    FetchedPartition,
    FetchedTopic,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchReply,
    PartitionCommit,
    TopicCommit,
    TxnOffsetCommit,
)

ZERO, ONE = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
SECRET = TopicName("secret")
MOVED = ErrorCode.NOT_COORDINATOR
VIA = via_of(RequestRef(0, 1, 0))
TOPIC_ID = TopicId(bytes(15) + b"\1")


@dataclass(slots=True)
class Offsets(FakeBroker):
    """A broker whose committed offsets move with time: partition 0 has what `at` says."""

    at: Callable[[float], int] = lambda _: 0
    is_down: bool = False
    looks: int = 0

    async def fetch_offsets(self, group_id: GroupId) -> FetchedGroup:
        """See `bridge.ports.Broker`."""
        self.looks += 1
        if self.is_down:
            raise BrokerUnreachable("down")
        here = FetchedPartition(partition=0, offset=self.at(trio.current_time()))
        return FetchedGroup(group_id=group_id, topics=(FetchedTopic(name=TOPIC, partitions=(here,)),))


def commit(offset: int, name: TopicName = TOPIC, topic_id: TopicId = NO_TOPIC_ID) -> OffsetCommit:
    """A member commits partition 0."""
    items = (PartitionCommit(partition=0, offset=offset),)
    topics = (TopicCommit(name=name, partitions=items, topic_id=topic_id),)
    return OffsetCommit(group_id=GROUP, generation=1, member_id=MemberId("a"), instance_id=None, topics=topics)


def in_transaction(offset: int) -> TxnOffsetCommit:
    """The same within a transaction."""
    return TxnOffsetCommit(
        transactional_id="t", group_id=GROUP, producer_id=1, producer_epoch=0, topics=commit(offset).topics
    )


def catalog() -> Catalog:
    """It knows the topic's id."""
    known = Catalog()
    known.update([Topic(topic_id=TOPIC_ID, name=TOPIC, partition_count=2)])
    return known


async def look(broker: Offsets, ears: GroupEars, *, heard: Mapping[float, object] | None = None) -> bool | None:
    """Look for foreign commits while these requests go by."""
    found: list[bool | None] = []

    async def say() -> None:
        for at_s, request in (heard or {}).items():
            await trio.sleep(at_s - trio.current_time())
            ears.hear(VIA, request)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(say)
        found.append(await has_foreign_commits(broker, ears, GROUP, frozenset({ZERO})))
        nursery.cancel_scope.cancel()
    return found[0]


async def test_offsets_that_nobody_moves_are_looked_at_twice(autojump_clock: MockClock) -> None:
    """No order waits for longer than one look."""
    broker = Offsets()
    began_s = trio.current_time()
    assert not await look(broker, GroupEars(catalog()))
    assert (broker.looks, trio.current_time() - began_s) == (2, LOOK_S)


async def test_offsets_that_move_without_a_commit_here_are_foreign(autojump_clock: MockClock) -> None:
    """A producer's transactions that end at another door, once a second."""
    assert await look(Offsets(at=lambda now_s: int(now_s / LOOK_S)), GroupEars(catalog()))


async def test_one_change_is_no_proof(autojump_clock: MockClock) -> None:
    """Its commit may have been on its way before anybody listened; it is waited for another, and not for ever."""
    start_s = trio.current_time()
    broker = Offsets(at=lambda now_s: int(now_s > start_s + LOOK_S / 2))
    assert not await look(broker, GroupEars(catalog()))
    assert broker.looks == 1 + LOOKS_MAX


@pytest.mark.parametrize("by_id", [False, True])
async def test_offsets_that_were_committed_here_are_no_strangers(autojump_clock: MockClock, by_id: bool) -> None:
    """Also where the topic was named by its id."""
    start_s = trio.current_time()
    broker = Offsets(at=lambda now_s: int((now_s - start_s) / LOOK_S) + 7)
    said = [commit(7 + n, TopicName("") if by_id else TOPIC, TOPIC_ID) for n in range(LOOKS_MAX + 1)]
    heard = {start_s + n * LOOK_S - 0.1: one for n, one in enumerate(said) if n}
    assert not await look(broker, GroupEars(catalog()), heard=heard)
    assert broker.looks == 2


async def test_transaction_that_passed_may_end_whenever_it_likes(autojump_clock: MockClock) -> None:
    """What it committed counts from its end on."""
    start_s = trio.current_time()
    broker = Offsets(at=lambda now_s: int((now_s - start_s) / LOOK_S))
    heard = {start_s + 0.1: in_transaction(99)}
    assert not await look(broker, GroupEars(catalog()), heard=heard)


async def test_commit_of_a_topic_that_nobody_knows_proves_nothing(autojump_clock: MockClock) -> None:
    """It may have been for any partition."""
    start_s = trio.current_time()
    broker = Offsets(at=lambda now_s: int((now_s - start_s) / LOOK_S))
    unknown = commit(99, TopicName(""), TopicId(bytes(15) + b"\7"))
    assert not await look(broker, GroupEars(catalog()), heard={start_s + 0.1: unknown})


async def test_nothing_is_concluded_of_a_broker_that_is_away(autojump_clock: MockClock) -> None:
    """Nor that nobody commits: that it is not known is said."""
    assert await look(Offsets(is_down=True), GroupEars(catalog())) is None


async def test_commits_are_read_of_groups_that_are_looked_at(autojump_clock: MockClock) -> None:
    """Of no others, and not behind the look; of two looks each hears all."""
    ears = GroupEars(catalog())
    assert not ears.listens_to([GROUP])
    both = {ZERO, ONE}
    with ears.listen(GROUP, partitions=both) as one, ears.listen(GROUP, partitions=both) as other:
        assert ears.listens_to([GROUP])
        assert not ears.listens_to([GroupId("another")])
        ears.hear(VIA, commit(5))
        assert one.explain(ZERO, 5)
        assert other.explain(ZERO, 5)
        assert not one.explain(ONE, 5)
    assert not ears.listens_to([GROUP])


# ------------------------------------------------------------------------------------------------------ hidden topics


def fetched(errors: Mapping[TopicName, ErrorCode]) -> OffsetFetchReply:
    """What a broker answers of these topics."""
    topics = tuple(
        FetchedTopic(name=name, partitions=(FetchedPartition(partition=0, offset=-1, error=error),))
        for name, error in errors.items()
    )
    return OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=topics),))


async def test_topics_are_hidden_from_whom_the_broker_says_so(autojump_clock: MockClock) -> None:
    """Each member is asked for by its own connection, and of one that is not answered it is said that nobody told."""
    vias = {number: FakeVia(connection=number, operations=None) for number in (1, 2, 3)}
    wanted = {MemberId(str(number)): (via_of(RequestRef(0, number, 0)), (TOPIC, SECRET)) for number in vias}

    async def answer() -> None:
        await trio.sleep(0.1)
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        asked = vias[1].answer(lambda _: fetched({TOPIC: ErrorCode.NONE, SECRET: denied}))
        assert isinstance(asked, OffsetFetch)
        assert [topic.name for topic in asked.groups[0].topics or ()] == [TOPIC, SECRET]
        vias[2].answer(lambda _: fetched({TOPIC: ErrorCode.NONE, SECRET: ErrorCode.NONE}))

    began_s = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        found = await find_hidden_topics(lambda via: vias[via.connection], GROUP, wanted)
    assert found == ({MemberId("1"): (SECRET,)}, frozenset({MemberId("3")}))
    assert trio.current_time() - began_s == TOPICS_S


async def test_of_who_can_not_be_asked_nothing_is_known(autojump_clock: MockClock) -> None:
    """Its connection is gone, its broker lacks the API, or its coordinator moves."""
    via = FakeVia(versions={}, operations=None)
    wanted = {MemberId("a"): (NOWHERE, (SECRET,))}
    nothing: Mapping[MemberId, tuple[TopicName, ...]] = {}
    unasked = (nothing, frozenset({MemberId("a")}))
    assert await find_hidden_topics(lambda _: via, GROUP, wanted) == unasked
    assert await find_hidden_topics(lambda _: via, GROUP, {}) == ({}, frozenset())
    assert via.open == []
    for reply in (None, OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=(), error=MOVED),))):
        moving = FakeVia(operations=None)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer_soon, moving, reply)
            assert await find_hidden_topics(always(moving), GROUP, wanted) == unasked


# ------------------------------------------------------------------------------------------------------------ a look


async def test_only_members_that_are_heard_here_are_looked_at(autojump_clock: MockClock) -> None:
    """A stranger commits by its own way, and may: on upstream it stays what it is."""
    via = FakeVia(operations=None)
    broker = Offsets(at=lambda now_s: int(now_s / LOOK_S))
    known = {MemberId("a"): VIA}
    roads = {MemberId("a"): Road.PASS, MemberId("stranger"): Road.PASS}
    it, told = look_of(broker, via, known, roads), list[tuple[Obstacle, ...]]()
    order = MoveOrder(GROUP, Road.UPSTREAM)
    began_s = trio.current_time()
    seen = await it.see(order, Road.PASS, {MemberId("stranger"): member("stranger")}, told.append)
    assert (seen.has_foreign_commits, broker.looks, via.open) == (False, 0, [])
    assert (set(seen.unheard), set(seen.unasked)) == ({MemberId("stranger")}, set())
    # Who is waited for is told at once, and for how long.
    assert [[one.code for one in obstacles] for obstacles in told] == [["EB-MOVE-209"], []]
    assert HEAR_S <= trio.current_time() - began_s < HEAR_S + 1
    seen = await it.see(order, Road.PASS, {MemberId("a"): member("a")}, told.append)
    assert (seen.has_foreign_commits, len(via.open)) == (True, 1)
    assert len(told) == 2
    # The bridge commits by itself on other roads, and on embedded nobody is asked for the broker's protocol.
    before = broker.looks
    await it.see(MoveOrder(GROUP, Road.EMBEDDED), Road.UPSTREAM, {MemberId("a"): member("a")}, told.append)
    assert (broker.looks, len(via.open)) == (before, 1)


@pytest.mark.parametrize(("to", "is_told"), [(Road.PASS, True), (Road.UPSTREAM, False)])
async def test_who_commits_in_an_old_version_is_seen_on_the_way_to_pass(
    to: Road, is_told: bool, autojump_clock: MockClock
) -> None:
    """On road upstream the bridge goes on to commit for it."""
    a, heard = MemberId("a"), OldCommits()
    heard.note(ApiKey.OFFSET_COMMIT, 1, CLIENT)
    it = replace(look_of(Offsets(), FakeVia(), {}, {a: Road.EMBEDDED}), old_commits=heard)
    seen = await it.see(MoveOrder(GROUP, to), Road.EMBEDDED, {a: member("a")}, lambda _: None)
    assert seen.old_commits == (frozenset({a}) if is_told else frozenset())


@pytest.mark.parametrize("to", [Road.UPSTREAM, Road.EMBEDDED])
async def test_behind_a_restart_members_are_waited_for_before_they_are_judged(
    to: Road, autojump_clock: MockClock
) -> None:
    """Nobody was heard to join then, and nobody was looked at: what a producer commits past the bridge was no reason,
    nor a topic that a client may not see.
    """
    via = FakeVia(operations=None)
    broker = Offsets(at=lambda now_s: int(now_s / LOOK_S))
    roads = {MemberId("a"): Road.PASS, MemberId("b"): Road.PASS}
    it = look_of(broker, via, {}, roads)
    members = {one: member(one) for one in roads}
    seen: list[Sight] = []

    async def see() -> None:
        seen.append(await it.see(MoveOrder(GROUP, to), Road.PASS, members, lambda _: None))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(see)
        await trio.sleep(1)
        it.ears.hear(VIA, Heartbeat(GROUP, 3, MemberId("a"), None))
        await trio.sleep(1)
        assert (broker.looks, via.open) == (0, [])
        it.ears.hear(VIA, replace(commit(5), member_id=MemberId("b")))
    assert (seen[0].has_foreign_commits, seen[0].unheard) == (True, frozenset())
    assert len(via.open) == (2 if to is Road.UPSTREAM else 0)
    assert not it.ears.listens_to([GROUP])


async def test_member_that_joined_here_is_no_stranger_while_it_has_no_connection(autojump_clock: MockClock) -> None:
    """It comes again by another one; that nobody could be asked what it may see is said."""
    gone = FakeVia(connection=NOWHERE.connection, operations=None)
    it = look_of(Offsets(), gone, {MemberId("a"): VIA}, {MemberId("a"): Road.PASS})
    seen = await it.see(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS, {MemberId("a"): member("a")}, lambda _: None)
    assert (set(seen.unheard), set(seen.unasked)) == (set(), {MemberId("a")})


async def test_nobody_waits_for_members_of_the_engine(autojump_clock: MockClock) -> None:
    """None of them comes by another way, and not each has a connection."""
    it = look_of(Offsets(), FakeVia(operations=None), {}, {MemberId("a"): Road.EMBEDDED})
    began_s = trio.current_time()
    seen = await it.see(MoveOrder(GROUP, Road.UPSTREAM), Road.EMBEDDED, {MemberId("a"): member("a")}, lambda _: None)
    assert (trio.current_time() - began_s, set(seen.unasked), set(seen.unheard)) == (0, {MemberId("a")}, set())


async def test_broker_that_does_not_tell_offsets_in_time_has_told_nothing(autojump_clock: MockClock) -> None:
    """That nobody knows is not that nobody commits."""

    async def wait(_group_id: GroupId) -> FetchedGroup:
        await trio.sleep_forever()
        raise AssertionError

    broker = Offsets()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Offsets, "fetch_offsets", lambda _self, group_id: wait(group_id))
        it = look_of(broker, FakeVia(operations=None), {MemberId("a"): VIA}, {MemberId("a"): Road.PASS})
        order = MoveOrder(GROUP, Road.EMBEDDED)
        seen = await it.see(order, Road.PASS, {MemberId("a"): member("a")}, lambda _: None)
    assert seen.has_foreign_commits is None


async def test_commits_that_the_bridge_makes_are_no_strangers(autojump_clock: MockClock) -> None:
    """A canary on upstream commits by the bridge, of which the ears hear nothing: its group is on pass all the same. On
    the way back to pass, where nothing would come of it, no order waits.
    """
    broker = Offsets(at=lambda now_s: int(now_s / LOOK_S))
    known = {MemberId("a"): via_of(RequestRef(0, 1, 0))}
    members = {MemberId("a"): member("a")}
    canary = look_of(broker, FakeVia(operations=None), known, {MemberId("a"): Road.UPSTREAM})
    for to in (Road.EMBEDDED, Road.PASS):
        assert not (await canary.see(MoveOrder(GROUP, to), Road.PASS, members, to_nobody)).has_foreign_commits
    mapped = look_of(broker, FakeVia(operations=None), known, {MemberId("a"): Road.MAPPED})
    assert not (await mapped.see(MoveOrder(GROUP, Road.PASS), Road.PASS, members, to_nobody)).has_foreign_commits
    assert (broker.looks, trio.current_time()) == (0, 0)
    assert (await mapped.see(MoveOrder(GROUP, Road.EMBEDDED), Road.PASS, members, to_nobody)).has_foreign_commits


def to_nobody(_obstacles: tuple[Obstacle, ...]) -> None:
    """Nobody is told."""


async def answer_soon(via: FakeVia, reply: OffsetFetchReply | None) -> None:
    """Once somebody has asked."""
    await trio.sleep(0.1)
    via.answer(lambda _: reply)


def always(via: FakeVia) -> Callable[[Via], FakeVia]:
    """Every member comes by this connection."""
    return lambda _: via


def look_of(broker: Offsets, via: FakeVia, known: Mapping[MemberId, Via], roads: Mapping[MemberId, Road]) -> Look:
    """A look at members that were heard by these connections and take these roads."""
    return Look(
        broker=broker,
        ears=GroupEars(catalog()),
        access=lambda _: via,
        via_of=lambda _, one: known.get(one),
        road_of=lambda _, one: roads[one],
    )


def member(member_id: str) -> ClassicMember:
    """A member with partition 0."""
    return ClassicMember(
        member_id=MemberId(member_id),
        instance_id=None,
        client=CLIENT,
        protocols=(Protocol("range", BLOB),),
        protocol_name="range",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        generation=3,
        using=frozenset({ZERO}),
    )


def test_whoever_is_no_member_is_overheard_by_nobody() -> None:
    """No broker has judged yet what passes: of invented members, and of partitions that nobody asks about, nothing is
    kept, however much of it comes.
    """
    catalog = Catalog()
    ears, other = GroupEars(catalog), TopicPartition(TOPIC, 77)
    with ears.listen(GROUP, {MemberId("a")}, {ZERO}) as overheard:
        for number in range(100):
            ears.hear(VIA, Heartbeat(GROUP, 3, MemberId(f"invented-{number}"), None))
            ears.hear(VIA, replace(commit(number), member_id=MemberId(f"invented-{number}")))
        ears.hear(VIA, Heartbeat(GROUP, 3, MemberId("a"), None))
        assert overheard.vias == {MemberId("a"): VIA}
        assert overheard.explain(ZERO, 99)
        assert not overheard.explain(other, 99)


def test_ways_are_heard_by_which_members_come() -> None:
    """Each of a member, and that of a producer which says of nobody that its offsets are; no more than so many."""
    ears, (beside, producer, stranger) = GroupEars(catalog()), (via_of(RequestRef(0, one, 0)) for one in (7, 8, 9))
    member_id = MemberId("a")
    with ears.note_ways(GROUP) as ways, ears.listen(GROUP, {member_id}):
        ears.hear(VIA, Heartbeat(GROUP, 3, member_id, None))
        ears.hear(beside, commit(5))
        ears.hear(producer, in_transaction(5))
        ears.hear(stranger, Heartbeat(GROUP, 3, MemberId("invented"), None))
        ears.hear(stranger, Heartbeat(GroupId("other"), 3, member_id, None))
    ears.hear(stranger, Heartbeat(GROUP, 3, member_id, None))
    assert sorted(ways.of({member_id})) == [("", producer), ("a", VIA), ("a", beside)]
    with ears.note_ways(GROUP) as ways:
        for number in range(WAYS_MAX + 1):
            ears.hear(stranger, Heartbeat(GROUP, 3, MemberId(f"invented-{number}"), None))
    assert len(ways.of({MemberId(f"invented-{number}") for number in range(WAYS_MAX + 1)})) == WAYS_MAX
    assert not ears.listens_to((GROUP,))


async def test_connection_that_a_member_is_known_by_goes_before_one_that_was_overheard(
    autojump_clock: MockClock,
) -> None:
    """A stranger that says a member's id would be asked in its place which topics it may see."""
    own, stranger = VIA, via_of(RequestRef(0, 9, 0))
    it = look_of(Offsets(), FakeVia(operations=None), {MemberId("a"): own}, {MemberId("a"): Road.PASS})
    asked: list[Via] = []

    def access(via: Via) -> FakeVia:
        asked.append(via)
        return FakeVia(operations=None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            replace(it, access=access).see,
            MoveOrder(GROUP, Road.UPSTREAM),
            Road.PASS,
            {MemberId("a"): member("a")},
            lambda _: None,
        )
        await trio.testing.wait_all_tasks_blocked()
        it.ears.hear(stranger, Heartbeat(GROUP, 3, MemberId("a"), None))
        await trio.sleep(1)
    assert set(asked) == {own}
