"""Each rule forgives what it is about, and not when what it rests on is not so."""

from collections.abc import Mapping

import pytest

from tests.conformance.random import rules
from tests.conformance.random.plots import answered, classic, consumer, found, native, scene, seen, share
from tests.conformance.random.sequences import OWN_TOPIC, Answered, Grow
from tests.support.conformance.calls import beat, chb, commit, describe, join, leave, list_groups, offer, sync
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Owned, Part

Row = Mapping[str, Value]
HALVES = (native("a", share(0, 1, 2)), native("b", share(3, 4, 5)))
ASSIGNING = consumer(native("a", share(0)), state="Assigning", group_epoch=3)
COMPUTED = consumer(native("a", share(0)), group_epoch=3, assignment_epoch=3)


def test_every_rule_has_its_own_test_here() -> None:
    """A rule that nobody tries with its premise broken forgives by area."""
    names = {rule.applies.__name__ for rule in rules.STEP_RULES}
    tried = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name for name in names if not any(one.startswith(name) for one in tried)} == set()


def old_view(*members: Row, state: str = "Stable") -> Answered:
    """DescribeGroups 5 of a consumer group as we answer it."""
    rows: list[Value] = [
        {
            "member_id": one["member_id"],
            "client_id": one["client_id"],
            "group_instance_id": one["instance_id"],
            "assignment": {"partitions": [{"topic": "wire-six", "partitions": numbers_of(one)}]},
        }
        for one in members
    ]
    group: Value = {
        "error": "NONE",
        "group_id": "$g",
        "state": state,
        "protocol_type": "consumer",
        "protocol_data": "range" if rows else "",
        "members": rows,
    }
    return Answered(asked=1, answer={"groups": [group]})


def numbers_of(member: Row) -> Value:
    """The partitions of a member's only topic."""
    assignment = member["assignment"]
    assert isinstance(assignment, Mapping)
    rows = assignment["topic_partitions"]
    assert isinstance(rows, list)
    assert isinstance(rows[0], Mapping)
    numbers: Value = rows[0]["partitions"]
    return numbers


DEAD = Answered(
    asked=1,
    answer={"groups": [{"error": "NONE", "group_id": "$g", "state": "Dead", "members": [], "protocol_data": ""}]},
)
MOVED = native("a", share(0, 1)), native("b", share(2, 3, 4, 5))


@pytest.mark.parametrize(
    ("version", "kafka", "ours", "path", "forgiven"),
    [
        (5, DEAD, old_view(*HALVES), "answer.groups[0].state", True),
        (5, DEAD, old_view(*HALVES), "answer.groups[0].members[1].client_id", True),
        (6, DEAD, old_view(*HALVES), "answer.groups[0].state", False),
        (5, DEAD, old_view(*HALVES), "answer.groups[0].operations", False),
        (5, DEAD, old_view(*HALVES), "answered in step", False),
        (5, DEAD, old_view(*MOVED), "answer.groups[0].state", False),
        (5, DEAD, old_view(HALVES[0]), "answer.groups[0].state", False),
        (5, DEAD, old_view(*HALVES, state="Empty"), "answer.groups[0].state", False),
        (5, old_view(*HALVES), old_view(*HALVES, state="Empty"), "answer.groups[0].state", False),
    ],
)
def test_shown_to_old_eyes(version: int, kafka: Answered, ours: Answered, path: str, forgiven: bool) -> None:
    """Only a whole and true view of what ConsumerGroupDescribe shows, where Kafka shows nothing."""
    group = consumer(*HALVES)
    its = scene([describe(version)], [seen(kafka, consumer=group)], [seen(ours, consumer=group)])
    assert rules.shown_to_old_eyes(its, found(path, "Dead", "Stable")) is forgiven


def test_shown_to_old_eyes_not_when_kafka_knows_no_consumer_group() -> None:
    """A group that we made up."""
    its = scene([describe(5)], [seen(DEAD)], [seen(old_view(*HALVES), consumer=consumer(*HALVES))])
    assert not rules.shown_to_old_eyes(its, found("answer.groups[0].state", "Dead", "Stable"))


@pytest.mark.parametrize(
    ("code", "second", "inside", "forgiven"),
    [
        ("NOT_COORDINATOR", join("a", member_id="<a>"), ("a",), True),
        ("NOT_COORDINATOR", join("a"), ("a",), False),
        ("NOT_COORDINATOR", join("a", member_id="<c>"), ("a",), False),
        ("NOT_COORDINATOR", join("b", member_id="<a>"), ("a",), False),
        ("NOT_COORDINATOR", beat("a"), ("a",), False),
        ("UNKNOWN_MEMBER_ID", leave("admin", member_id="@a"), (), True),
        ("UNKNOWN_MEMBER_ID", leave("admin", member_id="@a"), ("a",), False),
        ("ILLEGAL_GENERATION", join("a"), ("a",), False),
    ],
)
def test_superseded(code: str, second: Call, inside: tuple[str, ...], forgiven: bool) -> None:
    """Who asks the same again, or is out on both sides; and Kafka says nothing."""
    group = classic("PreparingRebalance", *inside)
    moves = [join("a", member_id="<a>"), second]
    ours = [seen(classic=group), seen(answered(1, code), classic=group)]
    its = scene(moves, [seen(classic=group), seen(classic=group)], ours)
    assert rules.superseded(its, found("answer.error", "(absent)", code, step=2)) is forgiven


def test_superseded_not_where_kafka_answers() -> None:
    """Another answer is another answer."""
    its = scene([join("a"), join("a")], [seen(), seen(answered(1))], [seen(), seen(answered(1, "NOT_COORDINATOR"))])
    assert not rules.superseded(its, found("answer.error", "NONE", "NOT_COORDINATOR", step=2))


@pytest.mark.parametrize(
    ("kafka", "ours", "path", "forgiven"),
    [
        (ASSIGNING, COMPUTED, "state", True),
        (ASSIGNING, COMPUTED, "assignment_epoch", True),
        (ASSIGNING, COMPUTED, "members[0].assignment.topic_partitions[0].partitions", False),
        (ASSIGNING, COMPUTED, "group_epoch", False),
        ({**ASSIGNING, "assignment_epoch": 3}, COMPUTED, "state", False),
        ({**ASSIGNING, "state": "Stable"}, COMPUTED, "state", False),
        (ASSIGNING, {**COMPUTED, "assignment_epoch": 2}, "state", False),
        (ASSIGNING, {**COMPUTED, "group_epoch": 4, "assignment_epoch": 4}, "state", False),
        (ASSIGNING, {**COMPUTED, "members": [HALVES[0], HALVES[0]]}, "state", False),
    ],
)
def test_computed_at_once(kafka: Row, ours: Row, path: str, forgiven: bool) -> None:
    """Kafka is behind in the same epoch, and our target gives nothing to two."""
    its = scene([beat("a")], [seen(consumer=kafka)], [seen(consumer=ours)])
    assert rules.computed_at_once(its, found(f"consumer view.groups[0].{path}", 1, 2)) is forgiven


WANTS_OWN = native("a", share(0), subscribed_topic_names=[OWN_TOPIC])


@pytest.mark.parametrize(
    ("member", "heard", "epochs", "forgiven"),
    [
        (WANTS_OWN, False, (2, 3), True),
        (HALVES[0], False, (2, 3), False),
        (WANTS_OWN, True, (2, 3), False),
        (WANTS_OWN, False, (3, 2), False),
        (WANTS_OWN, False, (2, 2), False),
        (WANTS_OWN, False, (2, 4), False),
    ],
)
def test_topics_seen_at_once(member: Row, heard: bool, epochs: tuple[int, int], forgiven: bool) -> None:
    """Somebody wants the topic that grew, nobody was heard since, and we are ahead."""
    last = [Answered(asked=2, answer={"error": "NONE", "heartbeat_interval_ms": 5000})] * heard
    groups = [consumer(member, group_epoch=epoch) for epoch in epochs]
    steps = [[seen(consumer=group), seen(*last, consumer=group)] for group in groups]
    its = scene([Grow(name=OWN_TOPIC, partitions=2), chb("a", "#a")], *steps)
    assert rules.topics_seen_at_once(its, found("consumer view.groups[0].group_epoch", *epochs, step=2)) is forgiven


@pytest.mark.parametrize(
    ("member", "epochs", "path", "forgiven"),
    [
        (WANTS_OWN, (3, 4), "answer.member_epoch", True),
        (WANTS_OWN, (3, 5), "answer.member_epoch", False),
        (WANTS_OWN, (4, 3), "answer.member_epoch", False),
        (WANTS_OWN, (3, 4), "answer.heartbeat_interval_ms", False),
        (HALVES[0], (3, 4), "answer.member_epoch", False),
    ],
)
def test_topics_and_joiner_at_once(member: Row, epochs: tuple[int, int], path: str, forgiven: bool) -> None:
    """As many steps more as topics grew unheard."""
    group = consumer(member)
    its = scene([Grow(name=OWN_TOPIC, partitions=2), chb("b", 0)], *[[seen(consumer=group)] * 2] * 2)
    assert rules.topics_and_joiner_at_once(its, found(path, *epochs, step=2)) is forgiven


@pytest.mark.parametrize(
    ("had_seat", "ours", "codes", "forgiven"),
    [
        (False, "Stable", ("NONE", "NONE"), True),
        (True, "Stable", ("NONE", "NONE"), False),
        (False, "Empty", ("NONE", "NONE"), False),
        (False, "Stable", ("NONE", "UNKNOWN_MEMBER_ID"), False),
    ],
)
def test_promised_left(had_seat: bool, ours: str, codes: tuple[str, str], forgiven: bool) -> None:
    """Whoever left had no seat on either side, and here the group stays as it was."""
    before = classic("Stable", "a", *(["p"] if had_seat else []))
    kafka = [seen(classic=before), seen(answered(2, codes[0]), classic=classic("PreparingRebalance", "a"))]
    our = [seen(classic=before), seen(answered(2, codes[1]), classic=classic(ours, "a"))]
    its = scene([beat("a"), leave("admin", member_id="<p>")], kafka, our)
    one = found("classic view.groups[0].state", "PreparingRebalance", ours, asked=2, step=2)
    assert rules.promised_left(its, one) is forgiven


@pytest.mark.parametrize(
    ("states", "listed", "path", "forgiven"),
    [
        ((), "Stable", "answer.groups[0].state", True),
        ((), "Reconciling", "answer.groups[0].state", False),
        ((), "Stable", "answer.groups[0].type", False),
        (("Assigning",), None, "answer.groups[0].state", True),
        (("Stable",), None, "answer.groups[0].state", False),
    ],
)
def test_listed_at_once(states: tuple[str, ...], listed: str | None, path: str, forgiven: bool) -> None:
    """In the state that our description has, if that passes the filter."""
    rows: list[Value] = [] if listed is None else [{"group_id": "$g", "state": listed, "type": "consumer"}]
    ours = [seen(Answered(asked=1, answer={"groups": rows}), consumer=COMPUTED)]
    its = scene([list_groups(5, states)], [seen(consumer=ASSIGNING)], ours)
    assert rules.listed_at_once(its, found(path, "Assigning", listed or "(absent)")) is forgiven


SEATED = consumer(native("a", share(0), instance_id="i-a"))


@pytest.mark.parametrize(
    ("epoch", "group", "codes", "forgiven"),
    [
        (0, SEATED, ("UNRELEASED_INSTANCE_ID", "NONE"), True),
        (0, consumer(native("b", share(0), instance_id="i-a")), ("UNRELEASED_INSTANCE_ID", "NONE"), False),
        (0, consumer(), ("UNRELEASED_INSTANCE_ID", "NONE"), False),
        (0, SEATED, ("UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"), False),
        ("#a", SEATED, ("UNRELEASED_INSTANCE_ID", "NONE"), False),
    ],
)
def test_own_seat(epoch: int | str, group: Row, codes: tuple[str, str], forgiven: bool) -> None:
    """The seat is its own on both sides, before and after."""
    kafka, ours = (
        [seen(consumer=group), seen(answered(2, code, member_id="<a>" if code == "NONE" else None), consumer=group)]
        for code in codes
    )
    its = scene([beat("x"), chb("a", epoch, instance_id="i-a")], kafka, ours)
    assert rules.own_seat(its, found("answer.error", *codes, asked=2, step=2)) is forgiven
    assert not rules.own_seat(its, found("consumer view.groups[0].members[0].rack_id", *codes, asked=2, step=2))


@pytest.mark.parametrize(
    ("before", "after", "instance", "forgiven"),
    [
        (("a", "b"), ("a", "b"), "i-a", True),
        (("b", "c"), ("b", "c"), "i-a", False),
        (("a", "b"), ("a", "b", "c"), "i-a", False),
        (("a", "b"), ("a", "b"), None, False),
    ],
)
def test_seat_in_full_group(
    before: tuple[str, ...], after: tuple[str, ...], instance: str | None, forgiven: bool
) -> None:
    """The seat was there, and the group has not grown."""
    fields = {} if instance is None else {"group_instance_id": instance}
    kafka = [seen(classic=classic("Stable", *before)), seen(answered(2, "GROUP_MAX_SIZE_REACHED"))]
    ours = [seen(classic=classic("Stable", *before)), seen(answered(2), classic=classic("Stable", *after))]
    its = scene([beat("x"), join("a", **fields)], kafka, ours)
    assert rules.seat_in_full_group(its, found("answer.error", "?", "NONE", asked=2, step=2)) is forgiven
    assert not rules.seat_in_full_group(its, found("classic view.groups[0].state", "?", "NONE", asked=2, step=2))


def test_seat_in_full_group_not_where_it_is_refused_otherwise() -> None:
    """Who had the seat is let in, or waits to be."""
    before = seen(classic=classic("Stable", "a"))
    kafka, ours = (
        [before, seen(answered(2, code), classic=classic("Stable", "a"))]
        for code in ("GROUP_MAX_SIZE_REACHED", "UNKNOWN_SERVER_ERROR")
    )
    its = scene([beat("x"), join("a", group_instance_id="i-a")], kafka, ours)
    assert not rules.seat_in_full_group(its, found("answer.error", "?", "?", asked=2, step=2))


@pytest.mark.parametrize(
    ("kafka", "ours", "names", "refused", "forgiven"),
    [
        ("PreparingRebalance", "Stable", ("a",), True, True),
        ("PreparingRebalance", "Stable", ("a", "b"), True, False),
        ("PreparingRebalance", "Stable", ("a",), False, False),
        ("PreparingRebalance", "Empty", ("a",), True, False),
        ("CompletingRebalance", "Stable", ("a",), True, False),
    ],
)
def test_goes_on_without_expelled(kafka: str, ours: str, names: tuple[str, ...], refused: bool, forgiven: bool) -> None:
    """Somebody was turned away in this rebalance, and both sides have the same members."""
    codes = [answered(1, "GROUP_MAX_SIZE_REACHED" if refused else "NONE")]
    its = scene([join("c")], [seen(*codes, classic=classic(kafka, "a"))], [seen(*codes, classic=classic(ours, *names))])
    assert rules.goes_on_without_expelled(its, found("answer.error", "(absent)", "NONE")) is forgiven


@pytest.mark.parametrize(
    ("before", "inside", "leaders", "forgiven"),
    [
        ("<x>", ("a", "b"), ("<a>", "<b>"), True),
        ("<a>", ("a", "b"), ("<a>", "<b>"), False),
        ("<x>", ("a",), ("<a>", "<b>"), False),
        ("<x>", ("a", "b"), ("<a>", ""), False),
        ("<x>", ("a", "b"), ("<a>", "<a>"), False),
    ],
)
def test_other_leader(before: str, inside: tuple[str, ...], leaders: tuple[str, str], forgiven: bool) -> None:
    """Who led before is gone; both that lead now are members."""
    group = classic("CompletingRebalance", *inside)
    kafka, ours = (
        [seen(answered(1, leader=before)), seen(answered(2, leader=leader), classic=group)] for leader in leaders
    )
    its = scene([join("a"), join("b")], kafka, ours)
    assert rules.other_leader(its, found("answer.leader", *leaders, asked=2, step=2)) is forgiven
    assert not rules.other_leader(its, found("answer.generation_id", 1, 2, asked=2, step=2))


@pytest.mark.parametrize(
    ("first", "second", "chosen", "forgiven"),
    [
        (("range", "sticky"), ("sticky", "range"), ("range", "sticky"), True),
        (("range", "sticky"), ("range", "sticky"), ("range", "sticky"), False),
        (("range", "sticky"), ("sticky", "range"), ("range", "roundrobin"), False),
        (("range", "sticky"), ("sticky", "range"), ("range", "range"), False),
    ],
)
def test_other_protocol(
    first: tuple[str, ...], second: tuple[str, ...], chosen: tuple[str, str], forgiven: bool
) -> None:
    """Both names got as many votes, and none got more."""
    group = classic("CompletingRebalance", "a", "b")
    kafka, ours = (
        [
            seen(answered(1, member_id="<a>")),
            seen(answered(2, member_id="<b>", protocol_name=name), classic=group),
        ]
        for name in chosen
    )
    its = scene([join("a", protocols=offer(*first)), join("b", protocols=offer(*second))], kafka, ours)
    assert rules.other_protocol(its, found("answer.protocol_name", *chosen, asked=2, step=2)) is forgiven
    assert not rules.other_protocol(its, found("answer.generation_id", 1, 2, asked=2, step=2))


KEEPING = native("a", share(0, 1), share(0)), native("b", share(), share(1))
FREE = native("a", share(0)), native("b", share(1))


@pytest.mark.parametrize(
    ("listed", "before", "kafka", "ours", "forgiven"),
    [
        (Owned(keep={"wire-two": [1]}), KEEPING, FREE, KEEPING, True),
        ([], KEEPING, FREE, KEEPING, True),
        (None, KEEPING, FREE, KEEPING, False),
        (Owned(who="a"), KEEPING, FREE, KEEPING, False),
        (Owned(keep={"wire-six": [0]}), KEEPING, FREE, KEEPING, False),
        (Owned(keep={"wire-six": [1]}), KEEPING, FREE, KEEPING, False),
        (Owned(keep={"wire-six": [5]}), KEEPING, KEEPING, KEEPING, False),
        (Owned(keep={"wire-six": [5]}), KEEPING, FREE, FREE, False),
        (Owned(keep={"wire-six": [5]}), FREE, FREE, KEEPING, False),
        ([], (native("a", share(1), share()),), (native("a", share()),), (native("a", share(1), share()),), False),
    ],
)
def test_owns_what_it_lost(
    listed: Part, before: tuple[Row, ...], kafka: tuple[Row, ...], ours: tuple[Row, ...], forgiven: bool
) -> None:
    """It lists neither what it loses nor all that it keeps; Kafka has it free, and here it is still asked for."""
    moves = [beat("x"), chb("a", 2, topic_partitions=listed)]
    courses = [[seen(consumer=consumer(*before)), seen(consumer=consumer(*rows))] for rows in (kafka, ours)]
    its = scene(moves, courses[0], courses[1])
    for path in ("answer.member_epoch", "answer.assignment", "consumer view.groups[0].members[0].assignment"):
        assert rules.owns_what_it_lost(its, found(path, 3, 2, asked=2, step=2)) is forgiven
    assert not rules.owns_what_it_lost(its, found("answer.error", "NONE", "STALE_MEMBER_EPOCH", asked=2, step=2))


GONE: Row = {"error": "GROUP_ID_NOT_FOUND", "members": []}


@pytest.mark.parametrize(
    ("call", "groups", "codes", "forgiven"),
    [
        (chb("a", "#a"), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), True),
        (chb("a", "#a-4"), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
        (chb("a", "#b"), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
        (chb("a", 2), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), True),
        (commit("b", 9), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), True),
        (commit("b", 9, generation_id="#b-1"), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
        (commit("a", 9), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), True),
        (chb("a", -1), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
        (chb("a", "#a"), (SEATED, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
        (chb("a", "#a"), (GONE, SEATED), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
        (chb("a", "#a"), (GONE, GONE), ("UNKNOWN_MEMBER_ID", "GROUP_ID_NOT_FOUND"), False),
        (beat("a"), (GONE, GONE), ("GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID"), False),
    ],
)
def test_told_to_join_again(call: Call, groups: tuple[Row, Row], codes: tuple[str, str], forgiven: bool) -> None:
    """Neither side knows the group, and its member is in some epoch: it was told 3."""
    kafka, ours = ([seen(answered(1, member_epoch=3)), seen(consumer=group)] for group in groups)
    one = found("answer.error", *codes, asked=2, step=2)
    assert rules.told_to_join_again(scene([chb("a", 0), call], kafka, ours), one) is forgiven


@pytest.mark.parametrize(("earlier", "forgiven"), [("GROUP_ID_NOT_FOUND", True), ("NONE", False)])
def test_told_to_join_again_in_a_group_that_is_not_described(earlier: str, forgiven: bool) -> None:
    """The one that is described is another; nobody may have got anywhere with this one."""
    calls = [chb("a", 0, group_id="$g-x"), chb("a", 1, group_id="$g-x")]
    courses = [[seen(answered(1, earlier), consumer=SEATED), seen(consumer=SEATED)] for _ in range(2)]
    one = found("answer.error", "GROUP_ID_NOT_FOUND", "UNKNOWN_MEMBER_ID", asked=2, step=2)
    assert rules.told_to_join_again(scene(calls, *courses), one) is forgiven


def test_nothing_is_forgiven_of_a_sync_that_differs() -> None:
    """No rule is about every call."""
    its = scene([sync("a")], [seen(answered(1))], [seen(answered(1, "UNKNOWN_MEMBER_ID"))])
    one = found("answer.error", "NONE", "UNKNOWN_MEMBER_ID")
    assert [rule.title for rule in rules.STEP_RULES if rule.applies(its, one)] == []
