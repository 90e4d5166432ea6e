"""What is known to differ on purpose in single answers and descriptions, as rules over what differs at one step.

Each knows an entry of docs/reference/deviations.md and what must be so on both sides where it holds; none may forgive
by area: it names the fields, both values, and the state in which they differ.
"""

import re
from collections.abc import Mapping, Sequence

from tests.conformance.random.comparing import Found
from tests.conformance.random.scenes import Rule, Scene, names_in, partitions_of, parts_of, rows_of
from tests.conformance.random.sequences import OWN_TOPIC, Course, Grow
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Owned, Part

TARGETS = ("assignment_epoch", "state", "target_assignment")
SHOWN_AS = {"Assigning": "PreparingRebalance", "Reconciling": "CompletingRebalance"}
"""The states of consumer groups that classic clients know by another name."""
NOBODY_KNOWS: Mapping[str, Value] = {"state": "Dead", "error": "NONE", "members": [], "protocol_data": ""}
NEW_EYES = 6
IN_REBALANCE = {"PreparingRebalance", "CompletingRebalance"}
LED = re.compile(r"answer\.(leader|skip_assignment|members\b.*)")
"""What a JoinGroup's answer says of who leads."""
FREED = re.compile(r"answer\.(member_epoch|assignment\b)|consumer view\.groups\[0\]\.members\[\d+\]\.assignment\b")
CHOSEN = re.compile(r"answer\.protocol_name|classic view\.groups\[0\]\.protocol_data")
WITHOUT = re.compile(r"answer\.groups\[0\]\.(state|protocol_type|protocol_data|members\b.*)")


def shown_to_old_eyes(scene: Scene, one: Found) -> bool:
    """DescribeGroups before version 6 of a consumer group: nothing to Kafka, to us what both describe, in words
    of classic groups and whole (K6.1)."""
    call = scene.call(one.asked)
    if call is None or call.api != "DescribeGroups" or call.version >= NEW_EYES or WITHOUT.fullmatch(one.path) is None:
        return False
    kafka, ours = (rows_of(scene.answer(course, one.asked).get("groups")) for course in (scene.kafka, scene.ours))
    is_there = scene.group(scene.kafka, "consumer").get("error") == "NONE"
    hidden = is_there and len(kafka) == 1 and all(kafka[0].get(key) == value for key, value in NOBODY_KNOWS.items())
    return hidden and len(ours) == 1 and is_classic_view(ours[0], scene.group(scene.ours, "consumer"))


def is_classic_view(row: Mapping[str, Value], group: Mapping[str, Value]) -> bool:
    """Whether a description shows a consumer group's members and what each has, and its state, as of a classic one."""
    members = {str(one["member_id"]): one for one in rows_of(group.get("members"))}
    shown = {str(one["member_id"]): one for one in rows_of(row.get("members"))}
    state, assignor = str(group.get("state")), group.get("assignor") if members else ""
    head = (row.get("state"), row.get("protocol_type"), row.get("protocol_data"), row.get("error"))
    return (
        head == (SHOWN_AS.get(state, state), "consumer", assignor, "NONE")
        and set(shown) == set(members)
        and all(
            partitions_of(shown[name]["assignment"]) == partitions_of(one["assignment"])
            and shown[name]["client_id"] == one["client_id"]
            and shown[name].get("group_instance_id", one["instance_id"]) == one["instance_id"]
            for name, one in members.items()
        )
    )


def superseded(scene: Scene, one: Found) -> bool:
    """Whoever waits is answered when it asks again the same, or is no member any more (K1.52, K1.59)."""
    call, last = scene.call(one.asked), scene.call(scene.step)
    if call is None or call.api not in {"JoinGroup", "SyncGroup"} or scene.answer(scene.kafka, one.asked):
        return False
    code = scene.answer(scene.ours, one.asked).get("error")
    own = scene.named(scene.ours, call.fields.get("member_id"))
    if code == "NOT_COORDINATOR":
        if last is None or one.asked >= scene.step or (last.api, last.who) != (call.api, call.who):
            return False
        return bool(own) and own == scene.named(scene.ours, last.fields.get("member_id"))
    return code == "UNKNOWN_MEMBER_ID" and own not in scene.inside(scene.ours) | scene.inside(scene.kafka)


def computed_at_once(scene: Scene, one: Found) -> bool:
    """Kafka computes a target with the next heartbeat, and until then shows that it is behind (K2.26, K2.50, K2.61)."""
    call = scene.call(one.asked)
    views = one.path.startswith("consumer view") or (call is not None and call.api == "ConsumerGroupDescribe")
    return views and any(word in one.leaf() for word in TARGETS) and is_behind(scene)


def is_behind(scene: Scene) -> bool:
    """Whether both are in one epoch, for which Kafka has no target yet, and our target gives nothing to two."""
    kafka, ours = scene.group(scene.kafka, "consumer"), scene.group(scene.ours, "consumer")
    epochs = [numeric(group.get(name)) for group in (kafka, ours) for name in ("group_epoch", "assignment_epoch")]
    behind = epochs[1] < epochs[0] and kafka.get("state") in {"Assigning", "Empty"}
    at_target = epochs[2] == epochs[3] and epochs[2] - epochs[0] in {0, *scene.shifts}
    dealt = [one for row in rows_of(ours.get("members")) for one in partitions_of(row["target_assignment"])]
    return behind and at_target and len(dealt) == len(set(dealt))


def numeric(value: Value) -> int:
    """A number; 0 where there is none."""
    return value if isinstance(value, int) else 0


def grown_unheard(scene: Scene) -> int:
    """How often a topic that somebody subscribes to grew since a heartbeat was last let in, before this step's."""
    count = 0
    for step in range(1, scene.step + 1):
        if isinstance(scene.drawn.moves[step - 1], Grow):
            count += 1
        elif step < scene.step and scene.answer(scene.kafka, step).get("heartbeat_interval_ms"):
            count = 0
    subscribed = any(is_about_own_topic(row) for row in rows_of(scene.group(scene.ours, "consumer").get("members")))
    return count if subscribed else 0


def is_about_own_topic(member: Mapping[str, Value]) -> bool:
    """Whether a member wants the sequence's own topic, by its name or by a pattern."""
    names = member.get("subscribed_topic_names")
    return OWN_TOPIC in (names if isinstance(names, list) else []) or bool(member.get("subscribed_topic_regex"))


def topics_seen_at_once(scene: Scene, one: Found) -> bool:
    """Kafka looks at new topics with the next heartbeat (K2.24)."""
    last = scene.call(scene.step)
    beats = last is not None and last.api == "ConsumerGroupHeartbeat"
    if (beats and scene.answer(scene.kafka, scene.step).get("error") == "NONE") or not one.path.startswith("consumer"):
        return False
    kafka, ours = (scene.group(course, "consumer").get("group_epoch") for course in (scene.kafka, scene.ours))
    if not isinstance(kafka, int) or not isinstance(ours, int) or not is_ahead_by_topics(scene, kafka, ours):
        return False
    return any(word in one.leaf() for word in (*TARGETS, "group_epoch"))


def is_ahead_by_topics(scene: Scene, kafka: int, ours: int) -> bool:
    """Whether our epoch is further on by no more than how often topics grew, beside what both were apart before."""
    return any(0 < ours - kafka - shift <= grown_unheard(scene) for shift in {0, *scene.shifts})


def topics_and_joiner_at_once(scene: Scene, one: Found) -> bool:
    """New topics and a newcomer are one step of the epoch to Kafka, which sees both together, and two to us (K2.24)."""
    if not isinstance(one.kafka, int) or not isinstance(one.ours, int) or not one.leaf().endswith("epoch"):
        return False
    last = scene.call(scene.step)
    beats = last is not None and last.api == "ConsumerGroupHeartbeat"
    return beats and 0 < one.ours - one.kafka <= grown_unheard(scene)


def promised_left(scene: Scene, one: Found) -> bool:
    """Nobody who was only promised an id had a seat; to Kafka the others have to meet anew (K1.59)."""
    call = scene.call(scene.step)
    if call is None or call.api != "LeaveGroup" or one.asked != scene.step:
        return False
    entries = parts_of(call.fields.get("members")) or [call.fields]
    gone = {scene.named(scene.ours, entry.get("member_id")) for entry in entries}
    had_seats = gone & (scene.inside(scene.ours, before=1) | scene.inside(scene.kafka, before=1))
    answered = scene.answer(scene.kafka, scene.step) == scene.answer(scene.ours, scene.step)
    before = scene.group(scene.kafka, "classic", before=1).get("state")
    kafka, ours = scene.states("classic")
    return answered and not had_seats and kafka == "PreparingRebalance" and ours == before


def listed_at_once(scene: Scene, one: Found) -> bool:
    """Kafka lists the group as Assigning, we in the state that our description has (K2.26 in lists)."""
    call = scene.call(one.asked)
    kafka, ours = (scene.group(course, "consumer") for course in (scene.kafka, scene.ours))
    if call is None or call.api != "ListGroups" or kafka.get("state") != "Assigning" or not is_behind(scene):
        return False
    wanted = call.fields.get("states_filter")
    folded = {str(state).strip().lower() for state in wanted} if isinstance(wanted, list) else set()
    found = [row for row in rows_of(scene.answer(scene.ours, one.asked).get("groups")) if row.get("group_id") == "$g"]
    passes = not folded or str(ours.get("state")).lower() in folded
    is_ours = all(row.get("state", ours["state"]) == ours["state"] for row in found) and passes is bool(found)
    is_about_state = one.leaf().endswith(".state") or (bool(folded) and one.is_one_sided())
    return is_ours and is_about_state and one.path.startswith("answer.groups")


def seat_of(scene: Scene, side: str, instance: Part, before: int = 0) -> str:
    """Who has a seat on one side, of either kind; empty if nobody."""
    course = scene.kafka if side == "kafka" else scene.ours
    for view, name in (("consumer", "instance_id"), ("classic", "group_instance_id")):
        for row in rows_of(scene.group(course, view, before).get("members")):
            if row.get(name) == instance:
                return str(row["member_id"])
    return ""


def own_seat(scene: Scene, one: Found) -> bool:
    """A static member begins anew under the id that has its seat on both sides, before and after (K2.20)."""
    call = scene.call(one.asked)
    if call is None or call.api != "ConsumerGroupHeartbeat" or not call.fields.get("instance_id"):
        return False
    codes = [scene.answer(course, one.asked).get("error") for course in (scene.kafka, scene.ours)]
    instance = call.fields["instance_id"]
    holders = {seat_of(scene, side, instance, before) for side in ("kafka", "ours") for before in (0, 1)}
    own = str(scene.answer(scene.ours, one.asked).get("member_id"))
    let_in = codes == ["UNRELEASED_INSTANCE_ID", "NONE"] and call.fields["member_epoch"] == 0
    return one.path.startswith("answer") and let_in and holders == {own}


def seat_in_full_group(scene: Scene, one: Found) -> bool:
    """A restart is no new member: the seat was there, and the group has not grown (K1.13, K2.16, K4.3)."""
    call = scene.call(one.asked)
    if call is None:
        return False
    instance = call.fields.get("group_instance_id") or call.fields.get("instance_id")
    refused = scene.answer(scene.kafka, one.asked).get("error") == "GROUP_MAX_SIZE_REACHED"
    let_in = scene.answer(scene.ours, one.asked).get("error", "NONE") == "NONE"
    had_seat = bool(seat_of(scene, "kafka", instance, 1)) and bool(seat_of(scene, "ours", instance, 1))
    grew = len(scene.inside(scene.ours)) > len(scene.inside(scene.ours, before=1))
    return one.path.startswith("answer") and bool(instance) and refused and let_in and had_seat and not grew


def goes_on_without_expelled(scene: Scene, one: Found) -> bool:
    """Who was turned away for size in this rebalance holds up nobody of those that are in on both sides (K1.12)."""
    kafka, ours = scene.states("classic")
    refused = False
    for step in range(scene.step, 0, -1):
        refused = refused or scene.answer(scene.kafka, step).get("error") == "GROUP_MAX_SIZE_REACHED"
        if scene.group(scene.kafka, "classic", scene.step - step).get("state") != "PreparingRebalance":
            break
    same = scene.inside(scene.kafka) == scene.inside(scene.ours)
    return refused and same and kafka == "PreparingRebalance" and ours in {"CompletingRebalance", "Stable"}


def other_leader(scene: Scene, one: Found) -> bool:
    """Hash order against the oldest seat, where who led before is gone and both leaders are members (K1.35, K1.61)."""
    kafka, ours = (scene.answer(course, one.asked).get("leader") for course in (scene.kafka, scene.ours))
    both_in = {kafka, ours} <= scene.inside(scene.ours) & scene.inside(scene.kafka)
    if not kafka or not ours or kafka == ours or not both_in or LED.fullmatch(one.path) is None:
        return False
    before = [scene.answer(scene.ours, at).get("leader") for at, _ in scene.calls("JoinGroup") if at < one.asked]
    agreed = [leader for leader in before if leader]
    return not agreed or agreed[-1] not in scene.inside(scene.ours) or ours == agreed[-1]


def other_protocol(scene: Scene, one: Found) -> bool:
    """Hash order against the current, else the first by name, where both got the most votes (K1.38)."""
    kafka, ours = (str(_protocol(scene, course, one.asked)) for course in (scene.kafka, scene.ours))
    return CHOSEN.fullmatch(one.path) is not None and is_tie(proposals(scene), kafka, ours)


def is_tie(lists: Sequence[Sequence[str]], kafka: str, ours: str) -> bool:
    """Whether these are two protocols that all know who proposed these lists, and none has more votes than either."""
    common = set.intersection(*(set(names) for names in lists)) if lists else set()
    votes = [next((name for name in names if name in common), "") for names in lists]
    counts = {name: votes.count(name) for name in common}
    return kafka != ours and {kafka, ours} <= common and counts[kafka] == counts[ours] == max(counts.values())


def _protocol(scene: Scene, course: Course, asked: int) -> Value:
    return scene.answer(course, asked).get("protocol_name") or scene.group(course, "classic").get("protocol_data")


def proposals(scene: Scene) -> list[list[str]]:
    """The names that each member that is in proposed last, as it ordered them."""
    latest: dict[str, list[str]] = {}
    for _, call in scene.calls("JoinGroup"):
        if scene.told(scene.ours, call.who) in scene.inside(scene.ours):
            latest[call.who] = names_in(call.fields)
    return list(latest.values())


def owns_what_it_lost(scene: Scene, one: Found) -> bool:
    """A member that lists what it owns, without what it loses and without what it keeps, has given up to Kafka
    what it loses; here it is asked to give it up, as it may not have taken what it keeps (K2.34, decision 123).
    """
    call = scene.call(one.asked)
    if call is None or call.api != "ConsumerGroupHeartbeat" or one.asked != scene.step or not FREED.match(one.path):
        return False
    listed = partitions_in(call.fields.get("topic_partitions"))
    own = str(call.fields.get("member_id", "")).replace("member-", "<") + ">"
    before, kafka, ours = (
        has_and_is_to_have(scene, own, course, back)
        for course, back in ((scene.ours, 1), (scene.kafka, 0), (scene.ours, 0))
    )
    same_before = before == has_and_is_to_have(scene, own, scene.kafka, 1)
    lost, kept = before[0] - before[1], before[0] & before[1]
    says_so = listed is not None and not lost & listed and bool(kept - listed)
    return same_before and bool(lost) and says_so and not lost & kafka[0] and lost <= ours[0]


def partitions_in(owned: Part) -> set[str] | None:
    """The partitions that a heartbeat lists by name; None if it lists none or all that its member was told of."""
    if isinstance(owned, Owned):
        keep = owned.keep
        return None if keep is None else {f"{topic} {number}" for topic, numbers in keep.items() for number in numbers}
    return set() if owned == [] else None


def has_and_is_to_have(scene: Scene, member_id: str, course: Course, before: int) -> tuple[set[str], set[str]]:
    """What a member of a consumer group has, and what is its target, after this step or some before."""
    rows = rows_of(scene.group(course, "consumer", before).get("members"))
    found = [row for row in rows if row["member_id"] == member_id]
    names = ("assignment", "target_assignment")
    has, is_to_have = ({one for row in found for one in partitions_of(row[name])} for name in names)
    return has, is_to_have


def told_to_join_again(scene: Scene, one: Found) -> bool:
    """A member of a group that neither side knows is told so in a way that lets it live (K2.15, K5.3)."""
    call = scene.call(one.asked)
    if call is None or call.api not in {"ConsumerGroupHeartbeat", "OffsetCommit"} or not one.leaf().endswith("error"):
        return False
    epoch = scene.epoch(scene.ours, call.fields.get("member_epoch", call.fields.get("generation_id")), one.asked)
    if call.fields.get("group_id", "$g") == "$g":
        unknown = all(
            scene.group(course, view).get("error") == "GROUP_ID_NOT_FOUND"
            for course in (scene.kafka, scene.ours)
            for view in ("classic", "consumer")
        )
    else:
        unknown = not is_made(scene, call.fields.get("group_id"))
    names_one = epoch > 0 or (epoch == 0 and call.api == "OffsetCommit")
    return names_one and unknown and (one.kafka, one.ours) == ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID")


def is_made(scene: Scene, group_id: Part) -> bool:
    """Whether anybody got anywhere with a group that is not described, on either side."""
    return any(
        scene.answer(course, step).get("error") == "NONE"
        for step, other in scene.calls("ConsumerGroupHeartbeat", "JoinGroup", "OffsetCommit")
        for course in (scene.kafka, scene.ours)
        if other.fields.get("group_id") == group_id
    )


STEP_RULES: tuple[Rule, ...] = (
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
    Rule(title="Ties between protocols (K1.38)", applies=other_protocol, parts=True),
    Rule(
        title="A list without what a member keeps gives up nothing yet (K2.34)", applies=owns_what_it_lost, parts=True
    ),
    Rule(title="A member of an unknown group is told to join again (K2.15, K5.3)", applies=told_to_join_again),
)
