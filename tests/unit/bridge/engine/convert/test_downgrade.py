"""A consumer group of classic members turns classic, and what each client was shown stays true."""

from dataclasses import replace

import pytest

from bridge.engine.commands import BecomeClassic, ChangeTopics, DeleteGroup, GroupType, Speaks
from bridge.engine.convert.downgrade import is_settled
from bridge.engine.model import Phase
from bridge.engine.outcome import (
    ConversionFailed,
    Converted,
    DowngradeDue,
    GroupDowngraded,
    NotConverted,
    Unready,
)
from bridge.engine.recovery import condense
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import commit_of
from tests.support.converted_group import BEGINS_CLASSIC, ConversionBench, consumer_join, named, says
from tests.support.engine_bench import GROUP, beat_request, topic
from tests.support.snapshots import durable
from translators.dialects.classic import SyncGroup
from translators.dialects.configs import MigrationPolicy
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, MemberId

SHOWN = {"first": 4, "second": 7}


def due(bench: ConversionBench) -> list[DowngradeDue]:
    """The groups that are to turn classic."""
    return [notice for notice in bench.notices if isinstance(notice, DowngradeDue)]


def mixed(settings: EngineSettings = BEGINS_CLASSIC) -> tuple[ConversionBench, list[MemberId]]:
    """A group of two classic members and a KIP-848 member, which has just left; the classic ones have not heard."""
    bench = ConversionBench(settings)
    members = bench.settle(None, None)
    assert bench.native_join("new") is ErrorCode.NONE
    bench.tell(bench.bench.command(beat_request("new", LEAVE_EPOCH)))
    return bench, members


def heard(bench: ConversionBench, members: list[MemberId]) -> None:
    """Both classic members' machines report until they have what they shall have."""
    for _ in range(2):
        for member_id in members:
            current = bench.consumers.members[member_id].current
            owned = frozenset(current.assigned)
            bench.tell(bench.bench.command(beat_request(member_id, current.epoch, owned), Speaks.CLASSIC))
            if due(bench):
                return


def settled() -> tuple[ConversionBench, list[MemberId]]:
    """A group that has lost its KIP-848 member and has settled."""
    bench, members = mixed()
    heard(bench, members)
    return bench, members


def sync_of(member: MemberId, generation: int) -> SyncGroup:
    """A SyncGroup that brings nothing."""
    return SyncGroup(group_id=GROUP, generation=generation, member_id=member, instance_id=None)


def shown(members: list[MemberId]) -> dict[MemberId, int]:
    """Generations as the machines have counted them."""
    return dict(zip(members, SHOWN.values(), strict=True))


def test_group_that_empties_first_is_never_due() -> None:
    """Nobody is left to whom it would be anything: it stays a consumer group."""
    bench, members = mixed()
    for member_id in members:
        bench.tell(bench.bench.command(beat_request(member_id, LEAVE_EPOCH), Speaks.CLASSIC))
    assert bench.consumers.members == {}
    assert not is_settled(bench.consumers)
    assert due(bench) == []


def test_group_is_due_only_when_everybody_has_reached_the_target() -> None:
    """Turning classic before would leave the departed member's partitions to a rebalance of all."""
    bench, members = mixed()
    assert due(bench) == []
    assert not is_settled(bench.consumers)
    heard(bench, members)
    assert due(bench) == [DowngradeDue(GROUP)]


def test_group_is_not_due_while_a_departure_waits() -> None:
    """A KIP-848 member that is restarted finds the group as it was; who doesn't come back leaves a classic one."""
    waiting = replace(BEGINS_CLASSIC, departure_wait_ms=1_000)
    bench, members = mixed(waiting)
    heard(bench, members)
    bench.pass_time(999)
    heard(bench, members)
    assert due(bench) == []
    bench.pass_time(1)
    heard(bench, members)
    assert due(bench) == [DowngradeDue(GROUP)]
    back, members = mixed(waiting)
    assert back.native_join("again") is ErrorCode.NONE
    back.pass_time(1_000)
    heard(back, members)
    assert due(back) == []


@pytest.mark.parametrize(
    "settings",
    [
        EngineSettings(),
        EngineSettings(group_begins_classic=True, group_consumer_migration_policy=MigrationPolicy.UPGRADE),
    ],
)
def test_group_that_begins_as_consumer_or_may_not_downgrade_stays(settings: EngineSettings) -> None:
    """A deviation from Kafka for the better, and the policy."""
    bench, members = mixed(settings)
    heard(bench, members)
    assert due(bench) == []


def test_downgraded_group_accepts_from_each_member_the_generation_it_was_shown() -> None:
    """Heartbeats and commits go on, nobody is told anything (decision 8)."""
    bench, members = settled()
    bench.become_classic(shown(members))
    assert bench.phase is Phase.STABLE
    assert (bench.generation, bench.group.roster.leader) == (7, None)
    for member_id, generation in shown(members).items():
        assert bench.beat(member_id, generation=generation) is ErrorCode.NONE
        assert bench.commit(commit_of(member_id, generation)) is ErrorCode.NONE
    first = members[0]
    assert bench.beat(first, generation=7) is ErrorCode.ILLEGAL_GENERATION
    assert [type(notice) for notice in bench.notices if isinstance(notice, GroupDowngraded)] == []


def test_topic_of_a_downgraded_group_that_grows_calls_everybody() -> None:
    """Nobody leads before the first rebalance, and no client but a leader looks at its topics (decision 8)."""
    bench, members = settled()
    bench.become_classic(shown(members))
    phases = []
    for grown in (topic("other", 3), topic("foo", 60)):
        bench.tell(ChangeTopics((grown,)))
        phases.append(bench.phase)
    assert phases == [Phase.STABLE, Phase.PREPARING_REBALANCE]
    for member_id, generation in shown(members).items():
        assert bench.beat(member_id, generation=generation) is ErrorCode.REBALANCE_IN_PROGRESS


def test_downgraded_members_sync_to_what_they_have() -> None:
    """The assignments are the current ones, as envelopes (K12.4)."""
    bench, members = settled()
    bench.become_classic(shown(members))
    shares = [decode_assignment(member.assignment).partitions for member in bench.group.members.values()]
    assert sorted(map(len, shares)) == [3, 3]
    assert frozenset().union(*shares) == named(*range(6))
    reply = bench.synced(bench.sync(members[0], generation=4))
    assert reply is not None
    assert (reply.error, decode_assignment(reply.assignment).partitions) == (ErrorCode.NONE, shares[0])


def test_first_classic_rebalance_goes_beyond_every_generation_shown() -> None:
    """Max + 1, and the aliases end with it."""
    bench, members = settled()
    bench.become_classic(shown(members))
    late = bench.join(consumer_join())
    assert [bench.beat(one, generation=generation) for one, generation in shown(members).items()] == [
        ErrorCode.REBALANCE_IN_PROGRESS
    ] * 2
    refs = [bench.join(consumer_join(member_id)) for member_id in members]
    assert [bench.admitted(ref).generation for ref in (late, *refs)] == [8, 8, 8]
    assert bench.group.aliases == {}


def test_rejoin_without_news_repeats_the_generation_shown() -> None:
    """A follower that missed nothing goes on (K1.27)."""
    bench, members = settled()
    bench.become_classic(shown(members))
    reply = bench.join_now(consumer_join(members[0]))
    assert (reply.error, reply.generation, reply.leader) == (ErrorCode.NONE, 4, "")


def test_order_is_refused_while_a_kip_848_member_is_there() -> None:
    """It could not be a member of a classic group."""
    bench = ConversionBench(BEGINS_CLASSIC)
    bench.settle(None, None)
    bench.native_join("new")
    assert bench.refused(GroupType.CLASSIC).reason is Unready.CONSUMER_MEMBERS


def test_order_asks_for_the_seats_and_is_answered_with_the_conversion() -> None:
    """An all-classic consumer group turns classic on command, whatever it began as."""
    bench = ConversionBench()
    members = bench.settle(None, None)
    bench.converted()
    assert bench.order(GroupType.CLASSIC) is None
    (notice,) = due(bench)
    assert notice.ref is not None
    bench.become_classic(dict.fromkeys(members, 1), bench.bench.ref())
    answer = list(bench.replies.values())[-1]
    assert answer == Converted(GROUP, GroupType.CLASSIC, 2, rebalances=False)


def test_seats_that_leave_somebody_out_convert_nothing() -> None:
    """A member that is just coming has no machine yet."""
    bench, members = settled()
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=bench.seats(shown(members))[:1]))
    failed = next(notice for notice in bench.notices if isinstance(notice, ConversionFailed))
    assert failed.refusal.reason is Unready.UNSEATED_MEMBER
    assert bench.consumers.members.keys() == set(members)


def test_clients_that_use_something_else_than_their_target_rebalance() -> None:
    """With unfinished revocations a classic rebalance follows, and nobody loses what it uses before."""
    bench = ConversionBench()
    members = bench.settle(None, None)
    bench.converted()
    (first, second) = bench.seats(dict.fromkeys(members, 1))
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=(first, second)))
    assert bench.phase is Phase.STABLE
    other = ConversionBench()
    members = other.join_all(None, None)
    other.hand_out({members[0]: named(0, 1, 2), members[1]: named(3, 4)})
    other.converted()
    other.become_classic(dict.fromkeys(members, 1))
    assert other.phase is Phase.PREPARING_REBALANCE
    assert other.beat(members[0], generation=1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_several_departures_in_one_turn_cost_nobody_anything() -> None:
    """Baseline point 3: the group turns classic only after everybody has caught up."""
    bench = ConversionBench(BEGINS_CLASSIC)
    members = bench.settle(None, None)
    bench.native_join("one")
    bench.native_join("two")
    leaving = [bench.bench.command(beat_request(one, LEAVE_EPOCH)) for one in ("one", "two")]
    bench.tell(*leaving)
    assert due(bench) == []
    heard(bench, members)
    bench.become_classic(shown(members))
    shares = [decode_assignment(member.assignment).partitions for member in bench.group.members.values()]
    assert frozenset().union(*shares) == named(*range(6))
    assert bench.phase is Phase.STABLE


def test_replay_of_a_downgrade_equals_the_live_state() -> None:
    """Aliases survive a restart."""
    bench, members = settled()
    bench.become_classic(shown(members))
    live = durable(bench.bench.state)
    assert durable(bench.bench.replayed(durable_only=True)) == live
    bench.restart()
    assert bench.beat(members[0], generation=4) is ErrorCode.NONE


def test_sync_under_the_protocol_a_client_was_told_is_answered_under_it() -> None:
    """The machine told each client its own first protocol, the group has one for all: 23 would end a Java client."""
    bench, members = settled()
    told = replace(sync_of(members[0], 4), protocol_type="consumer", protocol_name="sticky")
    seats = tuple(
        replace(seat, protocols=(*says("sticky"), *says("range")) if seat.member_id == members[0] else says("range"))
        for seat in bench.seats(shown(members))
    )
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=seats))
    assert bench.group.roster.protocol_name == "range"
    reply = bench.synced(bench.sync_as(told))
    assert reply is not None
    assert (reply.error, reply.protocol_name) == (ErrorCode.NONE, "sticky")
    foreign = bench.sync_as(replace(told, protocol_name="roundrobin"))
    assert bench.sync_code(foreign) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_client_that_was_never_answered_gets_a_generation_that_is_not_0() -> None:
    """Its JoinGroup waits; whatever it is answered, it is never generation 0."""
    bench, members = settled()
    bench.become_classic(dict.fromkeys(members, 0))
    assert bench.group.aliases == {}
    reply = bench.join_now(consumer_join(members[0]))
    assert (reply.error, reply.generation) == (ErrorCode.NONE, 1)


def test_seat_that_the_engine_does_not_know_rebalances_the_group() -> None:
    """A newcomer whose machine has asked nothing yet was given nothing."""
    bench, members = settled()
    first, second = bench.seats(shown(members))
    newcomer = replace(first, member_id=MemberId("late"), using=frozenset(), generation=0)
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=(first, second, newcomer)))
    assert bench.phase is Phase.PREPARING_REBALANCE


def test_rebalance_that_is_owed_begins_again_after_a_restart() -> None:
    """What has no owner would have none for ever."""
    bench = ConversionBench()
    members = bench.join_all(None, None)
    bench.hand_out({members[0]: named(0, 1, 2), members[1]: named(3, 4)})
    bench.converted()
    bench.become_classic(dict.fromkeys(members, 1))
    assert durable(bench.bench.replayed(durable_only=True)) == durable(bench.bench.state)
    bench.restart()
    assert bench.phase is Phase.PREPARING_REBALANCE
    assert bench.beat(members[0], generation=1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_covered_group_rests_after_a_restart() -> None:
    """Nobody is called who has all it should have."""
    bench, members = settled()
    bench.become_classic(shown(members))
    bench.restart()
    assert bench.phase is Phase.STABLE


def test_late_word_of_a_machine_does_not_convert_the_group_back() -> None:
    """Only a KIP-848 member does."""
    bench, members = settled()
    bench.become_classic(shown(members))
    late = bench.bench.command(beat_request(members[0], 0), Speaks.CLASSIC)
    answer = bench.bench.answers(bench.tell(late))[late.ref]
    assert answer.reply.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert bench.phase is Phase.STABLE


@pytest.mark.parametrize("is_condensed", [False, True])
def test_group_that_is_due_is_due_again_after_a_restart(is_condensed: bool) -> None:
    """Whoever was to bring the seats has forgotten it."""
    bench, _ = settled()
    if is_condensed:
        bench.bench.records = list(condense(bench.bench.state))
    bench.restart()
    bench.pass_time(0)
    assert due(bench) == [DowngradeDue(GROUP)]


def test_group_that_became_consumer_by_order_is_not_due_after_a_restart() -> None:
    """It never had a KIP-848 member to lose."""
    bench = ConversionBench(BEGINS_CLASSIC)
    bench.settle(None, None)
    bench.converted()
    bench.restart()
    bench.pass_time(0)
    assert due(bench) == []


def test_group_whose_next_target_waits_is_not_settled() -> None:
    """Everybody has what the last target said, and it is not the last word (`assignment.interval`)."""
    slow = replace(BEGINS_CLASSIC, group_consumer_assignment_interval_ms=60_000)
    bench, members = mixed(slow)
    heard(bench, members)
    group = bench.consumers
    behind = group.epoch > group.assignment_epoch
    assert (behind, group.natives, due(bench)) == (True, 0, [])
    assert not is_settled(group)


def test_group_with_seats_for_all_still_stays_where_something_else_is_against_it() -> None:
    """Seats that fit are no answer to the group's size, nor to members that speak the consumer protocol."""
    bench, members = settled()
    full = replace(bench.bench.settings, group_max_size=1)
    bench.bench.state.settings = full
    bench.become_classic(shown(members), bench.bench.ref())
    assert GROUP in bench.bench.state.groups
    refusal = bench.bench.outcome.replies[0][1]
    assert isinstance(refusal, NotConverted)
    assert refusal.reason is Unready.TOO_LARGE


def test_group_that_is_deleted_in_the_turn_of_its_last_departure_is_not_due() -> None:
    """There is nothing left to turn classic."""
    bench = ConversionBench(BEGINS_CLASSIC)
    bench.native_join("new")
    leaving = bench.bench.command(beat_request("new", LEAVE_EPOCH))
    bench.tell(leaving, DeleteGroup(bench.bench.ref(), GROUP))
    assert GROUP not in bench.bench.state.groups
    assert due(bench) == []
