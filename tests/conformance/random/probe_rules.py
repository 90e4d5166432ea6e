"""What is known to differ on purpose in what a group at rest is asked all round.

Each rule names the question, and what the same probing shows on both sides that makes the answers what they are.
"""

import re
from collections.abc import Mapping

from tests.conformance.random.comparing import Found, flatten
from tests.conformance.random.rules import NOBODY_KNOWS, is_classic_view, is_tie, numeric
from tests.conformance.random.scenes import Rule, Scene, names_in, rows_of
from tests.conformance.random.sequences import Course, Probe, Seen, Settle
from tests.conformance.random.settled_rules import is_sound, went_over
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call
from tests.support.conformance.transcripts import ABSENT

FOREIGN = re.compile(r"settled\.probes\.members\.\w+\.commits\.of <(\w+)>\.v\d+\.(one by one\[0\]|together)")
EPOCH_OF_EMPTY = r"settled\.probes\.views\.ConsumerGroupDescribe v[01]\.groups\[0\]\.assignment_epoch"
NAMED_ALONE = re.compile(r"settled\.probes\.members\.(\w+)\.as another\.fetches\.no epoch v\d+")
LONG_AGO = re.compile(r"settled\.probes\.members\.(\w+)\.as another\.commits\.long ago")
OF_SOMEBODY = re.compile(
    r"settled\.probes\.(members\.(?P<own>\w+)\.commits\.(of <(?P<other>\w+)>|own)|read\.v\d+\.<(?P<reader>\w+)>)"
)
NOT_ITS_GENERATION = "ILLEGAL_GENERATION []"
"""What Kafka tells a classic member of a consumer group whose generation is another one, and nothing read."""
DEALT_VERSION = re.compile(
    r"settled\.probes\.views\.DescribeGroups v\d\.groups\[0\]\.members\[\d+\]\.assignment\.version"
)
EMPTY_OF_KIND = re.compile(r"settled\.probes\.(views\.(DescribeGroups|ConsumerGroupDescribe) v\d\.|lists\.)")
RACK = re.compile(r"settled\.probes\.views\.ConsumerGroupDescribe v[01]\.groups\[0\]\.members\[(\d+)\]\.rack_id")
AWAY = -2
"""The epoch by which a static member says that it will be back."""
LEADER_WRITES = 1
"""The version in which clients of these tests deal out, whatever the others read."""
DEALT = re.compile(
    r"settled\.probes\.views\.ConsumerGroupDescribe v[01]\.groups\[0\]\.members\[\d+\]\.(target_)?assignment\."
)
NONE_OF_ALL = (-1, -1)
"""What a member has that is not there: less than any."""
ALIVE = re.compile(r"settled\.probes\.members\.\w+\.alive\.(beats|syncs)\[\d\]")
TOLD = re.compile(r"settled\.probes\.members\.(\w+)\.alive\.told")
SHOWN = re.compile(r"settled\.probes\.(views\.|lists\.|members\.\w+\.alive\.told$)")
CHOSEN = re.compile(r"settled\.probes\.views\.(DescribeGroups v\d)\.groups\[0\]\.protocol_data")
OLD_VIEW = re.compile(
    r"settled\.probes\.views\.(DescribeGroups v[0-5])\.groups\[0\]\.(state|protocol_type|protocol_data|members\b.*)"
)


def probes(scene: Scene, course: Course) -> Mapping[str, Value]:
    """What was asked and answered at this step."""
    found = course[scene.step - 1].settled.get("probes")
    return found if isinstance(found, Mapping) else {}


def view(scene: Scene, course: Course, name: str) -> Mapping[str, Value]:
    """The group as this question shows it."""
    views = probes(scene, course).get("views")
    answer = views.get(name) if isinstance(views, Mapping) else {}
    return next(iter(rows_of(answer.get("groups"))), {}) if isinstance(answer, Mapping) else {}


def consumer_view(scene: Scene, course: Course) -> Mapping[str, Value]:
    """The group as ConsumerGroupDescribe shows it."""
    return view(scene, course, "ConsumerGroupDescribe v1")


def of_another(scene: Scene, one: Found) -> bool:
    """A commit for what another member has, in a consumer group on both sides, where that one is a member (K5.11)."""
    match = FOREIGN.fullmatch(one.path)
    groups = [consumer_view(scene, course) for course in (scene.kafka, scene.ours)]
    refused = one.kafka == "NONE" and one.ours in {"STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"}
    return match is not None and refused and all(f"<{match[1]}>" in members_of(group) for group in groups)


def members_of(group: Mapping[str, Value]) -> set[str]:
    """Who is in a group that there is."""
    return {str(row["member_id"]) for row in rows_of(group.get("members"))} if group.get("error") == "NONE" else set()


def old_view(scene: Scene, one: Found) -> bool:
    """DescribeGroups before version 6 of a consumer group, whole and true (K6.1)."""
    match = OLD_VIEW.fullmatch(one.path)
    if match is None or consumer_view(scene, scene.kafka).get("error") != "NONE":
        return False
    kafka, ours = (view(scene, course, match[1]) for course in (scene.kafka, scene.ours))
    hidden = all(kafka.get(key) == value for key, value in NOBODY_KNOWS.items())
    return hidden and is_classic_view(ours, consumer_view(scene, scene.ours))


def emptied(scene: Scene, one: Found) -> bool:
    """The target of an emptied group stays behind its epoch in Kafka; both have it empty (K2.61)."""
    views = [consumer_view(scene, course) for course in (scene.kafka, scene.ours)]
    values = (one.kafka, one.ours) == ("(another epoch)", "(epoch)")
    is_empty = all(
        (group.get("error"), group.get("state"), group.get("members")) == ("NONE", "Empty", []) for group in views
    )
    return values and is_empty and re.fullmatch(EPOCH_OF_EMPTY, one.path) is not None


def nothing_to_ask_for(scene: Scene, one: Found) -> bool:
    """What somebody has none of on one side, whose share was settled there as 0, is not asked for (K9.1 afterwards)."""
    match = OF_SOMEBODY.match(one.path)
    if match is None or not one.is_one_sided() or scene.step < len(("rest", "probe")):
        return False
    owner = match["other"] or match["reader"] or match["own"]
    shares = [course[scene.step - 2].settled.get("shares") for course in (scene.kafka, scene.ours)]
    counts = [share.get(owner) if isinstance(share, Mapping) else None for share in shares]
    missing = 0 if one.kafka == ABSENT else 1
    return counts[missing] == 0 and counts[1 - missing] == 1


def came_back_as_static(scene: Scene, one: Found) -> bool:
    """Kafka forgets since when a static member has what it has when it comes back, and takes any old epoch (K5.11)."""
    match = LONG_AGO.fullmatch(one.path)
    if match is None or (one.kafka, one.ours) != ("NONE", "STALE_MEMBER_EPOCH"):
        return False
    calls = [(at, call) for at, call in scene.calls("ConsumerGroupHeartbeat") if call.who == match[1]]
    seats = [call.fields.get("instance_id") for at, call in calls if begins_anew(scene, at, call)]
    seats += [call.fields.get("instance_id") for at, call in calls if comes_back_by_itself(scene, at, call)]
    return len(seats) > 1 and None not in seats and len(set(map(str, seats))) == 1


def comes_back_by_itself(scene: Scene, at: int, call: Call) -> bool:
    """Whether a heartbeat says that its member goes for a while, which then went on by itself under the same seat."""
    rests = [move for move in scene.drawn.moves[at : scene.step] if isinstance(move, Settle)]
    members = [one for move in rests for one in move.members if one.native]
    back = any((one.name, one.instance) == (call.who, call.fields.get("instance_id")) for one in members)
    gone = all(scene.answer(course, at).get("member_epoch") == AWAY for course in (scene.kafka, scene.ours))
    return call.fields["member_epoch"] == AWAY and gone and back


def begins_anew(scene: Scene, at: int, call: Call) -> bool:
    """Whether a heartbeat is of epoch 0, by its number or because it names the member's own before there is one."""
    epoch = call.fields["member_epoch"]
    if epoch != f"#{call.who}":
        return epoch == 0
    rested = [move for move in scene.drawn.moves[: at - 1] if isinstance(move, Settle)]
    told = (
        scene.answer(course, earlier).get("member_epoch", scene.answer(course, earlier).get("generation_id"))
        for course in (scene.kafka, scene.ours)
        for earlier, other in scene.calls("ConsumerGroupHeartbeat", "JoinGroup")
        if earlier < at and other.who == call.who
    )
    is_told = any(isinstance(one, int) and one > 0 for one in told)
    return not is_told and not any(member.name == call.who for move in rested for member in move.members)


def named_without_generation(scene: Scene, one: Found) -> bool:
    """A classic member of a consumer group that names itself in a fetch need not name its generation (K5.20)."""
    match = NAMED_ALONE.fullmatch(one.path)
    if match is None or one.kafka != NOT_ITS_GENERATION:
        return False
    itself = one.path.replace("no epoch", "itself")
    reads = probed(scene, scene.ours, itself)
    groups = [consumer_view(scene, course) for course in (scene.kafka, scene.ours)]
    return one.ours == reads and all(is_classic_member(group, f"<{match[1]}>") for group in groups)


def rack_of_its_predecessor(scene: Scene, one: Found) -> bool:
    """A classic member that took a KIP-848 member's static seat has its rack in a consumer group (K2.30, K3.20).

    In Kafka the group was a classic one in between, where members tell their racks themselves.
    """
    match = RACK.fullmatch(one.path)
    rows = rows_of(consumer_view(scene, scene.ours).get("members"))
    if match is None or one.kafka is not None or int(match[1]) >= len(rows):
        return False
    row = rows[int(match[1])]
    seat = row.get("instance_id")
    before = [at for at, call in scene.calls("ConsumerGroupHeartbeat") if is_seat_with_rack(call, seat, one.ours)]
    joined = [
        at
        for at, call in scene.calls("JoinGroup")
        if call.fields.get("group_instance_id") == seat and is_classic_seat(scene.kafka[at - 1], seat)
    ]
    return row.get("member_type") == 0 and bool(before) and bool(joined) and min(before) < max(joined)


def is_classic_seat(seen: Seen, seat: Value) -> bool:
    """Whether a step showed a classic group with this instance id in it."""
    members = (row for group in rows_of(seen.classic["groups"]) for row in rows_of(group.get("members")))
    return any(row.get("group_instance_id") == seat for row in members)


def is_seat_with_rack(call: Call, seat: Value, rack: Value) -> bool:
    """Whether a heartbeat is of the member with this instance id, and says this rack."""
    return seat is not None and (call.fields.get("instance_id"), call.fields.get("rack_id")) == (seat, rack)


def in_its_own_version(scene: Scene, one: Found) -> bool:
    """A group that turned classic is dealt out by a leader in Kafka; here each has it in its own version (K3.20)."""
    match = DEALT_VERSION.fullmatch(one.path)
    if match is None or one.kafka != LEADER_WRITES or scene.step < len(("rest", "probe")):
        return False
    kinds = {course[scene.step - 2].settled.get("kind") for course in (scene.kafka, scene.ours)}
    own = one.path.replace(".assignment.", ".metadata.")
    versions = {probed(scene, course, own) for course in (scene.kafka, scene.ours)}
    return kinds == {"classic"} and versions == {one.ours}


def empty_of_another_kind(scene: Scene, one: Found) -> bool:
    """A group that emptied before it turned classic is a consumer group; views and lists tell the two apart (K3.20)."""
    if not EMPTY_OF_KIND.match(one.path) or scene.step < len(("rest", "probe")):
        return False
    rested = [course[scene.step - 2].settled for course in (scene.kafka, scene.ours)]
    kinds, states = ([its.get(name) for its in rested] for name in ("kind", "state"))
    groups = view(scene, scene.kafka, "DescribeGroups v6"), consumer_view(scene, scene.ours)
    shown = [(group.get("error"), group.get("state"), group.get("members")) for group in groups]
    rest_empty = kinds == ["classic", "consumer"] and states == ["Empty"] * 2 and shown == [("NONE", "Empty", [])] * 2
    return rest_empty and is_listed_as(scene, scene.ours, "Empty", "consumer")


def is_listed_as(scene: Scene, course: Course, state: str, kind: str) -> bool:
    """Whether the list of all groups has this one once, in this state and of this kind, and no classic one is shown."""
    lists = probes(scene, course).get("lists")
    rows = rows_of(lists.get("v5")) if isinstance(lists, Mapping) else []
    found = [(row.get("state"), row.get("type")) for row in rows if row.get("group_id") == "$g"]
    return found == [(state, kind)] and view(scene, course, "DescribeGroups v6").get("error") == "GROUP_ID_NOT_FOUND"


def other_protocol_at_rest(scene: Scene, one: Found) -> bool:
    """A classic group at rest in the same members, two of whose protocols have as many votes as any (K1.38)."""
    match, move = CHOSEN.fullmatch(one.path), scene.drawn.moves[scene.step - 1]
    if match is None or not isinstance(move, Probe) or scene.step < len(("rest", "probe")):
        return False
    groups = [view(scene, course, match[1]) for course in (scene.kafka, scene.ours)]
    kinds = {course[scene.step - 2].settled.get("kind") for course in (scene.kafka, scene.ours)}
    names = {f"<{member.name}>": names_in(member.fields) for member in move.members if not member.native}
    # Whoever came by a JoinGroup of the sequence may rest without another, so both have to propose the same.
    others = [call for _, call in scene.calls("JoinGroup") if names.get(f"<{call.who}>") != names_in(call.fields)]
    at_rest = kinds == {"classic"} and all(group.get("state") == "Stable" for group in groups)
    all_there = all(members_of(group) == set(names) for group in groups)
    return at_rest and all_there and not others and is_tie([*names.values()], str(one.kafka), str(one.ours))


def target_of_nobody(scene: Scene, one: Found) -> bool:
    """What a member had that went over to a pattern without match stays its target in Kafka (K2.4 afterwards).

    Classic members are told there, too, what they have on each side.
    """
    kafka, ours = (counts_of(consumer_view(scene, course)) for course in (scene.kafka, scene.ours))
    told = TOLD.fullmatch(one.path)
    if told is not None:
        has = [side.get(f"<{told[1]}>", NONE_OF_ALL)[0] for side in (kafka, ours)]
        if [one.kafka, one.ours] != [str([count]) for count in has]:
            return False
    elif DEALT.match(one.path) is None:
        return False
    gone = {f"<{name}>" for name in went_over(scene)} & kafka.keys()
    lies = bool(gone) and all(kafka[name][0] == 0 and ours.get(name) == (0, 0) for name in gone)
    others = [(kafka[name], ours.get(name, NONE_OF_ALL)) for name in kafka.keys() - gone]
    at_target = all(had[0] == had[1] <= has[0] == has[1] for had, has in others)
    targets = [sum(target for _, target in side.values()) for side in (kafka, ours)]
    return lies and at_target and kafka.keys() == ours.keys() and targets[0] == targets[1]


def uniform_at_rest(scene: Scene, one: Found) -> bool:
    """Which partitions, and who has the spare ones, is hash order to uniform in Kafka (K9.3, K9.4).

    As many have as much, all have what they are to have, and classic members are told that.
    """
    groups = [consumer_view(scene, course) for course in (scene.kafka, scene.ours)]
    kafka, ours = (counts_of(group) for group in groups)
    told = TOLD.fullmatch(one.path)
    if told is not None:
        has = [side.get(f"<{told[1]}>", NONE_OF_ALL)[0] for side in (kafka, ours)]
        is_about = [one.kafka, one.ours] == [str([count]) for count in has]
    else:
        is_about = DEALT.match(one.path) is not None
    at_target = all(has == to_have for side in (kafka, ours) for has, to_have in side.values())
    same = kafka.keys() == ours.keys() and sorted(kafka.values()) == sorted(ours.values())
    return is_about and at_target and same and all(group.get("assignor") == "uniform" for group in groups)


def counts_of(group: Mapping[str, Value]) -> dict[str, tuple[int, int]]:
    """How many partitions each member has, and is to have."""
    return {
        str(row["member_id"]): (counted(row["assignment"]), counted(row["target_assignment"]))
        for row in rows_of(group.get("members"))
    }


def counted(assignment: Value) -> int:
    """How many partitions these are, where they were counted, of a consumer group or in a classic member's blob."""
    its = assignment if isinstance(assignment, Mapping) else {}
    rows = [*rows_of(its.get("topic_partitions")), *rows_of(its.get("partitions"))]
    return sum(numeric(row["partitions"]) for row in rows)


def asked_in_motion(scene: Scene, one: Found) -> bool:
    """Kafka's group has not come to rest, and ours has (K1.20, K4.4 afterwards).

    It is described otherwise, ours as it rests; what nobody has on one side is not asked for there, and whoever is to
    rejoin is told so. What else both are asked is answered alike.
    """
    if scene.step < len(("rest", "probe")):
        return False
    kafka, ours = (course[scene.step - 2].settled for course in (scene.kafka, scene.ours))
    told = ALIVE.fullmatch(one.path) is not None and one.kafka == "REBALANCE_IN_PROGRESS" and one.ours == "NONE"
    shown = (SHOWN.match(one.path) is not None or one.is_one_sided()) and is_shown_as_it_rests(scene, ours)
    return kafka.get("quiet") is False and is_sound(ours) and one.path.startswith("settled.probes") and (told or shown)


def is_shown_as_it_rests(scene: Scene, settled: Mapping[str, Value]) -> bool:
    """Whether our description has the members that came to rest, with as much as each then had, and the state."""
    is_consumer = settled.get("kind") == "consumer"
    group = consumer_view(scene, scene.ours) if is_consumer else view(scene, scene.ours, "DescribeGroups v5")
    shares = settled.get("shares")
    rested = {f"<{name}>": count for name, count in shares.items()} if isinstance(shares, Mapping) else {}
    shown = {str(row["member_id"]): counted(row["assignment"]) for row in rows_of(group.get("members"))}
    return group.get("state") == settled.get("state") and shown == rested


def is_classic_member(group: Mapping[str, Value], member_id: str) -> bool:
    """Whether a consumer group has this member, and that speaks the classic protocol."""
    return any(row["member_id"] == member_id and row.get("member_type") == 0 for row in rows_of(group.get("members")))


def probed(scene: Scene, course: Course, path: str) -> Value:
    """The value at a path."""
    return flatten("settled", course[scene.step - 1].settled).get(path)


PROBE_RULES: tuple[Rule, ...] = (
    Rule(title="A commit for a partition that another member has is refused, at rest (K5.11)", applies=of_another),
    Rule(title="DescribeGroups up to version 5 shows a consumer group, at rest (K6.1)", applies=old_view),
    Rule(title="The target of an emptied group is up to date (K2.61)", applies=emptied),
    Rule(title="What somebody has none of is not asked for (K9.1)", applies=nothing_to_ask_for),
    Rule(
        title="A static member that came back may not commit under any old epoch (K5.11)", applies=came_back_as_static
    ),
    Rule(title="Ties between protocols, at rest (K1.38)", applies=other_protocol_at_rest, parts=True),
    Rule(
        title="A classic member keeps the rack of the KIP-848 member whose seat it took (K2.30, K3.20)",
        applies=rack_of_its_predecessor,
    ),
    Rule(title="A new pattern without match frees what its member had, at rest (K2.4)", applies=target_of_nobody),
    Rule(title="Ties of uniform, at rest (K9.3, K9.4)", applies=uniform_at_rest),
    Rule(title="Kafka's group is not at rest when it is asked (K1.20, K4.4)", applies=asked_in_motion),
    Rule(
        title="A group that emptied before it turned classic is shown as a consumer group (K3.20)",
        applies=empty_of_another_kind,
    ),
    Rule(
        title="What a group that turned classic has is written in each member's version (K3.20)",
        applies=in_its_own_version,
    ),
    Rule(
        title="A classic member that names itself in a fetch need not name its generation (K5.20)",
        applies=named_without_generation,
    ),
)
