"""Classic clients whose group a broker coordinates, from JoinGroup to LeaveGroup."""

from dataclasses import replace
from functools import partial

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.shares import ShareLimits, Shares
from bridge.coordinators.embedded.weights import join_bytes
from bridge.coordinators.machines import NOBODY, Machines
from bridge.coordinators.upstream import groups
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Shard
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeVia, join_request, leave_request
from tests.support.memory_journal import MemoryJournal
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.upstream_world import UpstreamWorld, described, granted, refused, unchanged, upstream_world
from translators.dialects.classic import Heartbeat, JoinGroup, JoinGroupReply, LeaveGroupReply, Protocol
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.coordinator import DepartReason
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    JOIN_EPOCH,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    RequestRef,
    TopicName,
    TopicPartition,
    via_of,
)
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply

ONE, TWO = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


async def called(world: UpstreamWorld, member_id: str, generation: int) -> None:
    """Beat until the member is called."""
    for _ in range(20):
        if await world.beat(member_id, generation) is ErrorCode.REBALANCE_IN_PROGRESS:
            return
    raise AssertionError(f"{member_id} was not called")


async def test_member_joins_lives_and_leaves(autojump_clock: MockClock) -> None:
    """One heartbeat in full, short ones at the broker's interval, and a farewell."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        assert generation >= 1
        assert await world.sync("a", generation) == {ONE, TWO}
        assert await world.beat("a", generation) is ErrorCode.NONE
        second = await world.say(unchanged(1))
        assert second.owned is not None
        third = await world.say(unchanged(1))
        assert (third.owned, third.subscribed_topic_names, third.member_epoch) == (None, None, 1)
        left = world.send(leave_request("a"))
        assert (await world.say(unchanged(-1))).member_epoch == -1
        assert (await world.answer(left, LeaveGroupReply)).error is ErrorCode.NONE
        assert await world.beat("a", generation) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_answer_over_again_takes_no_turn_and_any_other_does(autojump_clock: MockClock) -> None:
    """A member at peace is asked for in a turn, together with others; what it is told over again changes nothing."""
    async with upstream_world() as world:
        turns = world.groups.task.times.processing.counts
        generation = await world.form("a", granted(1, 0, 1))
        calm = unchanged(1)
        for _ in range(2):
            await world.say(calm)
            assert await world.beat("a", generation) is ErrorCode.NONE

        async def turns_of(reply: ConsumerGroupHeartbeatReply) -> int:
            await world.asked()
            assert await world.beat("a", generation) is ErrorCode.NONE
            before = sum(turns)
            await world.say(reply)
            await world.asked()
            return sum(turns) - before

        assert [await turns_of(calm), await turns_of(calm), await turns_of(unchanged(1))] == [1, 1, 2]


@pytest.mark.parametrize("reason", [DepartReason.LEFT, DepartReason.SESSION_EXPIRED])
async def test_whoever_follows_members_hears_why_each_leaves(autojump_clock: MockClock, reason: DepartReason) -> None:
    """A broker is told the same whether a client said goodbye or was never heard again."""
    async with upstream_world() as world:
        heard: list[tuple[MemberRef, DepartReason]] = []
        world.groups.tell_departures(lambda member, why: heard.append((member, why)))
        await world.form("a", granted(1, 0))
        if reason is DepartReason.LEFT:
            world.send(leave_request("a"))
        while (await world.say(unchanged(1))).member_epoch > 0:
            assert heard == [] or reason is DepartReason.LEFT
    assert set(heard) == {(MemberRef(GROUP, MemberId("a")), reason)}


async def test_member_whose_assignment_stays_hears_nothing_of_a_new_epoch(autojump_clock: MockClock) -> None:
    """What Kafka's own migration calls every classic member for."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(7, 0, 1))
        for _ in range(3):
            assert await world.beat("a", generation) is ErrorCode.NONE


async def test_loser_is_called_and_the_broker_hears_when_it_has_let_go(autojump_clock: MockClock) -> None:
    """An eager client owns nothing while it joins."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(1, 0))
        await called(world, "a", generation)
        joining = world.send(join_request("a"))
        told = await world.say(granted(2, 0))
        assert told.owned == frozenset()
        joined = await world.answer(joining, JoinGroupReply)
        assert joined.generation > generation
        assert await world.sync("a", joined.generation) == {ONE}


async def test_fenced_member_is_told_in_classic_words(autojump_clock: MockClock) -> None:
    """Never a code that a classic client does not know, never 27 (decision 15)."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0))
        await world.say(refused(ErrorCode.FENCED_MEMBER_EPOCH))
        assert await world.beat("a", generation) in {ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}


async def test_broker_without_the_protocol_refuses_for_good(autojump_clock: MockClock) -> None:
    """A stated end: the client hears UNSUPPORTED_VERSION instead of waiting."""
    async with upstream_world() as world:
        joining = world.send(join_request("a"))
        await world.say(refused(ErrorCode.UNSUPPORTED_VERSION))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.UNSUPPORTED_VERSION


async def test_member_is_asked_for_by_the_connection_it_beats_on(autojump_clock: MockClock) -> None:
    """franz-go joins by a connection of its own, which it closes after a while, and beats by another as before: where
    its generation stayed, heartbeats go their short way, and nobody saw that the member lives by that connection. Its
    broker heard nothing any more, and fenced it after 45 s.
    """
    async with upstream_world() as world:
        beats, joins = FakeVia(), FakeVia(connection=2)
        generation = await world.form("a", granted(1, 0), beats)
        await world.say(unchanged(1), beats)
        joining = world.send(join_request("a"), joins)
        await world.say(unchanged(1), joins)
        assert (await world.answer(joining, JoinGroupReply)).generation == generation
        await world.sync("a", generation, joins)
        world.groups.disconnected(joins.connection)
        del world.vias[joins.connection]
        for _ in range(5):
            await trio.sleep(3)
            if not world.groups.beat(CLIENT, Heartbeat(GROUP, generation, MemberId("a"), None)):
                assert await world.beat("a", generation, beats) is ErrorCode.NONE
        assert (await world.asked(beats)).member_epoch == 1


async def test_member_asks_by_its_next_connection(autojump_clock: MockClock) -> None:
    """The first one is gone with a question on it; id and generation stay."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0))
        await world.asked()
        world.groups.disconnected(world.via.connection)
        del world.vias[world.via.connection]
        world.via.answer(lambda _: None)
        again = FakeVia(connection=2)
        assert await world.beat("a", generation, again) is ErrorCode.NONE
        assert (await world.say(unchanged(1), again)).member_epoch == 1
        assert await world.beat("a", generation, again) is ErrorCode.NONE


async def hang_up(world: UpstreamWorld) -> None:
    """The first client is gone with its connection, and with what was asked on it."""
    world.groups.disconnected(world.via.connection)
    del world.vias[world.via.connection]
    await trio.sleep(0.1)
    while world.via.open:
        world.via.answer(lambda _: None)


@pytest.mark.parametrize("seat", ["a", "seat"], ids=["by its own id", "by that of its seat"])
async def test_gone_member_is_seen_off_by_another(seat: str, autojump_clock: MockClock) -> None:
    """Its own connection is gone with it; without this the others would wait for the broker's session."""
    async with upstream_world() as world:
        gone = list[MemberRef]()

        def forget(member: MemberRef) -> None:
            world.groups.names.take_out(member)
            gone.append(member)

        first = world.via.connection
        world.groups.tell_of_the_gone(forget)
        world.groups.tell_principals(lambda via: "one" if gone or via.connection == first else "not yet")
        await world.form("a", granted(1, 0))
        world.groups.names.put(MemberRef(GROUP, MemberId("a")), MemberId(seat))
        other = FakeVia(connection=2)
        generation = await world.form("b", granted(2, 1), other)
        await hang_up(world)
        said: list[tuple[str, int]] = []
        for _ in range(40):
            assert await world.beat("b", generation, other) is ErrorCode.NONE
            request = await world.say(unchanged(2), other)
            said.append((request.member_id, request.member_epoch))
            if (seat, -1) in said:
                return
        raise AssertionError(said)


@pytest.mark.parametrize("unheard", [None, refused(ErrorCode.NOT_COORDINATOR)], ids=["lost", "coordinator moved"])
async def test_farewell_is_said_until_it_is_heard_and_then_no_more(
    unheard: ConsumerGroupHeartbeatReply | None, autojump_clock: MockClock
) -> None:
    """It is kept once however often its machine tries, and by a way that leads nowhere it is not said for good."""
    async with upstream_world() as world:
        world.groups.tell_principals(lambda _: "everybody")
        await world.form("a", granted(1, 0))
        other = FakeVia(connection=2)
        generation = await world.form("b", granted(2, 1), other)
        await hang_up(world)
        said = 0
        for _ in range(120):
            await trio.sleep(1)
            await world.beat("b", generation, other)
            while other.open:
                is_farewell = (await world.asked(other)).member_id == "a"
                reply = unheard if is_farewell and not said else unchanged(2)
                other.answer(partial(_say, reply))
                said += is_farewell
        assert said == 2


def _say(reply: ConsumerGroupHeartbeatReply | None, _request: Request) -> Reply | None:
    return reply


async def test_journal_brings_members_back(autojump_clock: MockClock) -> None:
    """After a restart the client goes on under its generation, and the broker is told what it has, by topic ids."""
    journal = MemoryJournal()
    async with upstream_world(journal) as world:
        generation = await world.form("a", granted(3, 0, 1))
    async with upstream_world(journal) as later:
        assert await later.beat("a", generation) is ErrorCode.NONE
        told = await later.say(unchanged(3))
        assert told.member_epoch == 3
        assert {one.partition for one in told.owned or ()} == {0, 1}
        assert await later.beat("a", generation) is ErrorCode.NONE


@pytest.mark.parametrize("first", ["heartbeat", "sync"])
async def test_member_of_the_journal_is_known_by_what_its_client_says_first(
    first: str, autojump_clock: MockClock
) -> None:
    """A journal says nothing of clients: without this nobody saw whose member it is, nor whose Fetches are its own."""
    journal, member = MemoryJournal(), MemberRef(GROUP, MemberId("a"))
    async with upstream_world(journal) as world:
        generation = await world.form("a", granted(3, 0))
    async with upstream_world(journal) as later:
        assert later.groups.client_of(member) == NOBODY
        if first == "sync":
            assert await later.sync("a", generation) == {ONE}
        else:
            assert await later.beat("a", generation) is ErrorCode.NONE
        assert later.groups.client_of(member) == CLIENT
        assert later.groups.via_of(member).connection == later.via.connection
        other = replace(CLIENT, client_id="other")
        ref = RequestRef(0, later.via.connection, 1_000)
        later.groups.submit(ref, other, via_of(ref), Heartbeat(GROUP, generation, MemberId("a"), None))
        assert later.groups.client_of(member) == CLIENT
        later.groups.submit(ref._replace(sequence=1_001), other, via_of(ref), Heartbeat(GROUP, 1, MemberId("b"), None))
        assert later.groups.client_of(MemberRef(GROUP, MemberId("b"))) == NOBODY


async def test_offsets_are_fetched_without_member_and_epoch(autojump_clock: MockClock) -> None:
    """To an epoch that has moved Kafka answers 113, to none at all the offsets."""
    async with upstream_world() as world:
        asked = GroupOffsets(group_id=GROUP, topics=None, member_id=MemberId("a"), member_epoch=2)
        fetching = world.send(OffsetFetch(groups=(asked,)))
        seen: list[Request] = []

        def answer(request: Request) -> Reply:
            seen.append(request)
            return OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=()),))

        world.via.answer(answer)
        assert (await world.answer(fetching, OffsetFetchReply)).groups[0].error is ErrorCode.NONE
        assert seen == [OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None),))]


async def test_join_waits_until_its_topics_were_seen(autojump_clock: MockClock) -> None:
    """A cluster that can't be asked makes a join that is tried again."""
    async with upstream_world() as world:
        world.broker.is_down = True
        joining = world.send(join_request("a", TopicName("new")))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_refused_member_is_in_the_log(autojump_clock: MockClock, caplog: pytest.LogCaptureFixture) -> None:
    """With the broker's code and its words; what passes by itself is not."""
    heard: list[tuple[GroupId, ErrorCode]] = []
    async with upstream_world() as world:
        world.groups.on_refused = lambda *refusal: heard.append(refusal)
        generation = await world.form("a", granted(1, 0))
        await world.say(refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        await world.say(refused(ErrorCode.GROUP_AUTHORIZATION_FAILED))
        await world.beat("a", generation)
    assert heard == [(GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED)]
    lines = [record.getMessage() for record in caplog.records if "EB-GROUP-001" in record.getMessage()]
    assert len(lines) == 1
    assert "GROUP_AUTHORIZATION_FAILED" in lines[0]


async def test_join_is_answered_whatever_befalls_its_look(autojump_clock: MockClock) -> None:
    """A bug in the look is counted and logged, and the client is told to come again."""
    async with upstream_world() as world:
        world.broker.raises = RuntimeError("a bug")
        joining = world.send(join_request("a", TopicName("new")))
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert world.groups.supervised.counts["look-up"] == 1


async def test_join_whose_client_hung_up_while_it_waited_makes_no_member(autojump_clock: MockClock) -> None:
    """It is asked for by nobody; a static client that had joined again since was fenced by it, which ends it."""
    async with upstream_world() as world:
        world.broker.delay_s = 2.0
        before, after = FakeVia(connection=2), FakeVia(connection=3)
        static = replace(join_request(""), instance_id=InstanceId("seat"))
        world.send(static, before)
        await trio.sleep(0.5)
        del world.vias[before.connection]
        world.groups.disconnected(before.connection)
        await trio.sleep(3)
        assert list(world.groups.members()) == []
        joining = world.send(static, after)
        assert (await world.say(granted(1, 0), after)).member_epoch == 0
        assert (await world.answer(joining, JoinGroupReply)).error is ErrorCode.NONE


async def test_waiting_joins_have_a_limit(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of joins for topics that nobody has seen ends in answers, not in tasks."""
    monkeypatch.setattr(groups, "JOINS_WAITING_MAX", 2)
    async with upstream_world() as world:
        world.broker.is_down = True
        sent = [world.send(join_request(name, TopicName("new"))) for name in "abc"]
        codes = [(await world.answer(ref, JoinGroupReply)).error for ref in sent]
    waited, told = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert codes == [waited, waited, told]


async def test_lines_about_its_groups_name_their_road(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn that fails is told by what carries out turns of both roads."""

    def fail(*_: object) -> None:
        raise ValueError("a bug")

    async with upstream_world() as world:
        monkeypatch.setattr(world.groups.task.owner, "take_turn", fail)
        ref = world.send(join_request("a"))
        assert (await world.answer(ref, JoinGroupReply)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    (line,) = (record for record in caplog.records if "EB-GROUP-002" in record.getMessage())
    assert (line.__dict__["road"], line.__dict__["group_id"]) == ("upstream", GROUP)


# ------------------------------------------------------------------ what they may hold of the journal

OTHER, THIRD = GroupId("other"), GroupId("third")
FAT_BYTES = 14_500
"""About what a member takes that brings 10,000 bytes of user data: it is written as base64."""
SHARES = ShareLimits(group_bytes=5 * FAT_BYTES // 2, client_bytes=7 * FAT_BYTES // 2, all_bytes=1_000_000)
ELSEWHERE = ClientIdentity(client_id="another", client_host="/10.0.0.7")


def shares_of(machines: Machines) -> Shares:
    """As the composition root shares a journal out."""
    shares = Shares(Shard(settings=EngineSettings(), assignors={}), machines, keeps_groups=False)
    shares.limit(SHARES)
    return shares


def fat_join(member_id: str, group_id: GroupId = GROUP) -> JoinGroup:
    """A range member that says much."""
    said = Subscription(version=0, topics=(TOPIC,), owned=frozenset(), user_data=b"u" * 10_000)
    return replace(
        join_request(member_id), group_id=group_id, protocols=(Protocol("range", encode_subscription(said)),)
    )


def said_bytes(request: JoinGroup) -> int:
    """What a member weighs that said this; of groups that brokers have nobody writes down whose client it is."""
    return join_bytes(request, NOBODY, is_translated=True)


def told_at_once(world: UpstreamWorld, request: JoinGroup, client: ClientIdentity = CLIENT) -> ErrorCode | None:
    """What a JoinGroup is refused with before its broker is asked; None for one that is let in."""
    ref = RequestRef(0, world.via.connection, next(world.sequence))
    world.vias[world.via.connection] = world.via
    world.groups.submit(ref, client, via_of(ref), request)
    reply = world.replies.get(ref)
    return reply.error if isinstance(reply, JoinGroupReply) else None


async def until_answered(world: UpstreamWorld, ref: RequestRef) -> None:
    """Its broker has all members as they are, and whoever comes or goes."""

    def agree(request: Request) -> Reply:
        if isinstance(request, ConsumerGroupDescribe):
            return described({})
        assert isinstance(request, ConsumerGroupHeartbeat), request
        return granted(1) if request.member_epoch == JOIN_EPOCH else unchanged(request.member_epoch)

    while ref not in world.replies:
        if world.via.open:
            world.via.answer(agree)
        await trio.sleep(0.01)


async def test_who_says_much_fills_a_share_of_the_journal_and_not_the_journal(autojump_clock: MockClock) -> None:
    """770 JoinGroups of a megabyte, from one client, and the groups of everybody stood still."""
    refused_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    async with upstream_world() as world:
        world.groups.share_out(shares_of)
        await world.form("a", granted(1, 0))
        assert [told_at_once(world, fat_join(f"fat-{number}")) for number in range(3)] == [None, None, refused_code]
        await trio.sleep(0.01)
        assert told_at_once(world, fat_join("late")) is refused_code, "what was admitted has become members"
        assert told_at_once(world, fat_join("b", OTHER)) is None
        assert told_at_once(world, fat_join("c", OTHER)) is refused_code, "its address has its share in two groups"
        assert told_at_once(world, fat_join("d", THIRD), ELSEWHERE) is None
        assert told_at_once(world, join_request("a")) is None, "who says no more than before is never refused"


async def test_who_leaves_makes_room_and_who_comes_from_the_journal_has_its_weight(autojump_clock: MockClock) -> None:
    """Sums follow from the members that are there."""
    journal = MemoryJournal()
    async with upstream_world(journal) as world:
        world.groups.share_out(shares_of)
        await world.form("a", granted(1, 0))
        for number in range(2):
            joining = world.send(fat_join(f"fat-{number}"))
            await until_answered(world, joining)
        assert told_at_once(world, fat_join("late")) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    async with upstream_world(journal) as world:
        world.groups.share_out(shares_of)
        shares = world.groups._shares
        assert isinstance(shares, Shares)
        shares.settle()
        before = shares.by_group[GROUP]
        said = sum(map(said_bytes, (fat_join("fat-0"), fat_join("fat-1"), join_request("a"))))
        assert said <= before <= said + 500, "what they were granted is little"
        assert set(shares.by_host) == {NOBODY.client_host}, "nobody has spoken yet"
        left = world.send(leave_request("fat-0"))
        await until_answered(world, left)
        shares.settle()
        assert shares.by_group[GROUP] <= before - said_bytes(fat_join("fat-0"))
