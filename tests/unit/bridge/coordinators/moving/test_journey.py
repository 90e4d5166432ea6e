"""Orders on their way, leg by leg, over restarts, and what becomes of groups and members afterwards."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge import supervision
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.moving import journey
from bridge.coordinators.moving.candidates import Candidates, Members
from bridge.coordinators.moving.progress import Progress
from bridge.coordinators.moving.proof import GATHER_S
from bridge.coordinators.moving.requests import Held
from bridge.coordinators.moving.reseat import ReseatMove
from bridge.coordinators.moving.sight import HEAR_S, Sight, Tell
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.coordinators.moving.takeover import TakeOverMove
from bridge.coordinators.moving.whole_groups import WholeGroups
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.migration.moves.itinerary import Itinerary, Leg
from bridge.migration.moves.reseat import Reseated
from bridge.migration.orders import MemberStage, MoveOrder, MoveStage, Obstacle
from bridge.migration.route import Road, Rule
from bridge.supervision import MOVE, Task, Work
from tests.support.embedded_world import leave_request
from tests.support.memory_journal import MemoryJournal
from tests.support.moving_world import GENERATION, FakeFacts, MovingWorld, classic_join, described, moving_world
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, JoinGroupReply, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, MemberRef, TopicPartition

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
MEMBERS = {"a": ZERO, "b": ONE}
STAYS = MemberStage.STAYS
WAITED_FOR = Obstacle("EB-MOVE-209", "somebody was not heard", "nothing")


async def take_over(world: MovingWorld, *members: str, only: tuple[str, ...] = ()) -> None:
    """Have these members taken over, in a group that is a consumer group at its broker already."""
    await world.order(Road.UPSTREAM, *only)
    for member_id in members:
        world.answer(member_id, granted(GENERATION, int(member_id == "b")))
    for member_id in members:
        world.answer(member_id, unchanged(GENERATION))
    assert world.progress().stage is MoveStage.DONE
    await trio.sleep(0.05)


async def test_broker_that_does_not_tell_its_topics_holds_no_request_up(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is due by time is done whatever a move waits for, and one look goes on at a time."""
    looks, excused = list[float](), list[int]()

    async def hang(_: UpstreamGroups) -> None:
        looks.append(trio.current_time())
        await trio.sleep_forever()

    def note(_: TakeOverMove, before_ms: int) -> None:
        excused.append(before_ms)

    async with moving_world() as world:
        world.at_broker(MEMBERS)
        await world.order(Road.UPSTREAM)
        monkeypatch.setattr(UpstreamGroups, "look_at_topics", hang)
        monkeypatch.setattr(Catalog, "knows", lambda *_: False)
        monkeypatch.setattr(TakeOverMove, "excuse", note)
        world.beat("a")
        await trio.sleep(1)
        assert len(looks) == 1
        before = len(excused)
        await trio.sleep(1)
        assert (len(excused) > before, len(looks)) == (True, 1)


async def test_stop_before_anybody_was_asked_for(autojump_clock: MockClock) -> None:
    """Nothing was changed."""
    async with moving_world() as world:
        assert world.live.stop(GROUP) is None
        world.at_broker(MEMBERS)
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        assert world.live.stop(GROUP) is not None
        await trio.sleep(0.1)
        assert (world.progress().stage, world.road(), world.facts.kept) == (MoveStage.STOPPED, Road.PASS, {})


async def test_move_that_can_t_be_written_down_is_not_begun(autojump_clock: MockClock) -> None:
    """A bridge that is killed then would not know of it."""
    async with moving_world(FakeFacts(fails=True)) as world:
        world.at_broker(MEMBERS)
        world.joined("a")
        refusal = await world.order(Road.UPSTREAM)
        assert (refusal.stage, refusal.obstacles[0].code) == (MoveStage.REFUSED, "EB-MOVE-206")
        assert (world.asked("a"), world.road()) == ([], Road.PASS)


async def test_bug_on_the_way_to_the_first_step_leaves_the_group_to_the_next_order(autojump_clock: MockClock) -> None:
    """It is counted and logged by whoever supervises tasks."""
    async with moving_world() as world:
        world.upstream.broker.raises = ZeroDivisionError("a bug")
        refusal = await world.order(Road.UPSTREAM)
        assert refusal.stage is MoveStage.REFUSED
        world.upstream.broker.raises = None
        world.at_broker(MEMBERS)
        assert (await world.order(Road.UPSTREAM)).stage is MoveStage.MOVING


@pytest.mark.parametrize("to", [Road.UPSTREAM, Road.EMBEDDED])
async def test_task_that_fails_before_it_does_anything_leaves_the_group_to_the_next_order(
    to: Road, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group would be on the move for ever."""

    def fail(task: Task, work: Work) -> Awaitable[object]:
        if task is not MOVE:
            return work()
        monkeypatch.undo()
        raise ZeroDivisionError

    async with moving_world() as world:
        world.at_broker(MEMBERS)
        monkeypatch.setattr(supervision, "carry_out", fail)
        assert (await world.order(to)).stage is MoveStage.REFUSED
        assert (await world.order(Road.UPSTREAM)).stage is MoveStage.MOVING


class Heard:
    """What was heard of moves."""

    def __init__(self) -> None:
        self.words: list[object] = []

    def move_began(self, order: MoveOrder) -> None:
        """See `MoveEars`."""
        self.words.append(order.destination)

    def move_settled(self, group_id: GroupId, place: Road, epochs: Mapping[MemberId, int]) -> None:
        """See `MoveEars`."""
        self.words.append((place, dict(epochs)))


async def test_only_moves_that_begin_are_told_and_where_their_group_is_then(autojump_clock: MockClock) -> None:
    """One that is refused has changed nothing: it would cut a report of the group in two."""
    heard = Heard()
    async with moving_world(ears=heard) as world:
        assert (await world.order(Road.UPSTREAM)).stage is MoveStage.REFUSED
        assert heard.words == []
        world.at_broker({"a": ZERO})
        world.joined("a")
        await take_over(world, "a")
        assert heard.words == [Road.UPSTREAM, (Road.UPSTREAM, {"a": GENERATION})]


async def test_one_member_after_the_other_each_keeps_its_road(autojump_clock: MockClock) -> None:
    """A canary stays one when the next order comes."""
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        world.joined("a", "b")
        await take_over(world, "a", only=("a",))
        assert [world.road(one) for one in ("a", "b", "")] == [Road.UPSTREAM, Road.PASS, Road.PASS]
        world.at_broker({"b": ONE})
        await take_over(world, "b", only=("b",))
        assert [world.road(one) for one in ("a", "b", "")] == [Road.UPSTREAM, Road.UPSTREAM, Road.PASS]
        assert world.code(world.beat("a")) is ErrorCode.NONE


async def test_member_that_leaves_later_takes_its_group_s_road(autojump_clock: MockClock) -> None:
    """Nothing is remembered of it."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await take_over(world, "a", only=("a",))
        world.send("a", leave_request("a"))
        await trio.sleep(0.01)
        world.answer("a", unchanged(-1))
        await trio.sleep(0.1)
        assert (world.road("a"), world.facts.kept) == (Road.PASS, {})


def see_off_scout(world: MovingWorld, member_id: str) -> None:
    """The broker has none that the life before may have left in; the member's own heartbeat is answered, too."""
    for asked in list(world.asked(member_id)):
        assert isinstance(asked, ConsumerGroupHeartbeat)
        is_scout = asked.member_id == SCOUT_ID
        world.answer(member_id, refused(ErrorCode.UNKNOWN_MEMBER_ID) if is_scout else unchanged(GENERATION))


async def test_take_over_goes_on_after_a_restart(autojump_clock: MockClock) -> None:
    """The broker may have switched anybody: no request of theirs gets there before that is known."""
    facts, journal = FakeFacts(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.at_broker(MEMBERS)
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        assert world.progress().stage is MoveStage.MOVING
    async with moving_world(facts, journal) as world:
        assert (world.road(), world.progress().origin) == (Road.MOVING, Road.PASS)
        joining = world.send("new", classic_join("new"))
        held = world.beat("b")
        assert world.asked("b") == [] or not isinstance(world.asked("b")[0], Heartbeat)
        await trio.sleep(0.5)
        world.beat("b")
        (asked,) = world.asked("b")
        assert isinstance(asked, ConsumerGroupHeartbeat)
        assert asked.member_epoch == GENERATION
        world.answer("b", granted(GENERATION, 1))
        see_off_scout(world, "b")
        assert world.progress().stage is MoveStage.DONE
        assert [world.road(one) for one in ("a", "b", "")] == [Road.UPSTREAM] * 3
        assert world.code(held) is ErrorCode.NONE
        beat = world.beat("a")
        await trio.sleep(0.1)
        assert world.code(beat) is ErrorCode.NONE
        assert (world.reply(joining), len(world.asked("new"))) == (None, 1)


async def test_canary_that_was_interrupted_leaves_the_group_where_it_was(autojump_clock: MockClock) -> None:
    """Only its members are on the new road."""
    facts, journal = FakeFacts(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.at_broker(MEMBERS)
        await world.order(Road.UPSTREAM, "a")
    async with moving_world(facts, journal) as world:
        await trio.sleep(0.5)
        world.beat("a")
        world.beat("a")
        await trio.sleep(0.5)
        world.beat("a")
        world.answer("a", granted(GENERATION, 0))
        see_off_scout(world, "a")
        assert [world.road(one) for one in ("a", "b", "")] == [Road.UPSTREAM, Road.PASS, Road.PASS]
    async with moving_world(facts, journal) as world:
        assert [world.road(one) for one in ("a", "b", "")] == [Road.UPSTREAM, Road.PASS, Road.PASS]


async def test_restart_before_a_round_takes_over_nobody_who_was_not_ordered(autojump_clock: MockClock) -> None:
    """Everybody is written down where user data is to be left behind first, for the round is everybody's."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.at_broker({"a": ZERO, "b": ONE})
        world.joined("a", "b")
        order = MoveOrder(GROUP, Road.UPSTREAM, (MemberId("a"),))
        found = await world.candidates.find(MoveOrder(GROUP, Road.UPSTREAM), Road.PASS)
        assert not isinstance(found, tuple)
        assert await world.places.begin_move(order, Road.PASS, found.values())
    async with moving_world(facts) as world:
        assert [one.member_id for one in world.progress().members] == ["a"]


def described_with_user_data() -> DescribedGroup:
    """The group of these members, whose assignments say what no broker takes over."""
    group = described(MEMBERS)
    # Bytes of four letters in place of none, whose length is -1.
    members = tuple(replace(one, assignment=one.assignment[:-4] + b"\0\0\0\4data") for one in group.members)
    return replace(group, members=members)


async def test_refused_order_leaves_a_group_on_the_road_of_its_rule(autojump_clock: MockClock) -> None:
    """With user data in its assignments it was sent to pass by an order to upstream that was refused at its begin."""
    async with moving_world(rules=(Rule("*", Road.UPSTREAM),)) as world:
        world.upstream.broker.described = described_with_user_data()
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(GATHER_S + 1)
        assert (world.progress().stage, world.road()) == (MoveStage.REFUSED, Road.UPSTREAM)
        assert world.facts.kept == {}


async def test_take_over_that_can_not_begin_with_its_round_is_refused(autojump_clock: MockClock) -> None:
    """Of a group with user data in its assignments a member is not heard: a plan orders what was refused again."""
    async with moving_world() as world:
        world.upstream.broker.described = described_with_user_data()
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(GATHER_S + 1)
        refused_as = [one.code for one in world.progress().obstacles]
        assert (world.progress().stage, refused_as) == (MoveStage.REFUSED, ["EB-MOVE-223"])
        assert (world.road("a"), world.facts.kept) == (Road.PASS, {})


def hears_all_but(*names: str) -> "Callable[[object, Road, object, Tell], Awaitable[Sight]]":
    """A look behind which these were not heard."""

    async def see(_order: object, _origin: Road, _members: object, tell: Tell) -> Sight:
        tell((WAITED_FOR,))
        await trio.sleep(HEAR_S)
        return Sight(unheard=frozenset(map(MemberId, names)))

    return see


async def test_member_that_comes_by_another_way_is_waited_for_by_no_move(autojump_clock: MockClock) -> None:
    """It stays what it is, which is told as soon as it is known; the move waited for a whole session of it."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.at_broker(MEMBERS)
        world.joined("a")
        world.candidates.preflight.see = hears_all_but("b")
        foretold = await world.live.check(MoveOrder(GROUP, Road.UPSTREAM))
        assert foretold.verdict.endswith("members that it moves: 1")
        assert {one.member_id: one.stage for one in foretold.members} == {"a": MemberStage.WAITING, "b": STAYS}
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(1)
        assert world.progress().obstacles == (WAITED_FOR,)
        await trio.sleep(HEAR_S)
        stage = {one.member_id: (one.stage, one.detail[:11]) for one in world.progress().members}
        assert stage[MemberId("b")] == (STAYS, "EB-MOVE-210")
        kept = facts.kept.copy()
        world.answer("a", granted(GENERATION, 0))
        assert world.progress().stage is MoveStage.DONE
        assert [world.road(one) for one in ("a", "b", "new")] == [Road.UPSTREAM, Road.PASS, Road.UPSTREAM]
    facts.kept = kept
    async with moving_world(facts) as world:
        # Killed in the middle, it still knows who stays: to be told by the bridge that nobody knows it would end it.
        world.beat("a")
        await trio.sleep(0.5)
        world.beat("a")
        world.answer("a", granted(GENERATION, 0))
        see_off_scout(world, "a")
        assert world.progress().stage is MoveStage.DONE
        assert [world.road(one) for one in ("a", "b")] == [Road.UPSTREAM, Road.PASS]


async def test_order_that_is_stopped_while_it_is_looked_at_ends_at_once(autojump_clock: MockClock) -> None:
    """Members that nobody heard are waited for, and so would the operator be."""
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        world.candidates.preflight.see = hears_all_but("b")
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(1)
        world.live.stop(GROUP)
        await trio.sleep(0.1)
        assert (world.progress().stage, world.road(), world.facts.kept) == (MoveStage.STOPPED, Road.PASS, {})


def make_at_once(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], Awaitable[bool | None]]]:
    """Reseats that are made as soon as they are begun, and how each would ask brokers."""
    asked_by, begin = list[Callable[[], Awaitable[bool | None]]](), WholeGroups.reseating

    def reseating(
        whole: WholeGroups,
        progress: Progress,
        group_id: GroupId,
        members: Members,
        reconverts: Callable[[], Awaitable[bool | None]],
    ) -> ReseatMove[Held]:
        asked_by.append(reconverts)
        return begin(whole, progress, group_id, members, reconverts)

    async def make(move: ReseatMove[Held]) -> None:
        move.state = Reseated()

    monkeypatch.setattr(WholeGroups, "reseating", reseating)
    monkeypatch.setattr(ReseatMove, "make", make)
    return asked_by


async def test_next_leg_that_fails_is_tried_again_and_is_not_taken_for_made(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a reseat its members could not be looked for: the group was on upstream with nobody who was there."""
    make_at_once(monkeypatch)
    looks, look = list[MoveOrder](), Candidates.find_again

    async def find_again(candidates: Candidates, order: MoveOrder, origin: Road) -> Members | tuple[Obstacle, ...]:
        looks.append(order)
        if len(looks) == 2:
            world.at_broker(MEMBERS)
            raise ZeroDivisionError
        return await look(candidates, order, origin)

    monkeypatch.setattr(Candidates, "find_again", find_again)
    async with moving_world() as world:
        world.upstream.broker.described = described_with_user_data()
        world.joined("a", "b")
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(0.2)
        assert (len(looks), world.progress().stage, world.road()) == (2, MoveStage.MOVING, Road.MOVING)
        await trio.sleep(1)
        assert (len(looks), world.progress().stage) == (3, MoveStage.MOVING)
        for member_id, partition in (("a", 0), ("b", 1)):
            world.answer(member_id, granted(GENERATION, partition))
        for member_id in MEMBERS:
            world.answer(member_id, unchanged(GENERATION))
        assert (world.progress().stage, world.road("a")) == (MoveStage.DONE, Road.UPSTREAM)


async def test_stop_between_two_legs_begins_no_other(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before is over and the next is only about to be written: its members were taken over all the same."""

    async def facts_written(_facts: FakeFacts) -> bool:
        await trio.sleep(1)
        return True

    make_at_once(monkeypatch)
    monkeypatch.setattr(FakeFacts, "facts_written", facts_written)
    async with moving_world() as world:
        world.upstream.broker.described = described_with_user_data()
        world.joined("a", "b")
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(0.5)
        world.at_broker(MEMBERS)
        await trio.sleep(1)
        assert (world.progress().stage, world.asked("a")) == (MoveStage.MOVING, [])
        world.live.stop(GROUP)
        await trio.sleep(1)
        assert (world.progress().stage, world.asked("a"), world.road()) == (MoveStage.STOPPED, [], Road.PASS)


async def test_brokers_are_asked_by_who_can_ask_them_behind_the_start(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running bridge knows who that is once its moves have been started."""
    asked_by = make_at_once(monkeypatch)

    async def reconverts() -> bool:
        return True

    async with moving_world() as world:
        world.live.reconverts = reconverts
        world.upstream.broker.described = described_with_user_data()
        world.joined("a", "b")
        world.live.start(MoveOrder(GROUP, Road.UPSTREAM))
        await trio.sleep(0.2)
        (ask,) = asked_by
        assert await ask()


async def test_group_that_was_released_and_is_not_taken_over_is_told_to_be_on_its_way(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is its broker's, which a plan has to know: it was told to be where it was."""
    released = Itinerary(Road.EMBEDDED, Road.UPSTREAM, (Leg.TAKE_OVER,), is_on_its_way=True)
    monkeypatch.setattr(journey, "planned", lambda *_, **__: released)
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", refused(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        told = world.progress()
        assert (told.stage, world.road()) == (MoveStage.STOPPED, Road.PASS)
        assert told.verdict.startswith("the members are on pass, and could not be moved on to upstream: GROUP_AUTH")


async def test_order_for_strangers_alone_is_refused(autojump_clock: MockClock) -> None:
    """Nobody would be moved."""
    async with moving_world() as world:
        world.at_broker(MEMBERS)
        world.candidates.preflight.see = hears_all_but("a", "b")
        for order in (MoveOrder(GROUP, Road.UPSTREAM), MoveOrder(GROUP, Road.UPSTREAM, (MemberId("b"),))):
            refused_as = {one.code for one in (await world.live.check(order)).obstacles}
            assert refused_as == {"EB-MOVE-210"}


async def test_way_back_of_who_is_at_rest_is_written_once(autojump_clock: MockClock) -> None:
    """The order and those whom it asks for, in one turn of the journal."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        await trio.sleep(1)
        before = facts.written
        await world.order(Road.PASS)
        assert [type(one).__name__ for one in world.asked("a")][-1] == "JoinGroup"
        assert facts.written == before + 1


async def test_give_back_goes_on_after_a_restart(autojump_clock: MockClock) -> None:
    """A SyncGroup under the epoch that was written tells what the broker made of the JoinGroup."""
    facts, journal = FakeFacts(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.formed({"a": ZERO})
        await take_over(world, "a")
        world.beat("a")
        await world.order(Road.PASS)
        assert [type(one) for one in world.asked("a")] == [JoinGroup]
    async with moving_world(facts, journal) as world:
        assert (world.road(), world.candidates.around.upstream.members_of(GROUP)) == (Road.MOVING, {})
        beat = world.beat("a")
        assert world.assigns("a", ZERO).generation == GENERATION
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(beat) is ErrorCode.NONE
        await trio.sleep(0.1)
        assert (world.progress().stage, world.road("a")) == (MoveStage.DONE, Road.MAPPED)
        await trio.sleep(0.1)
    async with moving_world(facts, journal) as world:
        assert (world.road("a"), world.road()) == (Road.MAPPED, Road.PASS)


async def test_give_back_that_outlived_its_machine_in_the_journal_goes_on(
    autojump_clock: MockClock,
) -> None:
    """The broker has a classic member by then: as a consumer member it would be none, and its client be told so."""
    facts, journal, before = FakeFacts(), MemoryJournal(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.formed({"a": ZERO})
        await take_over(world, "a")
        world.beat("a")
        before.append(tuple(journal.replay()))
        await world.order(Road.PASS)
        assert [type(one) for one in world.asked("a")] == [JoinGroup]
    async with moving_world(facts, before) as world:
        assert world.candidates.around.upstream.members_of(GROUP) == {}
        world.beat("a")
        await trio.sleep(30)
        world.answer("a", SyncGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID))
        world.accepts("a")
        world.assigns("a", ZERO)
        await trio.sleep(0.1)
        assert (world.progress().stage, world.road("a")) == (MoveStage.DONE, Road.MAPPED)


async def test_give_back_that_is_refused_after_a_restart_keeps_the_epoch(autojump_clock: MockClock) -> None:
    """Its client is not called: the life before was cut off before it asked, and nothing has changed."""
    facts, journal, before = FakeFacts(), MemoryJournal(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.formed({"a": ZERO})
        await take_over(world, "a")
        world.beat("a")
        before.append(tuple(journal.replay()))
        await world.order(Road.PASS)
    async with moving_world(facts, before) as world:
        beat = world.beat("a")
        refusal = JoinGroupReply(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=MemberId("a"))
        world.answer("a", SyncGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID))
        assert isinstance(world.answer("a", refusal), JoinGroup)
        await trio.sleep(0.1)
        assert world.candidates.around.upstream.epoch_of(MemberRef(GROUP, MemberId("a"))) == GENERATION
        assert world.code(beat) is ErrorCode.NONE


async def test_move_that_was_all_but_over_is_over_after_a_restart(autojump_clock: MockClock) -> None:
    """Its end is written behind the machines that it made."""
    facts, journal = FakeFacts(), MemoryJournal()
    async with moving_world(facts, journal) as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        begun = dict(facts.kept)
        world.answer("a", granted(GENERATION, 0))
    async with moving_world(FakeFacts(begun), journal) as world:
        assert (world.progress().stage, world.road("a")) == (MoveStage.DONE, Road.UPSTREAM)


async def test_whole_group_that_was_refused_is_where_it_was(autojump_clock: MockClock) -> None:
    """Members that were mapped before are still."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await take_over(world, "a")
        world.beat("a")
        await world.order(Road.PASS)
        joined = JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("a"), generation=8, protocol_name="range")
        world.answer("a", joined)
        world.assigns("a", ZERO)
        await trio.sleep(0.1)
        assert world.road("a") is Road.MAPPED
        await world.order(Road.UPSTREAM)
        if not world.asked("a"):
            world.beat("a")
        world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
        world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
        assert world.progress().stage is MoveStage.REFUSED
        assert (world.road("a"), world.road()) == (Road.MAPPED, Road.PASS)
