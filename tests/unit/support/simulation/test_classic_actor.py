"""Clients of the classic protocol, each with its habits, against the real owner of groups."""

import pytest

from tests.support.simulation.classic_actor import ClassicActor
from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.profiles import PROFILES
from tests.support.simulation.story import unrest
from tests.unit.support.simulation.test_world import make_world
from translators.dialects.classic import HeartbeatReply, JoinGroupReply
from translators.dialects.errors import ErrorCode

CLASSIC = tuple(name for name, profile in PROFILES.items() if not profile.is_native)


@pytest.mark.parametrize("name", CLASSIC)
def test_pair_forms_and_gives_up_to_a_third(name: str) -> None:
    """Whoever keeps its share hears nothing; who loses joins once, or twice if it is cooperative (decision 12)."""
    world = make_world(name, name)
    profile = PROFILES[name]
    world.oracle.rest()
    world.start(2, name)
    world.timeline.run_until(world.timeline.now_ms + 20_000)
    assert unrest(world) == []
    joins = sorted(world.fleet[place].standing.treatment.joins for place in (0, 1))
    assert joins == [0, 2 if profile.is_cooperative else profile.rounds]


@pytest.mark.parametrize("name", ["java", "java-cooperative"])
def test_leaver_says_goodbye_and_a_static_one_just_goes(name: str) -> None:
    """Clients.md 3.3: no LeaveGroup of static members on close."""
    world = make_world(name, name, static=frozenset({1}))
    world.fleet[0].leave()
    world.timeline.run_until(world.timeline.now_ms + 8_000)
    assert (world.fleet[0].is_alive, len(world.fleet[1].owned)) == (False, 4)
    world.fleet[1].leave()
    world.timeline.run_until(world.timeline.now_ms + 8_000)
    assert unrest(world) == [f"{world.fleet[1].member_id!r} is a member and no client"]


@pytest.mark.parametrize(("name", "keeps"), [("java", True), ("aiokafka", False)])
def test_stale_member_rejoins_with_its_id_or_without(name: str, keeps: bool) -> None:
    """Clients.md 3.3: aiokafka forgets its id on ILLEGAL_GENERATION."""
    world = make_world(name)
    actor = world.fleet[0]
    assert isinstance(actor, ClassicActor)
    known = actor.member_id
    actor.standing.has_expired = True
    actor._beats_open += 1
    actor._beaten(HeartbeatReply(ErrorCode.ILLEGAL_GENERATION), actor._round)
    assert (actor.member_id == known, actor.owned) == (keeps, frozenset())


@pytest.mark.parametrize(
    ("reply", "law"),
    [
        (HeartbeatReply(ErrorCode.FENCED_MEMBER_EPOCH), "no new codes"),
        (HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID), "fenced who lives"),
    ],
)
def test_wrong_word_to_a_living_member_breaks_a_law(reply: HeartbeatReply, law: str) -> None:
    """It knows no code of 100 or more (clients.md, 6); only who is gone is called unknown (clients.md, 5)."""
    world = make_world("java")
    actor = world.fleet[0]
    assert isinstance(actor, ClassicActor)
    with pytest.raises(InvariantBroken, match=law):
        actor._beaten(reply, actor._round)


@pytest.mark.parametrize(("generation", "leader"), [(0, ""), (1, "me")])
def test_generation_zero_and_leaders_break_a_law(generation: int, leader: str) -> None:
    """Who leads an empty list dies of it (clients.md, 1), and aiokafka leaves no generation 0 (clients.md, 4)."""
    world = make_world("java")
    actor = world.fleet[0]
    assert isinstance(actor, ClassicActor)
    reply = JoinGroupReply(
        error=ErrorCode.NONE, member_id=actor.member_id, generation=generation, protocol_name="range", leader=leader
    )
    with pytest.raises(InvariantBroken, match="nobody leads"):
        actor._joined(reply, 0)
