"""Deliberate bugs in the moves of live groups are found: by a law of the simulator, or by what one step must do."""

from collections.abc import Callable

import pytest

from bridge.coordinators.mapped.seats import MappedSeat, to_broker
from bridge.migration.moves.takeover import Answered, AskMember, Heard, Take, begin, step
from bridge.migration.route import Road
from tests.support import move_mutants
from tests.support.moves_simulation.schedule import Act, Action, Conditions, Phase, Schedule, draw_schedule
from tests.support.moves_simulation.story import run_story
from tests.support.simulation.actor import GROUP
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import Subscription, decode_subscription, encode_subscription
from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, MemberId, TopicName, TopicPartition

Mutate = Callable[[pytest.MonkeyPatch], None]
FENCED = "nobody is fenced who lives"
STRANGER = Schedule(
    seed=1,
    conditions=Conditions(direct_places=frozenset({2})),
    phases=(
        Phase(
            is_calm=False,
            acts=tuple(Act(at_ms=0, action=Action.START, place=place, name="kafka-python") for place in range(3)),
        ),
        Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.MOVE, name=Road.EMBEDDED.value),)),
    ),
)
"""A group of three is ordered onto the bridge, and one of them talks to the broker directly."""
CASES: tuple[tuple[Mutate, Schedule, str], ...] = (
    (move_mutants.lose_mappings, draw_schedule(0), FENCED),
    (move_mutants.overtake_a_played_join, draw_schedule(51), FENCED),
    (move_mutants.let_strangers_in, STRANGER, "no partition is processed by two"),
)
"""The story that shows it, and the law that is broken first."""
ONE = MemberId("one")
HAS = frozenset({TopicPartition(TopicName("orders"), 0)})


@pytest.mark.parametrize(("mutate", "schedule", "law"), CASES, ids=[mutate.__name__ for mutate, _, _ in CASES])
def test_mutant_breaks_its_law(monkeypatch: pytest.MonkeyPatch, mutate: Mutate, schedule: Schedule, law: str) -> None:
    """The same story breaks none without it."""
    assert run_story(schedule).broken is None
    mutate(monkeypatch)
    broken = run_story(schedule).broken
    assert broken is not None
    assert broken.law == law


def _takes_less() -> bool:
    """Whether a member that gets less at epoch 0 than its client uses is taken over."""
    state, _ = step(begin({ONE: HAS}), Heard(ONE, 5))
    state, asked = step(state, Answered(ONE, Refused(ErrorCode.GROUP_ID_NOT_FOUND)))
    assert asked == (AskMember(ONE, JOIN_EPOCH),)
    _, effects = step(state, Answered(ONE, Granted(member_epoch=5, assigned=frozenset())))
    return any(isinstance(effect, Take) for effect in effects)


def test_mutant_that_takes_less_for_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two members would read one partition."""
    assert not _takes_less()
    move_mutants.take_less_for_a_call(monkeypatch)
    assert _takes_less()


def _generation_said() -> int:
    """Which generation a mapped member's subscription names at the broker."""
    said = encode_subscription(Subscription(version=2, topics=(TopicName("orders"),), owned=HAS, generation=3))
    request = JoinGroup(
        group_id=GROUP,
        member_id=ONE,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("cooperative-sticky", said),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
    )
    asked = to_broker(MappedSeat(member_id=ONE, generation=3, seat_id=ONE, seat_generation=8), request)
    assert isinstance(asked, JoinGroup)
    return decode_subscription(asked.protocols[0].metadata).generation


def test_mutant_that_keeps_the_generation_in_the_blob(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader would deal a partition twice."""
    assert _generation_said() == 8
    move_mutants.keep_the_generation_in_the_blob(monkeypatch)
    assert _generation_said() == 3
