"""Give-backs over connections: who is at rest, what is asked in its place, and what its client hears of it: nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving.candidates import REST_S, Candidates
from bridge.coordinators.moving.places import FACTS
from bridge.coordinators.moving.proof import GATHER_S
from bridge.migration.orders import MemberStage, MoveStage
from bridge.migration.route import Road
from tests.support.embedded_world import commit_request, leave_request, native_join
from tests.support.moving_world import (
    GENERATION,
    SESSION_MS,
    FakeFacts,
    MovingWorld,
    classic_join,
    moving_world,
    ref_of,
)
from tests.support.owned_group import GROUP, TOPIC
from tests.support.reseated_world import described
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, DescribedConsumerGroup
from translators.dialects.consumer_protocol import decode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicPartition
from translators.dialects.offsets import GroupOffsets, OffsetFetch

ZERO = frozenset({TopicPartition(TOPIC, 0)})
EPOCH = 9


async def taken_over(world: MovingWorld, member_id: str = "a", partition: int = 0) -> None:
    """One member is on road upstream, at rest, at a later epoch than its generation."""
    world.at_broker({member_id: frozenset({TopicPartition(TOPIC, partition)})})
    world.joined(member_id)
    await world.order(Road.UPSTREAM, member_id)
    world.answer(member_id, granted(GENERATION, partition))
    world.answer(member_id, granted(EPOCH, partition))
    world.beat(member_id)
    await trio.sleep(0.1)
    assert world.candidates.around.upstream.is_at_rest(ref_of(member_id))


def joined(world: MovingWorld, member_id: str = "a") -> JoinGroup:
    """The JoinGroup that the broker is asked in a member's place."""
    (asked,) = world.asked(member_id)
    assert isinstance(asked, JoinGroup), asked
    return asked


def accept(world: MovingWorld, member_id: str = "a", generation: int = EPOCH) -> None:
    """The broker has the member as a classic one."""
    world.accepts(member_id, generation)


def assign(world: MovingWorld, assigned: frozenset[TopicPartition], member_id: str = "a") -> None:
    """It says what the member has."""
    asked = world.assigns(member_id, assigned)
    assert (asked.generation, asked.protocol_name, asked.assignments) == (EPOCH, "range", ())


@asynccontextmanager
async def on_the_way_back(facts: FakeFacts | None = None) -> AsyncIterator[MovingWorld]:
    """Member `a` was taken over, and is ordered back."""
    async with moving_world(facts) as world:
        await taken_over(world)
        await world.order(Road.PASS, "a")
        yield world


def know_nothing_of_its_join(world: MovingWorld) -> None:
    """The broker has no classic member of that name: whose answer was lost was not taken."""
    assert isinstance(world.answer("a", SyncGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID)), SyncGroup)


async def test_member_is_given_back_and_its_client_keeps_its_generation(autojump_clock: MockClock) -> None:
    """JoinGroup says what it owns; what it asks meanwhile waits, and goes on mapped."""
    async with on_the_way_back() as world:
        asked = joined(world)
        assert (asked.member_id, decode_subscription(asked.protocols[0].metadata).owned) == ("a", ZERO)
        assert world.candidates.around.upstream.seat(ref_of("a")) is None
        waiting = world.beat("a"), world.send("a", commit_request(GENERATION, "a"))
        accept(world)
        assign(world, ZERO)
        done = world.progress()
        assert (done.stage, done.count(MemberStage.MOVED)) == (MoveStage.DONE, 1)
        beat, commit = world.asked("a")
        assert isinstance(beat, Heartbeat)
        assert beat.generation == EPOCH == getattr(commit, "generation", None)
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(waiting[0]) is ErrorCode.NONE
        assert (world.road("a"), world.road()) == (Road.MAPPED, Road.PASS)


async def test_native_newcomer_waits_for_the_end(autojump_clock: MockClock) -> None:
    """Whoever comes back would be given less for it, and be called."""
    async with on_the_way_back() as world:
        joining = world.send("new", native_join("new"))
        assert (world.asked("new"), world.reply(joining)) == ([], None)
        accept(world)
        assign(world, ZERO)
        await trio.sleep(0.01)
        assert world.asked("new") == [native_join("new")]


async def test_member_with_less_is_called(autojump_clock: MockClock) -> None:
    """Others want the rest: its client joins again, as in any rebalance, and then is no longer mapped."""
    async with on_the_way_back() as world:
        accept(world)
        assign(world, frozenset())
        assert "told to join again" in world.progress().members[0].detail
        assert "1 had to be told to join again" in world.progress().verdict
        assert world.code(world.beat("a")) is ErrorCode.REBALANCE_IN_PROGRESS
        world.send("a", classic_join("a"))
        accept(world, generation=EPOCH + 1)
        assert (world.road("a"), world.mapped.seats_of(GROUP)) == (Road.PASS, {})


def consumer_group(world: MovingWorld, state: str) -> None:
    """The broker has a consumer group of one classic member with partition 0."""
    world.upstream.broker.described = DescribedConsumerGroup(
        error=ErrorCode.NONE, group_id=GROUP, group_state=state, members=(described(MemberId("a"), (0,)),)
    )


async def give_back_to_call(world: MovingWorld, state: str) -> None:
    """A whole group is ordered back, and its one member is granted nothing, so that it is called."""
    await taken_over(world)
    consumer_group(world, state)
    await world.order(Road.PASS)
    accept(world)
    assign(world, frozenset())


async def test_group_of_called_members_is_reseated_when_they_have_joined(autojump_clock: MockClock) -> None:
    """Its newcomers would disturb everybody else for good; who was called is told of in the verdict all the same."""
    async with moving_world() as world:
        await give_back_to_call(world, "Stable")
        await trio.sleep(3)
        assert world.progress().stage is MoveStage.MOVING
        assert world.code(world.beat("a")) is ErrorCode.REBALANCE_IN_PROGRESS
        world.send("a", classic_join("a"))
        accept(world, generation=EPOCH + 1)
        world.send("a", SyncGroup(group_id=GROUP, generation=EPOCH + 1, member_id=MemberId("a"), instance_id=None))
        world.assigns("a", ZERO)
        world.at_broker({"a": ZERO})
        await trio.sleep(1)
        done = world.progress()
        assert done.stage is MoveStage.DONE
        assert "1 had to be told to join again" in done.verdict


async def test_group_whose_coordinator_loads_as_its_members_are_given_back_is_reseated_behind_that(
    autojump_clock: MockClock,
) -> None:
    """Of such a moment nothing would be left but a group in which every newcomer disturbs everybody else."""
    async with moving_world() as world:
        await taken_over(world)
        world.upstream.broker.described = DescribedConsumerGroup(
            error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, group_id=GROUP
        )
        await world.order(Road.PASS)
        accept(world)
        assign(world, frozenset())
        await trio.sleep(3)
        assert (world.progress().stage, world.progress().obstacles) == (MoveStage.MOVING, ())
        world.at_broker({"a": ZERO})
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.DONE


@pytest.mark.parametrize("is_refused", [False, True])
async def test_group_of_which_its_broker_tells_nothing_is_not_waited_for_for_ever(
    is_refused: bool, autojump_clock: MockClock
) -> None:
    """The verdict says that newcomers will disturb it, and why: at once where no second try mends it."""
    async with moving_world() as world:
        await taken_over(world)
        error = ErrorCode.GROUP_AUTHORIZATION_FAILED if is_refused else ErrorCode.NOT_COORDINATOR
        world.upstream.broker.described = DescribedConsumerGroup(error=error, group_id=GROUP)
        await world.order(Road.PASS)
        accept(world)
        assign(world, frozenset())
        await trio.sleep(1 if is_refused else REST_S + 1)
        ended = world.progress()
        assert (ended.stage, [one.code for one in ended.obstacles]) == (MoveStage.DONE, ["EB-MOVE-204"])


async def test_group_is_reseated_with_the_canary_that_was_given_back_before(autojump_clock: MockClock) -> None:
    """Without it its broker would have others than those that are looked for, and keep a consumer group for good."""
    async with moving_world() as world:
        await taken_over(world, "a")
        await taken_over(world, "b", 1)
        await world.order(Road.PASS, "a")
        accept(world, "a")
        assign(world, ZERO, "a")
        await trio.sleep(1)
        assert (world.road("a"), world.road("b")) == (Road.MAPPED, Road.UPSTREAM)
        world.upstream.broker.described = DescribedConsumerGroup(
            error=ErrorCode.NONE,
            group_id=GROUP,
            group_state="Stable",
            members=(described(MemberId("a"), (0,)), described(MemberId("b"), (1,))),
        )
        await world.order(Road.PASS)
        accept(world, "b")
        assign(world, frozenset({TopicPartition(TOPIC, 1)}), "b")
        await trio.sleep(1)
        done = world.progress()
        # Whether its broker makes classic groups of consumer groups nobody knows here.
        assert (done.stage, [one.code for one in done.obstacles]) == (MoveStage.DONE, ["EB-MOVE-243"])
        assert {one.member_id for one in done.members} == {"a", "b"}


async def test_group_with_a_canary_that_is_classic_already_goes_on_to_the_bridge(autojump_clock: MockClock) -> None:
    """The JoinGroup of the last static member makes a classic group of it: there is nobody to be reseated."""
    async with moving_world() as world:
        await taken_over(world, "a")
        await taken_over(world, "b", 1)
        await world.order(Road.PASS, "a")
        accept(world, "a")
        assign(world, ZERO, "a")
        await trio.sleep(1)
        one = frozenset({TopicPartition(TOPIC, 1)})
        world.at_broker({"a": ZERO, "b": one})
        await world.order(Road.EMBEDDED)
        accept(world, "b")
        assign(world, one, "b")
        await trio.sleep(1)
        assert (world.progress().stage, world.road("a")) == (MoveStage.MOVING, Road.MOVING)


async def test_group_whose_called_members_never_join_is_left_as_it_is(autojump_clock: MockClock) -> None:
    """Within a named time; what is left to be known is said."""
    async with moving_world() as world:
        await give_back_to_call(world, "Stable")
        await trio.sleep(REST_S + 1)
        done = world.progress()
        assert (done.stage, [one.code for one in done.obstacles]) == (MoveStage.DONE, ["EB-MOVE-104"])
        assert world.road("a") is Road.MAPPED


async def test_stop_while_called_members_are_waited_for_sends_no_scout(autojump_clock: MockClock) -> None:
    """Everybody is where they were ordered to already; the operator's word came to a move that was over."""
    async with moving_world() as world:
        await give_back_to_call(world, "PreparingRebalance")
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.MOVING
        world.live.stop(GROUP)
        await trio.sleep(0.5)
        assert (world.progress().stage, world.road("a")) == (MoveStage.STOPPED, Road.MAPPED)


async def test_stop_right_before_called_members_are_waited_for_waits_for_nobody(autojump_clock: MockClock) -> None:
    """It came while their move was written down, and was heard when they had been waited for, 15 s later."""
    async with moving_world() as world:
        await give_back_to_call(world, "PreparingRebalance")
        world.live.stop(GROUP)
        await trio.sleep(0.5)
        assert (world.progress().stage, world.road("a")) == (MoveStage.STOPPED, Road.MAPPED)


async def test_bug_while_called_members_are_waited_for_ends_the_move(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """Everybody is where they were ordered to already."""
    async with moving_world() as world:
        await taken_over(world)

        async def fail(_candidates: Candidates, _group_id: GroupId) -> None:
            raise LookupError("a bug")

        monkeypatch.setattr(Candidates, "to_be_reseated", fail)
        await world.order(Road.PASS)
        accept(world)
        assign(world, frozenset())
        await trio.sleep(1)
        assert world.progress().stage is MoveStage.DONE


async def give_back_to_adopt(world: MovingWorld) -> None:
    """A group on upstream is to be adopted, and its one member is a classic one again."""
    await taken_over(world)
    consumer_group(world, "Stable")
    await world.order(Road.EMBEDDED)
    accept(world)


async def test_group_that_is_not_reseated_on_its_way_to_the_bridge_stays_on_pass(autojump_clock: MockClock) -> None:
    """Half a way is said to be one: whether brokers make a classic group of it is not known here."""
    async with moving_world() as world:
        await give_back_to_adopt(world)
        assign(world, ZERO)
        await trio.sleep(1)
        ended = world.progress()
        assert (ended.stage, [one.code for one in ended.obstacles]) == (MoveStage.STOPPED, ["EB-MOVE-243"])
        assert ended.verdict == "the members are on pass, and could not be moved on to embedded"
        assert (world.road(), world.road("a")) == (Road.PASS, Road.MAPPED)


@pytest.mark.parametrize("is_found", [True, False])
async def test_group_that_is_not_adopted_behind_its_way_back_stays_on_pass(
    is_found: bool, autojump_clock: MockClock
) -> None:
    """It is a classic group again, and then its member is not heard, or its broker is gone."""
    async with moving_world() as world:
        await give_back_to_adopt(world)
        world.at_broker({"a": ZERO})
        assign(world, ZERO)
        world.upstream.broker.is_down = not is_found
        await trio.sleep(GATHER_S + 2)
        ended = world.progress()
        assert ended.stage is MoveStage.STOPPED
        assert ended.verdict == "the members are on pass, and could not be moved on to embedded"
        assert (world.road(), world.road("a")) == (Road.PASS, Road.MAPPED)


async def test_member_that_can_t_be_given_back_keeps_its_group_from_the_bridge(autojump_clock: MockClock) -> None:
    """Nothing has changed: it is on upstream, as before."""
    async with moving_world() as world:
        await taken_over(world)
        consumer_group(world, "Stable")
        await world.order(Road.EMBEDDED)
        world.answer("a", JoinGroupReply(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=MemberId("a")))
        assert world.progress().stage is MoveStage.REFUSED
        assert world.road("a") is Road.UPSTREAM


async def test_broker_that_won_t_have_it_leaves_it_where_it_was(autojump_clock: MockClock) -> None:
    """Its machine goes on under the same epoch, and asks at once."""
    async with on_the_way_back() as world:
        waiting = world.beat("a")
        world.answer("a", JoinGroupReply(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=MemberId("a")))
        refusal = world.progress()
        assert (refusal.stage, refusal.count(MemberStage.STAYS)) == (MoveStage.REFUSED, 1)
        assert world.code(waiting) is ErrorCode.NONE
        (beat,) = world.asked("a")
        assert isinstance(beat, ConsumerGroupHeartbeat)
        assert beat.member_epoch == EPOCH
        assert world.road("a") is Road.UPSTREAM


@pytest.mark.parametrize("is_synced", [False, True])
async def test_lost_answer_is_asked_for_by_the_next_connection(is_synced: bool, autojump_clock: MockClock) -> None:
    """A SyncGroup tells, also whether its JoinGroup was taken."""
    async with on_the_way_back() as world:
        if is_synced:
            accept(world)
        world.reconnect("a")
        beat = world.beat("a")
        assign(world, ZERO)
        assert world.progress().stage is MoveStage.DONE
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(beat) is ErrorCode.NONE


async def test_who_asks_for_offsets_speaks_for_nobody(autojump_clock: MockClock) -> None:
    """Whoever may DESCRIBE a group sees its members' ids, and may ask for offsets as one of them: on its connection the
    broker would refuse what is asked in the member's place.
    """
    async with on_the_way_back() as world:
        world.reconnect("a")
        asked = GroupOffsets(group_id=GROUP, topics=None, member_id=MemberId("a"), member_epoch=EPOCH)
        world.send("stranger", OffsetFetch(groups=(asked,)))
        assert world.asked("stranger") == []
        world.beat("a")
        assign(world, ZERO)
        assert world.progress().stage is MoveStage.DONE


async def test_nobody_is_told_that_all_is_well_for_longer_than_its_seat_is_certain(autojump_clock: MockClock) -> None:
    """The broker says nothing and hangs up on nobody: behind a session it may have given the partitions to another."""
    async with on_the_way_back() as world:
        told = list[ErrorCode | None]()
        for _ in range(3):
            beat = world.beat("a")
            await trio.sleep(SESSION_MS / 3_000 + 2)
            told.append(world.code(beat))
        assert told == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
        ended = world.progress()
        assert ended.count(MemberStage.GONE) == 1, "nobody waits for who joins anew"
        assert "was told" in ended.members[0].detail


async def test_member_that_is_gone_at_the_broker_joins_anew(autojump_clock: MockClock) -> None:
    """Its requests go to the broker, which says so itself."""
    async with on_the_way_back() as world:
        world.beat("a")
        world.answer("a", JoinGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID, member_id=MemberId("a")))
        assert [type(one) for one in world.asked("a")] == [Heartbeat]
        assert world.progress().count(MemberStage.GONE) == 1
        assert world.road("a") is Road.PASS


async def test_client_that_died_on_the_way_is_gone(autojump_clock: MockClock) -> None:
    """It was said that nobody stays where he was, and why."""
    async with on_the_way_back() as world:
        await trio.sleep(3 * SESSION_MS / 1_000)
        told = world.progress()
        assert told.count(MemberStage.GONE) == 1
        assert told.verdict.startswith("0 members are on pass, 1 is gone: ")


async def test_name_of_a_seat_that_the_broker_has_no_more_ends_with_it(autojump_clock: MockClock) -> None:
    """Its client joins under an id of its own, or never: the name would be kept for good, also in the journal."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        await taken_over(world)
        names = world.candidates.around.upstream.names
        names.put(ref_of("a"), MemberId("seat"))
        await world.order(Road.PASS, "a")
        world.beat("a")
        gone = JoinGroupReply(error=ErrorCode.UNKNOWN_MEMBER_ID, member_id=MemberId("seat"))
        assert getattr(world.answer("a", gone), "member_id", "") == "seat"
        await trio.sleep(0.5)
        assert (world.progress().count(MemberStage.GONE), names.of(GROUP)) == (1, {})
        assert "named" not in facts.kept.get(FACTS + GROUP, "")


async def test_member_that_leaves_before_its_turn_does_so_as_a_consumer(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """Who is not at rest is not asked for: here its heartbeat has no answer yet, and it says farewell."""
    async with moving_world() as world:
        await taken_over(world)
        monkeypatch.setattr(world.candidates.around.upstream, "is_at_rest", lambda _: False)
        await world.order(Road.PASS, "a")
        assert world.asked("a") == []
        world.send("a", leave_request("a"))
        await trio.sleep(0.01)
        (farewell,) = world.asked("a")
        assert isinstance(farewell, ConsumerGroupHeartbeat)
        assert farewell.member_epoch == -1
        assert world.progress().count(MemberStage.GONE) == 1


async def test_member_that_does_not_come_to_rest_stays_and_newcomers_join(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    """Within a session the move has a named end."""
    async with moving_world() as world:
        await taken_over(world)
        monkeypatch.setattr(world.candidates.around.upstream, "is_at_rest", lambda _: False)
        await world.order(Road.PASS, "a")
        joining = world.send("new", classic_join(""))
        for _ in range(15):
            await trio.sleep(3)
            world.beat("a")
            while world.asked("a"):
                world.answer("a", unchanged(EPOCH))
        ended = world.progress()
        assert (ended.stage, ended.count(MemberStage.STAYS)) == (MoveStage.STOPPED, 1)
        assert world.code(joining) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert world.road("a") is Road.UPSTREAM


async def test_nothing_is_asked_before_it_is_written(autojump_clock: MockClock) -> None:
    """A bridge that is killed in between has to know whom it let go."""
    async with moving_world() as world:
        await taken_over(world)
        world.facts.fails = True
        refusal = await world.order(Road.PASS, "a")
        assert (refusal.stage, refusal.obstacles[0].code) == (MoveStage.REFUSED, "EB-MOVE-206")
        assert world.asked("a") == []
        assert world.road("a") is Road.UPSTREAM


@pytest.mark.parametrize("is_joined", [False, True], ids=["JoinGroup", "SyncGroup"])
async def test_client_hears_that_its_coordinator_moved_and_is_given_back_by_the_next(
    is_joined: bool, autojump_clock: MockClock
) -> None:
    """It was told that all is well, and went on asking a broker that coordinates no more until its session ended."""
    async with on_the_way_back() as world:
        beat, moved = world.beat("a"), ErrorCode.NOT_COORDINATOR
        if is_joined:
            accept(world)
            world.answer("a", SyncGroupReply(error=moved))
        else:
            world.answer("a", JoinGroupReply(error=moved, member_id=MemberId("a")))
        assert world.code(beat) is moved
        world.reconnect("a")
        world.beat("a")
        if not is_joined:
            know_nothing_of_its_join(world)
            accept(world)
        assign(world, ZERO)
        assert world.progress().stage is MoveStage.DONE


async def test_broker_whose_coordinator_loads_is_asked_again(autojump_clock: MockClock) -> None:
    """Requests that waited are answered meanwhile."""
    async with on_the_way_back() as world:
        beat = world.beat("a")
        world.answer("a", JoinGroupReply(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, member_id=MemberId("a")))
        assert world.code(beat) is ErrorCode.NONE
        world.beat("a")
        know_nothing_of_its_join(world)
        accept(world)
        assign(world, ZERO)
        assert world.progress().stage is MoveStage.DONE


async def test_refused_code_is_no_heartbeat(autojump_clock: MockClock) -> None:
    """An answer of another kind counts as lost."""
    async with on_the_way_back() as world:
        world.answer("a", refused(ErrorCode.UNKNOWN_SERVER_ERROR))
        assert world.progress().stage is MoveStage.MOVING
        world.beat("a")
        know_nothing_of_its_join(world)
        assert joined(world).member_id == "a"
