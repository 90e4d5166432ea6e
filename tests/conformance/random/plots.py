"""Short courses written by hand: what one side showed, in as few words as a test of a rule needs.

It knows the forms of answers and descriptions, and must not know any rule.
"""

from collections.abc import Mapping, Sequence

from tests.conformance.random.comparing import Found
from tests.conformance.random.scenes import Scene
from tests.conformance.random.sequences import Answered, Course, Drawn, Kind, Move, Seen
from tests.support.conformance.schema import Value

Row = Mapping[str, Value]
NOBODY: Row = {"error": "GROUP_ID_NOT_FOUND", "state": "Dead", "members": []}


def share(*partitions: int, topic: str = "wire-six") -> Row:
    """What a member of a consumer group has."""
    numbers: list[Value] = list(partitions)
    return {"topic_partitions": [{"topic_name": topic, "partitions": numbers}] if partitions else []}


def native(name: str, has: Row, to_have: Row | None = None, **more: Value) -> Row:
    """A member in ConsumerGroupDescribe."""
    usual: dict[str, Value] = {
        "member_id": f"<{name}>",
        "client_id": f"client-{name}",
        "instance_id": None,
        "member_epoch": 2,
        "subscribed_topic_names": ["wire-six"],
        "assignment": has,
        "target_assignment": has if to_have is None else to_have,
    }
    return {**usual, **more}


def consumer(*members: Row, **more: Value) -> Row:
    """A consumer group at rest in epoch 2."""
    usual: dict[str, Value] = {
        "error": "NONE",
        "group_id": "$g",
        "state": "Stable" if members else "Empty",
        "group_epoch": 2,
        "assignment_epoch": 2,
        "assignor": "range",
        "members": list(members),
    }
    return {**usual, **more}


def classic(state: str, *names: str, **more: Value) -> Row:
    """A classic group of these members."""
    members: list[Value] = [{"member_id": f"<{name}>", "group_instance_id": f"i-{name}"} for name in names]
    return {"error": "NONE", "group_id": "$g", "state": state, "members": members, **more}


def seen(*answers: Answered, classic: Row = NOBODY, consumer: Row = NOBODY, settled: Row | None = None) -> Seen:
    """What one step showed; the group is unknown unless said otherwise."""
    return Seen(answers=answers, classic={"groups": [classic]}, consumer={"groups": [consumer]}, settled=settled or {})


def answered(asked: int, error: str = "NONE", **more: Value) -> Answered:
    """An answer to the call of a step."""
    return Answered(asked=asked, answer={"error": error, **more})


def drawn(*moves: Move, kind: Kind = "classic") -> Drawn:
    """A sequence."""
    return Drawn(seed=0, kind=kind, moves=moves)


def scene(moves: Sequence[Move], kafka: Course, ours: Course, *, pipelined: bool = False) -> Scene:
    """What a rule looks at after the last of these steps."""
    return Scene(drawn=drawn(*moves), kafka=kafka, ours=ours, step=len(kafka), found=(), pipelined=pipelined)


def found(path: str, kafka: Value, ours: Value, asked: int = 1, step: int = 1) -> Found:
    """A difference."""
    return Found(step=step, asked=asked, path=path, kafka=kafka, ours=ours)
