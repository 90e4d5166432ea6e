"""Take-overs over connections: who is asked for what, whose requests wait for it, and where they go afterwards."""

import json
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.places import FACTS
from bridge.migration.orders import MemberStage, MoveStage
from bridge.migration.route import Road
from bridge.wire.codec.registry import Reply, error_reply
from tests.support.embedded_world import commit_request, leave_request, native_join
from tests.support.moving_world import (
    GENERATION,
    SESSION_MS,
    FakeFacts,
    MovingWorld,
    classic_join,
    described,
    moving_world,
    ref_of,
)
from tests.support.owned_group import GROUP, TOPIC
from tests.support.upstream_world import granted, refused, unchanged
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroupReply,
    SyncGroup,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, InstanceId, MemberId, Topic, TopicId, TopicName, TopicPartition
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply

ZERO, ONE = frozenset({TopicPartition(TOPIC, 0)}), frozenset({TopicPartition(TOPIC, 1)})
ALL = frozenset(TopicPartition(TOPIC, number) for number in range(6))
TWO_MEMBERS = {"a": ZERO, "b": ONE}
NOT_FOUND = refused(ErrorCode.GROUP_ID_NOT_FOUND)


def heartbeat(world: MovingWorld, member_id: str) -> ConsumerGroupHeartbeat:
    """The one thing that the broker is asked by a connection."""
    (asked,) = world.asked(member_id)
    assert isinstance(asked, ConsumerGroupHeartbeat), asked
    return asked


async def hear_out(world: MovingWorld, member_id: str) -> None:
    """The broker answers what it is asked for a member, until it has let it go."""
    await trio.sleep(0.1)
    while heartbeat(world, member_id).member_epoch != LEAVE_EPOCH:
        world.answer(member_id, granted(GENERATION, 0))
        await trio.sleep(0.1)
    world.answer(member_id, granted(LEAVE_EPOCH, 0))
    await trio.sleep(0.1)


async def convert(world: MovingWorld, *members: str) -> None:
    """Of a Kafka 4.3 that makes a consumer group for the pilot: answer everybody."""
    pilot, *others = members
    assert heartbeat(world, pilot).member_epoch == GENERATION
    world.answer(pilot, NOT_FOUND)
    joining = heartbeat(world, pilot)
    assert (joining.member_epoch, joining.owned, joining.server_assignor) == (0, frozenset(), "range")
    world.answer(pilot, granted(GENERATION, int(pilot != "a")))
    for member_id in others:
        switching = heartbeat(world, member_id)
        assert (switching.member_epoch, len(switching.owned or ())) == (GENERATION, 1)
        world.answer(member_id, granted(GENERATION, int(member_id != "a")))


async def test_members_that_were_heard_are_taken_over_at_once(autojump_clock: MockClock) -> None:
    """The pilot first, then everybody; their clients go on under the same ids and generations."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        world.joined("a", "b")
        assert (await world.order(Road.UPSTREAM)).stage is MoveStage.MOVING
        assert (world.road(), world.road("a")) == (Road.MOVING, Road.MOVING)
        assert world.asked("b") == []
        await convert(world, "a", "b")
        done = world.progress()
        assert (done.stage, done.count(MemberStage.MOVED)) == (MoveStage.DONE, 2)
        assert done.verdict == "2 members are on upstream, and none of them was disturbed"
        assert (world.road(), world.road("a")) == (Road.UPSTREAM, Road.UPSTREAM)
        for member_id in TWO_MEMBERS:
            assert heartbeat(world, member_id).member_epoch == GENERATION
            world.answer(member_id, unchanged(GENERATION))
            assert world.code(world.beat(member_id)) is ErrorCode.NONE


async def test_requests_of_a_member_wait_while_it_is_asked_for_and_go_on_in_order(autojump_clock: MockClock) -> None:
    """Its broker may have switched it already; of others, who can't be, they go to the broker."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        await world.order(Road.UPSTREAM)
        first = world.beat("a")
        commit = world.send("a", commit_request(GENERATION, "a"))
        other = world.beat("b")
        assert [type(one) for one in world.asked("b")] == [Heartbeat]
        world.answer("b", HeartbeatReply(ErrorCode.NONE))
        assert world.code(other) is ErrorCode.NONE
        assert (heartbeat(world, "a").member_epoch, world.reply(first), world.reply(commit)) == (GENERATION, None, None)
        world.answer("a", granted(GENERATION, 0))
        assert world.code(first) is ErrorCode.NONE
        asked = world.asked("a")
        assert [type(one) for one in asked] == [ConsumerGroupHeartbeat, OffsetCommit]
        assert isinstance(asked[1], OffsetCommit)
        assert asked[1].generation == GENERATION


async def test_newcomers_wait_for_the_end_and_join_on_the_new_road(autojump_clock: MockClock) -> None:
    """At the broker they would move the group under everybody's feet."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        world.given_id("new")
        await world.order(Road.UPSTREAM)
        joining = world.send("new", classic_join("new"))
        assert (world.asked("new"), world.reply(joining)) == ([], None)
        await convert(world, "a")
        await trio.sleep(0.01)
        assert heartbeat(world, "new").member_epoch == 0


async def test_native_newcomer_waits_for_the_end_too(autojump_clock: MockClock) -> None:
    """The broker would convert the group for it, and give it what the pilot is about to lose."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        joining = world.send("new", native_join("new"))
        assert (world.asked("new"), world.reply(joining)) == ([], None)
        known = replace(native_join("old"), member_epoch=3)
        world.send("old", known)
        assert world.asked("old") == [known]
        await convert(world, "a")
        await trio.sleep(0.01)
        assert world.asked("new") == [native_join("new")]


async def test_native_newcomer_that_waits_too_long_is_told_to_come_again(autojump_clock: MockClock) -> None:
    """Its request has a time limit."""
    async with moving_world() as world:
        world.at_broker({"a": ZERO})
        await world.order(Road.UPSTREAM)
        joining = world.send("new", native_join("new"))
        await trio.sleep(SESSION_MS / 1000)
        assert (world.asked("new"), world.code(joining)) == ([], ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


async def test_static_client_that_is_bounced_in_the_middle_waits_for_no_session(autojump_clock: MockClock) -> None:
    """Its former self is heard no more: the move waited for that until a session was over, and the newcomer with it."""
    async with moving_world() as world:
        seat = InstanceId("seat")
        known = described(TWO_MEMBERS)
        static = tuple(replace(one, instance_id=seat) if one.member_id == "b" else one for one in known.members)
        world.upstream.broker.described = replace(known, members=static)
        world.joined("a")
        await world.order(Road.UPSTREAM)
        joining = world.send("new", replace(classic_join(""), instance_id=seat))
        assert (world.asked("new"), world.reply(joining)) == ([], None)
        await convert(world, "a")
        done = world.progress()
        assert (done.stage, done.count(MemberStage.MOVED), done.count(MemberStage.GONE)) == (MoveStage.DONE, 1, 1)
        await trio.sleep(0.1)
        asked = heartbeat(world, "new")
        assert (asked.member_epoch, asked.instance_id) == (0, seat)


async def test_join_of_a_member_that_nobody_heard_goes_to_its_broker(autojump_clock: MockClock) -> None:
    """It has an id since before this bridge was started: its coordinator may wait for it to answer all others, and what
    it says is known from then on.
    """
    async with moving_world() as world:
        world.at_broker({"a": ZERO})
        await world.order(Road.UPSTREAM)
        joining = classic_join("old")
        world.send("old", joining)
        assert world.asked("old") == [joining]
        world.answer("old", JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("old"), generation=9))
        world.send("old", SyncGroup(group_id=GROUP, generation=9, member_id=MemberId("old"), instance_id=None))
        heard = world.roster.members_of(GROUP)[MemberId("old")]
        assert (heard.request, heard.generation) == (joining, 9)


@pytest.mark.parametrize("leaves", [False, True], ids=["stays", "leaves"])
async def test_member_that_joined_beside_the_move_is_its_broker_s_behind_the_end(
    leaves: bool, autojump_clock: MockClock
) -> None:
    """Nobody took it over: on the group's new road it would be told that it is no member (25)."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.send("late", classic_join("late"))
        world.answer("late", JoinGroupReply(error=ErrorCode.NONE, member_id=MemberId("late"), generation=9))
        if leaves:
            world.send("late", leave_request("late"))
        await convert(world, "a")
        assert (world.progress().stage, world.road()) == (MoveStage.DONE, Road.UPSTREAM)
        assert world.road("late") is (Road.UPSTREAM if leaves else Road.PASS)
        await trio.sleep(0.01)
        kept = json.loads(world.facts.kept[FACTS + GROUP])
        assert kept.get("members") == (None if leaves else {"late": "pass"})


async def test_member_that_joined_since_it_was_described_stays(autojump_clock: MockClock) -> None:
    """What it has now is not what its broker showed, and of which generation that was nobody knows."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        await world.order(Road.UPSTREAM)
        world.send("a", SyncGroup(group_id=GROUP, generation=6, member_id=MemberId("a"), instance_id=None))
        assert [type(one) for one in world.asked("a")] == [SyncGroup]
        (noted,) = [one for one in world.progress().members if one.member_id == "a"]
        assert (noted.stage, noted.detail.split(":")[0]) == (MemberStage.STAYS, "REBALANCE_IN_PROGRESS")


async def test_newcomer_that_nobody_can_translate_goes_to_the_broker_in_the_end(autojump_clock: MockClock) -> None:
    """As it would have on the group's new road, without the wait."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        world.given_id("new")
        await world.order(Road.UPSTREAM)
        world.send("new", classic_join("new", protocol="of-its-own"))
        await convert(world, "a")
        assert [type(one) for one in world.asked("new")] == [JoinGroup]
        assert world.road("new") is Road.PASS


async def test_what_waits_too_long_is_answered_and_a_farewell_is_not(autojump_clock: MockClock) -> None:
    """A third of a session: heartbeats go on, everything else comes again; a farewell nobody says twice."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        sync = SyncGroup(group_id=GROUP, generation=GENERATION, member_id=MemberId("a"), instance_id=None)
        beat, commit = world.beat("a"), world.send("a", commit_request(GENERATION, "a"))
        synced, joining = world.send("a", sync), world.send("new", classic_join(""))
        leaving = world.send("a", leave_request("a"))
        await trio.sleep(SESSION_MS / 3_000 - 0.5)
        assert [world.reply(one) for one in (beat, commit, synced, joining, leaving)] == [None] * 5
        await trio.sleep(1)
        later = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert world.code(beat) is ErrorCode.NONE
        assert world.reply(commit) == error_reply(commit_request(GENERATION, "a"), later)
        assert (world.code(synced), world.code(joining)) == (ErrorCode.REBALANCE_IN_PROGRESS, later)
        assert world.reply(leaving) is None
        await convert(world, "a")
        await hear_out(world, "a")
        assert isinstance(world.reply(leaving), LeaveGroupReply)


async def test_nobody_is_told_that_all_is_well_for_longer_than_its_seat_is_certain(autojump_clock: MockClock) -> None:
    """The broker says nothing and hangs up on nobody: behind a session it may have given the partitions to another."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        told = list[ErrorCode | None]()
        for _ in range(3):
            beat = world.beat("a")
            await trio.sleep(SESSION_MS / 3_000 + 2)
            told.append(world.code(beat))
        assert told == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
        again = world.beat("a")
        await trio.sleep(1)
        assert world.code(again) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_member_whose_client_was_told_that_it_is_none_is_waited_for_no_more(autojump_clock: MockClock) -> None:
    """The move waited for it for two sessions, and as long its client's new JoinGroup."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        await trio.sleep(SESSION_MS / 1_000 - 1)
        world.send("a", commit_request(GENERATION, "a"))
        beat = world.beat("a")
        await trio.sleep(2)
        assert world.code(beat) is ErrorCode.UNKNOWN_MEMBER_ID
        ended = world.progress()
        assert (ended.stage, ended.count(MemberStage.GONE)) == (MoveStage.DONE, 1)
        assert "was told" in ended.members[0].detail
        switching, leaving, refused_then = world.asked("a")
        assert isinstance(switching, ConsumerGroupHeartbeat)
        assert isinstance(leaving, ConsumerGroupHeartbeat)
        assert (switching.member_epoch, leaving.member_epoch) == (GENERATION, LEAVE_EPOCH)
        assert isinstance(refused_then, OffsetCommit), "of a member that is none"


async def test_lost_connection_leaves_the_member_to_be_asked_for_by_its_next_one(autojump_clock: MockClock) -> None:
    """Whether the broker has switched it is not known: until it is, none of its requests reaches the broker."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        lost = world.beat("a")
        world.reconnect("a")
        assert world.reply(lost) is None or world.code(lost) is ErrorCode.NONE
        fetched = world.send("a", leave_request("a"))
        assert world.asked("a") == []
        again = world.beat("a")
        assert heartbeat(world, "a").member_epoch == GENERATION
        world.answer("a", granted(GENERATION, 0))
        assert world.progress().stage is MoveStage.DONE
        await hear_out(world, "a")
        assert world.reply(fetched) is not None
        assert world.reply(again) is not None


async def test_client_hears_that_its_coordinator_moved_and_is_taken_over_by_the_next(autojump_clock: MockClock) -> None:
    """It was told that all is well, and went on asking the broker that coordinates no more until its session was over.

    Nothing else of it is let through: the broker may have switched it before.
    """
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        beat, commit = world.beat("a"), world.send("a", commit_request(GENERATION, "a"))
        world.answer("a", refused(ErrorCode.NOT_COORDINATOR))
        assert world.code(beat) is ErrorCode.NOT_COORDINATOR
        told = world.reply(commit)
        assert isinstance(told, OffsetCommitReply)
        assert {item.error for topic in told.topics for item in topic.partitions} == {ErrorCode.NOT_COORDINATOR}
        assert world.asked("a") == []
        world.reconnect("a")
        world.beat("a")
        assert heartbeat(world, "a").member_epoch == GENERATION
        world.answer("a", granted(GENERATION, 0))
        assert world.progress().stage is MoveStage.DONE


async def test_held_requests_of_a_lost_connection_are_forgotten_and_make_no_ghosts(autojump_clock: MockClock) -> None:
    """Nobody waits for their answers, and a JoinGroup would make a member that no client knows of."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.send("new", classic_join("new"))
        world.reconnect("new")
        await convert(world, "a")
        await trio.sleep(0.1)
        assert world.candidates.around.upstream.members_of(GROUP).keys() == {MemberId("a")}


async def test_refusal_of_the_first_ends_the_move_and_nothing_was_changed(autojump_clock: MockClock) -> None:
    """A policy, user data, a size: what the broker says of one it says of all."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        held = world.beat("a")
        world.answer("a", NOT_FOUND)
        world.answer("a", replace(NOT_FOUND, error_message="unsupported custom assignor is in use"))
        refusal = world.progress()
        assert (refusal.stage, refusal.count(MemberStage.STAYS)) == (MoveStage.REFUSED, 2)
        assert "unsupported custom assignor" in refusal.verdict
        assert [type(one) for one in world.asked("a")] == [Heartbeat]
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(held) is ErrorCode.NONE
        assert (world.road(), world.road("a")) == (Road.PASS, Road.PASS)
        await trio.sleep(0.1)
        assert world.facts.kept == {}


async def test_stopped_move_waits_for_who_is_asked_and_leaves_the_others(autojump_clock: MockClock) -> None:
    """Everybody has one place, and one road that leads there."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        assert world.live.stop(GROUP) is not None
        assert world.progress().stage is MoveStage.MOVING
        world.answer("a", granted(GENERATION, 0))
        stopped = world.progress()
        assert (stopped.stage, stopped.count(MemberStage.MOVED)) == (MoveStage.STOPPED, 1)
        assert (world.road("a"), world.road("b"), world.road()) == (Road.UPSTREAM, Road.PASS, Road.UPSTREAM)


async def test_member_that_leaves_before_its_turn_is_gone(autojump_clock: MockClock) -> None:
    """Its farewell goes to the broker as it came."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        world.joined("a")
        await world.order(Road.UPSTREAM)
        leaving = world.send("b", leave_request("b"))
        world.answer("b", LeaveGroupReply(error=ErrorCode.NONE, members=()))
        assert world.code(leaving) is ErrorCode.NONE
        await convert(world, "a")
        done = world.progress()
        assert (done.stage, done.count(MemberStage.GONE)) == (MoveStage.DONE, 1)


async def test_member_that_is_never_heard_keeps_nobody_waiting_for_ever(autojump_clock: MockClock) -> None:
    """It comes by another way, or is dead: the move ends within a session, and newcomers join."""
    async with moving_world() as world:
        world.at_broker(TWO_MEMBERS)
        world.joined("a")
        await world.order(Road.UPSTREAM)
        await convert(world, "a")
        world.answer("a", unchanged(GENERATION))
        assert world.progress().stage is MoveStage.MOVING
        await trio.sleep(46)
        ended = world.progress()
        assert (ended.stage, ended.count(MemberStage.STAYS)) == (MoveStage.STOPPED, 1)
        assert world.road("b") is Road.PASS


async def test_topics_that_are_not_known_are_looked_at_first(autojump_clock: MockClock) -> None:
    """Partitions without an id would be missing in the heartbeat, as if given up."""
    async with moving_world() as world:
        topics, world.upstream.broker.topics = world.upstream.broker.topics, []
        world.at_broker({"a": ZERO})
        await world.order(Road.UPSTREAM)
        beat = world.beat("a")
        assert [type(one) for one in world.asked("a")] == [Heartbeat]
        world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(beat) is ErrorCode.NONE
        world.upstream.broker.topics = topics
        await trio.sleep(0.5)
        world.beat("a")
        assert len(heartbeat(world, "a").owned or ()) == 1


async def test_member_of_a_played_seat_is_taken_over_under_the_seat_s_id_and_given_back(
    autojump_clock: MockClock,
) -> None:
    """Its client goes by its own id and generation throughout, whatever it asks, and so it does behind a restart."""
    async with moving_world() as world:
        seat = MappedSeat(
            member_id=MemberId("a"), generation=GENERATION, seat_id=MemberId("seat"), seat_generation=GENERATION + 3
        )
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.at_broker({"seat": ZERO})
        await world.order(Road.UPSTREAM)
        world.beat("a")
        first = heartbeat(world, "a")
        assert (first.member_id, first.member_epoch) == ("seat", GENERATION + 3)
        world.answer("a", granted(GENERATION + 3, 0))
        assert heartbeat(world, "a").member_id == "seat"
        world.answer("a", unchanged(GENERATION + 3))
        commit = world.send("a", commit_request(GENERATION, "a"))
        (asked,) = world.asked("a")
        assert isinstance(asked, OffsetCommit)
        assert (asked.member_id, asked.generation) == ("seat", GENERATION + 3)
        world.answer("a", OffsetCommitReply(topics=()))
        assert world.reply(commit) is not None
        await trio.sleep(1)
        assert json.loads(world.facts.kept[FACTS + GROUP])["named"] == {"a": "seat"}
        await world.order(Road.PASS)
        (joining,) = world.asked("a")
        assert isinstance(joining, JoinGroup)
        assert joining.member_id == "seat"
        world.answer(
            "a",
            JoinGroupReply(
                error=ErrorCode.NONE, member_id=joining.member_id, generation=GENERATION + 3, protocol_name="range"
            ),
        )
        (syncing,) = world.asked("a")
        assert isinstance(syncing, SyncGroup)
        assert syncing.member_id == "seat"
        world.assigns("a", ZERO)
        mapped = world.mapped.seat(GROUP, MemberId("a"))
        assert mapped is not None
        assert (mapped.seat_id, mapped.generation) == ("seat", GENERATION)
        assert world.candidates.around.upstream.names.of(GROUP) == {}


async def test_mapped_member_is_taken_over_under_its_seat_and_keeps_its_own_generation(
    autojump_clock: MockClock,
) -> None:
    """The broker knows it by another generation than its client does."""
    async with moving_world() as world:
        seat = MappedSeat(
            member_id=MemberId("a"), generation=GENERATION, seat_id=MemberId("a"), seat_generation=GENERATION + 3
        )
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.at_broker({"a": ZERO})
        await world.order(Road.UPSTREAM)
        stale = world.beat("a", GENERATION - 1)
        assert world.reply(stale) is not None, "of an earlier generation: it is refused, and tells nothing"
        assert world.asked("a") == []
        world.beat("a")
        assert heartbeat(world, "a").member_epoch == GENERATION + 3
        world.answer("a", granted(GENERATION + 3, 0))
        assert (world.mapped.seat(GROUP, MemberId("a")), world.road("a")) == (None, Road.UPSTREAM)
        assert world.candidates.around.upstream.epoch_of(ref_of("a")) == GENERATION + 3
        world.answer("a", unchanged(GENERATION + 3))
        assert world.code(world.beat("a")) is ErrorCode.NONE
        assert world.code(world.beat("a", GENERATION + 3)) is ErrorCode.ILLEGAL_GENERATION


async def test_member_that_can_not_be_asked_for_yet_is_answered(autojump_clock: MockClock) -> None:
    """Behind a restart topics may not be at hand: its client would say nothing else before it has its answer, by which
    it is asked for again.
    """
    facts = FakeFacts()
    async with moving_world(facts) as world:
        world.at_broker({"a": ZERO})
        await world.order(Road.UPSTREAM)
    async with moving_world(facts) as world:
        topics, world.upstream.broker.topics = world.upstream.broker.topics, []
        await trio.sleep(0.5)
        assert world.code(world.beat("a")) is ErrorCode.NONE
        world.upstream.broker.topics = topics
        await trio.sleep(1)
        world.beat("a")
        assert heartbeat(world, "a").member_epoch == GENERATION


async def test_member_whose_partitions_were_given_away_is_dropped_with_a_farewell(autojump_clock: MockClock) -> None:
    """Two would read them; what the broker holds for it would be nobody's for a session."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        world.answer("a", NOT_FOUND)
        world.answer("a", granted(GENERATION, 1))
        assert heartbeat(world, "a").member_epoch == -1
        done = world.progress()
        assert done.count(MemberStage.GONE) == 1
        assert "had to be told" in done.verdict
        assert world.code(world.beat("a")) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("answer", [granted(GENERATION, 1), refused(ErrorCode.UNKNOWN_MEMBER_ID)])
async def test_mapping_of_a_member_that_is_dropped_ends_with_it(answer: Reply, autojump_clock: MockClock) -> None:
    """Its client may never come back: it would be kept for good, also in the journal."""
    facts = FakeFacts()
    async with moving_world(facts) as world:
        seat = MappedSeat(
            member_id=MemberId("a"), generation=GENERATION, seat_id=MemberId("seat"), seat_generation=GENERATION
        )
        world.mapped.put(GROUP, seat)
        world.router.move_member(GROUP, MemberId("a"), Road.MAPPED)
        world.at_broker({"seat": ZERO})
        await world.order(Road.UPSTREAM)
        world.beat("a")
        world.answer("a", NOT_FOUND)
        world.answer("a", answer)
        assert {getattr(one, "member_id", "") for one in world.asked("a")} <= {"seat"}
        await trio.sleep(0.5)
        assert (world.progress().count(MemberStage.GONE), world.mapped.seats_of(GROUP)) == (1, {})
        assert "mapped" not in facts.kept.get(FACTS + GROUP, "")


async def test_member_that_its_broker_has_no_more_is_told_so_also_behind_a_restart(autojump_clock: MockClock) -> None:
    """A client that was away for longer than its session would go on with what others were given."""
    async with moving_world(resume_ms=10**9) as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        waited = world.beat("a")
        world.answer("a", refused(ErrorCode.UNKNOWN_MEMBER_ID))
        assert world.code(waited) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE])
async def test_coordinator_that_has_no_time_is_asked_again_when_the_member_is_heard(
    code: ErrorCode, autojump_clock: MockClock
) -> None:
    """And whoever waited is answered."""
    async with moving_world() as world:
        world.formed({"a": ZERO})
        await world.order(Road.UPSTREAM)
        waited = world.beat("a")
        world.answer("a", refused(code))
        if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            assert [type(one) for one in world.asked("a")] == [Heartbeat]
            world.answer("a", HeartbeatReply(ErrorCode.NONE))
        assert world.code(waited) is ErrorCode.NONE
        world.beat("a")
        assert isinstance(world.asked("a")[0], ConsumerGroupHeartbeat)


@pytest.mark.parametrize("topics", [(TOPIC,), (TOPIC, TopicName("another"))], ids=["as it was", "to more topics"])
async def test_member_that_joins_anew_is_asked_for_first(
    autojump_clock: MockClock, topics: tuple[TopicName, ...]
) -> None:
    """By its classic words the broker would make everybody join; what it wants anew it wants as a consumer member."""
    async with moving_world() as world:
        world.upstream.broker.topics += [Topic(TopicId(b"a" * 16), TopicName("another"), 1)]
        world.at_broker({"a": ZERO, "b": ONE})
        world.joined("a", "b")
        await world.order(Road.UPSTREAM)
        joining = world.send("b", classic_join("b", encode_subscription(Subscription(version=0, topics=topics))))
        assert (world.asked("b"), world.reply(joining)) == ([], None)
        await convert(world, "a", "b")
        await trio.sleep(0.01)
        assert world.progress().stage is MoveStage.DONE
        wanted = set[TopicName]()
        while world.asked("b"):
            wanted |= set(getattr(world.answer("b", unchanged(GENERATION)), "subscribed_topic_names", ()) or ())
            await trio.sleep(0.01)
        assert wanted | {TOPIC} == set(topics)
