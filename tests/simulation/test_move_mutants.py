"""Deliberate bugs in the moves of live groups are found: by a law of the simulator, or by what one step must do."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat, to_broker
from bridge.coordinators.moving.surroundings import SCOUT_ID
from bridge.migration.moves.takeover import Answered, AskMember, Heard, Take, begin, step
from bridge.migration.route import Road
from tests.support import move_mutants
from tests.support.embedded_world import commit_request, join_request
from tests.support.moves_simulation.schedule import Act, Action, Conditions, Phase, Schedule, draw_schedule
from tests.support.moves_simulation.story import run_story
from tests.support.moving_world import GENERATION, moving_world
from tests.support.owned_group import TOPIC
from tests.support.simulation.actor import GROUP
from tests.support.upstream_world import granted, refused, unchanged, upstream_world
from translators.dialects.classic import JoinGroup, JoinGroupReply, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, decode_subscription, encode_subscription
from translators.dialects.coordinator import Granted, Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import OffsetCommit

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
SLOW_SEAT = Schedule(
    seed=2,
    conditions=Conditions(begins=Road.EMBEDDED, initial_delay_ms=9_000),
    phases=(
        Phase(
            is_calm=False,
            acts=tuple(Act(at_ms=0, action=Action.START, place=place, name="kafka-python") for place in range(2)),
        ),
        Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.MOVE, name=Road.PASS.value),)),
    ),
)
"""A group is released to a broker that lets the first member of a group wait for nine seconds."""
CASES: tuple[tuple[Mutate, Schedule, str], ...] = (
    (move_mutants.lose_mappings, draw_schedule(0), "nobody is fenced by a move"),
    (move_mutants.overtake_a_played_join, draw_schedule(51), FENCED),
    (move_mutants.hold_without_bound, SLOW_SEAT, "no request is held beyond its bound"),
    (move_mutants.let_strangers_in, STRANGER, "no partition is processed by two"),
)
"""The story that shows it, and the law that is broken first."""
ONE = MemberId("one")
HELD = frozenset({TopicPartition(TOPIC, 0)})
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


async def _commits_what_it_lost() -> bool:
    """Whether the broker gets a commit of a partition that its member has given up since."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(1, 1))
        joining = world.send(join_request("a"))
        await world.say(granted(2, 1))
        again = (await world.answer(joining, JoinGroupReply)).generation
        await world.sync("a", again)
        world.send(commit_request(generation, "a", (0,)))
        await trio.sleep(0.1)
        return any(isinstance(asked, OffsetCommit) for asked, _ in world.via.open)


async def _lets_go_while_committing() -> bool:
    """Whether the broker hears that a partition is free on which a commit is on its way."""
    async with upstream_world() as world:
        generation = await world.form("a", granted(1, 0, 1))
        await world.say(unchanged(1))
        await world.say(granted(1, 1))
        world.send(commit_request(generation, "a", (0,)))
        world.send(join_request("a"))
        await trio.sleep(0.1)
        return any(isinstance(asked, ConsumerGroupHeartbeat) for asked, _ in world.via.open)


async def _gives_back_as_owning_nothing() -> bool:
    """Whether the JoinGroup in a member's place leaves out what its client has."""
    async with moving_world() as world:
        world.at_broker({"a": HELD})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        world.answer("a", granted(GENERATION, 0))
        world.answer("a", unchanged(GENERATION))
        await trio.sleep(0.1)
        world.beat("a")
        await world.order(Road.PASS)
        (asked,) = world.asked("a")
        assert isinstance(asked, JoinGroup)
        return not any(decode_subscription(one.metadata).owned for one in asked.protocols)


async def _leaves_its_scout() -> bool:
    """Whether a scout that has joined is not sent away behind the last member."""
    async with moving_world() as world:
        world.at_broker({"a": frozenset(TopicPartition(TOPIC, number) for number in range(6))})
        world.joined("a")
        await world.order(Road.UPSTREAM)
        world.answer("a", refused(ErrorCode.GROUP_ID_NOT_FOUND))
        world.answer("a", refused(ErrorCode.FENCED_MEMBER_EPOCH))
        world.answer("a", granted(GENERATION))
        world.answer("a", granted(GENERATION, *range(6)))
        said = [one for one in world.asked("a") if isinstance(one, ConsumerGroupHeartbeat)]
        return (SCOUT_ID, LEAVE_EPOCH) not in {(str(one.member_id), one.member_epoch) for one in said}


@pytest.mark.parametrize(
    ("mutate", "shows"),
    [
        (move_mutants.forward_commits_of_lost_partitions, _commits_what_it_lost),
        (move_mutants.let_go_while_committing, _lets_go_while_committing),
        (move_mutants.give_back_without_owned, _gives_back_as_owning_nothing),
        (move_mutants.leave_the_scout_behind, _leaves_its_scout),
    ],
    ids=lambda one: one.__name__.strip("_"),
)
def test_mutant_does_what_its_step_must_not(
    monkeypatch: pytest.MonkeyPatch, mutate: Mutate, shows: Callable[[], Awaitable[bool]]
) -> None:
    """The step does not without it."""
    assert not trio.run(shows, clock=MockClock(autojump_threshold=0))
    mutate(monkeypatch)
    assert trio.run(shows, clock=MockClock(autojump_threshold=0))
