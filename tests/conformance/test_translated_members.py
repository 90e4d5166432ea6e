"""Kafka's scenarios of consumer groups with classic members, played where machines and engine run together.

It knows the scenario files' form. What is compared is the bridge's contract: answers, targets, ownership and member
epochs, not generations, which are each member's own, and not rejoins, which only those get whose assignment changes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, cast

import pytest

from bridge.engine.assignors.interface import Assignment, AssignmentSpec
from tests.support.owned_group import GROUP, TOPIC, ClassicClient, ConsumerClient, OwnedGroup
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import decode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicId, TopicIdPartition, TopicPartition

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | bool | None"
Node: TypeAlias = Mapping[str, Json]
Names: TypeAlias = tuple[str, ...]

DATA = Path(__file__).parent / "data"
IDS = frozenset({"1", "2", "3", "4"})
NONE, CALLED = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


def scenario(name: str, scenario_id: str) -> Node:
    """One scenario of a file."""
    document = cast("Node", json.loads((DATA / name).read_text(encoding="utf-8")))
    return next(node for node in cast("list[Node]", document["scenarios"]) if node["id"] == scenario_id)


def numbers(names: Json) -> frozenset[TopicPartition]:
    """The file's partitions of its only topic, here of ours."""
    return frozenset(TopicPartition(TOPIC, int(str(name).rsplit("-", 1)[1])) for name in cast("list[Json]", names))


class ByClient:
    """Gives every client what the table says for those that are there; a client is the first letter of its seat."""

    name = "uniform"

    def __init__(self, full: Mapping[str, Json], others: Mapping[str, Json] | None = None) -> None:
        self._full = full
        self._others = others or {}

    def assign(self, spec: AssignmentSpec) -> Assignment:
        """Its share of the full table, or of the other one if that has exactly these clients."""
        clients = {member_id: self.client(member_id, member.instance_id) for member_id, member in spec.members.items()}
        table = self._others if self._others.keys() == set(clients.values()) else self._full
        return {
            member_id: frozenset(TopicIdPartition(TopicId(b"t" * 16), number) for _, number in numbers(table[client]))
            if client in table
            else frozenset()
            for member_id, client in clients.items()
        }

    @staticmethod
    def client(member_id: str, instance_id: str | None) -> str:
        """The client behind a member."""
        return (instance_id or member_id)[0].upper()


# ---------------------------------------------------------------- KIP-345, consumer groups with classic members


class Fleet:
    """The scenario's initial group, formed by real joins; `ids` maps the file's member ids to ours."""

    def __init__(self, node: Node) -> None:
        members = cast("Mapping[str, Node]", cast("Node", node["initial"])["members"])
        shares = {str(member["instance_id"]): member["assigned"] for member in members.values()}
        self.group = OwnedGroup(partitions=9, assignors={"uniform": ByClient(shares)})
        self.classic: dict[str, ClassicClient] = {}
        self.native: dict[str, ConsumerClient] = {}
        for name, member in members.items():
            seat = str(member["instance_id"])
            if member["protocol"] == "classic":
                self.classic[name] = ClassicClient(self.group, instance_id=seat)
                self.classic[name].join()
            else:
                self.native[name] = ConsumerClient(self.group, f"native-{name}", seat)
                assert self.native[name].beat() is NONE
        for _ in range(3):
            assert {client.beat() for client in self.clients.values()} == {NONE}
        self.ids = {name: client.member_id for name, client in self.clients.items()}
        self.epoch = self.group.owner.shard.groups[GROUP].epoch

    @property
    def clients(self) -> dict[str, ClassicClient | ConsumerClient]:
        """All of them by the file's member ids."""
        return {**self.classic, **self.native}

    def id_of(self, name: Json) -> MemberId:
        """Our id for one of the file."""
        return self.ids.get(str(name), MemberId(str(name)))

    def epoch_of(self, member_id: MemberId) -> int:
        """A member's epoch as the file would have it, where all began at 7."""
        return self.group.owner.shard.groups[GROUP].members[member_id].current.epoch - self.epoch + 7


def static_join(fleet: Fleet, request: Node) -> tuple[ErrorCode, JoinGroupReply]:
    """A classic client joins with the file's ids."""
    client = ClassicClient(fleet.group, instance_id=str(request["instance_id"]))
    client.member_id = fleet.id_of(request["member_id"])
    (ref,) = fleet.group.send(client.join_request())
    reply = fleet.group.answer(ref, JoinGroupReply)
    assert (reply.leader, reply.members) == ("", ())
    return reply.error, reply


STATIC = scenario("kip345-scenarios.json", "consumer-group-classic-static-join")
JOINS = [step for step in cast("list[Node]", STATIC["steps"]) if cast("Node", step["request"])["api"] == "JoinGroup"]


@pytest.mark.parametrize("step", JOINS, ids=lambda step: str(step["n"]))
def test_static_join_answered_like_kafka(step: Node) -> None:
    """Codes, ids and member epochs; who is replaced is fenced, and nobody else hears of it."""
    fleet, request, expected = Fleet(STATIC), cast("Node", step["request"]), cast("Node", step["kafka"])
    code, reply = static_join(fleet, request)
    assert code.name == expected["error"]
    if expected["member_id"] == "":
        assert reply.member_id == ""
        return
    assert reply.member_id not in fleet.ids.values()
    assert fleet.epoch_of(reply.member_id) == expected["generation"]
    seat = str(request["instance_id"])
    for name, client in fleet.clients.items():
        assert client.beat() is (ErrorCode.FENCED_INSTANCE_ID if client.instance_id == seat else NONE), name


def test_stale_incarnation_fenced_like_kafka() -> None:
    """Steps 6 and 7: Heartbeat and SyncGroup under another id than the seat's."""
    fleet, seat, stale = Fleet(STATIC), InstanceId("A"), MemberId("77")
    beat, sync = fleet.group.send(
        Heartbeat(GROUP, 7, stale, seat),
        SyncGroup(group_id=GROUP, generation=7, member_id=stale, instance_id=seat),
    )
    assert fleet.group.answer(beat, HeartbeatReply).error is ErrorCode.FENCED_INSTANCE_ID
    assert fleet.group.answer(sync, SyncGroupReply).error is ErrorCode.FENCED_INSTANCE_ID


def test_batch_leave_answered_like_kafka() -> None:
    """One move of the epoch for the batch; native members are removed too and ids are echoed (K11.4 on 4.40)."""
    node = scenario("kip345-scenarios.json", "consumer-group-batch-leave")
    fleet = Fleet(node)
    (step,) = cast("list[Node]", node["steps"])
    entries = cast("list[Node]", cast("Node", step["request"])["members"])
    leaving = tuple(
        LeavingMember(member_id=fleet.id_of(entry["member_id"]), instance_id=InstanceId(str(entry["instance_id"])))
        for entry in entries
    )
    (ref,) = fleet.group.send(LeaveGroup(group_id=GROUP, members=leaving))
    reply = fleet.group.answer(ref, LeaveGroupReply)
    assert [member.error.name for member in reply.members] == [
        "NONE",
        "NONE",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
    ]
    assert fleet.group.owner.shard.groups[GROUP].epoch == fleet.epoch + 1
    assert fleet.native["4"].beat() is fleet.classic["3"].beat() is NONE


def test_last_native_seat_taken_by_a_classic_member_disturbs_nobody() -> None:
    """The downgrade's story without the conversion: the newcomer syncs to what the seat had, at the seat's epoch."""
    node = scenario("kip345-scenarios.json", "consumer-group-downgrade-by-static-join")
    fleet = Fleet(node)
    join, sync = cast("list[Node]", node["steps"])
    code, reply = static_join(fleet, cast("Node", join["request"]))
    assert (code, fleet.epoch_of(reply.member_id)) == (NONE, cast("Node", join["kafka"])["generation"])
    (ref,) = fleet.group.send(
        SyncGroup(group_id=GROUP, generation=reply.generation, member_id=reply.member_id, instance_id=InstanceId("B"))
    )
    assignment = fleet.group.answer(ref, SyncGroupReply).assignment
    assert decode_assignment(assignment).partitions == numbers(cast("Node", sync["kafka"])["assignment"])
    assert {client.beat() for client in fleet.classic.values()} == {NONE}


# ---------------------------------------------------------------- KIP-848, online migration


class Migration:
    """A, B and C as classic members who come back one by one, by the steps of a run."""

    def __init__(self, run: Node) -> None:
        self.targets = cast("Mapping[str, Mapping[str, Json]]", run["targets"])
        assignor = ByClient(self.targets["23"], self.targets["24"])
        self.group = OwnedGroup(assignors={"uniform": assignor})
        self.clients: dict[str, ClassicClient | ConsumerClient] = {}
        self.calls: list[str] = []
        initial = cast("Mapping[str, Node]", cast("Node", run["initial"])["members"])
        style = "cooperative-sticky" if "cooperative" in str(run["variant"]) else "range"
        for name, member in initial.items():
            seat = member.get("instance_id")
            client = ClassicClient(self.group, style, None if seat is None else str(seat))
            if seat is None:
                client.member_id = MemberId(name)
            client.join()
            self.clients[name] = client

    def owned(self, name: str) -> frozenset[TopicPartition]:
        """What a client may be using."""
        client = self.clients.get(name)
        if client is None:
            return frozenset()
        return client.owned if isinstance(client, ClassicClient) else client.assigned

    def play(self, request: Node) -> None:
        """One step, unless it is a rejoin of a member that the bridge did not call."""
        name = str(request.get("member", ""))
        match request["api"]:
            case "LeaveGroup":
                (entry,) = cast("list[Node]", request["members"])
                self._leave(str(entry["member"]))
            case "ConsumerGroupHeartbeat":
                self._beat_native(name, request)
            case "Heartbeat":
                self._beat_classic(name)
            case other:
                assert other in ("JoinGroup", "SyncGroup"), f"an API that is not known here: {other}"

    def _leave(self, name: str) -> None:
        leaving = LeavingMember(member_id=self.clients.pop(name).member_id)
        (ref,) = self.group.send(LeaveGroup(group_id=GROUP, members=(leaving,)))
        assert self.group.answer(ref, LeaveGroupReply).members[0].error is NONE

    def _beat_native(self, name: str, request: Node) -> None:
        client = self.clients.get(name)
        if not isinstance(client, ConsumerClient):
            seat = request.get("instance_id")
            client = self.clients[name] = ConsumerClient(
                self.group, f"{name}-native", None if seat is None else str(seat)
            )
        assert client.beat() is NONE

    def _beat_classic(self, name: str) -> None:
        """The bridge calls a member exactly if its own assignment changes, and it joins at once."""
        client = self.clients[name]
        assert isinstance(client, ClassicClient)
        target = self.group.owner.shard.groups[GROUP].target[client.member_id]
        changes = self.group.owner.catalog.to_names(target) != client.owned
        assert client.beat() is (CALLED if changes else NONE)
        if changes:
            self.calls.append(name)
            client.join()

    def targets_now(self) -> dict[str, frozenset[TopicPartition]]:
        """The target by client."""
        group, catalog = self.group.owner.shard.groups[GROUP], self.group.owner.catalog
        ids = {client.member_id: name for name, client in self.clients.items()}
        return {ids[member_id]: catalog.to_names(share) for member_id, share in group.target.items()}


MIGRATION = scenario("kip848-scenarios.json", "online-migration")
RUNS = cast("list[Node]", cast("Node", MIGRATION["kafka"])["run"])


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run["variant"]))
def test_online_migration_ends_like_kafka_with_fewer_rejoins(run: Node) -> None:
    """Targets after every step, no partition with two owners, the same end; only C, whose share changes, is called."""
    migration = Migration(run)
    for step in cast("list[Node]", run["steps"]):
        migration.play(cast("Node", step["request"]))
        state = cast("Node", step["state"])
        if state["type"] == "consumer" and len(migration.clients) > 1:
            expected = cast("Mapping[str, Json]", state["target"])
            if int(str(state["assignment_epoch"])) == int(str(state["group_epoch"])):
                seen = migration.targets_now()
                assert seen == {name: numbers(expected[name]) for name in seen}, f"step {step['n']}"
        owned = [partition for name in "ABC" for partition in migration.owned(name)]
        assert len(owned) == len(set(owned)), f"two owners after step {step['n']}"
    final = cast("Mapping[str, Node]", cast("Node", cast("list[Node]", run["steps"])[-1]["state"])["members"])
    assert {name: migration.owned(name) for name in final} == {
        name: numbers(member["assigned"]) for name, member in final.items()
    }
    group = migration.group.owner.shard.groups[GROUP]
    assert {member.current.epoch for member in group.members.values()} == {group.assignment_epoch}
    assert migration.calls == ["C", "C"]
