"""The static-membership behaviours of KIP-345 in consumer groups, as far as the engine alone decides them.

It knows the scenario file's form. Translated members go through their machine first: their JoinGroup, SyncGroup and
Heartbeat steps are played where machine and engine run together, and classic groups where those are.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from bridge.engine.apply import apply
from bridge.engine.commands import BeginCommit, MemberHeartbeat, RemoveMembers, Speaks
from bridge.engine.model import Current, Subscription
from bridge.engine.records import CurrentAssigned, GroupCreated, MemberSubscribed, TargetAssigned
from tests.support.engine_bench import (
    GROUP,
    IDENTITY,
    Bench,
    Partitions,
    ScriptedAssignor,
    beat_request,
    static_join_request,
    topic,
    topic_id,
)
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.coordinator import CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicIdPartition, TopicName
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | bool | None"
Node: TypeAlias = Mapping[str, Json]

DATA = Path(__file__).parent / "data" / "kip345-scenarios.json"
NEW_ID = MemberId("<new>")

MACHINE_STEPS = {
    ("consumer-group-classic-static-join", 6): "Heartbeat is answered by the member's machine",
    ("consumer-group-classic-static-join", 7): "SyncGroup is answered by the member's machine",
    ("consumer-group-downgrade-by-static-join", 2): "SyncGroup is answered by the member's machine",
}
"""Steps of the consumer-group scenarios that the engine never sees; exactly these are not played here."""

NEEDS_CONVERSION = {
    ("consumer-group-downgrade-by-static-join", 1): "the last KIP-848 member's seat is taken by a classic one",
}
"""Steps in which a group changes its type, played in `test_conversion_scenarios`."""

ON_PURPOSE: Mapping[tuple[str, int], Node] = {
    ("consumer-group-batch-leave", 1): {
        "members": [
            {"member_id": "", "instance_id": "A", "error": "NONE"},
            {"member_id": "2", "instance_id": "B", "error": "NONE"},
            {"member_id": "", "instance_id": "N", "error": "UNKNOWN_MEMBER_ID"},
            {"member_id": "77", "instance_id": "C", "error": "FENCED_INSTANCE_ID"},
        ],
        "group_epoch": 8,
        "assignment_epoch": 8,
    },
}
"""LeaveGroup removes native members too and echoes ids as asked (K11.4 on 4.40); the new target comes at once
(deviation from K4.41).
"""

Step = tuple[str, int]


def scenarios() -> Iterator[Node]:
    """The scenarios about consumer groups."""
    document = cast("Node", json.loads(DATA.read_text(encoding="utf-8")))
    for scenario in cast("list[Node]", document["scenarios"]):
        if str(scenario["section"]).startswith("consumer group"):
            yield scenario


def steps() -> Iterator[tuple[Step, Node, Node]]:
    """Every step with its place and scenario; each starts from the scenario's initial state."""
    for scenario in scenarios():
        for step in cast("list[Node]", scenario["steps"]):
            yield (str(scenario["id"]), int(str(step["n"]))), scenario, step


STEPS = tuple(steps())
PLAYED = [
    pytest.param(*step, id=f"{step[0][0]}-{step[0][1]}")
    for step in STEPS
    if step[0] not in MACHINE_STEPS and step[0] not in NEEDS_CONVERSION
]


def partitions_of(names: Json) -> Partitions:
    """`topic-index` names as partitions."""
    pairs = (str(name).rsplit("-", 1) for name in cast("list[Json]", names))
    return frozenset(TopicIdPartition(topic_id(name), int(index)) for name, index in pairs)


def begin(scenario: Node) -> Bench:
    """A bench in the scenario's initial state; a new target gives everything nobody held to nobody, but changes no
    member's own.
    """
    initial = cast("Node", scenario["initial"])
    members = cast("Mapping[str, Node]", initial["members"])
    targets = {member_id: partitions_of(node["assigned"]) for member_id, node in members.items()}
    bench = Bench(assignors={"uniform": ScriptedAssignor(targets=[targets])}, topics=[topic("foo", 9)])
    epoch = int(str(initial["group_epoch"]))
    apply(bench.state, GroupCreated(GROUP, epoch))
    for name, node in members.items():
        member_id = MemberId(name)
        subscription = Subscription(
            member_id=member_id,
            instance_id=InstanceId(str(node["instance_id"])),
            rebalance_timeout_ms=300_000,
            identity=IDENTITY,
            speaks=Speaks.CLASSIC if node["protocol"] == "classic" else Speaks.CONSUMER,
            names=frozenset({TopicName("foo")}),
        )
        current = Current(epoch=epoch, previous_epoch=epoch, assigned=dict.fromkeys(targets[name], epoch))
        apply(bench.state, MemberSubscribed(GROUP, subscription))
        apply(bench.state, CurrentAssigned(GROUP, member_id, current))
        apply(bench.state, TargetAssigned(GROUP, member_id, targets[name]))
    return bench


def play(bench: Bench, request: Node) -> Node:
    """Carry out a step's request and return the answer in the file's form."""
    api = request["api"]
    if api == "JoinGroup":
        return play_join(bench, request, Speaks.CLASSIC, "generation")
    if api == "ConsumerGroupHeartbeat" and request["member_epoch"] == 0:
        return play_join(bench, request, Speaks.CONSUMER, "member_epoch")
    if api == "ConsumerGroupHeartbeat":
        return play_beat(bench, request)
    if api == "LeaveGroup":
        return play_leave(bench, request)
    assert api == "OffsetCommit", f"the scenario file has an API that is not known here: {api}"
    return play_commit(bench, request)


def play_join(bench: Bench, request: Node, speaks: Speaks, epoch_name: str) -> Node:
    """A static member joins, as its machine or itself would ask; an empty id gets the issued one."""
    named = MemberId(str(request["member_id"]))
    heartbeat = static_join_request(named or NEW_ID, str(request["instance_id"]))
    command = MemberHeartbeat(ref=bench.ref(), request=heartbeat, identity=IDENTITY, speaks=speaks, fresh_id=NEW_ID)
    reply = bench.answers(bench.tell(command)).popitem()[1].reply
    return {"error": reply.error.name, **joined(reply, epoch_name)}


def joined(reply: ConsumerGroupHeartbeatReply, epoch_name: str) -> Node:
    """What a successful join tells; a failed one names no member (K4.6)."""
    if reply.error is not ErrorCode.NONE or reply.assignment is None:
        return {"member_id": ""}
    names: list[Json] = [f"foo-{pair.partition}" for pair in sorted(reply.assignment)]
    return {"member_id": str(reply.member_id), epoch_name: reply.member_epoch, "assigned": names}


def play_beat(bench: Bench, request: Node) -> Node:
    """A native member heartbeats with its instance id."""
    beat = beat_request(str(request["member_id"]), int(str(request["member_epoch"])))
    return {"error": bench.code(replace(beat, instance_id=InstanceId(str(request["instance_id"])))).name}


def play_leave(bench: Bench, request: Node) -> Node:
    """An admin or members themselves leave in a batch; the group's epochs belong to the answer here."""
    entries = tuple(
        LeavingMember(member_id=MemberId(str(entry["member_id"])), instance_id=InstanceId(str(entry["instance_id"])))
        for entry in cast("list[Node]", request["members"])
    )
    outcome = bench.tell(RemoveMembers(bench.ref(), LeaveGroup(group_id=GROUP, members=entries)))
    reply = outcome.replies[0][1]
    assert isinstance(reply, LeaveGroupReply)
    members: list[Json] = [
        {"member_id": left.member_id, "instance_id": left.instance_id, "error": left.error.name}
        for left in reply.members
    ]
    return {
        "error": reply.error.name,
        "members": members,
        "group_epoch": bench.group.epoch,
        "assignment_epoch": bench.group.assignment_epoch,
    }


def play_commit(bench: Bench, request: Node) -> Node:
    """A member commits foo-0."""
    commit = OffsetCommit(
        group_id=GROUP,
        generation=int(str(request["generation"])),
        member_id=MemberId(str(request["member_id"])),
        instance_id=InstanceId(str(request["instance_id"])),
        topics=(TopicCommit(name=TopicName("foo"), partitions=(PartitionCommit(partition=0, offset=10),)),),
    )
    reply = bench.tell(BeginCommit(bench.ref(), commit)).replies[0][1]
    return {"error": reply.code.name if isinstance(reply, CommitRefused) else "NONE"}


MACHINE_FIELDS = {"leader", "members", "level"}
"""Fields of a classic answer that the member's machine makes."""


@pytest.mark.parametrize(("place", "scenario", "step"), PLAYED)
def test_static_step_decided_like_kafka(place: Step, scenario: Node, step: Node) -> None:
    """Each step, alone on the initial state, is decided as Kafka does, except where the table above says otherwise."""
    request = cast("Node", step["request"])
    seen = play(begin(scenario), request)
    stated = cast("Node", step["kafka"])
    hidden = set() if request["api"] == "LeaveGroup" else MACHINE_FIELDS
    expected = {key: value for key, value in stated.items() if key not in hidden} | dict(ON_PURPOSE.get(place, {}))
    assert {key: seen.get(key) for key in expected} == expected


def test_steps_left_out_exactly_those_of_machine_and_conversion() -> None:
    """No step is skipped in silence, and no entry of the tables is stale."""
    places = {place for place, _, _ in STEPS}
    assert places >= MACHINE_STEPS.keys() | NEEDS_CONVERSION.keys() | ON_PURPOSE.keys()
    assert len(PLAYED) == len(places) - len(MACHINE_STEPS) - len(NEEDS_CONVERSION)
