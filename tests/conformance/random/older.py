"""Sequences on Kafka 3.9.1: what of them it can't read, and where its classic groups differ from 4.3's on the wire.

It knows the table at the end of K11.4, and must not know which of both the bridge should be like: that is 4.3.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.conformance.random.comparing import Found
from tests.conformance.random.scenes import Rule, Scene
from tests.conformance.random.sequences import Drawn, Move
from tests.support.conformance.steps import Call

VERSIONS_MAX: Mapping[str, int] = {"OffsetCommit": 9, "OffsetFetch": 9, "DescribeGroups": 5}
UNKNOWN = {"ConsumerGroupDescribe", "ConsumerGroupHeartbeat"}


def readable(drawn: Drawn) -> Drawn:
    """The sequence without calls that 3.9.1 does not offer."""
    return replace(drawn, moves=tuple(move for move in drawn.moves if _is_offered(move)))


def _is_offered(move: Move) -> bool:
    if not isinstance(move, Call):
        return True
    return move.api not in UNKNOWN and move.version <= VERSIONS_MAX.get(move.api, move.version)


def shows_no_assignment(scene: Scene, one: Found) -> bool:
    """Row 1: outside Stable nothing is shown."""
    call = scene.call(one.asked)
    views = one.path.startswith("classic view") or (call is not None and call.api == "DescribeGroups")
    return views and "assignment" in one.leaf() and scene.group(scene.kafka, "classic").get("state") != "Stable"


def other_code_for_nobody(scene: Scene, one: Found) -> bool:
    """Row 4: a commit with a generation in a group that nobody knows."""
    call = scene.call(one.asked)
    commits = call is not None and call.api == "OffsetCommit" and call.version == VERSIONS_MAX["OffsetCommit"]
    return commits and (one.kafka, one.ours) == ("ILLEGAL_GENERATION", "GROUP_ID_NOT_FOUND")


def forgets_simple_group(scene: Scene, one: Found) -> bool:
    """Row 5: a group of offsets only goes with its last one."""
    states = scene.group(scene.kafka, "classic").get("state"), scene.group(scene.ours, "classic").get("state")
    apis = {call.api for at in range(1, scene.step + 1) if (call := scene.call(at)) is not None}
    return states == ("Dead", "Empty") and "OffsetDelete" in apis


def does_not_trim(scene: Scene, one: Found) -> bool:
    """Row 6: a state with a space before it is none."""
    call = scene.call(one.asked)
    states = call.fields.get("states_filter") if call is not None and call.api == "ListGroups" else None
    return isinstance(states, list) and any(str(state) != str(state).strip() for state in states)


def never_answers(scene: Scene, one: Found) -> bool:
    """Row 7: an OffsetFetch of no group."""
    call = scene.call(one.asked)
    return call is not None and call.api == "OffsetFetch" and not call.fields.get("groups", "some")


OLDER_RULES: tuple[Rule, ...] = (
    Rule(title="3.9 shows assignments of stable groups only (K11.4)", applies=shows_no_assignment),
    Rule(title="3.9 has another code for commits to unknown groups (K11.4)", applies=other_code_for_nobody),
    Rule(title="3.9 forgets a simple group with its last offset (K11.4)", applies=forgets_simple_group, parts=True),
    Rule(title="3.9 does not trim states (K11.4)", applies=does_not_trim),
    Rule(title="3.9 never answers an OffsetFetch of no group (K11.4)", applies=never_answers, parts=True),
)
