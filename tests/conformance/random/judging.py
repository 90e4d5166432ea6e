"""What is known to differ on purpose, as rules over what differs at one step, and a verdict on a whole comparison.

It knows the entries of docs/reference/deviations.md that random sequences meet, and must not forgive by area: a rule
names the field, both values or the state in which they differ.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.conformance.random.comparing import Found, differences
from tests.conformance.random.older import OLDER_RULES
from tests.conformance.random.scenes import Rule, Scene
from tests.conformance.random.sequences import LEFT, Course, Drawn, Grow
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call
from tests.support.conformance.transcripts import ABSENT
from translators.dialects.errors import ErrorCode

CONSUMER_STATE = "consumer view.groups.state"
SECOND_ID = re.compile(r" [2-9]>$")
"""How an id is named of a client that had one before."""
PARTITIONS = re.compile(r"(?<=[\[ ])\d+(?=[,\]])")
"""Numbers in lists."""
NO_MATCH = {"six"}
"""Patterns that are good and match no whole name."""
TARGETS = ("assignment_epoch", "state", "target_assignment")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is left unexplained, which rules explained the rest, and how many steps were compared."""

    unexplained: tuple[Found, ...]
    rules: Mapping[str, int]
    steps: int


def superseded(scene: Scene, one: Found) -> bool:
    """K1.52, K1.59: whoever waits is answered."""
    call = scene.call(one.asked)
    if call is None or call.api not in {"JoinGroup", "SyncGroup"} or scene.answer(scene.kafka, one.asked):
        return False
    return scene.answer(scene.ours, one.asked).get("error") in {"NOT_COORDINATOR", "UNKNOWN_MEMBER_ID"}


def computed_at_once(scene: Scene, one: Found) -> bool:
    """K2.26, K2.50, K2.61: Kafka waits for the next heartbeat."""
    if scene.group(scene.kafka, "consumer").get("state") not in {"Assigning", "Empty"}:
        return False
    call = scene.call(one.asked)
    views = one.path.startswith("consumer view") or (call is not None and call.api == "ConsumerGroupDescribe")
    return views and any(word in one.leaf() for word in TARGETS)


def topics_seen_at_once(scene: Scene, one: Found) -> bool:
    """K2.24: Kafka looks at new topics with the next heartbeat."""
    grown = [at for at in range(1, scene.step + 1) if isinstance(scene.drawn.moves[at - 1], Grow)]
    if not grown or not one.path.startswith("consumer view"):
        return False
    since = range(grown[-1] + 1, scene.step + 1)
    heartbeats = [at for at in since if (call := scene.call(at)) is not None and call.api == "ConsumerGroupHeartbeat"]
    heard = any(scene.answer(scene.kafka, at).get("error") == "NONE" for at in heartbeats)
    return not heard and any(word in one.leaf() for word in (*TARGETS, "group_epoch"))


def topics_and_joiner_at_once(scene: Scene, one: Found) -> bool:
    """K2.24: new topics and a newcomer are one step of the epoch to Kafka, which sees both together, and two to us."""
    grown = [at for at in range(1, scene.step + 1) if isinstance(scene.drawn.moves[at - 1], Grow)]
    if not grown or not isinstance(one.kafka, int) or not isinstance(one.ours, int):
        return False
    since = range(grown[-1] + 1, scene.step)
    heard = any(scene.answer(scene.kafka, at).get("heartbeat_interval_ms") for at in since)
    return not heard and one.leaf().endswith("epoch") and one.ours == one.kafka + 1


def promised_left(scene: Scene, one: Found) -> bool:
    """K1.59: nobody who was only promised an id had a seat."""
    call = scene.call(scene.step)
    states = scene.group(scene.kafka, "classic").get("state"), scene.group(scene.ours, "classic").get("state")
    left = call is not None and call.api == "LeaveGroup" and one.asked == scene.step
    return left and states in {("PreparingRebalance", "Stable"), ("PreparingRebalance", "CompletingRebalance")}


def listed_at_once(scene: Scene, one: Found) -> bool:
    """The same in lists."""
    call = scene.call(one.asked)
    assigning = scene.group(scene.kafka, "consumer").get("state") == "Assigning"
    return assigning and call is not None and call.api == "ListGroups"


def own_seat(scene: Scene, one: Found) -> bool:
    """K2.20: a static member begins anew under its own id."""
    return scene.answer(scene.kafka, one.asked).get("error") == "UNRELEASED_INSTANCE_ID" and (
        scene.answer(scene.ours, one.asked).get("error") == "NONE"
    )


def seat_in_full_group(scene: Scene, one: Found) -> bool:
    """K1.13, K2.16, K4.3: a restart is no new member."""
    call = scene.call(one.asked)
    if call is None or not (call.fields.get("group_instance_id") or call.fields.get("instance_id")):
        return False
    refused = scene.answer(scene.kafka, one.asked).get("error") == "GROUP_MAX_SIZE_REACHED"
    return refused and scene.answer(scene.ours, one.asked).get("error") != "GROUP_MAX_SIZE_REACHED"


def goes_on_without_expelled(scene: Scene, one: Found) -> bool:
    """K1.12: who was turned away for size holds up nobody."""
    states = scene.group(scene.kafka, "classic").get("state"), scene.group(scene.ours, "classic").get("state")
    steps = range(1, scene.step + 1)
    refused = any(scene.answer(scene.kafka, at).get("error") == "GROUP_MAX_SIZE_REACHED" for at in steps)
    return refused and states[0] == "PreparingRebalance" and states[1] in {"CompletingRebalance", "Stable"}


def other_leader(scene: Scene, one: Found) -> bool:
    """K1.35, K1.61: hash order against the oldest seat."""
    kafka, ours = scene.answer(scene.kafka, one.asked), scene.answer(scene.ours, one.asked)
    return bool(kafka.get("leader") and ours.get("leader") and kafka["leader"] != ours["leader"])


def other_protocol(scene: Scene, one: Found) -> bool:
    """K1.38: hash order against the current, else the first by name."""
    kafka, ours = scene.group(scene.kafka, "classic"), scene.group(scene.ours, "classic")
    answers = scene.answer(scene.kafka, one.asked), scene.answer(scene.ours, one.asked)
    names = [one.get("protocol_name") for one in answers]
    shown = [group.get("protocol_data") for group in (kafka, ours)]
    return (all(shown) and shown[0] != shown[1]) or (all(names) and names[0] != names[1])


def kafka_waits(scene: Scene, one: Found) -> bool:
    """K1.20, K1.52: clients of Kafka wait until a timeout for ids that nobody uses; there is nothing to compare."""
    is_quiet = scene.kafka[scene.step - 1].settled.get("quiet", True)
    return one.path.startswith("settled") and LEFT not in one.path and not is_quiet


def fenced_late(scene: Scene, one: Found) -> bool:
    """Kafka reads a static member's old joins when its client has begun anew: they take the seat from it."""
    return scene.pipelined and one.path.startswith("settled.ended") and one.kafka == "FENCED_INSTANCE_ID"


def spare_by_chance(scene: Scene, one: Found) -> bool:
    """K9.1: who of two ids of one client was first got the spare partition, and keeps it; ids are made by chance."""
    if not one.path.startswith("settled.shares") or not isinstance(one.kafka, int) or not isinstance(one.ours, int):
        return False
    told = [str(each.answer.get("member_id")) for seen in scene.ours for each in seen.answers]
    return abs(one.kafka - one.ours) == 1 and any(SECOND_ID.search(word) for word in told)


def nobody_leads(scene: Scene, one: Found) -> bool:
    """K3.20: who leads a group that turned classic deals out anew in Kafka; here nobody does before a rebalance."""
    kinds = {course[scene.step - 1].settled.get("kind") for course in (scene.kafka, scene.ours)}
    if kinds != {"classic"} or not one.path.startswith(("settled.owned", "settled.shares")):
        return False
    asked = range(1, scene.step + 1)
    return any(
        scene.answer(scene.kafka, at).get("leader") and scene.answer(scene.ours, at).get("leader") == "" for at in asked
    )


def left_to_nobody(scene: Scene, one: Found) -> bool:
    """K2.4: to Kafka a new pattern that matches nothing is no news, and what its member had is nobody's."""
    kafka, ours = (course[scene.step - 1].settled for course in (scene.kafka, scene.ours))
    if not one.path.startswith(("settled.owned", "settled.shares")):
        return False
    owned = [set(map(str, rows)) if isinstance(rows := its.get("owned"), list) else set() for its in (kafka, ours)]
    calls = [call for at in range(1, scene.step + 1) if (call := scene.call(at)) is not None]
    has_changed = any(call.fields.get("subscribed_topic_regex") in NO_MATCH for call in calls)
    return has_changed and owned[0] < owned[1]


def uniform_by_chance(scene: Scene, one: Found) -> bool:
    """K9.3, K9.4: uniform deals by hash order in Kafka, here by ids; as many have as much of it."""
    groups = scene.group(scene.kafka, "consumer"), scene.group(scene.ours, "consumer")
    by_uniform = all(group.get("assignor") == "uniform" for group in groups)
    return by_uniform and "assignment" in one.path and target_sizes(groups[0]) == target_sizes(groups[1])


def target_sizes(group: Mapping[str, Value]) -> list[int]:
    """How many partitions members are to have, smallest first."""
    return sorted(len(PARTITIONS.findall(repr(row["target_assignment"]))) for row in rows_of(group.get("members")))


def rows_of(value: Value) -> list[Mapping[str, Value]]:
    """The entries of a list."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def no_common_protocol(scene: Scene, one: Found) -> bool:
    """K4.4: members of a consumer group need none here, where the coordinator computes."""
    refused = (one.kafka, one.ours) == ("INCONSISTENT_GROUP_PROTOCOL", "")
    return refused and one.path.startswith("settled.ended") and scene.ours[scene.step - 1].settled["kind"] == "consumer"


def another_owner(scene: Scene, one: Found) -> bool:
    """K5.11: a commit for what another member has."""
    call = scene.call(one.asked)
    commits = call is not None and call.api in {"OffsetCommit", "TxnOffsetCommit"}
    return (
        commits
        and one.leaf().endswith("error")
        and one.kafka in {"NONE", "OFFSET_METADATA_TOO_LARGE"}
        and (one.ours in {"STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"})
    )


def shown_to_old_eyes(scene: Scene, one: Found) -> bool:
    """K6.1: DescribeGroups before version 6 of a consumer group."""
    call = scene.call(one.asked)
    return (
        call is not None
        and call.api == "DescribeGroups"
        and call.version < 6
        and scene.group(scene.kafka, "consumer").get("error") == "NONE"
    )


RULES: tuple[Rule, ...] = (
    Rule(title="DescribeGroups up to version 5 shows a consumer group (K6.1)", applies=shown_to_old_eyes),
    Rule(title="Whoever waits is answered (K1.52, K1.59)", applies=superseded),
    Rule(title="A target is computed in the turn of the departure (K2.26, K2.50, K2.61)", applies=computed_at_once),
    Rule(title="Topics are looked at by the clock (K2.24)", applies=topics_seen_at_once),
    Rule(title="A target is computed in the turn of the departure, in lists (K2.26)", applies=listed_at_once),
    Rule(title="A static member begins anew under its own id (K2.20)", applies=own_seat, parts=True),
    Rule(title="A static member gets its seat in a full group (K1.13, K2.16)", applies=seat_in_full_group, parts=True),
    Rule(title="Who is turned away for size holds up nobody (K1.12)", applies=goes_on_without_expelled, parts=True),
    Rule(title="Ties between leaders (K1.35, K1.61)", applies=other_leader, parts=True),
    Rule(title="A promised id that leaves costs no rebalance (K1.59)", applies=promised_left, parts=True),
    Rule(
        title="Topics are looked at by the clock, before a joiner (K2.24)",
        applies=topics_and_joiner_at_once,
        parts=True,
    ),
    Rule(title="Kafka's group is not at rest yet (K1.20, K1.52)", applies=kafka_waits, parts=True),
    Rule(title="Spare partitions by ids that chance makes (K9.1)", applies=spare_by_chance, parts=True),
    Rule(title="A new pattern without match frees what its member had (K2.4)", applies=left_to_nobody, parts=True),
    Rule(title="Nobody leads a group that turned classic (K3.20)", applies=nobody_leads, parts=True),
    Rule(title="Ties of uniform (K9.3, K9.4)", applies=uniform_by_chance, parts=True),
    Rule(title="Kafka reads requests behind a parked one late", applies=fenced_late, parts=True),
    Rule(title="Members of a consumer group need no common protocol (K4.4)", applies=no_common_protocol, parts=True),
    Rule(title="Ties between protocols (K1.38)", applies=other_protocol, parts=True),
    Rule(
        title="A commit for a partition that another member has is refused (K5.11)", applies=another_owner, parts=True
    ),
)


def differing(drawn: Drawn, kafka: Course, ours: Course, *, pipelined: bool) -> list[Found]:
    """What is to be explained: all that differs, in mixed groups what differs in the end and what no client may hear.

    In mixed groups both sides go their own ways on purpose, step by step: who is called when is what the bridge is for.
    With pipelined requests they do too: Kafka reads nothing behind a request that waits, the bridge takes it up.
    """
    found = differences(kafka, ours)
    if drawn.kind not in LOOSE and not pipelined:
        return found
    in_the_end = (one for one in found if one.path.startswith("settled") and LEFT not in one.path)
    if drawn.kind == "classic":
        in_the_end = (one for one in in_the_end if not is_dealt(one))
    return sorted([*in_the_end, *unheard_of(drawn, ours), *left_unanswered(ours)], key=lambda one: one.step)


def is_dealt(one: Found) -> bool:
    """Whether this is what a leader dealt out, in whichever of the rebalances that the sequence has."""
    return one.path.startswith("settled.owned") or (
        one.path.startswith("settled.shares") and ABSENT not in {one.kafka, one.ours}
    )


def left_unanswered(ours: Course) -> Iterator[Found]:
    """Requests that wait though the group is at rest, whatever Kafka leaves (K1.52)."""
    for step, seen in enumerate(ours, 1):
        steps = seen.settled.get(LEFT)
        if steps and seen.settled["quiet"]:
            yield Found(step=step, asked=step, path=f"settled.{LEFT}", kafka="nothing", ours=str(steps))


def unheard_of(drawn: Drawn, ours: Course) -> Iterator[Found]:
    """Codes of the new protocol in answers to classic calls (K4.60), and connections that ended."""
    for step, seen in enumerate(ours, 1):
        for one in seen.answers:
            call = drawn.moves[one.asked - 1]
            leaks = isinstance(call, Call) and call.api in CLASSIC_CALLS and one.answer.get("error") in LEAKS
            if leaks or "closed" in one.answer:
                yield Found(
                    step=step, asked=one.asked, path="answer", kafka="what clients know", ours=str(dict(one.answer))
                )


LOOSE = {"mixed", "regex"}
CLASSIC_CALLS = {"JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"}
LEAKS = {
    code.name for code in ErrorCode if code >= ErrorCode.FENCED_MEMBER_EPOCH or code is ErrorCode.GROUP_ID_NOT_FOUND
}


def judge(drawn: Drawn, kafka: Course, ours: Course, *, pipelined: bool = False, older: bool = False) -> Verdict:
    """Go through what differs, step by step, until something is unexplained or the courses part."""
    known = (*OLDER_RULES, *RULES) if older else RULES
    rules: dict[str, int] = {}
    found = differing(drawn, kafka, ours, pipelined=pipelined)
    for step in sorted({one.step for one in found}):
        here = [one for one in found if one.step == step]
        scene = Scene(drawn=drawn, kafka=kafka, ours=ours, step=step, found=here, pipelined=pipelined)
        explained = [next((rule for rule in known if rule.applies(scene, one)), None) for one in here]
        for rule in explained:
            if rule is not None:
                rules[rule.title] = rules.get(rule.title, 0) + 1
        if any(rule is not None and rule.parts for rule in explained):
            return Verdict(unexplained=(), rules=rules, steps=step)
        left = tuple(one for one, rule in zip(here, explained, strict=True) if rule is None)
        if left:
            return Verdict(unexplained=left, rules=rules, steps=step)
    return Verdict(unexplained=(), rules=rules, steps=len(drawn.moves))
