"""Plans as lines and rows of a table, from the JSON of the admin API."""

from collections.abc import Mapping, Sequence

from bridge.admin.move_rows import moment
from bridge.admin.rows import NONE

PLAN_COLUMNS = ("PLAN", "TO", "PHASE", "STAGE", "MOVED", "UNTIL", "REASON")
PART_COLUMNS = ("GROUP", "STEP", "MEMBERS", "FROM", "REASON")
VERDICTS_SHOWN = 10

Answer = Mapping[str, object]


def plan_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each plan, under `PLAN_COLUMNS`."""
    return [
        (
            *(_text(plan.get(key)) for key in ("name", "to", "phase")),
            f"{_text(plan.get('stage'))}/{len(_mappings(plan.get('stages')))}",
            _moved(plan),
            moment(plan.get("until_ms")),
            _text(plan.get("reason")),
        )
        for plan in _mappings(answer.get("plans"))
    ]


def plan_lines(plan: Answer) -> list[str]:
    """What holds for the whole plan: how far it is, its stages, and the last verdicts."""
    stages = _mappings(plan.get("stages"))
    named = {key: _text(plan.get(key)) for key in ("name", "to", "phase", "stage")}
    until = f" until {moment(plan['until_ms'])}" if plan.get("until_ms") else ""
    far = f"stage {named['stage']} of {len(stages)}, {_moved(plan)} groups moved"
    lines = [f"plan {named['name']}: to {named['to']}, {named['phase']}{until}, {far}"]
    if plan.get("reason"):
        lines.append(f"held: {_text(plan['reason'])}")
    for number, stage in enumerate(stages, 1):
        share = f"{_text(stage.get('groups'))} groups, {_text(stage.get('members_percent'))}% of their members"
        lines.append(f"stage {number}: {share}, watched for {_text(stage.get('watch_ms'))} ms")
    for verdict in _mappings(plan.get("verdicts"))[-VERDICTS_SHOWN:]:
        lines.append(f"{moment(verdict.get('at_ms'))} {_text(verdict.get('ruling'))}: {_text(verdict.get('sentence'))}")
    return lines


def part_rows(plan: Answer) -> list[tuple[str, ...]]:
    """One row for each group of a plan, under `PART_COLUMNS`."""
    return [
        (
            *(_text(part.get(key)) for key in ("group_id", "step")),
            f"{_text(part.get('percent'))}%",
            *(_text(part.get(key)) for key in ("from", "reason")),
        )
        for part in _mappings(plan.get("groups"))
    ]


def _moved(plan: Answer) -> str:
    """`3/10`: so many groups have moved, in part or as a whole."""
    parts = _mappings(plan.get("groups"))
    moved = sum(part.get("step") == "moved" for part in parts)
    return f"{moved}/{len(parts)}"


def _mappings(value: object) -> Sequence[Answer]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return NONE if value is None or value == "" else str(value)
