"""What `watch` shows, one frame after the other: a group's members with their phases, from the admin API's JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bridge.admin.rows import GROUP_COLUMNS, NONE, group_lines, group_rows, partitions_text

WATCH_COLUMNS = (
    "MEMBER",
    "CLIENT",
    "LIBRARY",
    "PROTOCOL",
    "PHASE",
    "GENERATION -> EPOCH",
    "PARTITIONS",
    "GOES",
    "COMES",
)
PHASES_BY_STATE = {"PreparingRebalance": "joining", "CompletingRebalance": "syncing"}
STABLE = "stable"

Answer = Mapping[str, object]
Parts = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Frame:
    """What is shown at one moment: lines, and a table below them."""

    lines: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def groups_frame(answer: Answer) -> Frame:
    """All groups."""
    rows = group_rows(answer)
    lines = (f"{len(rows)} groups",) if rows else ("The bridge coordinates no group yet.",)
    return Frame(lines, GROUP_COLUMNS, tuple(rows))


def group_frame(answer: Answer) -> Frame:
    """One group: how many members are in which phase, and each of them."""
    members = _mappings(answer.get("members"))
    rows = tuple(_row(member, answer) for member in members)
    counts: dict[str, int] = {}
    for row in rows:
        phase = row[4].partition(" ")[0]
        counts[phase] = counts.get(phase, 0) + 1
    told = ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items())) or "no members"
    return Frame((*group_lines(answer), told), WATCH_COLUMNS, rows)


def lost_frame(problem: str, last: Frame) -> Frame:
    """The bridge does not answer: what it said last, under the reason."""
    lines = last.lines if last.lines[:1] == (problem,) else (problem, *last.lines)
    return Frame(lines, last.columns, last.rows)


def phase_of(member: Answer, group: Answer) -> str:
    """What a member is doing, from its state and what it has, is to have and is to give up."""
    known = PHASES_BY_STATE.get(str(member.get("state")))
    if known is not None:
        return known
    if _parts(member.get("pending_revocation")):
        return "revoking"
    if _parts(member.get("target")) - _parts(member.get("assigned")):
        return "awaiting-release"
    epoch, wanted = member.get("member_epoch"), group.get("group_epoch")
    if isinstance(epoch, int) and isinstance(wanted, int) and 0 <= epoch < wanted:
        return f"{STABLE} (to hear of epoch {wanted})"
    return STABLE


def _row(member: Answer, group: Answer) -> tuple[str, ...]:
    library = f"{member.get('library') or ''} {member.get('library_version') or ''}".strip()
    assigned, target = _parts(member.get("assigned")), _parts(member.get("target"))
    return (
        _text(member.get("member_id")),
        _text(member.get("client_id")),
        _text(library),
        _text(member.get("protocol")),
        phase_of(member, group),
        f"{_text(member.get('generation'))} -> {_text(member.get('member_epoch'))}",
        partitions_text(member.get("assigned")),
        _shown(assigned - target),
        _shown(target - assigned),
    )


def _shown(parts: Parts) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(parts)) or NONE


def _parts(value: object) -> Parts:
    """Single partitions of a list of topics with their partitions."""
    return frozenset(
        (str(entry.get("topic")), number) for entry in _mappings(value) for number in _numbers(entry.get("partitions"))
    )


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, list):
        yield from (number for number in value if isinstance(number, int))


def _mappings(value: object) -> Sequence[Answer]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return NONE if value is None or value == "" else str(value)
