"""The classic groups of the KIP-345 scenario file, set up and played on the engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from bridge.engine.apply import apply
from bridge.engine.classic.seats import refuse_join
from bridge.engine.describe import describe_classic_view
from bridge.engine.model import ClassicMember
from bridge.engine.records import (
    ClassicGroupCreated,
    ClassicGroupSynced,
    DeadlineSet,
    JoinParked,
    JoinPhaseCompleted,
    MemberIdPromised,
    RebalancePrepared,
    Record,
    SyncParked,
    SyncReceived,
)
from bridge.engine.settings import EngineSettings
from bridge.engine.state import join_key, session_key, sync_key
from tests.support.classic_bench import ClassicBench, commit_of
from tests.support.engine_bench import GROUP, IDENTITY, SETTINGS
from tests.support.sketches import whole
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    Protocol,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, RequestRef, TopicName, TopicPartition

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | bool | None"
Node: TypeAlias = Mapping[str, Json]

SESSION_MS = 45_000
REBALANCE_MS = 300_000
BEAT_MS = 40_000
PARKED = "parked"


def node_of(value: Json) -> Node:
    """A value that must be an object."""
    assert isinstance(value, Mapping)
    return value


def items_of(value: Json) -> list[Json]:
    """A value that must be a list."""
    assert isinstance(value, list)
    return value


def optional_text(value: Json) -> str | None:
    """A text or null."""
    return None if value is None else str(value)


def blob_of(names: Json) -> bytes:
    """What a leader writes for these partitions, or a member for these topics."""
    return ",".join(str(name) for name in items_of(names)).encode()


def names_of(blob: bytes) -> list[Json]:
    """The names in a blob."""
    return [*blob.decode().split(",")] if blob else []


def offers_of(names: Json, topics: Json) -> tuple[Protocol, ...]:
    """The protocols of a request with its subscription in each."""
    return tuple(Protocol(str(name), blob_of(topics)) for name in items_of(names))


class NoBlobs:
    """Classic groups have their bytes; nothing must be written for them."""

    def subscription(self, topics: tuple[TopicName, ...], owned: tuple[TopicPartition, ...]) -> bytes:
        """Never called."""
        raise AssertionError((topics, owned))

    def assignment(self, partitions: tuple[TopicPartition, ...]) -> bytes:
        """Never called."""
        raise AssertionError(partitions)


@dataclass(slots=True)
class Kip345World:
    """One scenario's group, the requests that are parked from the start, and the id that was issued last."""

    scenario: Node
    bench: ClassicBench = field(init=False)
    parked: dict[tuple[str, str], RequestRef] = field(default_factory=dict)
    issued: MemberId = MemberId("")

    def __post_init__(self) -> None:
        """Put the group into the scenario's initial state."""
        initial = node_of(self.scenario["initial"])
        most = int(str(initial.get("max_size", SETTINGS.group_max_size)))
        self.bench = ClassicBench(EngineSettings(group_max_size=most))
        if initial.get("exists", True):
            self._begin(initial)

    # ------------------------------------------------------------------ the initial state

    def _begin(self, initial: Node) -> None:
        generation = int(str(initial["generation"]))
        is_completing = initial.get("state") == "CompletingRebalance"
        members = tuple(self._members(initial))
        leader = MemberId(str(initial.get("leader", members[0].member_id)))
        self._write(ClassicGroupCreated(GROUP))
        self._write(
            ClassicGroupSynced(
                group_id=GROUP,
                generation=generation - is_completing,
                protocol_type="consumer",
                protocol_name="range",
                leader=leader,
                members=members,
            )
        )
        for member in members:
            self._write(DeadlineSet(session_key(GROUP, member.member_id), SESSION_MS))
        if "pending" in initial:
            promised = MemberId(str(initial["pending"]))
            self._write(MemberIdPromised(GROUP, promised))
            self._write(DeadlineSet(session_key(GROUP, promised), SESSION_MS))
        if is_completing:
            self._complete(generation, leader, [*items_of(initial["parked_sync"]), "3"])
        elif initial.get("state") == "PreparingRebalance":
            self._prepare(items_of(initial["parked_join"]))

    def _members(self, initial: Node) -> list[ClassicMember]:
        seats: list[tuple[str, str | None, bytes]] = []
        for name, told in node_of(initial["members"]).items():
            seat = told if isinstance(told, Mapping) else {"instance_id": told, "assignment": []}
            seats.append((name, optional_text(seat["instance_id"]), blob_of(seat["assignment"])))
        if "dynamic_member" in initial:
            seats.append((str(initial["dynamic_member"]), None, b""))
        return [
            ClassicMember(
                member_id=MemberId(name),
                instance_id=None if instance is None else InstanceId(instance),
                identity=IDENTITY,
                session_timeout_ms=SESSION_MS,
                rebalance_timeout_ms=REBALANCE_MS,
                protocols=offers_of(["range"], ["foo"]),
                assignment=assignment,
            )
            for name, instance, assignment in seats
        ]

    def _prepare(self, joining: list[Json]) -> None:
        self._write(RebalancePrepared(GROUP, voids_assignments=False))
        self._write(DeadlineSet(join_key(GROUP), REBALANCE_MS))
        for name in joining:
            ref = self.parked["JoinGroup", str(name)] = self.bench.bench.ref()
            self._write(JoinParked(GROUP, MemberId(str(name)), ref))

    def _complete(self, generation: int, leader: MemberId, syncing: list[Json]) -> None:
        self._write(RebalancePrepared(GROUP, voids_assignments=False))
        self._write(JoinPhaseCompleted(group_id=GROUP, generation=generation, protocol_name="range", leader=leader))
        self._write(DeadlineSet(sync_key(GROUP), REBALANCE_MS))
        for name in syncing:
            ref = self.parked["SyncGroup", str(name)] = self.bench.bench.ref()
            self._write(SyncReceived(GROUP, MemberId(str(name))))
            self._write(SyncParked(GROUP, MemberId(str(name)), ref))

    def _write(self, record: Record) -> None:
        apply(self.bench.bench.state, record)
        self.bench.bench.records.append(record)

    # ------------------------------------------------------------------ names

    def resolve(self, name: Json) -> MemberId:
        """The id that the file means: one of the initial state, or one that was issued meanwhile."""
        text = str(name)
        if text.startswith("<new of "):
            return self.bench.group.instances[InstanceId(text.removeprefix("<new of ").rstrip(">"))]
        is_new = text == "<new>" or (self.scenario["id"] == "follower-restart" and text == "4")
        return self.issued if is_new else MemberId(text)

    # ------------------------------------------------------------------ events

    def pass_event(self, text: str) -> None:
        """Do what an event says; clients that only stop or start do nothing."""
        if "session timeout" in text and "passes" in text:
            self._live(SESSION_MS - 1, without=MemberId("1"))
            self.bench.pass_time(1)
        elif "sync timer" in text:
            for member in self.bench.group.members.values():
                if member.member_id != "1":
                    self.bench.sync(member.member_id, member.instance_id)
            self._live(REBALANCE_MS)
        elif "rebalance timeout passes" in text:
            self._live(REBALANCE_MS)
        elif "loads the group" in text:
            self.bench.restart()
        else:
            assert "without LeaveGroup" in text or "sends no LeaveGroup" in text, f"unknown event: {text}"

    def _live(self, milliseconds: int, without: MemberId | None = None) -> None:
        """Time passes; everybody heartbeats, except one who is gone for good."""
        left = milliseconds
        while left:
            step = min(left, BEAT_MS)
            self.bench.pass_time(step)
            left -= step
            for member in tuple(self.bench.group.members.values()):
                if member.member_id != without:
                    self.bench.beat(member.member_id, member.instance_id)

    # ------------------------------------------------------------------ requests

    def play(self, request: Node, version: int) -> Json:
        """Carry out a request as that version makes it, and return the answer in the file's form."""
        api = str(request["api"])
        if api == "JoinGroup":
            return self._join(request, version)
        if api == "SyncGroup":
            return self._sync(request)
        if api == "LeaveGroup":
            return self._leave(request)
        if api == "DescribeGroups":
            return self._describe()
        instance, generation = optional_text(request["instance_id"]), int(str(request["generation"]))
        member = self.resolve(request["member_id"])
        if api == "Heartbeat":
            return {"error": self.bench.beat(member, instance, generation).name}
        assert api == "OffsetCommit", f"the scenario file has an API that is not known here: {api}"
        return {"error": self.bench.commit(commit_of(member, generation, instance)).name}

    def _join(self, request: Node, version: int) -> Json:
        instance = optional_text(request["instance_id"])
        ref = self.bench.join(
            JoinGroup(
                group_id=GROUP,
                member_id=self.resolve(request["member_id"]),
                instance_id=None if instance is None else InstanceId(instance),
                protocol_type=str(request["protocol_type"]),
                protocols=offers_of(request["protocols"], request["subscription"]),
                session_timeout_ms=int(str(request["session_timeout_ms"])),
                rebalance_timeout_ms=int(str(request["rebalance_timeout_ms"])),
                needs_member_id=version >= 4,
                skips_assignment=version >= 9,
            )
        )
        group = self.bench.bench.state.classic_groups.get(GROUP)
        if self.bench.joined(ref) is None and group is not None and group.delay is not None:
            self.bench.pass_time(SETTINGS.group_initial_rebalance_delay_ms)
        reply = self.bench.joined(ref)
        if reply is None:
            self.issued = next(member for member, parked in self.bench.group.joining.items() if parked == ref)
            return PARKED
        if reply.error in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.issued = reply.member_id
        return self._joined(reply)

    def _joined(self, reply: JoinGroupReply) -> Node:
        members: list[Json] = [*sorted(str(member.instance_id) for member in reply.members)]
        return {
            "error": reply.error.name,
            "member_id": reply.member_id,
            "generation": reply.generation,
            "leader": reply.leader,
            "members": members,
            "skip_assignment": reply.skip_assignment,
        }

    def _sync(self, request: Node) -> Json:
        told = request["assignments"]
        assigns = {str(name): blob_of(blob) for name, blob in (told if isinstance(told, Mapping) else {}).items()}
        ref = self.bench.sync(
            self.resolve(request["member_id"]),
            optional_text(request["instance_id"]),
            assigns=assigns,
            generation=int(str(request["generation"])),
        )
        reply = self.bench.synced(ref)
        return PARKED if reply is None else {"error": reply.error.name, "assignment": names_of(reply.assignment)}

    def _leave(self, request: Node) -> Json:
        if "members" not in request:
            return {"error": self.bench.leave((str(request["member_id"]), None))[0].name}
        entries = [node_of(entry) for entry in items_of(request["members"])]
        asked = [(str(entry["member_id"]), optional_text(entry["instance_id"])) for entry in entries]
        codes = self.bench.leave(*asked)
        members: list[Json] = [
            {"member_id": member, "instance_id": instance, "error": code.name}
            for (member, instance), code in zip(asked, codes, strict=True)
        ]
        return {"error": "NONE", "members": members}

    def _describe(self) -> Json:
        shown = whole(describe_classic_view(self.bench.bench.state, GROUP, NoBlobs()))
        members: list[Json] = [
            {"member_id": member.member_id, "instance_id": member.instance_id} for member in shown.members
        ]
        return {"error": shown.error.name, "members": members}

    # ------------------------------------------------------------------ what can be seen afterwards

    def state(self) -> Node:
        """The group in the file's form."""
        group = self.bench.group
        members: dict[str, Json] = {
            member.member_id: {"instance_id": member.instance_id, "assignment": names_of(member.assignment)}
            for member in group.members.values()
        }
        static_map: dict[str, Json] = dict(group.instances.items())
        return {
            "type": "classic",
            "state": group.phase.value,
            "generation": group.roster.generation,
            "protocol_type": group.roster.protocol_type,
            "protocol": group.roster.protocol_name,
            "leader": group.roster.leader,
            "static_map": static_map,
            "members": members,
        }

    def heartbeats_of_others(self, instance: Json) -> set[str]:
        """The codes that everybody but this instance gets for a heartbeat now."""
        others = [one for one in self.bench.group.members.values() if one.instance_id != instance]
        return {self.bench.beat(one.member_id, one.instance_id).name for one in others}

    def answer_to_parked(self, api: str, member: str) -> Json:
        """What a request was answered that was parked from the start."""
        reply = self.bench.replies.get(self.parked[api, member])
        if isinstance(reply, JoinGroupReply):
            assert reply == refuse_join(reply.error, reply.member_id)
            return {"error": reply.error.name, "member_id": reply.member_id}
        assert reply is None or isinstance(reply, SyncGroupReply)
        return PARKED if reply is None else {"error": reply.error.name}


def scenarios_of(document: Json, section: str) -> list[Node]:
    """The scenarios of one section of the file."""
    found = cast("list[Node]", node_of(document)["scenarios"])
    return [scenario for scenario in found if scenario["section"] == section]
