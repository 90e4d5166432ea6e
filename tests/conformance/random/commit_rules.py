"""What is known to differ on purpose in commits and in what is read of them, as rules over what differs at one step.

Each looks itself who has which partition on both sides, and what was refused before.
"""

from collections.abc import Mapping

from tests.conformance.random.comparing import Found
from tests.conformance.random.scenes import Rule, Scene, parts_of, rows_of
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, TopicId


def committed_by(call: Call) -> set[str]:
    """The partitions of a commit."""
    found: set[str] = set()
    for row in parts_of(call.fields.get("topics")):
        topic = row.get("topic_id")
        name = topic.name if isinstance(topic, TopicId) else row["name"]
        found |= {f"{name!s} {one['partition']!s}" for one in parts_of(row["partitions"])}
    return found


def another_owner(scene: Scene, one: Found) -> bool:
    """A commit for what another member has on both sides, and its sender on neither (K5.11)."""
    call = scene.call(one.asked)
    if call is None or call.api not in {"OffsetCommit", "TxnOffsetCommit"} or not one.leaf().endswith("error"):
        return False
    own = scene.named(scene.ours, call.fields.get("member_id"))
    held = [[owners.get(partition, {own}) for partition in committed_by(call)] for owners in scene.all_owners()]
    foreign = all(any(own not in members for members in side) for side in held)
    refused = one.ours in {"STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"}
    return refused and one.kafka in {"NONE", "OFFSET_METADATA_TOO_LARGE"} and foreign


def not_committed(scene: Scene, one: Found) -> bool:
    """What was refused for another's sake is not read; everything else is read alike (K5.11 afterwards)."""
    call = scene.call(one.asked)
    if call is None or call.api != "OffsetFetch" or "topics" not in one.path:
        return False
    kafka, ours = (offsets_in(scene.answer(course, one.asked)) for course in (scene.kafka, scene.ours))
    differing = {name for name in {*kafka, *ours} if kafka.get(name, NOT_READ) != ours.get(name, NOT_READ)}
    return bool(differing) and differing <= refused_since(scene, one.asked)


def refused_since(scene: Scene, before: int) -> set[str]:
    """What was refused here alone, and was not committed on both sides since; a transaction's is as late as its end."""
    refused: dict[str, str] = {}
    for at, commit in scene.calls("OffsetCommit", "TxnOffsetCommit"):
        codes = [errors_in(scene.answer(course, at)) for course in (scene.kafka, scene.ours)]
        if at < before and _was_refused_alone(scene, at):
            refused |= dict.fromkeys(committed_by(commit), commit.api)
        elif at < before and commit.api == "OffsetCommit" and codes == [{"NONE"}, {"NONE"}]:
            again = {name for name in committed_by(commit) if refused.get(name) == "OffsetCommit"}
            refused = {name: api for name, api in refused.items() if name not in again}
    return set(refused)


NOT_READ = (-1, "", "NONE")


def offsets_in(answer: Mapping[str, Value]) -> dict[str, tuple[Value, Value, Value]]:
    """What a fetch gives of each partition."""
    groups = rows_of(answer.get("groups")) or [answer]
    return {
        f"{named_topic(topic)} {row['partition']!s}": (
            row["offset"],
            row["metadata"],
            row["error"],
        )
        for group in groups
        for topic in rows_of(group.get("topics"))
        for row in rows_of(topic["partitions"])
    }


def named_topic(row: Mapping[str, Value]) -> str:
    """The topic that a row is about, by its name or its id."""
    return str(row.get("name") or row.get("topic_id")).removeprefix("(id of ").removesuffix(")")


def _was_refused_alone(scene: Scene, step: int) -> bool:
    kafka, ours = (errors_in(scene.answer(course, step)) for course in (scene.kafka, scene.ours))
    return "NONE" in kafka and "NONE" not in ours and bool(ours & {"STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"})


def errors_in(answer: Mapping[str, Value]) -> set[str]:
    """The codes of a commit's answer."""
    return {str(row["error"]) for topic in rows_of(answer.get("topics")) for row in rows_of(topic["partitions"])}


def generation_in_offsets_only(scene: Scene, one: Found) -> bool:
    """A commit under a generation in a group that an earlier commit made, and that nobody was ever in (K5.5).

    The broker has such groups; either code makes a client join again.
    """
    call = scene.call(one.asked)
    if call is None or not is_commit_in(call) or not one.leaf().endswith("error"):
        return False
    is_old = call.api == "TxnOffsetCommit" or call.version < UNKNOWN_SINCE
    names_one = scene.epoch(scene.ours, call.fields.get("generation_id", -1), one.asked) >= 0
    offsets_only = all(
        is_of_offsets(scene.group(course, "classic", scene.step - one.asked)) for course in (scene.kafka, scene.ours)
    )
    codes = (one.kafka, one.ours) == ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
    return is_old and names_one and codes and offsets_only and is_made_by_commit(scene, one.asked)


UNKNOWN_SINCE = 9
"""From this version on a commit to a group that nobody knows is UNKNOWN_MEMBER_ID here, as to one of offsets."""


def is_commit_in(call: Call) -> bool:
    """Whether this is a commit to the group that is described."""
    return call.api in {"OffsetCommit", "TxnOffsetCommit"} and call.fields.get("group_id", "$g") == "$g"


def is_of_offsets(group: Mapping[str, Value]) -> bool:
    """Whether DescribeGroups shows a group of which there are offsets only: it never had a protocol type."""
    shown = tuple(group.get(name) for name in ("error", "state", "protocol_type", "members"))
    return shown == ("NONE", "Empty", "", [])


def is_made_by_commit(scene: Scene, before: int) -> bool:
    """Whether both sides took a commit without a generation to this group before that step."""
    return any(
        at < before
        and is_commit_in(commit)
        and scene.epoch(scene.ours, commit.fields.get("generation_id", -1), at) < 0
        and all("NONE" in errors_in(scene.answer(course, at)) for course in (scene.kafka, scene.ours))
        for at, commit in scene.calls("OffsetCommit", "TxnOffsetCommit")
    )


COMMIT_RULES: tuple[Rule, ...] = (
    Rule(
        title="A commit under a generation in a group of offsets only is told to join again (K5.5)",
        applies=generation_in_offsets_only,
    ),
    Rule(title="A commit for a partition that another member has is refused (K5.11)", applies=another_owner),
    Rule(title="What was refused for another's sake is not read (K5.11)", applies=not_committed),
)
