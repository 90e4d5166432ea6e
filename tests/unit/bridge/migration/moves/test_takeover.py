"""A take-over step by step: who is asked for, by which epoch, and what an answer makes of it."""

from dataclasses import replace

import pytest

from bridge.migration.moves.one_by_one import Drop, Keep, MemberLeft, Stopped
from bridge.migration.moves.takeover import (
    GAVE_AWAY,
    MAY_HAVE_ACTED,
    NOT_NOW,
    OTHER_GENERATION,
    Answered,
    AskMember,
    AskScout,
    Effect,
    Event,
    Heard,
    Member,
    Path,
    Scout,
    ScoutAnswered,
    Stage,
    Take,
    TakeOver,
    Unreachable,
    begin,
    step,
)
from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, TopicName, TopicPartition

ONE, TWO = MemberId("one"), MemberId("two")
HAS = {ONE: frozenset({TopicPartition(TopicName("t"), 0)}), TWO: frozenset({TopicPartition(TopicName("t"), 1)})}
STOP = Refused(ErrorCode.REBALANCE_IN_PROGRESS, "the operator stopped it")
CLASSIC = Refused(ErrorCode.GROUP_ID_NOT_FOUND)
FENCED = Refused(ErrorCode.FENCED_MEMBER_EPOCH)
UNKNOWN = Refused(ErrorCode.UNKNOWN_MEMBER_ID)
HEARD = Member(assigned=HAS[ONE], generation=5, is_reachable=True)


def granted(epoch: int, assigned: frozenset[TopicPartition] | None = None) -> Granted:
    """The broker's answer to a member that it has switched."""
    return Granted(member_epoch=epoch, assigned=assigned)


def asked(epoch: int = 5, may_be_switched: bool = False) -> Member:
    """The first member while its heartbeat is on its way."""
    return replace(HEARD, stage=Stage.ASKED, asked_epoch=epoch, may_be_switched=may_be_switched)


def lost() -> Member:
    """The first member after an answer to it was lost."""
    return replace(HEARD, is_reachable=False, may_be_switched=True)


def of(member: Member, path: Path, scout: Scout = Scout.NONE) -> TakeOver:
    """A move of one member, who is the pilot."""
    return TakeOver(members={ONE: member}, path=path, pilot=ONE, scout=scout)


def play(*events: Event) -> tuple[TakeOver, list[Effect]]:
    """A move of two members from its beginning: what it is, and all that was done."""
    state = begin(HAS)
    done: list[Effect] = []
    for event in events:
        state, effects = step(state, event)
        done += effects
    return state, done


BOTH = (Heard(ONE, 5), Heard(TWO, 5))


def test_pilot_converts_the_group_and_the_others_follow() -> None:
    """Apache Kafka 4.2 and newer: nobody else is asked for before that."""
    state, done = play(*BOTH, Answered(ONE, CLASSIC), Answered(ONE, granted(5, HAS[ONE])))
    assert done == [AskMember(ONE, 5), AskMember(ONE, 0), Take(ONE, 5, HAS[ONE]), AskMember(TWO, 5)]
    state, effects = step(state, Answered(TWO, granted(5)))
    assert effects == (Take(TWO, 5, None),)
    assert state.is_over


def test_consumer_group_needs_no_pilot() -> None:
    """Somebody else has converted it before: one heartbeat under its own epoch shows that."""
    _, done = play(*BOTH, Answered(ONE, granted(6, HAS[ONE])))
    assert done == [AskMember(ONE, 5), Take(ONE, 6, HAS[ONE]), AskMember(TWO, 5)]


def test_scout_converts_the_group_where_no_member_can() -> None:
    """Apache Kafka 4.0 and 4.1; it leaves behind the last member."""
    state, done = play(*BOTH, Answered(ONE, CLASSIC), Answered(ONE, FENCED), ScoutAnswered(granted(5)))
    assert done == [AskMember(ONE, 5), AskMember(ONE, 0), AskScout(ONE, 0), AskMember(ONE, 5), AskMember(TWO, 5)]
    state, effects = step(state, Answered(TWO, granted(5)))
    assert effects == (Take(TWO, 5, None),)
    state, effects = step(state, Answered(ONE, granted(5)))
    assert effects == (Take(ONE, 5, None), AskScout(ONE, -1))
    assert not state.is_over
    state, effects = step(state, ScoutAnswered(granted(-1)))
    assert (state.is_over, effects) == (True, ())


@pytest.mark.parametrize("code", [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
def test_what_is_said_of_the_first_is_said_of_all(code: ErrorCode) -> None:
    """A policy, user data (69) or a right (29): nothing has changed."""
    refused = Refused(code, "why")
    state, done = play(*BOTH, Answered(ONE, CLASSIC), Answered(ONE, refused))
    assert done == [AskMember(ONE, 5), AskMember(ONE, 0), Keep(ONE), Keep(TWO)]
    assert (state.path, state.refusal, state.is_over) == (Path.SHUT, refused, True)
    assert {one: member.reason for one, member in state.members.items()} == {ONE: refused, TWO: refused}


def test_one_member_refused_later_stays_alone() -> None:
    """The others go on."""
    state, effects = step(of(asked(), Path.OPEN), Answered(ONE, Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    assert (effects, state.path) == ((Keep(ONE),), Path.OPEN)


def test_pilot_at_another_epoch_shows_a_consumer_group() -> None:
    """In a classic one it would be 69: it stays, and the others are asked for."""
    state, done = play(*BOTH, Answered(ONE, FENCED))
    assert done == [AskMember(ONE, 5), Keep(ONE), AskMember(TWO, 5)]
    assert state.path is Path.OPEN


def test_member_that_is_no_more_is_dropped() -> None:
    """And the next one is the pilot."""
    state, done = play(*BOTH, Answered(ONE, UNKNOWN))
    assert done == [AskMember(ONE, 5), Drop(ONE), AskMember(TWO, 5)]
    assert state.members[ONE] == replace(asked(), stage=Stage.GONE, reason=UNKNOWN)


def test_member_that_lost_partitions_as_it_joined_is_seen_off() -> None:
    """They may be another's by now; what is left of it is not to be nobody's for a session."""
    gone = replace(asked(0), stage=Stage.GONE, reason=GAVE_AWAY)
    given_less = Answered(ONE, granted(5, frozenset()))
    assert step(of(asked(0), Path.JOINING), given_less) == (of(gone, Path.OPEN), (AskMember(ONE, -1), Drop(ONE)))
    away = replace(asked(0), is_reachable=False)
    assert step(of(away, Path.JOINING), given_less)[1] == (Drop(ONE),)
    assert step(of(gone, Path.OPEN), Answered(ONE, granted(-1))) == (of(gone, Path.OPEN), ())


def test_member_that_has_less_under_its_own_epoch_is_taken() -> None:
    """The broker waits until its client lets go, as in any rebalance."""
    assert step(of(asked(), Path.OPEN), Answered(ONE, granted(6, frozenset())))[1] == (Take(ONE, 6, frozenset()),)


@pytest.mark.parametrize("answer", [None, *map(Refused, sorted(MAY_HAVE_ACTED))])
def test_lost_answer_is_asked_for_when_the_member_is_heard_next(answer: Refused | None) -> None:
    """Under its own epoch, and whatever happens to the others meanwhile."""
    state, effects = step(of(asked(0), Path.JOINING), Answered(ONE, answer))
    assert (state, effects) == (of(lost(), Path.UNKNOWN), ())
    for path in Path:
        state, effects = step(of(lost(), path), Heard(ONE, 5))
        assert (state, effects) == (of(asked(5, may_be_switched=True), path), (AskMember(ONE, 5),))


@pytest.mark.parametrize("code", sorted(NOT_NOW))
def test_what_says_nothing_of_the_member_is_asked_again(code: ErrorCode) -> None:
    """It was certainly not switched."""
    state, _ = step(of(asked(), Path.OPEN), Answered(ONE, Refused(code)))
    assert state == of(replace(HEARD, is_reachable=False), Path.OPEN)
    assert step(state, Heard(ONE, 5)) == (of(asked(), Path.OPEN), (AskMember(ONE, 5),))


def test_member_that_may_be_switched_is_asked_for_after_the_stop() -> None:
    """Kept as a classic one it would hear that it is unknown."""
    state, effects = step(of(lost(), Path.UNKNOWN), Stopped(STOP))
    assert (state.is_over, effects) == (False, ())
    state, effects = step(state, Heard(ONE, 5))
    assert effects == (AskMember(ONE, 5),)
    assert step(state, Answered(ONE, granted(5)))[1] == (Take(ONE, 5, None),)
    state, effects = step(state, Answered(ONE, CLASSIC))
    assert (effects, state.is_over) == ((Keep(ONE),), True)


def test_member_whose_epoch_has_moved_on_meanwhile_joins_again() -> None:
    """On 4.2 and newer it gets what it has; before that it can't be found out, and it is seen off."""
    state, effects = step(of(asked(5, may_be_switched=True), Path.SHUT), Answered(ONE, FENCED))
    assert (state, effects) == (of(asked(0, may_be_switched=True), Path.SHUT), (AskMember(ONE, 0),))
    assert step(state, Answered(ONE, granted(7, HAS[ONE])))[1] == (Take(ONE, 7, HAS[ONE]),)
    assert step(state, Answered(ONE, FENCED))[1] == (AskMember(ONE, -1), Drop(ONE))
    away = replace(asked(5, may_be_switched=True), is_reachable=False)
    assert step(of(away, Path.UNKNOWN), Answered(ONE, FENCED)) == (of(lost(), Path.OPEN), ())


def test_stop_waits_for_who_is_asked_for() -> None:
    """Who was not asked for stays at once; what is answered then counts."""
    state, done = play(*BOTH, Stopped(STOP), Heard(TWO, 5))
    assert done == [AskMember(ONE, 5), Keep(TWO)]
    assert step(state, Answered(ONE, granted(5)))[1] == (Take(ONE, 5, None),)
    assert step(state, Answered(ONE, CLASSIC))[1] == (Keep(ONE),)
    assert step(of(asked(0), Path.SHUT), Answered(ONE, FENCED))[1] == (Keep(ONE),)


def test_member_heard_under_another_generation_stays() -> None:
    """The group was rebalanced: what it has now is not known, and it is a classic member in any case."""
    for member in (replace(HEARD, is_reachable=False), lost()):
        state, effects = step(of(member, Path.OPEN), Heard(ONE, 6))
        stays = replace(member, generation=6, is_reachable=True, stage=Stage.STAYS, reason=OTHER_GENERATION)
        assert (state, effects) == (of(stays, Path.OPEN), (Keep(ONE),))
    late = of(replace(HEARD, is_reachable=False), Path.OPEN)
    assert step(late, Heard(ONE, 4)) == (late, ())
    assert step(of(asked(), Path.OPEN), Heard(ONE, 6)) == (of(asked(), Path.OPEN), ())


def test_member_that_leaves_before_it_is_asked_for_is_gone() -> None:
    """One that is asked for is answered first."""
    state, effects = step(of(replace(HEARD, is_reachable=False), Path.OPEN), MemberLeft(ONE))
    assert (state.members[ONE].stage, state.is_over, effects) == (Stage.GONE, True, ())
    assert step(of(asked(), Path.OPEN), MemberLeft(ONE)) == (of(asked(), Path.OPEN), ())


@pytest.mark.parametrize("answer", [None, *map(Refused, sorted(MAY_HAVE_ACTED))])
def test_scout_whose_answer_was_lost_joins_again_and_leaves_in_any_case(answer: Refused | None) -> None:
    """It may be in: by the same id it is the same member."""
    state, effects = step(of(HEARD, Path.SCOUTING, Scout.JOINING), ScoutAnswered(answer))
    assert (state.scout, effects) == (Scout.LOST, ())
    again, effects = step(state, Heard(ONE, 5))
    assert (again.scout, effects) == (Scout.JOINING, (AskScout(ONE, 0),))
    shut, effects = step(again, ScoutAnswered(Refused(ErrorCode.GROUP_MAX_SIZE_REACHED)))
    assert (shut.path, shut.scout, effects) == (Path.SHUT, Scout.LEAVING, (Keep(ONE), AskScout(ONE, -1)))


def test_scout_that_was_refused_never_was_in() -> None:
    """Nobody is to be sent away."""
    state, effects = step(
        of(HEARD, Path.SCOUTING, Scout.JOINING), ScoutAnswered(Refused(ErrorCode.GROUP_MAX_SIZE_REACHED))
    )
    assert (state.scout, state.is_over, effects) == (Scout.NONE, True, (Keep(ONE),))
    state, effects = step(
        of(HEARD, Path.SCOUTING, Scout.JOINING), ScoutAnswered(Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    )
    assert (state.scout, state.path, effects) == (Scout.NONE, Path.SCOUTING, ())


def test_scout_that_comes_in_after_the_stop_leaves() -> None:
    """Nobody's end comes before it is known that somebody can send it away."""
    stopped, effects = step(of(HEARD, Path.SCOUTING, Scout.JOINING), Stopped(STOP))
    assert (stopped.members, effects) == ({ONE: HEARD}, ())
    state, effects = step(stopped, ScoutAnswered(granted(5)))
    assert (effects, state.scout, state.path) == ((Keep(ONE), AskScout(ONE, -1)), Scout.LEAVING, Path.SHUT)
    state, effects = step(stopped, ScoutAnswered(None))
    assert (effects, state.scout) == ((), Scout.LOST)
    state, effects = step(state, Heard(ONE, 5))
    assert (effects, state.scout) == ((Keep(ONE), AskScout(ONE, -1)), Scout.LEAVING)


def test_lost_farewell_of_the_scout_is_said_by_another_connection() -> None:
    """As long as there is one; else the broker's session ends it."""
    taken = replace(HEARD, stage=Stage.TAKEN)
    state = TakeOver(members={ONE: taken, TWO: taken}, path=Path.OPEN, pilot=ONE, scout=Scout.LEAVING)
    state, effects = step(state, ScoutAnswered(Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)))
    assert (state.scout, state.pilot, effects) == (Scout.LEAVING, TWO, (AskScout(TWO, -1),))
    state, effects = step(state, ScoutAnswered(None))
    assert (state.is_over, effects) == (True, ())


def test_connection_of_an_ended_member_serves_the_scout() -> None:
    """Whether it goes or comes."""
    taken = replace(HEARD, stage=Stage.TAKEN)
    away, effects = step(of(taken, Path.OPEN, Scout.LEAVING), Unreachable(ONE))
    assert (away.members[ONE].is_reachable, effects) == (False, ())
    assert step(away, Heard(ONE, 9)) == (of(taken, Path.OPEN, Scout.LEAVING), ())


def test_members_of_a_move_that_was_cut_off_are_asked_for_one_and_all() -> None:
    """Under their own epoch, which tells for certain; then the pilot is sent as ever."""
    state = begin(HAS, unsure={ONE})
    assert state.members == {ONE: Member(assigned=HAS[ONE], may_be_switched=True), TWO: Member(assigned=HAS[TWO])}
    state, effects = step(state, Stopped(STOP))
    assert (effects, state.scout) == ((), Scout.LOST), "the scout of an earlier life may be in"
    assert step(state, Heard(TWO, 5))[1] == (Keep(TWO),)
    state, effects = step(begin(HAS, unsure=set(HAS)), Heard(ONE, 5))
    state, more = step(state, Heard(TWO, 5))
    assert (effects, more) == ((AskMember(ONE, 5),), (AskMember(TWO, 5),))
    state, effects = step(state, Answered(TWO, CLASSIC))
    assert (effects, state.path) == ((), Path.JOINING)
    assert step(state, Answered(ONE, CLASSIC))[1] == (AskMember(ONE, 0),)


def test_scout_of_a_life_that_was_cut_off_is_seen_off() -> None:
    """It would end by its session, and call everybody if they are classic members again by then."""
    state, _ = step(begin(HAS, unsure=set(HAS)), Heard(ONE, 5))
    state, _ = step(state, Heard(TWO, 5))
    state, _ = step(state, Answered(ONE, Granted(member_epoch=5, assigned=HAS[ONE])))
    state, effects = step(state, Answered(TWO, Granted(member_epoch=5, assigned=HAS[TWO])))
    assert [one for one in effects if isinstance(one, AskScout)] == [AskScout(ONE, -1)]
    assert not state.is_over
    assert step(state, ScoutAnswered(Refused(ErrorCode.UNKNOWN_MEMBER_ID)))[0].is_over


def test_strangers_and_late_answers_change_nothing() -> None:
    """A member that is not moved is nobody's business here."""
    state = begin(HAS)
    stranger = MemberId("stranger")
    events: list[Event] = [Heard(stranger, 5), Unreachable(stranger), Answered(stranger, None), MemberLeft(stranger)]
    for event in [*events, Answered(ONE, granted(5)), ScoutAnswered(granted(5))]:
        assert step(state, event) == (state, ())


def test_move_of_nobody_is_over() -> None:
    """Whatever happens."""
    assert begin({}).is_over
    assert step(begin({}), Stopped(STOP))[0].is_over


def test_first_generation_that_is_heard_is_that_of_its_partitions_unless_it_has_joined() -> None:
    """Nor is it where the generation of what it has is known, and another one is heard."""
    for state, heard in (
        (begin(HAS), Heard(ONE, 6, has_joined=True)),
        (begin(HAS, unsure={ONE}), Heard(ONE, 6, has_joined=True)),
        (begin(HAS, generations={ONE: 5}), Heard(ONE, 6)),
    ):
        after, effects = step(state, heard)
        assert (after.members[ONE].stage, effects) == (Stage.STAYS, (Keep(ONE),))
    for state, heard in (
        (begin(HAS, generations={ONE: 5}), Heard(ONE, 5, has_joined=True)),
        (begin(HAS), Heard(ONE, 5)),
    ):
        assert step(state, heard)[1] == (AskMember(ONE, 5),)
