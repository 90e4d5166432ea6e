"""Rounds that are played at our own engine in the place of a broker."""

from dataclasses import replace

import pytest

from bridge.engine.settings import EngineSettings
from bridge.migration.moves.round import REJOIN_MS_A_PLAYER, RETRY_MS, begin, next_deadline, step
from bridge.migration.moves.round_values import (
    AskInPlace,
    DeadlinePassed,
    Failed,
    JoinAnswered,
    Joining,
    Played,
    RemovalAnswered,
    RemoveMembers,
    RemovingStrangers,
    Round,
    RoundAbandoned,
    RoundFailure,
    RoundPlayer,
    SyncAnswered,
    Syncing,
)
from tests.support.classic_bench import ClassicBench
from tests.support.engine_bench import GROUP
from tests.support.round_table import BOUND_MS, RoundTable, player
from translators.dialects.classic import JoinGroup, JoinGroupReply, Protocol, SyncGroupReply
from translators.dialects.consumer_protocol import decode_subscription, encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId
from translators.machine import UnexpectedEvent

ONE = MemberId("one")


def round_of(players: tuple[RoundPlayer, ...], generation: int = 1) -> Round:
    """A round for these players."""
    return Round(group_id=GROUP, players=players, deadline_ms=BOUND_MS, generation=generation)


def newest(table: RoundTable) -> int:
    """The group's generation at the broker."""
    return table.broker.generation


def assert_given(table: RoundTable, played: Round) -> None:
    """Everybody has at the broker what it was to be given, and strangers nothing."""
    state = table.state
    assert isinstance(state, Played), state
    has = {one: member.assignment for one, member in table.broker.group.members.items()}
    expected = {state.ids[one.member_id]: one.give for one in played.players}
    expected |= dict.fromkeys(state.strangers, played.strangers_get)
    assert has == expected
    assert state.generation == newest(table)


def test_settled_group_is_played_at_once() -> None:
    """One JoinGroup and one SyncGroup for each, the generation one further, nobody knows more than before."""
    table = RoundTable()
    players = table.form(3, ["A"])
    played = round_of(players, newest(table))
    table.play(played)
    assert table.run() == Played(
        generation=played.generation + 1, ids={one.member_id: one.member_id for one in players}, strangers=()
    )
    assert_given(table, played)
    assert table.broker.bench.now_ms == 0


def test_players_say_what_they_have() -> None:
    """A broker that coordinates a consumer group takes nothing from who says that it has it."""
    played = round_of((player("one", 1), player("two", 2)), 5)
    asked = [one for one in begin(played).effects if isinstance(one, AskInPlace)]
    requests = [one.request for one in asked if isinstance(one.request, JoinGroup)]
    said = [decode_subscription(one.protocols[0].metadata) for one in requests]
    assert [(one.owned, one.generation) for one in said] == [(one.owned, 5) for one in played.players]


def test_newcomers_ask_for_ids_before_anybody_joins() -> None:
    """The join phase waits for whoever was promised an id, so nobody is left out."""
    table = RoundTable()
    known = table.form(1)
    played = round_of((*known, player("new-1", 1, ""), player("new-2", 2, "")), newest(table))
    table.play(played)
    assert {one.member_id for one in table.on_the_way if isinstance(one, AskInPlace)} == {"new-1", "new-2"}
    table.run()
    assert_given(table, played)


def test_static_newcomer_is_let_in_without_an_id() -> None:
    """Kafka promises no ids to static members."""
    table = RoundTable()
    known = table.form(1)
    played = round_of((*known, player("new", 1, "", "A")), newest(table))
    table.play(played)
    table.run()
    assert_given(table, played)
    assert isinstance(table.state, Played)
    assert table.state.ids[MemberId("new")] == table.broker.group.instances[InstanceId("A")]


def test_stranger_that_comes_between_gets_nothing() -> None:
    """It can't be refused; it ends without partitions."""
    table = RoundTable()
    played = round_of(table.form(2), newest(table))
    table.play(played)
    table.arrive()
    table.intrude()
    table.run()
    assert_given(table, played)
    assert isinstance(table.state, Played)
    assert len(table.state.strangers) == 1


def test_stranger_that_leads_is_removed_and_the_round_played_again() -> None:
    """Nothing is synced under a stranger."""
    table = RoundTable()
    leader, *players = table.form(3)
    played = round_of(tuple(players), newest(table))
    table.play(played)
    table.arrive()
    table.arrive()
    table.broker.join(replace(join_again(leader)))
    table.hear()
    assert isinstance(table.state, RemovingStrangers)
    assert table.state.leaving == (leader.member_id,)
    table.run()
    assert_given(table, played)


def join_again(one: RoundPlayer) -> JoinGroup:
    """A client's own JoinGroup."""
    return JoinGroup(
        group_id=GROUP,
        member_id=one.broker_id,
        instance_id=one.instance_id,
        protocol_type="consumer",
        protocols=one.protocols,
        session_timeout_ms=one.session_timeout_ms,
        rebalance_timeout_ms=one.rebalance_timeout_ms,
    )


def test_strangers_are_removed_before_anybody_joins() -> None:
    """Or else the join phase would wait for them."""
    table = RoundTable()
    first, *players = table.form(3)
    played = replace(round_of(tuple(players), newest(table)), strangers=(first.member_id,))
    table.play(played)
    assert isinstance(table.on_the_way[0], RemoveMembers)
    table.run()
    assert_given(table, played)
    assert first.member_id not in table.broker.group.members


def test_stranger_that_does_not_join_ends_the_round_at_its_bound() -> None:
    """Whoever was parked stays parked, and is named."""
    table = RoundTable()
    _, *players = table.form(3)
    table.play(round_of(tuple(players), newest(table)))
    state = table.run()
    assert isinstance(state, Failed)
    assert (state.failure, state.open) == (
        RoundFailure.OUT_OF_TIME,
        frozenset(one.member_id for one in players),
    )
    assert table.broker.bench.now_ms == BOUND_MS


def test_newcomers_leave_when_the_round_fails() -> None:
    """Nobody at the broker waits for them afterwards."""
    table = RoundTable()
    _, known = table.form(2)
    table.play(round_of((known, player("new", 2, ""), player("static", 3, "", "A")), newest(table)))
    assert isinstance(table.run(), Failed)
    while table.on_the_way:
        table.arrive()
    assert len(table.broker.group.members) == 2
    assert not table.broker.group.pending
    assert isinstance(table.state, Failed)
    assert table.state.open == {known.member_id}


def test_empty_group_lets_its_first_players_wait() -> None:
    """The broker's initial delay is longer than the bound: who plays pays it beforehand with one of them."""
    table = RoundTable(ClassicBench(settings=EngineSettings(group_initial_rebalance_delay_ms=BOUND_MS - 1)))
    first = Round(group_id=GROUP, players=(player("first", 0, ""),), deadline_ms=2 * BOUND_MS)
    table.play(first)
    state = table.run()
    assert isinstance(state, Played)
    begun_ms = table.broker.bench.now_ms
    seated = replace(first.players[0], broker_id=state.ids[MemberId("first")])
    others = tuple(player(f"new-{number}", number, "") for number in range(1, 5))
    played = replace(round_of((seated, *others), state.generation), deadline_ms=begun_ms + BOUND_MS)
    table.play(played)
    table.run()
    assert_given(table, played)
    assert table.broker.bench.now_ms == begun_ms


def test_early_answer_is_asked_for_again() -> None:
    """A JoinGroup that overtook the leader's is answered with the generation that is there."""
    played = round_of((player("one", 1), player("two", 2)), 5)
    state = begin(played).state
    early = JoinGroupReply(error=ErrorCode.NONE, member_id=ONE, generation=5, leader="two")
    taken = step(state, JoinAnswered(ONE, early), 100)
    assert (taken.effects, next_deadline(taken.state)) == ((), 100 + RETRY_MS)
    (again,) = step(taken.state, DeadlinePassed(), 100 + RETRY_MS).effects
    assert isinstance(again, AskInPlace)
    assert again.member_id == ONE


def test_everybody_joins_again_until_all_are_in_one_generation() -> None:
    """Somebody came between two answers: the broker waits for who was told the older one, and says so to nobody."""
    played = round_of((player("one", 1), player("two", 2)), -1)
    taken = step(begin(played).state, JoinAnswered(ONE, told("one", 5)), 0)
    taken = step(taken.state, JoinAnswered(MemberId("two"), told("two", 6)), 10)
    assert isinstance(taken.state, Joining)
    assert taken.effects == ()
    due_ms = next_deadline(taken.state)
    assert due_ms == 10 + RETRY_MS + 2 * REJOIN_MS_A_PLAYER
    taken = step(taken.state, DeadlinePassed(), due_ms)
    assert [one.member_id for one in taken.effects if isinstance(one, AskInPlace)] == [ONE]
    taken = step(taken.state, JoinAnswered(ONE, told("one", 6)), due_ms + 1)
    assert isinstance(taken.state, Syncing)


def test_who_has_joined_joins_again_if_nobody_else_is_told_anything() -> None:
    """For all it knows the group prepares another generation: without it that would not come before its timeout."""
    played = round_of((player("one", 1), player("two", 2)), -1)
    taken = step(begin(played).state, JoinAnswered(ONE, told("one", 5)), 0)
    due_ms = next_deadline(taken.state)
    assert due_ms is not None
    taken = step(taken.state, DeadlinePassed(), due_ms - 1)
    assert taken.effects == ()
    taken = step(taken.state, DeadlinePassed(), due_ms)
    assert [one.member_id for one in taken.effects if isinstance(one, AskInPlace)] == [ONE]
    assert next_deadline(taken.state) == BOUND_MS


def test_nobody_joins_again_while_answers_come_however_many_there_are() -> None:
    """Each of 1,000 answers takes a moment, and behind 25 ms the first of them was asked for anew: a round of 500 was
    never over, and all its members were called.
    """
    players = tuple(player(f"m{number}", number) for number in range(1_000))
    taken = begin(round_of(players, 1))
    asked, now_ms = len(taken.effects), 0
    for one in players:
        now_ms += 2
        due_ms = next_deadline(taken.state)
        if due_ms is not None and due_ms <= now_ms < BOUND_MS:
            taken = step(taken.state, DeadlinePassed(), now_ms)
            asked += len(taken.effects)
        taken = step(taken.state, JoinAnswered(one.member_id, told(one.member_id, 2, "m0")), now_ms)
    assert (asked, type(taken.state)) == (1_000, Syncing)


def told(member_id: str, generation: int, leader: str = "one") -> JoinGroupReply:
    """The answer to a JoinGroup."""
    return JoinGroupReply(
        error=ErrorCode.NONE,
        member_id=MemberId(member_id),
        generation=generation,
        protocol_type="consumer",
        protocol_name="range",
        leader=leader,
    )


@pytest.mark.parametrize("code", [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION])
def test_everybody_joins_anew_if_somebody_came_before_the_sync(code: ErrorCode) -> None:
    """27 and 22 at SyncGroup are for the bridge, and never for a client; who still waits joins when it is answered."""
    played = round_of((player("one", 1), player("two", 2)), 5)
    state = begin(played).state
    state = step(state, JoinAnswered(ONE, told("one", 6)), 0).state
    state = step(state, JoinAnswered(MemberId("two"), told("two", 6)), 0).state
    assert isinstance(state, Syncing)
    taken = step(state, SyncAnswered(ONE, SyncGroupReply(error=code)), 0)
    assert isinstance(taken.state, Joining)
    assert [one.member_id for one in taken.effects if isinstance(one, AskInPlace)] == [ONE]
    taken = step(taken.state, SyncAnswered(MemberId("two"), SyncGroupReply(error=code)), 0)
    assert taken.effects == ()
    again = step(taken.state, DeadlinePassed(), RETRY_MS).effects
    assert [one.member_id for one in again if isinstance(one, AskInPlace)] == ["two"]


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.INVALID_SESSION_TIMEOUT]
)
def test_refused_player_ends_the_round_and_is_named(code: ErrorCode) -> None:
    """What it means for its client, the move knows."""
    played = round_of((player("one", 1), player("two", 2)), 5)
    refused = JoinGroupReply(error=code, member_id=ONE)
    state = step(begin(played).state, JoinAnswered(ONE, refused), 0).state
    assert state == Failed(
        failure=RoundFailure.REFUSED,
        ids={ONE: ONE, MemberId("two"): MemberId("two")},
        open=frozenset({MemberId("two")}),
        member_id=ONE,
        code=code,
    )


def test_other_assignment_than_the_bridges_ends_the_round() -> None:
    """Somebody else led after all."""
    played = round_of((player("one", 1),), 5)
    state = step(begin(played).state, JoinAnswered(ONE, told("one", 6)), 0).state
    other = SyncGroupReply(error=ErrorCode.NONE, assignment=encode_assignment(frozenset()))
    state = step(state, SyncAnswered(ONE, other), 0).state
    assert isinstance(state, Failed)
    assert (state.failure, state.member_id) == (RoundFailure.GIVEN_OTHERWISE, ONE)


def test_unreadable_subscription_ends_the_round_before_it_begins() -> None:
    """Nothing was asked."""
    odd = replace(player("one", 1), protocols=(Protocol("range", b"\x00"),))
    taken = begin(round_of((player("two", 2), odd)))
    assert isinstance(taken.state, Failed)
    assert (taken.state.failure, taken.state.member_id, taken.effects) == (RoundFailure.UNREADABLE, ONE, ())


def test_group_of_another_kind_is_joined_in_its_own_words() -> None:
    """What is in their bytes, the bridge can't tell."""
    odd = replace(player("one", 1), protocols=(Protocol("connect", b"\x00"),))
    (asked,) = begin(replace(round_of((odd,)), protocol_type="connect")).effects
    assert isinstance(asked, AskInPlace)
    assert isinstance(asked.request, JoinGroup)
    assert asked.request.protocols == odd.protocols


def test_removal_that_was_not_answered_is_asked_again() -> None:
    """A lost connection says nothing."""
    played = replace(round_of((player("one", 1),)), strangers=(MemberId("stranger"),))
    taken = step(begin(played).state, RemovalAnswered(None), 0)
    assert (taken.effects, next_deadline(taken.state)) == ((), RETRY_MS)
    (again,) = step(taken.state, DeadlinePassed(), RETRY_MS).effects
    assert isinstance(again, RemoveMembers)


def test_abandoned_round_is_over() -> None:
    """An answer that comes late frees its connection, and does nothing else."""
    state = step(begin(round_of((player("one", 1),))).state, RoundAbandoned(), 0).state
    assert isinstance(state, Failed)
    assert (state.failure, state.open) == (RoundFailure.ABANDONED, frozenset({ONE}))
    late = step(state, JoinAnswered(ONE, told("one", 6)), 0)
    assert isinstance(late.state, Failed)
    assert (late.state.open, late.effects) == (frozenset(), ())


def test_nothing_happens_to_a_played_round() -> None:
    """Every answer was heard by then."""
    state = Played(generation=1, ids={}, strangers=())
    assert next_deadline(state) is None
    with pytest.raises(UnexpectedEvent):
        step(state, DeadlinePassed(), 0)
