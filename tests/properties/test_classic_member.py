"""Laws of one member machine: every event in every state, and every request answered once, whatever happens."""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count
from typing import assert_never

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.classic_members import (
    FRESH,
    INSTANCE,
    LIMITS,
    MEMBER,
    NOBODY,
    NOW,
    SEAT,
    A,
    B,
    C,
    beat,
    beat_reply,
    completing,
    fenced,
    join_request,
    joined,
    leaving,
    preparing,
    profile,
    ref,
    stable,
    synced,
)
from translators.classic_member.commits import admit_commit
from translators.classic_member.events import (
    Answered,
    Ask,
    ConnectionLost,
    DeadlinePassed,
    Depart,
    Effect,
    Event,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    Replaced,
    Reply,
    SyncReceived,
)
from translators.classic_member.stable import ask_calmly, beat_calmly, hear_calmly, report
from translators.classic_member.states import (
    Absent,
    Asked,
    Call,
    CallDue,
    Called,
    CompletingRebalance,
    GainAwaited,
    Membership,
    NotCalled,
    Overtaken,
    Parked,
    PreparingRebalance,
    ReleaseAwaited,
    Retrying,
    Scheduled,
    Silent,
    Stable,
    State,
    Talk,
)
from translators.classic_member.step import next_deadline, step
from translators.classic_member.tenure import Partitions, Tenure, Vacant
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, SyncGroupReply
from translators.dialects.coordinator import (
    Answer,
    CoordinatorCalled,
    DepartReason,
    FencedByCoordinator,
    Granted,
    Refused,
)
from translators.dialects.errors import FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS, ErrorCode
from translators.dialects.ids import RequestRef, TopicPartition
from translators.machine import Step, UnexpectedEvent

PARTITIONS = st.frozensets(st.sampled_from([A, B, C]))
ERRORS = st.sampled_from([code for code in ErrorCode if code is not ErrorCode.NONE])
TIMES = st.integers(NOW - 10_000, NOW + 100_000)
NAMES = st.sampled_from([("range",), ("cooperative-sticky",), ("range", "cooperative-sticky"), ("faust",)])
KNOWN_NAMES = st.sampled_from([("range",), ("cooperative-sticky",), ("range", "cooperative-sticky")])
TALKS: st.SearchStrategy[Talk] = st.one_of(
    st.just(Silent()), st.just(Asked()), st.just(Overtaken()), st.builds(Scheduled, TIMES), st.builds(Retrying, TIMES)
)
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.just(NotCalled()),
    st.just(CallDue()),
    st.builds(Called, TIMES),
    st.builds(ReleaseAwaited, TIMES),
    st.builds(GainAwaited, TIMES, TIMES),
)
ANSWERS: st.SearchStrategy[Answer] = st.one_of(
    st.builds(
        Granted,
        member_epoch=st.integers(1, 9),
        assigned=st.none() | PARTITIONS,
        pending=st.none() | PARTITIONS,
        heartbeat_interval_ms=st.none() | st.just(5_000),
    ),
    st.builds(Refused, ERRORS),
)


@st.composite
def memberships(draw: st.DrawFn, epochs: st.SearchStrategy[int]) -> Membership:
    """Draw a member as its coordinator might know it."""
    return Membership(
        seat=replace(SEAT, instance_id=draw(st.sampled_from([None, INSTANCE]))),
        profile=profile(*draw(KNOWN_NAMES), owned=draw(st.none() | PARTITIONS)),
        epoch=draw(epochs),
        granted=draw(PARTITIONS),
        pending=draw(st.none() | PARTITIONS),
    )


@st.composite
def tenures(draw: st.DrawFn) -> Tenure:
    """Draw a hand-out: since when each partition is the client's own, and perhaps some it has yet to let go."""
    generation = draw(st.integers(1, 5))
    since: dict[TopicPartition, int] = draw(st.dictionaries(st.sampled_from([A, B, C]), st.integers(1, generation)))
    handed = frozenset(draw(st.sets(st.sampled_from(sorted(since))))) if since else frozenset[TopicPartition]()
    return Tenure(generation=generation, handed=handed, since=since)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Draw a state of any kind."""
    talk, tenure = draw(TALKS), draw(tenures())
    member = draw(memberships(st.integers(1, 9)))
    using: Partitions = frozenset(tenure.since) & draw(PARTITIONS)
    match draw(st.integers(0, 5)):
        case 0:
            return Absent(LIMITS)
        case 1:
            return replace(
                preparing(talk),
                membership=draw(memberships(st.integers(0, 9))),
                tenure=draw(st.one_of(st.just(tenure), st.builds(Vacant, st.integers(0, 3)))),
                parked=Parked(ref(), draw(st.booleans())),
                using=using,
            )
        case 2:
            return replace(completing(talk=talk), membership=member, tenure=tenure, using=using)
        case 3:
            return replace(stable(talk=talk, call=draw(CALLS)), membership=member, tenure=tenure)
        case 4:
            return leaving(draw(st.sampled_from(DepartReason)), Asked() if draw(st.booleans()) else Retrying(NOW))
        case _:
            code = draw(st.sampled_from([ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID]))
            return fenced(code, Asked() if draw(st.booleans()) else Silent())


@st.composite
def requests(draw: st.DrawFn, sequence: int) -> JoinReceived | SyncReceived | HeartbeatReceived:
    """Draw a request of a client, sane or not."""
    generation = draw(st.integers(-1, 6))
    match draw(st.integers(0, 2)):
        case 0:
            return beat(generation, sequence)
        case 1:
            return synced(generation, sequence)
        case _:
            request = join_request(
                *draw(NAMES), member_id=draw(st.sampled_from([MEMBER, NOBODY])), owned=draw(st.none() | PARTITIONS)
            )
            request = replace(
                request,
                needs_member_id=draw(st.booleans()),
                instance_id=draw(st.sampled_from([None, INSTANCE])),
                rebalance_timeout_ms=draw(st.sampled_from([-1, 6_000, 60_000])),
            )
            return JoinReceived(ref(sequence), request, FRESH)


def happenings(sequence: int) -> st.SearchStrategy[Event]:
    """Draw anything that can come unasked."""
    return st.one_of(
        requests(sequence),
        st.just(LeaveReceived()),
        st.builds(ConnectionLost, st.builds(ref, st.integers(1, sequence + 1))),
        st.just(CoordinatorCalled()),
        st.builds(FencedByCoordinator, ERRORS),
        st.just(Replaced(FRESH)),
        st.just(DeadlinePassed()),
    )


def talk_of(state: State) -> Talk:
    """Give the conversation with the coordinator."""
    return Silent() if isinstance(state, Absent) else state.talk


def assert_tellable(effect: Effect) -> None:
    """Assert what must hold for every answer to a classic client (clients.md)."""
    if not isinstance(effect, Reply):
        return
    message = effect.message
    assert message.error < FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS
    match message:
        case JoinGroupReply():
            assert (message.leader, message.members, message.skip_assignment) == ("", (), False)
            assert (message.generation >= 1) is (message.error is ErrorCode.NONE)
        case SyncGroupReply():
            assert (len(message.assignment) >= 10) is (message.error is ErrorCode.NONE)
        case HeartbeatReply():
            pass
        case _:
            assert_never(message)


@settings(max_examples=800, deadline=None)
@given(state=states(), event=happenings(9), answer=ANSWERS, now_ms=TIMES)
def test_every_event_in_every_state(state: State, event: Event, answer: Answer, now_ms: int) -> None:
    """No client, clock or coordinator can break a machine; every answer is one that classic clients know."""
    candidates: list[Event] = [event]
    if isinstance(talk_of(state), Asked | Overtaken):
        candidates.append(Answered(answer))
    for happening in candidates:
        taken = step(state, happening, now_ms)
        asks = sum(isinstance(effect, Ask) for effect in taken.effects)
        was_outstanding = isinstance(talk_of(state), Asked | Overtaken) and not isinstance(happening, Answered)
        assert asks + was_outstanding <= 1
        if asks:
            assert talk_of(taken.state) == Asked()
        for effect in taken.effects:
            assert_tellable(effect)
        assert any(isinstance(effect, Depart) for effect in taken.effects) is (
            isinstance(taken.state, Absent) and not isinstance(state, Absent)
        )


@settings(max_examples=300, deadline=None)
@given(state=states(), answer=ANSWERS, now_ms=TIMES)
def test_answer_to_nothing_is_unexpected_in_every_state(state: State, answer: Answer, now_ms: int) -> None:
    """It is a mistake of whoever carries questions, and must not pass for news."""
    if isinstance(talk_of(state), Asked | Overtaken):
        return
    with pytest.raises(UnexpectedEvent):
        step(state, Answered(answer), now_ms)


@settings(max_examples=300, deadline=None)
@given(state=states(), early_ms=st.integers(1, 5_000))
def test_no_deadline_passes_before_its_time(state: State, early_ms: int) -> None:
    """A clock that looks too early changes nothing and asks nothing; at its time something is done."""
    due_ms = next_deadline(state)
    if due_ms is None:
        assert step(state, DeadlinePassed(), NOW) == Step(state)
        return
    assert step(state, DeadlinePassed(), due_ms - early_ms) == Step(state)
    assert step(state, DeadlinePassed(), due_ms) != Step(state)


@settings(max_examples=300, deadline=None)
@given(state=states(), generation=st.integers(-1, 6), now_ms=TIMES)
def test_calm_heartbeat_is_the_step_whose_answer_is_none(state: State, generation: int, now_ms: int) -> None:
    """The short way of a heartbeat gives what the machine gives, for a member at work that is to hear nothing else."""
    event = beat(generation, 9)
    calm, taken = beat_calmly(state, generation, now_ms), step(state, event, now_ms)
    if isinstance(state, Stable) and taken.effects == (beat_reply(ErrorCode.NONE, 9),):
        assert calm == taken.state
    else:
        assert calm is None


@settings(max_examples=300, deadline=None)
@given(state=states(), now_ms=TIMES)
def test_calm_question_is_the_step_that_does_nothing_but_ask(state: State, now_ms: int) -> None:
    """The short way of a deadline gives what the machine gives, for a member at peace that is to be heard of."""
    calm, taken = ask_calmly(state, now_ms), step(state, DeadlinePassed(), now_ms)
    is_at_peace = isinstance(state, Stable) and isinstance(state.call, NotCalled) and isinstance(state.talk, Scheduled)
    if isinstance(state, Stable) and is_at_peace and isinstance(taken.state, Stable) and taken.effects:
        assert calm == taken.state
        assert taken.effects == (Ask(report(state)),)
    else:
        assert calm is None


@settings(max_examples=300, deadline=None)
@given(state=states(), told=ANSWERS, data=st.data(), now_ms=TIMES)
def test_calm_answer_is_the_step_after_which_only_the_talk_is_another(
    state: State, told: Answer, data: st.DataObject, now_ms: int
) -> None:
    """The short way of an answer gives what the machine gives, and takes none that tells a member anything new."""
    if not isinstance(state, Stable) or not isinstance(state.talk, Asked | Overtaken) or not isinstance(told, Granted):
        assert not isinstance(told, Granted) or hear_calmly(state, told, now_ms) is None
        return
    known = state.membership
    if data.draw(st.booleans()):
        state = replace(state, tenure=replace(state.tenure, handed=known.granted))
    answer = replace(
        told,
        member_epoch=data.draw(st.sampled_from((told.member_epoch, known.epoch))),
        assigned=data.draw(st.sampled_from((told.assigned, None))),
        pending=data.draw(st.sampled_from((told.pending, known.pending))),
    )
    calm, taken = hear_calmly(state, answer, now_ms), step(state, Answered(answer), now_ms)
    is_same = (answer.member_epoch, answer.assigned, answer.pending) == (known.epoch, None, known.pending)
    is_at_peace = isinstance(state.call, NotCalled) and state.tenure.handed == known.granted
    if is_same and is_at_peace and isinstance(state.talk, Asked):
        assert isinstance(taken.state, Stable)
        assert (calm, taken.effects) == (replace(state, talk=taken.state.talk), ())
        assert calm == taken.state
    else:
        assert calm is None


@settings(max_examples=300, deadline=None)
@given(state=states(), generation=st.integers(-1, 6), partitions=PARTITIONS)
def test_no_commit_gets_a_new_code_nor_counts_without_membership(
    state: State, generation: int, partitions: Partitions
) -> None:
    """A commit is admitted only from a member, and only under a generation it was told."""
    code = admit_commit(state, generation, partitions)
    assert code < FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS
    if code is ErrorCode.NONE:
        assert isinstance(state, Stable | CompletingRebalance | PreparingRebalance)
        assert not isinstance(state.tenure, Vacant)
        assert 1 <= generation <= state.tenure.generation


@dataclass(slots=True)
class Ledger:
    """What a shell would keep: which requests are open, and whether a question is outstanding."""

    state: State = field(default_factory=lambda: Absent(LIMITS))
    outstanding: int = 0
    open: set[RequestRef] = field(default_factory=set)
    answers: Counter[RequestRef] = field(default_factory=Counter)
    highest: int = 0

    def happen(self, event: Event, now_ms: int) -> None:
        """Let an event happen, and book what comes of it."""
        if isinstance(event, JoinReceived | SyncReceived | HeartbeatReceived):
            self.open.add(event.ref)
        if isinstance(event, Answered):
            self.outstanding -= 1
        taken = step(self.state, event, now_ms)
        self.state = taken.state
        for effect in taken.effects:
            self.book(effect)

    def book(self, effect: Effect) -> None:
        """Book one effect; a machine that departed is dropped with its outstanding question."""
        match effect:
            case Reply(place, message):
                self.answers[place] += 1
                self.open.remove(place)
                if isinstance(message, JoinGroupReply) and message.error is ErrorCode.NONE:
                    assert message.generation >= self.highest
                    self.highest = message.generation
            case Ask():
                self.outstanding += 1
                assert self.outstanding == 1
            case Depart():
                self.outstanding, self.highest = 0, 0
            case _:
                assert_never(effect)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_request_is_answered_once(data: st.DataObject) -> None:
    """Whatever came, in the end nothing is open, nothing was answered twice, generations never fell."""
    ledger, now_ms, numbers = Ledger(), NOW, count(1)
    ledger.happen(joined(sequence=next(numbers)), now_ms)
    for _ in range(data.draw(st.integers(0, 40))):
        now_ms += data.draw(st.sampled_from([0, 0, 0, 100, 3_000]))
        if ledger.outstanding and data.draw(st.booleans()):
            ledger.happen(Answered(data.draw(ANSWERS)), now_ms)
        else:
            ledger.happen(data.draw(happenings(next(numbers))), now_ms)
    while (due := next_deadline(ledger.state)) is not None:
        now_ms = max(now_ms, due)
        ledger.happen(DeadlinePassed(), now_ms)
        if ledger.outstanding and data.draw(st.booleans()):
            ledger.happen(Answered(data.draw(ANSWERS)), now_ms)
    assert ledger.state == Absent(LIMITS)
    assert not ledger.open
    assert set(ledger.answers.values()) == {1}
