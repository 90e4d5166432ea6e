"""The scenarios in which a group changes its type, step by step on the engine: online migration and downgrade.

It knows the scenario files' form. What a classic client asks in a consumer group reaches the engine as its machine
asks: a JoinGroup as a heartbeat that tells what is owned, a Heartbeat and a SyncGroup not at all.
"""

from collections.abc import Mapping
from typing import cast

import pytest

from bridge.engine.apply import apply
from bridge.engine.commands import BecomeClassic, ClassicHeartbeat, ClassicJoin, ClassicLeave, Speaks
from bridge.engine.model import ClassicMember, Phase
from bridge.engine.outcome import DowngradeDue, GroupDowngraded, TargetChanged
from bridge.engine.records import ClassicGroupCreated, ClassicGroupSynced
from bridge.engine.settings import EngineSettings
from tests.conformance.test_kip345_scenarios import begin as begin_static
from tests.conformance.test_kip345_scenarios import play as play_static
from tests.conformance.test_kip345_scenarios import scenarios as static_scenarios
from tests.conformance.test_kip848_scenarios import (
    NEEDS_CONVERSION,
    RUNS,
    Json,
    Node,
    begin,
    named,
    number,
    partitions_of,
    request_of,
    run_name,
    scripted,
    seen_answer,
    seen_state,
    shifted,
)
from tests.support.classic_bench import join_of
from tests.support.conversion_world import protocols_of
from tests.support.engine_bench import GROUP, IDENTITY, Bench, ScriptedAssignor, beat_request, parts, topic
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    LeavingMember,
)
from translators.dialects.consumer_protocol import decode_assignment, encode_assignment
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import InstanceId, MemberId, TopicName, TopicPartition

LIKE_A_BROKER = EngineSettings(group_begins_classic=True, departure_wait_ms=0)
MIGRATIONS = [
    pytest.param(run, id=str(run["variant"])) for scenario, run in RUNS if scenario["id"] == "online-migration"
]
DOWNGRADE = next((scenario, run) for scenario, run in RUNS if scenario["id"] == "downgrade-last-consumer-member-leaves")
STATIC_DOWNGRADE = next(one for one in static_scenarios() if one["id"] == "consumer-group-downgrade-by-static-join")

GENERATION = 22
"""The generation of the classic group that is upgraded."""
EPOCH_SHIFT = {"static-eager": -1}
"""A static member that comes back under the other protocol moves no epoch, since nothing else changes (Kafka's moves
because it recomputes what it knows of topics, K3.9): all later epochs of the run are one lower, and the group is Stable
at once.
"""

AFTER_LEAVING: Node = {
    "group_state": "Reconciling",
    "assignment_epoch": 24,
    "target": {"A": ["foo-0", "foo-1", "foo-3"], "C": ["foo-2", "foo-4", "foo-5"]},
}
"""A departure brings the new target at once, not with the next JoinGroup (deviation from K2.26 and K4.41): so until the
step in which Kafka has it too.
"""


def names_of(names: Json) -> frozenset[TopicPartition]:
    """Partitions by name."""
    pairs = (str(name).rsplit("-", 1) for name in cast("list[Json]", names))
    return frozenset(TopicPartition(TopicName(name), int(index)) for name, index in pairs)


def begin_classic(run: Node) -> Bench:
    """A bench with the run's classic group; a member's id is its client's name."""
    initial = cast("Node", run["initial"])
    script = scripted(run)
    if str(run["variant"]) in EPOCH_SHIFT:
        del script.targets[0]
    bench = Bench(settings=LIKE_A_BROKER, assignors={"uniform": script}, topics=[topic("foo", 6)])
    apply(bench.state, ClassicGroupCreated(GROUP))
    apply(
        bench.state,
        ClassicGroupSynced(
            group_id=GROUP,
            generation=number(initial, "generation"),
            protocol_type="consumer",
            protocol_name=protocol_of(run),
            leader=MemberId("C"),
            members=tuple(
                member_of(name, node, run) for name, node in cast("Mapping[str, Node]", initial["members"]).items()
            ),
        ),
    )
    return bench


def protocol_of(run: Node) -> str:
    """The protocol that all clients of a run offer."""
    return "cooperative-sticky" if "cooperative" in str(run["variant"]) else "range"


def member_of(name: str, node: Node, run: Node) -> ClassicMember:
    """A seat of the classic group with its assignment; a static client comes back under another id."""
    instance = node.get("instance_id")
    share = names_of(node["assignment"])
    return ClassicMember(
        member_id=MemberId(name if instance is None else f"{name}-before"),
        instance_id=None if instance is None else InstanceId(str(instance)),
        identity=IDENTITY,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        protocols=protocols_of((protocol_of(run),), share if "cooperative" in str(run["variant"]) else None),
        assignment=encode_assignment(share),
    )


def leave(bench: Bench, request: Node) -> None:
    """A member leaves a group of whichever type."""
    members = tuple(
        LeavingMember(member_id=MemberId(str(entry["member_id"]))) for entry in cast("list[Node]", request["members"])
    )
    reply = bench.tell(ClassicLeave(bench.ref(), LeaveGroup(group_id=GROUP, members=members))).replies[0][1]
    assert isinstance(reply, LeaveGroupReply)
    assert [one.error for one in reply.members] == [ErrorCode.NONE]


def play(bench: Bench, step: Node, shift: int) -> None:
    """One step of a migration, and its answer."""
    request, place = cast("Node", step["request"]), f"step {step['n']}"
    match request["api"]:
        case "LeaveGroup":
            leave(bench, request)
        case "ConsumerGroupHeartbeat":
            answer = seen_answer(bench.ask(request_of(request, shift)))
            assert answer == shifted(cast("Node", step["response"]), shift), place
        case "JoinGroup":
            member = str(request["member"])
            asked = beat_request(member, bench.current(member).epoch, partitions_of(request["owned"]))
            answered = bench.ask(asked, Speaks.CLASSIC).reply
            stated = cast("Node", step["response"])
            assert (answered.error.name, answered.member_epoch) == (
                stated["error"],
                number(stated, "generation") + shift,
            ), place
        case "SyncGroup":
            held = bench.assigned(str(request["member"]))
            assert named(held) == sorted(cast("list[str]", cast("Node", step["response"])["assignment"])), place
        case other:
            assert other == "Heartbeat", f"an API that is not known here: {other}"


def seen_classic(bench: Bench) -> Node:
    """A classic group in the file's form."""
    group = bench.state.classic_groups[GROUP]
    members: dict[str, Json] = {}
    for member_id, member in group.members.items():
        share = decode_assignment(member.assignment).partitions
        members[member_id] = {"assignment": [f"{one.topic}-{one.partition}" for one in sorted(share)]}
    return {
        "type": "classic",
        "group_state": group.phase.value,
        "generation": group.roster.generation,
        "members": members,
    }


def expected_state(state: Node, shift: int) -> Json:
    """A consumer group as it shall be after a step, in the file's form."""
    if state["group_state"] == "Assigning":
        state = {**state, **AFTER_LEAVING}
    if not shift:
        return shifted(state, 0)
    is_first = number(state, "group_epoch") == GENERATION + 1
    return lowered({**state, "group_state": "Stable"} if is_first else shifted(state, 0))


def lowered(node: Json) -> Json:
    """The same with every epoch that came after the upgrade one lower."""
    if not isinstance(node, Mapping):
        return node
    return {
        key: value - 1 if key.endswith("epoch") and isinstance(value, int) and value > GENERATION else lowered(value)
        for key, value in node.items()
    }


@pytest.mark.parametrize("run", MIGRATIONS)
def test_online_migration_played_like_kafka(run: Node) -> None:
    """Every step gives Kafka's answer and state, from the classic group on, except where a table says otherwise."""
    bench = begin_classic(run)
    shift = EPOCH_SHIFT.get(str(run["variant"]), 0)
    for step in cast("list[Node]", run["steps"]):
        play(bench, step, shift)
        state = cast("Node", step["state"])
        if state["type"] == "classic":
            assert seen_classic(bench) == state, f"state after step {step['n']}"
        else:
            assert seen_state(bench) == expected_state(state, shift), f"state after step {step['n']}"


@pytest.mark.parametrize("run", MIGRATIONS)
def test_upgrade_tells_nobody_whose_target_stays(run: Node) -> None:
    """A comes back with what it had: B and C hear of no change at all, where Kafka makes both join again (K4.30)."""
    bench = begin_classic(run)
    shift = EPOCH_SHIFT.get(str(run["variant"]), 0)
    for step in cast("list[Node]", run["steps"]):
        play(bench, step, shift)
        if cast("Node", step["request"])["api"] == "ConsumerGroupHeartbeat":
            break
    told = [notice for notice in bench.outcome.notices if isinstance(notice, TargetChanged)]
    assert {member for notice in told for member in notice.member_ids} <= {"A"}
    assert (bench.assigned("B"), bench.assigned("C")) == (parts(3, 4), parts(2, 5))


def seats(bench: Bench, generation: int) -> tuple[ClassicSeat, ...]:
    """The seats of all members as their machines know them."""
    return tuple(
        ClassicSeat(
            member_id=member_id,
            instance_id=member.subscription.instance_id,
            identity=IDENTITY,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=300_000,
            protocols=protocols_of(("range",), None),
            generation=generation,
            using=frozenset(TopicPartition(TopicName("foo"), one.partition) for one in member.current.assigned),
            session_deadline_ms=45_000,
        )
        for member_id, member in bench.group.members.items()
    )


def beat_classic(bench: Bench, member: str, generation: int) -> ErrorCode:
    """A Heartbeat in the classic group."""
    member_id = MemberId(member)
    request = Heartbeat(GROUP, generation, member_id, bench.state.classic_groups[GROUP].members[member_id].instance_id)
    reply = bench.tell(ClassicHeartbeat(bench.ref(), request)).replies[0][1]
    assert isinstance(reply, HeartbeatReply)
    return reply.error


def test_downgrade_ends_as_classic_group_and_calls_only_who_gains() -> None:
    """Kafka turns classic at once and makes everybody join again (K3.26); here B and C take over A's partitions first,
    then the group turns classic, Stable, in the generation each of them knows.
    """
    scenario, run = DOWNGRADE
    bench = begin(scenario, run)
    bench.state.settings = LIKE_A_BROKER
    script = ScriptedAssignor(targets=[{"B": parts(0, 3, 4), "C": parts(1, 2, 5)}])
    bench.state.assignors = {"uniform": script}
    bench.leave("A")
    assert DowngradeDue(GROUP) not in bench.outcome.notices
    for member in ("B", "C"):
        bench.ask(beat_request(member, 25), Speaks.CLASSIC)
    assert DowngradeDue(GROUP) in bench.outcome.notices
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=seats(bench, 25)))
    assert seen_classic(bench) == {
        "type": "classic",
        "group_state": "Stable",
        "generation": 25,
        "members": {"B": {"assignment": ["foo-0", "foo-3", "foo-4"]}, "C": {"assignment": ["foo-1", "foo-2", "foo-5"]}},
    }
    assert [beat_classic(bench, member, 25) for member in ("B", "C")] == [ErrorCode.NONE] * 2


def test_classic_rebalance_after_a_downgrade_goes_one_generation_further() -> None:
    """Steps 2 to 4 of Kafka's run, once somebody has a reason: 27, a parked JoinGroup, generation 26."""
    scenario, run = DOWNGRADE
    bench = begin(scenario, run)
    bench.state.assignors = {"uniform": ScriptedAssignor(targets=[{"B": parts(0, 3, 4), "C": parts(1, 2, 5)}])}
    bench.leave("A")
    # An operator does not wait until everybody has its target.
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=seats(bench, 25)))
    assert bench.state.classic_groups[GROUP].phase is Phase.PREPARING_REBALANCE
    assert beat_classic(bench, "B", 25) is ErrorCode.REBALANCE_IN_PROGRESS
    replies = [
        reply
        for member in ("B", "C")
        for _, reply in bench.tell(
            ClassicJoin(ref=bench.ref(), request=join_of(member), identity=IDENTITY, fresh_id=MemberId("none"))
        ).replies
    ]
    assert [reply.generation for reply in replies if isinstance(reply, JoinGroupReply)] == [26, 26]


def test_last_native_seat_taken_by_a_classic_member_turns_the_group_classic() -> None:
    """Answered with the seat's epoch and partitions, then Stable, and nobody rebalances (K3.30 to K3.33)."""
    bench = begin_static(STATIC_DOWNGRADE)
    bench.state.settings = LIKE_A_BROKER
    join, sync = cast("list[Node]", STATIC_DOWNGRADE["steps"])
    answer = play_static(bench, cast("Node", join["request"]))
    stated = cast("Node", join["kafka"])
    assert {key: answer[key] for key in ("error", "generation", "member_id")} == {
        key: stated[key] for key in ("error", "generation", "member_id")
    }
    assert DowngradeDue(GROUP) in bench.outcome.notices
    bench.tell(BecomeClassic(ref=None, group_id=GROUP, seats=seats(bench, 7)))
    assert any(isinstance(notice, GroupDowngraded) for notice in bench.outcome.notices)
    group, state = bench.state.classic_groups[GROUP], cast("Node", join["state"])
    assert (group.phase.value, group.roster.generation) == (state["state"], state["generation"])
    assert group.instances == state["static_map"]
    share = decode_assignment(group.members[MemberId("<new>")].assignment).partitions
    assert share == names_of(cast("Node", sync["kafka"])["assignment"])
    assert [beat_classic(bench, str(member), 7) for member in group.members] == [ErrorCode.NONE] * 3


def test_every_run_that_converts_is_played_here() -> None:
    """No run is skipped in silence."""
    played = {("online-migration", str(param.id)) for param in MIGRATIONS} | {run_name(*DOWNGRADE)}
    assert played == NEEDS_CONVERSION.keys()
