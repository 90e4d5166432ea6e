"""Sequences on Kafka 3.9.1: what of them it can't read, and where its classic groups differ from 4.3's on the wire.

It knows the table at the end of K11.4, and must not know which of both the bridge should be like: that is 4.3.
"""

from collections.abc import Mapping
from dataclasses import replace

from tests.conformance.random.comparing import Found
from tests.conformance.random.rules import IN_REBALANCE
from tests.conformance.random.scenes import Rule, Scene, rows_of
from tests.conformance.random.sequences import Drawn, Move
from tests.support.conformance.steps import Call
from tests.support.conformance.transcripts import ABSENT

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
    hidden = views and "assignment" in one.leaf() and one.kafka in {"", ABSENT}
    return hidden and scene.states("classic")[0] in IN_REBALANCE


def other_code_for_nobody(scene: Scene, one: Found) -> bool:
    """Row 4: a commit with a generation in a group that nobody knows."""
    call = scene.call(one.asked)
    commits = call is not None and call.api == "OffsetCommit" and call.version == VERSIONS_MAX["OffsetCommit"]
    return commits and (one.kafka, one.ours) == ("ILLEGAL_GENERATION", "GROUP_ID_NOT_FOUND")


def forgets_simple_group(scene: Scene, one: Found) -> bool:
    """Row 5: a group of offsets only goes with its last one: both deleted some of it, and nobody is in it."""
    deleted = any(
        scene.answer(scene.kafka, at).get("error") == scene.answer(scene.ours, at).get("error") == "NONE"
        for at, _ in scene.calls("OffsetDelete")
    )
    is_left = not scene.inside(scene.kafka) and not scene.inside(scene.ours)
    return scene.states("classic") == ("Dead", "Empty") and deleted and is_left


def does_not_trim(scene: Scene, one: Found) -> bool:
    """Row 6: a state with a space before it is none."""
    call = scene.call(one.asked)
    states = call.fields.get("states_filter") if call is not None and call.api == "ListGroups" else None
    if not isinstance(states, list) or not one.path.startswith("answer.groups"):
        return False
    blank = {str(state).strip().lower() for state in states if str(state) != str(state).strip()}
    others = {str(state).lower() for state in states if str(state) == str(state).strip()}
    shown = str(scene.group(scene.ours, "classic").get("state")).lower()
    listed = [bool(rows_of(scene.answer(course, one.asked).get("groups"))) for course in (scene.kafka, scene.ours)]
    return shown in blank - others and listed == [False, True]


def never_answers(scene: Scene, one: Found) -> bool:
    """Row 7: an OffsetFetch of no group."""
    call = scene.call(one.asked)
    fetches_nothing = call is not None and call.api == "OffsetFetch" and not call.fields.get("groups", "some")
    answer = scene.answer(scene.ours, one.asked)
    return fetches_nothing and not scene.answer(scene.kafka, one.asked) and not rows_of(answer.get("groups"))


def fewer_operations(scene: Scene, one: Found) -> bool:
    """What one may do with a group where nothing is forbidden: its settings came with 4.0."""
    call = scene.call(one.asked)
    asked = call is not None and call.api == "DescribeGroups" and call.fields.get("operations") is True
    return asked and one.leaf() == "answer.groups.operations" and (one.kafka, one.ours) == (328, 3400)


OLDER_RULES: tuple[Rule, ...] = (
    Rule(title="3.9 shows assignments of stable groups only (K11.4)", applies=shows_no_assignment),
    Rule(title="3.9 has another code for commits to unknown groups (K11.4)", applies=other_code_for_nobody),
    Rule(title="3.9 forgets a simple group with its last offset (K11.4)", applies=forgets_simple_group, parts=True),
    Rule(title="3.9 knows nothing of settings of groups (K11.4)", applies=fewer_operations),
    Rule(title="3.9 does not trim states (K11.4)", applies=does_not_trim),
    Rule(title="3.9 never answers an OffsetFetch of no group (K11.4)", applies=never_answers, parts=True),
)
