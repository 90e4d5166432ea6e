"""What is known to differ on purpose where clients have come to rest, and behind requests that wait.

Each rule names what it is about and what must be so on both sides; what is here must be sound of itself besides:
nothing owned twice, nobody told otherwise than the group is described, nothing unanswered.
"""

import re
from collections.abc import Mapping

from tests.conformance.random.comparing import Found
from tests.conformance.random.members import Member
from tests.conformance.random.rules import IN_REBALANCE
from tests.conformance.random.scenes import Rule, Scene, names_in, partitions_of, rows_of
from tests.conformance.random.sequences import FAILED, LEFT, Course, Settle
from tests.support.conformance.schema import Value
from tests.support.conformance.transcripts import ABSENT

NO_MATCH = {"six"}
"""Patterns that are good and match no whole name."""
DEALT = ("settled.owned", "settled.shares")
LEAVES = {-1, -2}
LACKS = re.compile(r"(.+) lacks (.+)")
"""Who does not offer a group's protocol, as `Settling` says it."""


def both(scene: Scene) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
    """What both have come to."""
    return scene.kafka[scene.step - 1].settled, scene.ours[scene.step - 1].settled


def is_sound(settled: Mapping[str, Value]) -> bool:
    """Whether all is at rest, answered, owned once, and described as it was told."""
    return settled.get("quiet") is True and not any(
        settled.get(name) for name in ("unanswered", LEFT, "owned twice", "told otherwise")
    )


def total(settled: Mapping[str, Value]) -> int:
    """How many partitions are somebody's."""
    shares = settled.get("shares")
    return sum(one for one in shares.values() if isinstance(one, int)) if isinstance(shares, Mapping) else 0


def owned(settled: Mapping[str, Value]) -> set[str]:
    """The partitions that are somebody's."""
    rows = settled.get("owned")
    return set(map(str, rows)) if isinstance(rows, list) else set()


def kafka_waits(scene: Scene, one: Found) -> bool:
    """Clients of Kafka wait until a timeout for ids that nobody uses, and we are at rest (K1.20, K1.52).

    Who waits has not ended, here neither.
    """
    kafka, ours = both(scene)
    waits = kafka.get("quiet") is False and (bool(kafka.get("unanswered")) or kafka.get("state") in IN_REBALANCE)
    about_rest = one.path.startswith("settled") and not one.path.startswith(("settled.ended", f"settled.{LEFT}"))
    return about_rest and waits and is_sound(ours)


def fenced_late(scene: Scene, one: Found) -> bool:
    """Kafka reads a static member's old joins when its client has begun anew: they take the seat from it."""
    name = one.path.rpartition(".")[2]
    static = any(
        call.who == name and call.fields.get("group_instance_id") for _, call in scene.calls("JoinGroup", "SyncGroup")
    )
    fenced = one.path.startswith("settled.ended") and (one.kafka, one.ours) == ("FENCED_INSTANCE_ID", "")
    return scene.pipelined and fenced and static


def spare_by_chance(scene: Scene, one: Found) -> bool:
    """Who came first, of members or of two ids of one client, got the spare partition, and keeps it (K9.1).

    Ids are made by chance, and who comes first where joins wait is chance too.
    """
    kafka, ours = both(scene)
    if not one.path.startswith("settled.shares") or not isinstance(one.kafka, int) or not isinstance(one.ours, int):
        return False
    has_second = any(len(set(ids)) > 1 for ids in _told(scene, scene.ours).values()) or join_waited(scene)
    return abs(one.kafka - one.ours) == 1 and has_second and is_sound(ours) and total(kafka) == total(ours)


def join_waited(scene: Scene) -> bool:
    """Whether a join still waited on a side when clients went on by themselves: then they come in any order."""
    return any(
        not scene.answer(course, at) for at, _ in scene.calls("JoinGroup") for course in (scene.kafka, scene.ours)
    )


def _told(scene: Scene, course: Course) -> Mapping[str, list[str]]:
    ids: dict[str, list[str]] = {}
    for seen in course[: scene.step]:
        for one in seen.answers:
            call = scene.call(one.asked)
            if call is not None and one.answer.get("member_id"):
                ids.setdefault(call.who, []).append(str(one.answer["member_id"]))
    return ids


def nobody_leads(scene: Scene, one: Found) -> bool:
    """Who leads a group that turned classic deals out anew in Kafka; here nobody does before a rebalance (K3.20).

    What somebody has there is not left to nobody here.
    """
    kafka, ours = both(scene)
    kinds = {kafka.get("kind"), ours.get("kind")}
    if kinds != {"classic"} or not one.path.startswith(DEALT) or not is_sound(ours) or not owned(kafka) <= owned(ours):
        return False
    asked = range(1, scene.step + 1)
    return any(
        scene.answer(scene.kafka, at).get("leader") and scene.answer(scene.ours, at).get("leader") == "" for at in asked
    )


def emptied_before_it_turned(scene: Scene, one: Found) -> bool:
    """Without its last KIP-848 member a group is classic at once in Kafka; here it is when everybody has what
    it gained, and stays what it was if all leave before that (K3.20).
    """
    turned = (one.path, one.kafka, one.ours) == ("settled.kind", "classic", "consumer")
    is_empty = all(its.get("state") == "Empty" and not its.get("owned") and is_sound(its) for its in both(scene))
    leaves = [call for _, call in scene.calls("ConsumerGroupHeartbeat") if call.fields["member_epoch"] in LEAVES]
    return turned and is_empty and bool(leaves) and any(scene.calls("JoinGroup"))


def left_to_nobody(scene: Scene, one: Found) -> bool:
    """To Kafka a new pattern that matches nothing is no news, and what its member had is nobody's (K2.4)."""
    kafka, ours = both(scene)
    lies = bool(went_over(scene)) and owned(kafka) < owned(ours)
    return one.path.startswith(DEALT) and lies and is_sound(ours)


def went_over(scene: Scene) -> set[str]:
    """Who went over to a pattern that matches nothing from another subscription."""
    calls = [call for _, call in scene.calls("ConsumerGroupHeartbeat")]
    changed = {call.who for call in calls if call.fields.get("subscribed_topic_regex") in NO_MATCH}
    return {call.who for call in calls if call.fields.get("subscribed_topic_regex") not in NO_MATCH} & changed


def uniform_by_chance(scene: Scene, one: Found) -> bool:
    """Uniform deals by hash order in Kafka, here by ids; as many have as much of it (K9.3, K9.4)."""
    groups = scene.group(scene.kafka, "consumer"), scene.group(scene.ours, "consumer")
    by_uniform = all(group.get("assignor") == "uniform" for group in groups)
    return by_uniform and "assignment" in one.path and target_sizes(groups[0]) == target_sizes(groups[1])


def uniform_spare(scene: Scene, one: Found) -> bool:
    """Who has a partition more than another is hash order to uniform in Kafka; as many have as much (K9.3, K9.4)."""
    kafka, ours = both(scene)
    if not one.path.startswith("settled.shares") or not isinstance(one.kafka, int) or not isinstance(one.ours, int):
        return False
    shares = [its.get("shares") for its in (kafka, ours)]
    sizes = [sorted(map(str, its.values())) if isinstance(its, Mapping) else [] for its in shares]
    by_uniform = [assignor_asked_next(scene, course) for course in (scene.kafka, scene.ours)] == ["uniform"] * 2
    return abs(one.kafka - one.ours) == 1 and by_uniform and sizes[0] == sizes[1] and is_sound(kafka) and is_sound(ours)


def assignor_asked_next(scene: Scene, course: Course) -> Value:
    """The assignor of the group that is asked all round after this step; nothing if it is not."""
    settled = course[scene.step].settled if scene.step < len(course) else {}
    probes = settled.get("probes")
    views = probes.get("views") if isinstance(probes, Mapping) else None
    answer = views.get("ConsumerGroupDescribe v1") if isinstance(views, Mapping) else None
    groups = rows_of(answer.get("groups")) if isinstance(answer, Mapping) else []
    return groups[0].get("assignor") if groups else None


def target_sizes(group: Mapping[str, Value]) -> list[int]:
    """How many partitions members are to have, smallest first."""
    return sorted(len(partitions_of(row["target_assignment"])) for row in rows_of(group.get("members")))


def no_common_protocol(scene: Scene, one: Found) -> bool:
    """Members of a consumer group need none here, where the coordinator computes (K4.4)."""
    refused = (one.kafka, one.ours) == ("INCONSISTENT_GROUP_PROTOCOL", "")
    move = scene.drawn.moves[scene.step - 1]
    if not refused or not one.path.startswith("settled.ended") or not isinstance(move, Settle):
        return False
    lists = [set(names_in(member.fields)) for member in move.members if not member.native]
    return both(scene)[1]["kind"] == "consumer" and not set.intersection(*lists)


def refused_by_its_seat(scene: Scene, one: Found) -> bool:
    """To Kafka a static member that begins anew needs a protocol in common with its own seat, as that was (K4.4).

    Its client ends, and the others wait for the seat.
    """
    kafka, ours = both(scene)
    ended, move = kafka.get("ended"), scene.drawn.moves[scene.step - 1]
    if not isinstance(ended, Mapping) or not isinstance(move, Settle) or not is_sound(ours) or kafka["owned twice"]:
        return False
    kinds = {kafka["kind"], ours["kind"]}
    refused = {
        member.name
        for member in move.members
        if ended.get(member.name) == "INCONSISTENT_GROUP_PROTOCOL"
        and not set(names_in(member.fields)) & seat_as_it_was(scene, member)
    }
    ends = one.path in {f"settled.ended.{name}" for name in refused} and one.ours == ""
    waits = kafka["quiet"] is False and one.path.startswith((*DEALT, "settled.quiet", "settled.state"))
    return kinds == {"consumer"} and bool(refused) and (ends or waits)


def seat_as_it_was(scene: Scene, member: Member) -> set[str]:
    """What a static member proposed when Kafka let it in last; what it does now if it never was or is not static."""
    proposed = [
        set(names_in(call.fields))
        for at, call in scene.calls("JoinGroup")
        if (call.who, call.fields.get("group_instance_id")) == (member.name, member.instance)
        and scene.answer(scene.kafka, at).get("error") == "NONE"
    ]
    return proposed[-1] if member.instance and proposed else set(names_in(member.fields))


def newcomer_lacks_protocol(scene: Scene, one: Found) -> bool:
    """Kafka fails inside when it converts a group in which somebody waits who does not offer its protocol (K3.13).

    The KIP-848 member is started again then, and both come to the same.
    """
    match, move = LACKS.fullmatch(str(one.kafka)), scene.drawn.moves[scene.step - 1]
    if match is None or not isinstance(move, Settle) or not one.path.startswith(f"settled.{FAILED}."):
        return False
    natives = {member.name for member in move.members if member.native}
    lacking = {one.name for one in move.members if not one.native and match[2] not in names_in(one.fields)}
    is_so = one.path.rpartition(".")[2] in natives and set(match[1].split()) <= lacking
    return is_so and one.ours == ABSENT and is_sound(both(scene)[1])


SETTLED_RULES: tuple[Rule, ...] = (
    Rule(
        title="A group that empties before it turned classic stays a consumer group (K3.20)",
        applies=emptied_before_it_turned,
        parts=True,
    ),
    Rule(
        title="A newcomer waits that lacks the protocol of a group that is converted (K3.13)",
        applies=newcomer_lacks_protocol,
    ),
    Rule(title="Kafka's group is not at rest yet (K1.20, K1.52)", applies=kafka_waits, parts=True),
    Rule(title="Spare partitions by ids that chance makes (K9.1)", applies=spare_by_chance),
    Rule(title="A new pattern without match frees what its member had (K2.4)", applies=left_to_nobody, parts=True),
    Rule(title="Nobody leads a group that turned classic (K3.20)", applies=nobody_leads, parts=True),
    Rule(title="Ties of uniform (K9.3, K9.4)", applies=uniform_by_chance, parts=True),
    Rule(title="Spare partitions of uniform (K9.3, K9.4)", applies=uniform_spare),
    Rule(title="Kafka reads requests behind a parked one late", applies=fenced_late, parts=True),
    Rule(title="Members of a consumer group need no common protocol (K4.4)", applies=no_common_protocol, parts=True),
    Rule(
        title="A static member needs no protocol in common with what it was before (K4.4)",
        applies=refused_by_its_seat,
        parts=True,
    ),
)
