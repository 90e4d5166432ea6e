"""Groups and members as rows of a table, from the JSON of the admin API."""

from collections.abc import Iterator, Mapping, Sequence

GROUP_COLUMNS = ("GROUP", "ROAD", "TYPE", "STATE", "EPOCH", "ASSIGNOR", "MEMBERS", "REASON")
MEMBER_COLUMNS = (
    *("MEMBER", "INSTANCE", "CLIENT", "HOST", "LIBRARY", "PROTOCOL", "STATE", "GENERATION -> EPOCH"),
    *("ASSIGNED", "TARGET", "TO REVOKE"),
)
SEAT_COLUMNS = ("MEMBER", "INSTANCE", "OUTCOME")
CONVERTED_COLUMNS = ("MEMBER", "INSTANCE", "CLIENT", "PROTOCOL", "NOTICES", "LOSES", "GAINS")
GROUP_KEYS = ("group_id", "road", "type", "state", "group_epoch", "assignor", "member_count")
NONE = "-"
NOTICES = CONVERTED_COLUMNS.index("NOTICES")
NOTHING = "nothing"

Answer = Mapping[str, object]


def group_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each group, under `GROUP_COLUMNS`."""
    return [(*(cell(group.get(key)) for key in GROUP_KEYS), _reason(group)) for group in mappings(answer.get("groups"))]


def _reason(group: Answer) -> str:
    """Why a group is not served, or why a classic one can't be upgraded; that members keep a group what it is is no
    news of a consumer group.
    """
    stays = group.get("not_convertible") if group.get("type") == "classic" else None
    return cell(group.get("reason") or (f"can't be converted: {stays}" if stays else None))


def group_lines(answer: Answer) -> list[str]:
    """What holds for the whole group, in a few lines."""
    named = {key: cell(answer.get(key)) for key in (*GROUP_KEYS, "assignment_epoch")}
    lines = [
        "group {group_id}: road {road}, type {type}, state {state}".format_map(named),
        "group epoch {group_epoch}, assignment epoch {assignment_epoch}, assignor {assignor}".format_map(named),
    ]
    for key, title in (("reason", "reason"), ("not_convertible", "can't be converted")):
        if answer.get(key):
            lines.append(f"{title}: {cell(answer[key])}")
    return lines


def member_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each member, under `MEMBER_COLUMNS`."""
    return [tuple(_member(member)) for member in mappings(answer.get("members"))]


def seat_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each seat of a removal, under `SEAT_COLUMNS`."""
    return [
        (cell(seat.get("member_id")), cell(seat.get("instance_id")), str(seat.get("error") or "removed"))
        for seat in mappings(answer.get("seats"))
    ]


def converted_rows(answer: Answer) -> list[tuple[str, ...]]:
    """One row for each member of a conversion, under `CONVERTED_COLUMNS`."""
    return [
        (
            *(cell(member.get(key)) for key in ("member_id", "instance_id", "client_id", "protocol")),
            "joins again" if member.get("is_disturbed") else NOTHING,
            partitions_text(member.get("loses")),
            partitions_text(member.get("gains")),
        )
        for member in mappings(answer.get("members"))
    ]


def _member(member: Answer) -> Iterator[str]:
    library = f"{member.get('library') or ''} {member.get('library_version') or ''}".strip()
    yield cell(member.get("member_id"))
    yield cell(member.get("instance_id"))
    yield cell(member.get("client_id"))
    yield cell(member.get("client_host"))
    yield cell(library)
    yield cell(member.get("protocol"))
    yield cell(member.get("state"))
    yield f"{cell(member.get('generation'))} -> {cell(member.get('member_epoch'))}"
    yield partitions_text(member.get("assigned"))
    yield partitions_text(member.get("target"))
    yield partitions_text(member.get("pending_revocation"))


def partitions_text(value: object) -> str:
    """`orders: 0-3,5; refunds: 0`, and `-` for no partition."""
    topics = (f"{cell(entry.get('topic'))}: {_ranges(entry.get('partitions'))}" for entry in mappings(value))
    return "; ".join(topics) or NONE


def _ranges(value: object) -> str:
    numbers = sorted(item for item in value if isinstance(item, int)) if isinstance(value, Sequence) else []
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def mappings(value: object) -> list[Answer]:
    """The objects of a list in an answer; nothing of anything else, which another release may have there."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def cell(value: object) -> str:
    """A value as it stands in a table; `-` for none."""
    return NONE if value is None or value == "" else str(value)
