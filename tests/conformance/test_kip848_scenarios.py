"""The case studies of KIP-848 as Apache Kafka plays them, replayed step by step on the engine with a scripted assignor.

It knows the scenario file's form. Where the engine differs on purpose, a table says in which step and how.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from bridge.engine.apply import apply
from bridge.engine.commands import ChangeTopics, PassDeadlines, Speaks
from bridge.engine.model import Current, DeadlineKey, DeadlineKind, MemberState, Subscription
from bridge.engine.outcome import MemberAnswer
from bridge.engine.queries import group_state
from bridge.engine.records import (
    CurrentAssigned,
    DeadlineSet,
    GroupCreated,
    MemberSubscribed,
    Record,
    TargetAssigned,
)
from tests.support.engine_bench import GROUP, IDENTITY, Bench, Partitions, ScriptedAssignor, topic, topic_id
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicIdPartition, TopicName

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | bool | None"
Node: TypeAlias = Mapping[str, Json]

DATA = Path(__file__).parent / "data" / "kip848-scenarios.json"
SESSION_TIMEOUT_MS = 45_000

NEEDS_CONVERSION = {
    ("online-migration", "dynamic-eager"): "starts as a classic group that the first KIP-848 member converts",
    ("online-migration", "static-eager"): "starts as a classic group that the first KIP-848 member converts",
    ("online-migration", "dynamic-cooperative"): "starts as a classic group that the first KIP-848 member converts",
    ("downgrade-last-consumer-member-leaves", "default"): "ends as a classic group when the last KIP-848 member leaves",
}
"""Runs in which a group changes its type: exactly these are not played here but in `test_conversion_scenarios`."""

FIRST_EPOCH_SHIFT = {"three-members-three-partitions": 1}
"""A running Kafka 4.3.1 starts a group at epoch 1, the file at 0 (K11.4 on 2.15): all epochs of the run are one
higher.
"""

ON_PURPOSE: Mapping[tuple[str, int], Node] = {
    ("member-failure", 1): {
        "group_state": "Reconciling",
        "assignment_epoch": 23,
        "target": {"B": ["foo-0", "foo-3", "foo-4"], "C": ["foo-1", "foo-2", "foo-5"]},
    },
    ("partition-added", 1): {
        "group_state": "Reconciling",
        "group_epoch": 23,
        "assignment_epoch": 23,
        "target": {"A": ["foo-0"], "B": ["foo-1"]},
    },
    ("static-member-not-back-in-time", 2): {
        "group_state": "Reconciling",
        "assignment_epoch": 8,
        "target": {"B": ["foo-0", "foo-1", "foo-2", "foo-3", "foo-4", "foo-5"]},
    },
}
"""Steps after which the state differs from Kafka's: a departure or a new partition brings the new target at once, not
with the
next heartbeat of whoever comes first (deviation from K2.24, K2.26 and K2.50), so that nobody waits for it."""

ANSWERED_OTHERWISE: Mapping[tuple[str, int], Node] = {
    ("fenced-and-unknown-members", 2): {
        "error": "NONE",
        "member_epoch": 2,
        "heartbeat_interval_ms": 5000,
        "assigned": ["foo-0", "foo-1"],
    },
}
"""Answers in which the file is behind a running Kafka 4.3.1: epoch 0 of a known member is accepted (K11.4 on 2.19)."""


def scenarios() -> list[Node]:
    """The scenarios of the file."""
    document = cast("Node", json.loads(DATA.read_text(encoding="utf-8")))
    return [cast("Node", scenario) for scenario in cast("list[Json]", document["scenarios"])]


def runs() -> Iterator[tuple[Node, Node]]:
    """Every scenario with every run that Kafka has for it."""
    for scenario in scenarios():
        for run in cast("list[Json]", cast("Node", scenario["kafka"])["run"]):
            yield scenario, cast("Node", run)


def run_name(scenario: Node, run: Node) -> tuple[str, str]:
    """Scenario and variant."""
    return str(scenario["id"]), str(run["variant"])


RUNS = tuple(runs())
PLAYED = [pytest.param(*pair, id="-".join(run_name(*pair))) for pair in RUNS if run_name(*pair) not in NEEDS_CONVERSION]


def partitions_of(names: Json) -> Partitions:
    """`topic-index` names as partitions."""
    pairs = (str(name).rsplit("-", 1) for name in cast("list[Json]", names))
    return frozenset(TopicIdPartition(topic_id(name), int(index)) for name, index in pairs)


def number(node: Node, key: str, default: int | None = None) -> int:
    """A number of the file."""
    value = node.get(key, default)
    assert isinstance(value, int), f"{key} is {value!r}"
    return value


def scripted(run: Node) -> ScriptedAssignor:
    """The assignor that gives out the run's targets, in the order of their epochs."""
    targets = cast("Mapping[str, Node]", run["targets"])
    ordered = sorted(targets, key=int)
    return ScriptedAssignor(
        targets=[{client: partitions_of(names) for client, names in targets[epoch].items()} for epoch in ordered]
    )


def restore(initial: Node) -> Iterator[Record]:
    """The records that put a group into a run's initial state; a member's id is its client's name."""
    if not initial.get("exists", True):
        return
    epoch = number(initial, "group_epoch")
    assert epoch == number(initial, "assignment_epoch"), "no run starts with a group behind its epoch"
    yield GroupCreated(GROUP, epoch)
    for client, node in cast("Mapping[str, Node]", initial["members"]).items():
        yield MemberSubscribed(GROUP, restored_subscription(client, node))
        yield CurrentAssigned(GROUP, MemberId(client), restored_current(node))
        yield DeadlineSet(DeadlineKey(DeadlineKind.SESSION, GROUP, MemberId(client)), SESSION_TIMEOUT_MS)
    for client, names in cast("Mapping[str, Json]", initial["target"]).items():
        yield TargetAssigned(GROUP, MemberId(client), partitions_of(names))


def restored_subscription(client: str, node: Node) -> Subscription:
    """A member that subscribed to foo."""
    instance = node.get("instance_id")
    return Subscription(
        member_id=MemberId(client),
        instance_id=None if instance is None else InstanceId(str(instance)),
        rebalance_timeout_ms=300_000,
        identity=IDENTITY,
        speaks=Speaks.CONSUMER if node["protocol"] == "consumer" else Speaks.CLASSIC,
        names=frozenset({TopicName("foo")}),
    )


def restored_current(node: Node) -> Current:
    """What a member held, all of it assigned at its epoch."""
    epoch = number(node, "epoch")
    return Current(
        epoch=epoch,
        previous_epoch=number(node, "previous_epoch"),
        state=MemberState[str(node["member_state"])],
        assigned=dict.fromkeys(partitions_of(node["assigned"]), epoch),
        pending_revocation=dict.fromkeys(partitions_of(node["pending_revocation"]), epoch),
    )


def request_of(node: Node, shift: int) -> ConsumerGroupHeartbeat:
    """A step's request; clients name their ids themselves, as from version 1 on."""
    epoch = number(node, "member_epoch")
    owned, wanted, instance = node.get("owned"), node.get("subscription"), node.get("instance_id")
    return ConsumerGroupHeartbeat(
        group_id=GROUP,
        member_id=MemberId(str(node["member"])),
        member_epoch=epoch + shift if epoch > 0 else epoch,
        instance_id=None if instance is None else InstanceId(str(instance)),
        rebalance_timeout_ms=number(node, "rebalance_timeout_ms", -1),
        owned=None if owned is None else partitions_of(owned),
        subscribed_topic_names=None if wanted is None else tuple(TopicName(str(w)) for w in cast("list[Json]", wanted)),
    )


def seen_answer(answer: MemberAnswer) -> Node:
    """An answer in the file's form."""
    reply = answer.reply
    if reply.error is not ErrorCode.NONE:
        return {"error": reply.error.name}
    return {
        "error": "NONE",
        "member_epoch": reply.member_epoch,
        "heartbeat_interval_ms": reply.heartbeat_interval_ms,
        "assigned": None if reply.assignment is None else named(reply.assignment),
    }


def named(partitions: Partitions) -> list[Json]:
    """Partitions as the file writes them, in order."""
    return [f"{pair.topic_id.decode().rstrip('.')}-{pair.partition}" for pair in sorted(partitions)]


def seen_state(bench: Bench) -> Node:
    """The group in the file's form."""
    group = bench.group
    return {
        "type": "consumer",
        "group_state": group_state(group),
        "group_epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "target": {member_id: named(partitions) for member_id, partitions in group.target.items()},
        "members": {member_id: seen_member(bench, member_id) for member_id in group.members},
    }


def seen_member(bench: Bench, member_id: MemberId) -> Node:
    """A member in the file's form."""
    subscription, current = bench.member(member_id).subscription, bench.member(member_id).current
    seat: Node = {} if subscription.instance_id is None else {"instance_id": subscription.instance_id}
    return {
        "protocol": subscription.speaks.name.lower(),
        "epoch": current.epoch,
        "previous_epoch": current.previous_epoch,
        "member_state": current.state.name,
        "assigned": named(frozenset(current.assigned)),
        "pending_revocation": named(frozenset(current.pending_revocation)),
        **seat,
    }


def shifted(node: Json, shift: int) -> Json:
    """The same with every epoch of a member or group moved up; 0 and below mean no epoch yet."""
    if not isinstance(node, Mapping):
        return node
    moved: dict[str, Json] = {}
    for key, value in node.items():
        if key.endswith("epoch") and isinstance(value, int) and value > 0:
            moved[key] = value + shift
        else:
            moved[key] = sorted_names(value) if isinstance(value, list) else shifted(value, shift)
    return moved


def sorted_names(names: list[Json]) -> list[Json]:
    """Partition names in order."""
    return list(named(partitions_of(names)))


def happen(bench: Bench, event: str) -> None:
    """Let a step's event happen: a session runs out, or a topic grows."""
    if event.startswith("session timeout of "):
        expire(bench, MemberId(event.split()[3]))
    elif event.startswith("partition foo-1 is created"):
        bench.tell(ChangeTopics((topic("foo", 2),)))
    else:
        pytest.fail(f"the scenario file has an event that is not known here: {event}")


def expire(bench: Bench, member_id: MemberId) -> None:
    """One member is silent until its session ends, while the others heartbeat just before."""
    bench.now_ms = SESSION_TIMEOUT_MS - 1
    for other in tuple(bench.group.members):
        if other != member_id:
            bench.beat(other)
    bench.now_ms = SESSION_TIMEOUT_MS
    bench.tell(PassDeadlines())


def begin(scenario: Node, run: Node) -> Bench:
    """A bench in the run's initial state."""
    topics = cast("Mapping[str, int]", scenario["topics"])
    bench = Bench(
        assignors={"uniform": scripted(run)},
        topics=[topic(name, partition_count) for name, partition_count in topics.items()],
    )
    for record in restore(cast("Node", run["initial"])):
        apply(bench.state, record)
    return bench


@pytest.mark.parametrize(("scenario", "run"), PLAYED)
def test_scenario_played_like_kafka(scenario: Node, run: Node) -> None:
    """Every step of Kafka's run gives the same answer and the same state, except where a table above says otherwise."""
    bench = begin(scenario, run)
    name = str(scenario["id"])
    shift = FIRST_EPOCH_SHIFT.get(name, 0)
    for step in cast("list[Node]", run["steps"]):
        place = (name, number(step, "n"))
        if "event" in step:
            happen(bench, str(step["event"]))
        else:
            answer = bench.ask(request_of(cast("Node", step["request"]), shift))
            expected = ANSWERED_OTHERWISE.get(place, cast("Node", step["response"]))
            assert seen_answer(answer) == shifted(expected, shift), f"answer of step {place}"
        expected_state = {**cast("Node", step["state"]), **ON_PURPOSE.get(place, {})}
        assert seen_state(bench) == shifted(expected_state, shift), f"state after step {place}"


def test_runs_left_out_exactly_those_that_convert() -> None:
    """No run is skipped in silence: what isn't played starts or ends as a classic group."""
    played = {run_name(scenario, run) for scenario, run in RUNS if run_name(scenario, run) not in NEEDS_CONVERSION}
    assert {run_name(scenario, run) for scenario, run in RUNS} - played == set(NEEDS_CONVERSION)


@pytest.mark.parametrize("place", [*ON_PURPOSE, *ANSWERED_OTHERWISE])
def test_deviation_still_differs(place: tuple[str, int]) -> None:
    """A deviation that no longer differs from the file is stale and must go."""
    steps = {
        (str(scenario["id"]), number(step, "n")): step
        for scenario, run in runs()
        for step in cast("list[Node]", run["steps"])
    }
    step = steps[place]
    stated = cast("Node", step["response"] if place in ANSWERED_OTHERWISE else step["state"])
    ours = ANSWERED_OTHERWISE.get(place) or ON_PURPOSE[place]
    assert {key: shifted(stated.get(key), 0) for key in ours} != dict(ours)
