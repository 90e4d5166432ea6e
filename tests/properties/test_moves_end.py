"""Moves end though nobody answers any more: whatever is said again is said again within a bound that has a name."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.moves import adopt, giveback, one_by_one, release, reseat, rest, round_values, takeover
from bridge.migration.moves.round import begin as begin_round
from bridge.migration.moves.round import next_deadline
from bridge.migration.moves.round import step as step_round
from bridge.migration.orders import Obstacle
from tests.support.engine_bench import GROUP
from tests.support.round_table import BOUND_MS, player
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName, TopicPartition
from translators.machine import Step, Transitions

State = TypeVar("State")
Effect = TypeVar("Effect")
Event = TypeVar("Event")
AGAIN_MS = 250
SCOUT_MS = 6_000
WHY = Obstacle("EB-MOVE-000", "nobody answered", "see to it")
TABLES = {
    "adopt": adopt.TRANSITIONS,
    "release": release.TRANSITIONS,
    "reseat": reseat.TRANSITIONS,
    "round": round_values.TRANSITIONS,
}
OVER = {round_values.Failed}
"""States in which answers that nobody waits for any more are heard, and nothing is asked."""
USING = {MemberId(f"m{n}"): frozenset({TopicPartition(TopicName("foo"), n)}) for n in range(3)}

ADOPTING = (rest.Gathered(), rest.Proved(), rest.Compared(), adopt.TakenIn())
RELEASING = (release.CameToRest(), release.FirstSeatTaken(), release.CameToRest(), release.RoundEnded(WHY))
RESEATING = (
    reseat.Looked(is_classic=False),
    rest.Gathered(),
    rest.Proved(),
    rest.Compared(),
    reseat.ScoutJoined(),
)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_whatever_is_said_again_has_another_way_out(table: Transitions) -> None:
    """A row that leads to its own state alone could be gone round for ever, but for a deadline that the state has."""
    bounded = {
        row[0] for row, following in table.items() if row[1] is round_values.DeadlinePassed and len(following) > 1
    }
    same = {row[0] for row, following in table.items() if following == {row[0]}}
    assert same <= bounded | OVER


def test_every_member_can_be_given_up() -> None:
    """Wherever it is: who is given up is gone, and whoever asks for it looks at no answer more."""
    stages = {stage for stage, _ in takeover.TRANSITIONS}
    given_up = {row: to for row, to in takeover.TRANSITIONS.items() if row[1] is one_by_one.GaveUp}
    assert given_up == {(stage, one_by_one.GaveUp): frozenset({takeover.Stage.GONE}) for stage in stages}
    back = {stage for stage, _ in giveback.TRANSITIONS}
    given_up_back = {row: to for row, to in giveback.TRANSITIONS.items() if row[1] is one_by_one.GaveUp}
    assert given_up_back == {(stage, one_by_one.GaveUp): frozenset({giveback.Stage.GONE}) for stage in back}


def test_who_was_told_to_be_no_member_is_gone_at_once() -> None:
    """From wherever nothing is known of it: its client has joined anew since."""
    stages = {stage for stage, _ in takeover.TRANSITIONS}
    assert all(takeover.Stage.GONE in takeover.TRANSITIONS[stage, one_by_one.ToldGone] for stage in stages)
    back = {stage for stage, _ in giveback.TRANSITIONS}
    assert all(giveback.TRANSITIONS[stage, one_by_one.ToldGone] == {giveback.Stage.GONE} for stage in back)


# ---------------------------------------------------------------------- groups as a whole


def in_silence(
    step: Callable[[State, Event, int], Step[State, Effect]],
    taken: Step[State, Effect],
    silence: Callable[[Effect], Event],
    now_ms: int,
) -> tuple[State, int]:
    """Whoever is asked first says nothing, until nobody is asked any more; the state then, and how long it took."""
    started_ms = now_ms
    while taken.effects:
        now_ms += AGAIN_MS
        taken = step(taken.state, silence(taken.effects[0]), now_ms)
    return taken.state, now_ms - started_ms


def _silence_at_rest(effect: rest.Gather | rest.Prove | rest.Compare) -> rest.Gathered | rest.Proved | rest.Compared:
    match effect:
        case rest.Gather():
            return rest.Gathered(WHY)
        case rest.Prove():
            return rest.Proved(WHY)
        case rest.Compare():
            return rest.Compared(WHY)


@given(heard=st.integers(0, len(ADOPTING)), started_ms=st.integers(0, 10**6))
def test_adoption_ends_in_silence(heard: int, started_ms: int) -> None:
    """The group is its broker's, or the bridge's: never between the two for longer than a farewell may take."""
    taken = adopt.begin()
    for event in ADOPTING[:heard]:
        taken = adopt.step(taken.state, event, started_ms)
    state, took_ms = in_silence(adopt.step, taken, _silence_of_adoption, started_ms)
    assert isinstance(state, rest.Kept)
    assert took_ms <= adopt.FAREWELL_MS + 4 * AGAIN_MS


def _silence_of_adoption(effect: adopt.AdoptEffect) -> adopt.AdoptEvent:
    match effect:
        case rest.Gather() | rest.Prove() | rest.Compare():
            return _silence_at_rest(effect)
        case adopt.TakeIn():
            return adopt.TakenIn(WHY)
        case adopt.LeaveSeats():
            return adopt.LeavingUnanswered()
        case adopt.GiveUp():
            return adopt.GivenUp()


@given(heard=st.integers(0, len(RELEASING)), started_ms=st.integers(0, 10**6))
def test_release_ends_in_silence(heard: int, started_ms: int) -> None:
    """The group is the bridge's, as the journal has it."""
    taken = release.begin()
    for event in RELEASING[:heard]:
        taken = release.step(taken.state, event, started_ms)
    state, took_ms = in_silence(release.step, taken, _silence_of_release, started_ms)
    assert isinstance(state, release.Kept)
    assert took_ms <= release.WITHDRAWAL_MS + 4 * AGAIN_MS


def _silence_of_release(effect: release.ReleaseEffect) -> release.ReleaseEvent:
    match effect:
        case release.AwaitRest():
            return release.CameToRest(WHY)
        case release.TakeFirstSeat():
            return release.FirstSeatTaken(WHY)
        case release.PlayAll():
            return release.RoundEnded(WHY)
        case release.HandOver():
            return release.HandedOver()
        case release.Withdraw():
            return release.WithdrawalUnanswered()
        case release.AwaitLapse():
            return release.Lapsed(WHY)


@given(heard=st.integers(0, len(RELEASING)), started_ms=st.integers(0, 10**6))
def test_release_that_is_held_up_again_and_again_ends(heard: int, started_ms: int) -> None:
    """It begins anew once."""
    taken = release.begin()
    for event in RELEASING[:heard]:
        taken = release.step(taken.state, event, started_ms)
    state, took_ms = in_silence(release.step, taken, _held_up, started_ms)
    assert isinstance(state, release.Kept | release.Released)
    assert took_ms <= 12 * AGAIN_MS


def _held_up(effect: release.ReleaseEffect) -> release.ReleaseEvent:
    match effect:
        case release.AwaitRest():
            return release.CameToRest()
        case release.TakeFirstSeat():
            return release.FirstSeatTaken()
        case release.PlayAll():
            return release.RoundEnded(WHY, lapse_ms=45_000)
        case release.Withdraw():
            return release.Withdrawn()
        case release.AwaitLapse():
            return release.Lapsed()
        case release.HandOver():
            return _silence_of_release(effect)


@given(heard=st.integers(0, len(RESEATING)), started_ms=st.integers(0, 10**6), is_resumed=st.booleans())
def test_reseat_ends_in_silence(heard: int, started_ms: int, is_resumed: bool) -> None:
    """Two thirds of a session for the scout, coming and going, and the members are at rest or called."""
    taken = reseat.resume() if is_resumed else reseat.begin()
    for event in () if is_resumed else RESEATING[:heard]:
        taken = reseat.step(taken.state, event, started_ms)
    silence = partial(_silence_of_reseat, started_ms + SCOUT_MS)
    state, took_ms = in_silence(reseat.step, taken, silence, started_ms)
    assert isinstance(state, rest.Kept | reseat.Called)
    assert took_ms <= SCOUT_MS + 4 * AGAIN_MS


def _silence_of_reseat(until_ms: int, effect: reseat.ReseatEffect) -> reseat.ReseatEvent:
    match effect:
        case reseat.Look():
            return reseat.Looked(is_classic=False, obstacle=WHY)
        case rest.Gather() | rest.Prove() | rest.Compare():
            return _silence_at_rest(effect)
        case reseat.SendScout() | reseat.CallScoutBack():
            return reseat.ScoutUnanswered(until_ms)
        case reseat.PlayRound():
            return reseat.RoundEnded(WHY)


@given(known=st.integers(1, 3), new=st.integers(0, 2))
def test_round_ends_in_silence(known: int, new: int) -> None:
    """At its own deadline, whoever asks how often."""
    players = tuple(player(f"m{n}", n) for n in range(known)) + tuple(player(f"n{n}", n, "") for n in range(new))
    played = round_values.Round(group_id=GROUP, players=players, deadline_ms=BOUND_MS, generation=1)
    state, now_ms = begin_round(played).state, 0
    while (due_ms := next_deadline(state)) is not None:
        now_ms = due_ms
        taken = step_round(state, round_values.DeadlinePassed(), now_ms)
        state = taken.state
        for effect in taken.effects:
            if isinstance(effect, round_values.AskInPlace):
                state = step_round(state, round_values.AnswerLost(effect.member_id), now_ms).state
    assert isinstance(state, round_values.Failed)
    assert now_ms == BOUND_MS


# ---------------------------------------------------------------------- members one by one


@given(rounds=st.integers(0, 4), said=st.sampled_from([None, ErrorCode.REQUEST_TIMED_OUT]), stops=st.booleans())
def test_take_over_ends_in_silence(rounds: int, said: ErrorCode | None, stops: bool) -> None:
    """Clients are heard again and again, and the broker says nothing of any of them, nor of a scout."""
    state = takeover.begin(USING)
    answer = None if said is None else Refused(said)
    for _ in range(rounds):
        for member_id in USING:
            state, effects = takeover.step(state, takeover.Heard(member_id, 1))
            for effect in effects:
                if isinstance(effect, takeover.AskMember):
                    state, _ = takeover.step(state, takeover.Answered(effect.member_id, answer))
                elif isinstance(effect, takeover.AskScout):
                    state, _ = takeover.step(state, takeover.ScoutAnswered(answer))
    if stops:
        state, _ = takeover.step(state, one_by_one.Stopped(one_by_one.UNHEARD))
    state, effects = takeover.step(state, one_by_one.GaveUp())
    assert state.is_over
    assert all(isinstance(one, one_by_one.Drop) for one in effects)


@given(scout=st.sampled_from(takeover.Scout), path=st.sampled_from(takeover.Path))
def test_scout_is_left_to_its_session(scout: takeover.Scout, path: takeover.Path) -> None:
    """Wherever it may be: a move whose members have ended would else wait for its farewell for ever."""
    taken = {one: takeover.Member(assigned=it, generation=1, stage=takeover.Stage.TAKEN) for one, it in USING.items()}
    state = takeover.TakeOver(members=taken, path=path, scout=scout)
    after, effects = takeover.step(state, one_by_one.GaveUp())
    assert after.is_over
    assert effects == ()


@given(rounds=st.integers(0, 4), stops=st.booleans())
def test_give_back_ends_in_silence(rounds: int, stops: bool) -> None:
    """Each comes to rest again and again, and its JoinGroup is answered by nobody."""
    state = giveback.begin(dict.fromkeys(USING))
    for _ in range(rounds):
        for member_id, using in USING.items():
            state, effects = giveback.step(state, giveback.CameToRest(member_id, using))
            for effect in effects:
                state, _ = giveback.step(state, giveback.Joined(effect.member_id, None))
    if stops:
        state, _ = giveback.step(state, one_by_one.Stopped(one_by_one.UNHEARD))
    state, _ = giveback.step(state, one_by_one.GaveUp())
    assert state.is_over
