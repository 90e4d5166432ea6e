"""The static-membership behaviours of KIP-345 in classic groups, step by step, with the answers of Kafka 4.3.1.

It knows the scenario file's expectations, and must not know how the engine gives its answers.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.classic_bench import join_of
from tests.support.kip345_world import PARKED, Json, Kip345World, Node, items_of, names_of, node_of, scenarios_of
from translators.dialects.classic import JoinedMember, JoinGroup
from translators.dialects.ids import InstanceId, MemberId

DATA = Path(__file__).parent / "data" / "kip345-scenarios.json"
Step = tuple[str, int]

ON_PURPOSE: Mapping[Step, tuple[Json, Node, str]] = {
    ("full-group", 1): (
        {"error": "NONE", "generation": 5},
        {"state": "Stable", "static_map": {"A": "<new>", "B": "2", "C": "3"}},
        "its instance has a seat; Kafka looks at the id only and turns it away until its session is over (K1.13)",
    ),
}
"""Where the answer differs from Kafka's: ours, the state then, and who gains."""

NOT_PLAYED: Mapping[Step, str] = {
    ("leave-of-unknown-group", 2): "rights are not the engine's: the file says that no rule covers it",
    ("replacement-record-not-written", 1): "a record that can't be written stops the shard before any answer",
    ("assignment-stable-by-instance-order", 1): "computed by the leader: see the test of its member list",
    ("assignment-stable-by-instance-order", 2): "computed by the leader: see the test of its member list",
    ("assignment-stable-by-instance-order", 3): "computed by the leader: see the test of its member list",
    ("assignment-stable-by-instance-order", 4): "computed by the leader: see the test of its member list",
}
"""Steps that ask nothing of a classic group; exactly these are left out."""

INDEPENDENT = {
    "join-matrix",
    "batch-leave",
    "leave-with-static-member-id-and-null-instance",
    "restart-with-other-subscription",
    "session-timeout-bounds",
    "follower-rejoins-with-its-id",
}
"""Scenarios whose steps are variants of each other: each begins in the initial state."""

STARTS_AFTER = {("absent-member-at-rebalance-timeout", 4): 2}
"""A variant of the step before it begins where that one began."""

PHRASES: Mapping[str, Json] = {
    "replace": {"error": "NONE", "generation": 5},
    "as 1.25-1.27": {"error": "NONE", "generation": 5},
    "as 1.25-1.27: an unchanged follower gets the current generation": {"error": "NONE", "generation": 5},
    "by the vote: unchanged selected protocol -> as above; changed -> rebalance": {"error": "NONE", "generation": 5},
    "new static member, rebalance": PARKED,
    "joins: the pending id is taken in": PARKED,
}
"""What the file says in words instead of fields."""

ADMITTED_AT_ONCE = {("static-first-member", 3)}
"""Steps whose NONE means: taken in at once instead of being told an id; the answer comes with the rebalance."""


def scenarios() -> dict[str, Node]:
    """The scenarios about classic groups, by id."""
    document: Json = json.loads(DATA.read_text(encoding="utf-8"))
    return {str(scenario["id"]): scenario for scenario in scenarios_of(document, "classic group")}


SCENARIOS = scenarios()


def steps_of(scenario: Node) -> list[Node]:
    """The steps of a scenario in their order."""
    return [node_of(step) for step in items_of(scenario["steps"])]


def versions_of(step: Node) -> list[int]:
    """The oldest and the newest version that a step is about, and those at which its answer changes."""
    ranges = [str(step["versions"])] if "versions" in step else []
    ranges += list(node_of(step.get("kafka_by_version", {})))
    return sorted({int(end) for text in ranges for end in text.split("-")}) or [0]


def places() -> Iterator[tuple[Step, int]]:
    """Every step that is played, in every version that matters."""
    for name, scenario in SCENARIOS.items():
        for step in steps_of(scenario):
            place = (name, int(str(step["n"])))
            if place not in NOT_PLAYED:
                yield from ((place, version) for version in versions_of(step))


PLAYED = [pytest.param(place, version, id=f"{place[0]}-{place[1]}-v{version}") for place, version in places()]


def expectation(step: Node, version: int) -> Json:
    """What Kafka answers to a step in a version; None where the file says nothing of an answer."""
    for text, told in node_of(step.get("kafka_by_version", {})).items():
        oldest, _, newest = text.partition("-")
        if int(oldest) <= version <= int(newest or oldest):
            return told
    told = step.get("kafka")
    told = step.get("kip") if told == "same" else told
    if isinstance(told, str):
        return PARKED if told.startswith(PARKED) else PHRASES[told]
    return told


def reach(place: Step, version: int) -> tuple[Kip345World, Node, Json]:
    """The world after a step, the step, and its answer."""
    name, number = place
    scenario = SCENARIOS[name]
    world = Kip345World(scenario)
    last_before = 0 if name in INDEPENDENT else STARTS_AFTER.get(place, number - 1)
    for step in steps_of(scenario):
        if int(str(step["n"])) <= last_before and (name, int(str(step["n"]))) not in NOT_PLAYED:
            carry_out(world, step, versions_of(step)[-1])
        elif step["n"] == number:
            return world, step, carry_out(world, step, version)
    raise AssertionError(f"no step {number} in {name}")


def carry_out(world: Kip345World, step: Node, version: int) -> Json:
    """Play a step, request or event."""
    if "request" in step:
        return world.play(node_of(step["request"]), version)
    world.pass_event(str(step["event"]))
    return None


def resolved(world: Kip345World, expected: Json, seen: Node) -> Json:
    """An expected value with the file's names for ids replaced by what was issued."""
    if isinstance(expected, Mapping):
        named = {str(world.resolve(key)): resolved(world, value, seen) for key, value in expected.items()}
        return {key: value for key, value in named.items() if key not in {"note", "level"} and value is not None}
    if isinstance(expected, list):
        return [resolved(world, value, seen) for value in expected]
    if isinstance(expected, str):
        return resolved_text(world, expected, seen)
    return expected


def resolved_text(world: Kip345World, text: str, seen: Node) -> Json:
    """`self` is who asked, `1 or 3` the one of them that it is, `A-<uuid>` an id named after A; reasons are cut off."""
    if text == "self":
        return seen["member_id"]
    if "-<uuid>" in text:
        prefix = text.replace("<clientId>", "client").removesuffix("<uuid>")
        return world.issued if world.issued.startswith(prefix) else text
    if " or " in text and seen.get("leader") in text.split(" or "):
        return seen["leader"]
    return str(world.resolve(text.split(" (", maxsplit=1)[0]))


def as_asked(expected: Json, seen: Json) -> Json:
    """The part of what was seen that the file speaks of."""
    if isinstance(expected, Mapping) and isinstance(seen, Mapping):
        return {key: as_asked(value, seen.get(key)) for key, value in expected.items()}
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        return [as_asked(one, other) for one, other in zip(expected, seen, strict=True)]
    return seen


@pytest.mark.parametrize(("place", "version"), PLAYED)
def test_static_step_answered_like_kafka(place: Step, version: int) -> None:
    """Each step in its oldest and newest version: the answer, the others' answers, and the state afterwards."""
    world, step, seen = reach(place, version)
    expected, state = expectation(step, version), step.get("state", {})
    if place in ON_PURPOSE:
        expected, state, _ = ON_PURPOSE[place]
    if place in ADMITTED_AT_ONCE:
        assert (expected, seen) == ({"error": "NONE"}, PARKED)
        assert world.issued in world.bench.group.members
    elif expected is not None:
        told = resolved(world, expected, node_of(seen) if isinstance(seen, Mapping) else {})
        assert as_asked(told, seen) == told
    if state:
        told = resolved(world, state, world.state())
        assert as_asked(told, world.state()) == told
    check_others(world, step)


def check_others(world: Kip345World, step: Node) -> None:
    """What a step means to the others: their heartbeats, and what was parked from the start."""
    for who, told in node_of(step.get("others", {})).items():
        if who == "rebalances":
            assert (told, world.bench.phase.value) == (0, "Stable")
        elif who == "heartbeat_of_others":
            assert world.heartbeats_of_others(node_of(step["request"])["instance_id"]) == {told}
        elif who == "other parked SyncGroups":
            assert world.answer_to_parked("SyncGroup", "3") == told
        else:
            _, api, _, member = who.split(" ")
            assert world.answer_to_parked(api, member) == told


def test_deviations_and_omissions_exactly_those_that_are_named() -> None:
    """No step is skipped in silence, every deviation differs from Kafka and has its reason, no entry is stale."""
    every = {(name, int(str(step["n"]))) for name, scenario in SCENARIOS.items() for step in steps_of(scenario)}
    played = {place for place, _ in places()}
    tables = NOT_PLAYED.keys() | ON_PURPOSE.keys() | STARTS_AFTER.keys() | ADMITTED_AT_ONCE
    assert len(SCENARIOS) == 27
    assert every >= tables
    assert played == every - NOT_PLAYED.keys()
    for place, (ours, _, reason) in ON_PURPOSE.items():
        step = steps_of(SCENARIOS[place[0]])[place[1] - 1]
        assert expectation(step, versions_of(step)[-1]) != ours
        assert reason


def deal(members: list[str]) -> dict[str, Json]:
    """Nine partitions of foo in ranges, in the order of the members."""
    return {one: [f"foo-{3 * position + n}" for n in range(3)] for position, one in enumerate(members)}


def join_again(member: MemberId, instance: InstanceId | None) -> JoinGroup:
    """The JoinGroup that the members of the initial state would send."""
    return replace(join_of(member, instance), session_timeout_ms=45_000, rebalance_timeout_ms=300_000)


def told_to_leader(world: Kip345World, members: list[MemberId]) -> tuple[JoinedMember, ...]:
    """The member list of a rebalance in which everybody joins."""
    leader = world.bench.group.roster.leader
    refs = {}
    for member in sorted(members, key=lambda one: one != leader):
        seat = world.bench.group.members[member]
        refs[member] = world.bench.join(join_again(member, seat.instance_id))
    assert leader is not None
    return world.bench.admitted(refs[leader]).members


def test_leader_told_instance_ids_so_that_restarts_move_nothing() -> None:
    """The scenario `assignment-stable-by-instance-order`: sorted by instance, a restart changes no assignment (325)."""
    steps = steps_of(SCENARIOS["assignment-stable-by-instance-order"])
    by_id, by_id_later, by_instance, by_instance_later = (node_of(step["kip"]) for step in steps)
    world = Kip345World(SCENARIOS["leader-rejoins-with-its-id"])
    before = told_to_leader(world, [MemberId(one) for one in "123"])
    assert deal(sorted(one.member_id for one in before)) == by_id
    assert deal(sorted(str(one.instance_id) for one in before)) == by_instance
    world.bench.sync("2", "B", assigns={"1": b"foo-0"})
    ref = world.bench.join(join_again(MemberId(""), before[0].instance_id))
    newcomer = world.bench.admitted(ref).member_id
    later = told_to_leader(world, [MemberId("2"), MemberId("3"), newcomer])
    ids = ["4" if one.member_id == newcomer else str(one.member_id) for one in later]
    assert deal(sorted(ids)) == by_id_later
    assert deal(sorted(str(one.instance_id) for one in later)) == by_instance_later
    assert by_instance == by_instance_later
    assert names_of(world.bench.group.members[newcomer].assignment) == ["foo-0"]
