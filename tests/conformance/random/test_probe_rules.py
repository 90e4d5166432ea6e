"""Rules about what a group at rest is asked: each forgives what it is about, and not when its premise is not so."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.conformance.random import probe_rules as rules
from tests.conformance.random.members import Member
from tests.conformance.random.plots import answered, consumer, found, native, seen
from tests.conformance.random.scenes import Scene
from tests.conformance.random.sequences import Answered, Drawn, Move, Probe, Settle
from tests.support.conformance.calls import chb, join, offer
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Part

Row = Mapping[str, Value]


def counted(name: str, count: int) -> Row:
    """A member with so many partitions."""
    return native(name, {"topic_partitions": [{"topic_name": "wire-six", "partitions": count}]})


def offering(name: str, *protocols: str) -> Member:
    """A classic member that proposes these."""
    fields: dict[str, Part] = {"protocols": offer(*protocols)}
    return Member(name=name, join=9, sync=5, beat=4, leave=5, native=False, instance=None, topics=(), fields=fields)


GROUP = consumer(counted("a", 2), counted("b", 4))
GONE: Row = {"error": "GROUP_ID_NOT_FOUND", "members": []}
DEAD: Row = {"error": "NONE", "state": "Dead", "members": [], "protocol_data": ""}


def shown(*shares: int, state: str = "Stable") -> Row:
    """How old eyes see a group of a and b with so many partitions each."""
    members: list[Value] = [
        {
            "member_id": f"<{name}>",
            "client_id": f"client-{name}",
            "assignment": {"partitions": [{"topic": "wire-six", "partitions": share}]},
        }
        for name, share in zip("ab", shares, strict=False)
    ]
    return {"error": "NONE", "state": state, "protocol_type": "consumer", "protocol_data": "range", "members": members}


def asked(kafka: tuple[Row, Row], ours: tuple[Row, Row]) -> Scene:
    """Both sides' ConsumerGroupDescribe and DescribeGroups 5 of a probed group."""
    sides = [
        [
            seen(
                settled={
                    "probes": {
                        "views": {
                            "ConsumerGroupDescribe v1": {"groups": [new]},
                            "DescribeGroups v5": {"groups": [old]},
                        }
                    }
                }
            )
        ]
        for new, old in (kafka, ours)
    ]
    drawn = Drawn(seed=0, kind="resting", moves=(Probe(members=()),))
    return Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=1, found=())


def test_every_rule_has_its_own_test_here() -> None:
    """A rule that nobody tries with its premise broken forgives by area."""
    names = {rule.applies.__name__ for rule in rules.PROBE_RULES}
    tried = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name for name in names if not any(one.startswith(name) for one in tried)} == set()


@pytest.mark.parametrize(
    ("groups", "whose", "codes", "forgiven"),
    [
        ((GROUP, GROUP), "of <b>", ("NONE", "STALE_MEMBER_EPOCH"), True),
        ((GROUP, GROUP), "of <b>", ("NONE", "ILLEGAL_GENERATION"), True),
        ((GROUP, GROUP), "own", ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((GROUP, GROUP), "of nobody's", ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((GROUP, GROUP), "of <c>", ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((GROUP, GROUP), "of <b>", ("NONE", "UNKNOWN_MEMBER_ID"), False),
        ((GROUP, GROUP), "of <b>", ("STALE_MEMBER_EPOCH", "ILLEGAL_GENERATION"), False),
        ((GONE, GROUP), "of <b>", ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((GROUP, GONE), "of <b>", ("NONE", "STALE_MEMBER_EPOCH"), False),
    ],
)
def test_of_another(groups: tuple[Row, Row], whose: str, codes: tuple[str, str], forgiven: bool) -> None:
    """What a member of the group has, on both sides, and no other code."""
    its = asked((groups[0], DEAD), (groups[1], DEAD))
    one = found(f"settled.probes.members.a.commits.{whose}.v9.one by one[0]", *codes)
    assert rules.of_another(its, one) is forgiven


@pytest.mark.parametrize(
    ("kafka", "ours", "path", "forgiven"),
    [
        ((GROUP, DEAD), (GROUP, shown(2, 4)), "state", True),
        ((GROUP, DEAD), (GROUP, shown(2, 4)), "members[0].client_id", True),
        ((GROUP, DEAD), (GROUP, shown(2, 4)), "operations", False),
        ((GROUP, DEAD), (GROUP, shown(2, 3)), "state", False),
        ((GROUP, DEAD), (GROUP, shown(2)), "state", False),
        ((GROUP, DEAD), (GROUP, shown(2, 4, state="Empty")), "state", False),
        ((GROUP, shown(2, 4)), (GROUP, shown(2, 4)), "state", False),
        ((GONE, DEAD), (GROUP, shown(2, 4)), "state", False),
    ],
)
def test_old_view(kafka: tuple[Row, Row], ours: tuple[Row, Row], path: str, forgiven: bool) -> None:
    """Whole and true, of a group that is a consumer group to Kafka."""
    one = found(f"settled.probes.views.DescribeGroups v5.groups[0].{path}", "Dead", "Stable")
    assert rules.old_view(asked(kafka, ours), one) is forgiven


def test_old_view_is_not_for_version_6() -> None:
    """There both say that there is no classic group."""
    its = asked((GROUP, DEAD), (GROUP, shown(2, 4)))
    one = found("settled.probes.views.DescribeGroups v6.groups[0].state", "Dead", "Stable")
    assert not rules.old_view(its, one)


@pytest.mark.parametrize(
    ("kafka", "ours", "values", "forgiven"),
    [
        (consumer(), consumer(), ("(another epoch)", "(epoch)"), True),
        (consumer(), consumer(), ("(epoch)", "(another epoch)"), False),
        (GROUP, GROUP, ("(another epoch)", "(epoch)"), False),
        (GONE, consumer(), ("(another epoch)", "(epoch)"), False),
    ],
)
def test_emptied(kafka: Row, ours: Row, values: tuple[str, str], forgiven: bool) -> None:
    """Empty on both sides, and it is Kafka that is behind."""
    one = found("settled.probes.views.ConsumerGroupDescribe v1.groups[0].assignment_epoch", *values)
    assert rules.emptied(asked((kafka, DEAD), (ours, DEAD)), one) is forgiven


@pytest.mark.parametrize(
    ("path", "shares", "values", "forgiven"),
    [
        ("members.a.commits.of <b>.v9.together", (1, 0), ("NONE", "(absent)"), True),
        ("members.b.commits.own.v9.together", (1, 0), ("NONE", "(absent)"), True),
        ("read.v9.<b>", (0, 1), ("(absent)", "NONE ['7']"), True),
        ("members.a.commits.of <b>.v9.together", (1, 1), ("NONE", "(absent)"), False),
        ("members.a.commits.of <b>.v9.together", (0, 1), ("NONE", "(absent)"), False),
        ("members.a.commits.of <b>.v9.together", (2, 0), ("NONE", "(absent)"), False),
        ("members.a.commits.of <a>.v9.together", (1, 0), ("NONE", "(absent)"), False),
        ("members.a.commits.of <b>.v9.together", (1, 0), ("NONE", "UNKNOWN_MEMBER_ID"), False),
    ],
)
def test_nothing_to_ask_for(path: str, shares: tuple[int, int], values: tuple[str, str], forgiven: bool) -> None:
    """The group rested with one partition here and none there, which is what a spare one is."""
    sides = [[seen(settled={"shares": {"a": 3, "b": share}}), seen(settled={"probes": {}})] for share in shares]
    drawn = Drawn(seed=0, kind="resting", moves=(Settle(members=()), Probe(members=())))
    its = Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=2, found=())
    assert rules.nothing_to_ask_for(its, found(f"settled.probes.{path}", *values, step=2)) is forgiven


@pytest.mark.parametrize(
    ("beats", "codes", "forgiven"),
    [
        ((chb("a", 0, instance_id="i"), chb("a", 0, instance_id="i")), ("NONE", "STALE_MEMBER_EPOCH"), True),
        ((chb("a", 0, instance_id="i"), chb("b", 0, instance_id="i")), ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((chb("a", 0), chb("a", 0)), ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((chb("a", 0, instance_id="i"), chb("a", "#a", instance_id="i")), ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((chb("a", 0, instance_id="i"), chb("a", 0, instance_id="i")), ("STALE_MEMBER_EPOCH", "NONE"), False),
        ((chb("a", "#a", instance_id="i"), chb("a", 0, instance_id="i")), ("NONE", "STALE_MEMBER_EPOCH"), True),
        ((chb("a", "#a-1", instance_id="i"), chb("a", 0, instance_id="i")), ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((chb("a", "#b", instance_id="i"), chb("a", 0, instance_id="i")), ("NONE", "STALE_MEMBER_EPOCH"), False),
    ],
)
def test_came_back_as_static(beats: tuple[Call, Call], codes: tuple[str, str], forgiven: bool) -> None:
    """It joined twice, under one instance."""
    drawn = Drawn(seed=0, kind="resting", moves=(*beats, Probe(members=())))
    told = seen(answered(1, member_epoch=1)) if beats[0].fields["member_epoch"] == 0 else seen()
    its = Scene(drawn=drawn, kafka=[told, seen(), seen()], ours=[told, seen(), seen()], step=3, found=())
    one = found("settled.probes.members.a.as another.commits.long ago", *codes, step=3)
    assert rules.came_back_as_static(its, one) is forgiven


@pytest.mark.parametrize(
    ("first", "answers"),
    [
        (chb("a", 0, instance_id="i"), (answered(1, member_epoch=4),)),
        (join("a", group_instance_id="i"), (answered(1, generation_id=4),)),
        (Settle(members=(offering("a"),)), ()),
    ],
)
def test_came_back_as_static_not_of_who_goes_on(first: Move, answers: tuple[Answered, ...]) -> None:
    """Its own epoch is 0 before it is told one, by an answer or when clients go on by themselves, and no later."""
    beats = (first, chb("a", "#a", instance_id="i"), chb("a", 0, instance_id="i"))
    drawn = Drawn(seed=0, kind="resting", moves=(*beats, Probe(members=())))
    course = [seen(*answers), *[seen()] * 3]
    its = Scene(drawn=drawn, kafka=course, ours=course, step=4, found=())
    assert rules.begins_anew(its, 3, beats[2])
    assert not rules.begins_anew(its, 2, beats[1])


@pytest.mark.parametrize(
    ("epoch", "said", "instances", "forgiven"),
    [
        (-2, -2, ("i", "i"), True),
        (-2, 0, ("i", "i"), False),
        (-1, -1, ("i", "i"), False),
        (-2, -2, ("i", "j"), False),
        (-2, -2, (None, None), False),
    ],
)
def test_came_back_as_static_by_itself(
    epoch: int, said: int, instances: tuple[str | None, str | None], forgiven: bool
) -> None:
    """It said that it would be back, was let go, and its client went on under the same seat."""
    back = replace(offering("a"), native=True, instance=instances[1])
    moves = (
        chb("a", 0, instance_id=instances[0]),
        chb("a", epoch, instance_id=instances[0]),
        Settle(members=(back,)),
        Probe(members=(back,)),
    )
    course = [seen(answered(1, member_epoch=1)), seen(answered(2, member_epoch=said)), seen(), seen()]
    its = Scene(drawn=Drawn(seed=0, kind="resting", moves=moves), kafka=course, ours=course, step=4, found=())
    one = found("settled.probes.members.a.as another.commits.long ago", "NONE", "STALE_MEMBER_EPOCH", step=4)
    assert rules.came_back_as_static(its, one) is forgiven


RESTED: Row = {
    "error": "NONE",
    "state": "Stable",
    "members": [{"member_id": "<a>"}, {"member_id": "<b>"}],
}


TIE = (("range", "sticky"), ("sticky", "range"))


@pytest.mark.parametrize(
    ("lists", "joined", "ours", "values", "forgiven"),
    [
        (TIE, TIE[0], ("classic", RESTED), ("range", "sticky"), True),
        ((TIE[0], TIE[0]), TIE[0], ("classic", RESTED), ("range", "sticky"), False),
        (TIE, TIE[1], ("classic", RESTED), ("range", "sticky"), False),
        (TIE, TIE[0], ("consumer", RESTED), ("range", "sticky"), False),
        (TIE, TIE[0], ("classic", {**RESTED, "state": "Empty"}), ("range", "sticky"), False),
        (TIE, TIE[0], ("classic", {**RESTED, "members": [{"member_id": "<a>"}]}), ("range", "sticky"), False),
        (TIE, TIE[0], ("classic", RESTED), ("range", "roundrobin"), False),
        (TIE, TIE[0], ("classic", RESTED), ("range", ""), False),
    ],
)
def test_other_protocol_at_rest(
    lists: tuple[tuple[str, ...], ...],
    joined: tuple[str, ...],
    ours: tuple[str, Row],
    values: tuple[str, str],
    forgiven: bool,
) -> None:
    """All members are there on both sides, propose what they did when they came, and no protocol has more votes."""
    sides = [
        [
            seen(),
            seen(settled={"kind": kind}),
            seen(settled={"probes": {"views": {"DescribeGroups v5": {"groups": [group]}}}}),
        ]
        for kind, group in (("classic", RESTED), ours)
    ]
    members = tuple(offering(name, *protocols) for name, protocols in zip("ab", lists, strict=True))
    moves = (join("a", protocols=offer(*joined)), Settle(members=members), Probe(members=members))
    its = Scene(drawn=Drawn(seed=0, kind="mixed", moves=moves), kafka=sides[0], ours=sides[1], step=3, found=())
    one = found("settled.probes.views.DescribeGroups v5.groups[0].protocol_data", *values, step=3)
    assert rules.other_protocol_at_rest(its, one) is forgiven
    assert not rules.other_protocol_at_rest(its, replace(one, path=one.path.replace("protocol_data", "state")))


def shares(**counts: tuple[int, int]) -> Row:
    """A group of members with what each has, and is to have."""

    def some(count: int) -> Row:
        return {"topic_partitions": [{"topic_name": "wire-six", "partitions": count}] if count else []}

    return consumer(*(native(name, some(has), some(to_have)) for name, (has, to_have) in counts.items()))


LYING, DEALT_OUT = shares(a=(3, 3), b=(0, 3)), shares(a=(6, 6), b=(0, 0))


@pytest.mark.parametrize(
    ("kafka", "ours", "patterns", "where", "forgiven"),
    [
        (LYING, DEALT_OUT, ("wire-six", "six"), "target_assignment.topic_partitions", True),
        (LYING, DEALT_OUT, ("wire-six", "six"), "assignment.topic_partitions[0].partitions", True),
        (LYING, DEALT_OUT, ("six", "six"), "target_assignment.topic_partitions", False),
        (LYING, DEALT_OUT, ("wire-six", "wire-s.*"), "target_assignment.topic_partitions", False),
        (DEALT_OUT, LYING, ("wire-six", "six"), "target_assignment.topic_partitions", False),
        (LYING, shares(a=(5, 5), b=(0, 0)), ("wire-six", "six"), "target_assignment.topic_partitions", False),
        (LYING, shares(a=(3, 6), b=(0, 0)), ("wire-six", "six"), "target_assignment.topic_partitions", False),
        (LYING, shares(a=(6, 6)), ("wire-six", "six"), "target_assignment.topic_partitions", False),
        (LYING, shares(b=(0, 0), c=(6, 6)), ("wire-six", "six"), "target_assignment.topic_partitions", False),
        (shares(a=(3, 3), b=(3, 3)), DEALT_OUT, ("wire-six", "six"), "target_assignment.topic_partitions", False),
    ],
)
def test_target_of_nobody(kafka: Row, ours: Row, patterns: tuple[str, str], where: str, forgiven: bool) -> None:
    """Its member went over to a pattern without match and has nothing, and here the others have what that leaves."""
    calls = tuple(chb("b", 0, subscribed_topic_regex=pattern) for pattern in patterns)
    sides = [
        [seen(), seen(), seen(settled={"probes": {"views": {"ConsumerGroupDescribe v1": {"groups": [group]}}}})]
        for group in (kafka, ours)
    ]
    drawn = Drawn(seed=0, kind="regex", moves=(*calls, Probe(members=())))
    its = Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=3, found=())
    one = found(f"settled.probes.views.ConsumerGroupDescribe v1.groups[0].members[0].{where}", "x", "y", step=3)
    assert rules.target_of_nobody(its, one) is forgiven
    for values, is_so in ((("[3]", "[6]"), True), (("[3]", "[5]"), False), (("[2]", "[6]"), False)):
        told = found("settled.probes.members.a.alive.told", *values, step=3)
        assert rules.target_of_nobody(its, told) is (is_so and forgiven)
    assert not rules.target_of_nobody(its, replace(one, path=one.path.replace(where, "member_epoch")))


@pytest.mark.parametrize(
    ("kafka", "ours", "assignor", "forgiven"),
    [
        (shares(a=(3, 3), b=(4, 4)), shares(a=(4, 4), b=(3, 3)), "uniform", True),
        (shares(a=(3, 3), b=(4, 4)), shares(a=(4, 4), b=(3, 3)), "range", False),
        (shares(a=(3, 3), b=(4, 4)), shares(a=(4, 4), b=(2, 2)), "uniform", False),
        (shares(a=(3, 3), b=(4, 4)), shares(a=(4, 3), b=(3, 4)), "uniform", False),
        (shares(a=(3, 3), b=(4, 4)), shares(a=(4, 4), c=(3, 3)), "uniform", False),
    ],
)
def test_uniform_at_rest(kafka: Row, ours: Row, assignor: str, forgiven: bool) -> None:
    """By uniform on both sides, and as many have as much, of all that they are to have."""
    its = asked(({**kafka, "assignor": assignor}, DEAD), ({**ours, "assignor": assignor}, DEAD))
    view = "settled.probes.views.ConsumerGroupDescribe v1.groups[0].members[0]"
    assert rules.uniform_at_rest(its, found(f"{view}.assignment.topic_partitions[0].partitions", 3, 4)) is forgiven
    assert rules.uniform_at_rest(its, found("settled.probes.members.a.alive.told", "[3]", "[4]")) is forgiven
    assert not rules.uniform_at_rest(its, found("settled.probes.members.a.alive.told", "[3]", "[2]"))
    assert not rules.uniform_at_rest(its, found(f"{view}.member_epoch", 3, 4))


SOUND: Row = {
    "quiet": True,
    "unanswered": [],
    "owned twice": [],
    "told otherwise": [],
    "kind": "consumer",
    "state": "Stable",
    "shares": {"a": 2, "b": 4},
}
MOVING: Row = {**SOUND, "quiet": False}


@pytest.mark.parametrize(
    ("rested", "path", "values", "forgiven"),
    [
        ((MOVING, SOUND), "views.ConsumerGroupDescribe v1.groups[0].state", ("Reconciling", "Stable"), True),
        ((MOVING, SOUND), "lists.v5[0].state", ("Reconciling", "Stable"), True),
        ((MOVING, SOUND), "members.b.commits.own.v9.together", ("(absent)", "NONE"), True),
        ((MOVING, SOUND), "members.b", ({}, "(absent)"), True),
        ((MOVING, SOUND), "members.b.alive.beats[0]", ("REBALANCE_IN_PROGRESS", "NONE"), True),
        ((MOVING, SOUND), "members.b.alive.told", ("[0]", "[5]"), True),
        ((MOVING, SOUND), "members.b.alive.beats[0]", ("NONE", "REBALANCE_IN_PROGRESS"), False),
        ((MOVING, SOUND), "members.b.alive.beats[0]", ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"), False),
        ((MOVING, SOUND), "members.b.commits.own.v9.together", ("NONE", "STALE_MEMBER_EPOCH"), False),
        ((MOVING, SOUND), "refused.deletion[0].error", ("NON_EMPTY_GROUP", "NONE"), False),
        ((MOVING, SOUND), "changed by asking", (False, True), False),
        ((SOUND, SOUND), "views.ConsumerGroupDescribe v1.groups[0].state", ("Reconciling", "Stable"), False),
        ((MOVING, MOVING), "views.ConsumerGroupDescribe v1.groups[0].state", ("Reconciling", "Stable"), False),
        ((MOVING, {**SOUND, "owned twice": ["wire-six 0"]}), "lists.v5[0].state", ("Reconciling", "Stable"), False),
    ],
)
def test_asked_in_motion(rested: tuple[Row, Row], path: str, values: tuple[Value, Value], forgiven: bool) -> None:
    """Kafka's group was still moving, ours was at rest and sound, and it is about who is there and has what."""
    one = found(f"settled.probes.{path}", *values, step=2)
    assert rules.asked_in_motion(probed_after(rested, GROUP), one) is forgiven


def probed_after(rested: tuple[Row, Row], group: Row) -> Scene:
    """Both sides rested so, and ours is described like that then."""
    views: Value = {"ConsumerGroupDescribe v1": {"groups": [group]}, "DescribeGroups v5": {"groups": [group]}}
    sides = [[seen(settled=settled), seen(settled={"probes": {"views": views}})] for settled in rested]
    drawn = Drawn(seed=0, kind="mixed", moves=(Settle(members=()), Probe(members=())))
    return Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=2, found=())


@pytest.mark.parametrize(
    ("group", "kind", "forgiven"),
    [
        (GROUP, "consumer", True),
        (shown(2, 4), "classic", True),
        (shown(2, 3), "classic", False),
        (consumer(counted("a", 2), counted("b", 3)), "consumer", False),
        (consumer(counted("a", 2)), "consumer", False),
        ({**GROUP, "state": "Reconciling"}, "consumer", False),
    ],
)
def test_asked_in_motion_of_a_group_that_is_shown_as_it_rests(group: Row, kind: str, forgiven: bool) -> None:
    """Whatever Kafka's is: ours has not to be described as another than it was before it was asked."""
    its = probed_after((MOVING, {**SOUND, "kind": kind}), group)
    one = found("settled.probes.lists.v5[0].state", "PreparingRebalance", "Stable", step=2)
    assert rules.asked_in_motion(its, one) is forgiven
    gone = found("settled.probes.members.b.commits.own.v9.together", "(absent)", "NONE", step=2)
    assert rules.asked_in_motion(its, gone) is forgiven


@pytest.mark.parametrize(
    ("kind", "kafka", "ours", "forgiven"),
    [
        (0, "ILLEGAL_GENERATION []", "NONE ['7']", True),
        (1, "ILLEGAL_GENERATION []", "NONE ['7']", False),
        (0, "ILLEGAL_GENERATION []", "NONE ['6']", False),
        (0, "UNKNOWN_MEMBER_ID []", "NONE ['7']", False),
        (0, "STALE_MEMBER_EPOCH []", "NONE ['7']", False),
        (0, "NONE ['7']", "ILLEGAL_GENERATION []", False),
    ],
)
def test_named_without_generation(kind: int, kafka: str, ours: str, forgiven: bool) -> None:
    """A classic member on both sides, and it reads what it reads with its generation."""
    group = consumer(native("a", {}, member_type=kind))
    fetches: Value = {"itself v9": "NONE ['7']"}
    settled: Value = {
        "members": {"a": {"as another": {"fetches": fetches}}},
        "views": {"ConsumerGroupDescribe v1": {"groups": [group]}},
    }
    drawn = Drawn(seed=0, kind="resting", moves=(Probe(members=()),))
    sides = [[seen(settled={"probes": settled})] for _ in range(2)]
    its = Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=1, found=())
    one = found("settled.probes.members.a.as another.fetches.no epoch v9", kafka, ours)
    assert rules.named_without_generation(its, one) is forgiven


@pytest.mark.parametrize(
    ("kinds", "reads", "kafka", "ours", "forgiven"),
    [
        (("classic", "classic"), (3, 3), 1, 3, True),
        (("classic", "classic"), (0, 0), 1, 0, True),
        (("classic", "consumer"), (3, 3), 1, 3, False),
        (("classic", "classic"), (2, 2), 1, 3, False),
        (("classic", "classic"), (2, 3), 1, 3, False),
        (("classic", "classic"), (3, 3), 2, 3, False),
    ],
)
def test_in_its_own_version(
    kinds: tuple[str, str], reads: tuple[int, int], kafka: int, ours: int, forgiven: bool
) -> None:
    """Both groups are classic ones, and the member reads the version in which it has what it has."""
    sides = []
    for kind, version in zip(kinds, reads, strict=True):
        group: Value = {"members": [{"metadata": {"version": version}}]}
        probed: Value = {"views": {"DescribeGroups v5": {"groups": [group]}}}
        sides.append([seen(settled={"kind": kind}), seen(settled={"probes": probed})])
    drawn = Drawn(seed=0, kind="resting", moves=(Settle(members=()), Probe(members=())))
    its = Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=2, found=())
    one = found("settled.probes.views.DescribeGroups v5.groups[0].members[0].assignment.version", kafka, ours, step=2)
    assert rules.in_its_own_version(its, one) is forgiven


NOBODY: Row = {"state": "Empty", "members": []}
LISTED: Row = {"group_id": "$g", "state": "Empty", "type": "consumer"}


@pytest.mark.parametrize(
    ("kinds", "shown", "listed", "path", "forgiven"),
    [
        (("classic", "consumer"), NOBODY, [LISTED], "views.DescribeGroups v6.groups[0].state", True),
        (("classic", "consumer"), NOBODY, [LISTED], "lists.by type classic[0].state", True),
        (("classic", "consumer"), NOBODY, [LISTED], "members.a.commits.own", False),
        (
            ("classic", "consumer"),
            {"state": "Empty", "members": [{"member_id": "<a>"}]},
            [LISTED],
            "lists.v5[0].type",
            False,
        ),
        (("classic", "consumer"), {"state": "Stable", "members": []}, [LISTED], "lists.v5[0].type", False),
        (("classic", "classic"), NOBODY, [LISTED], "lists.v5[0].type", False),
        (("consumer", "classic"), NOBODY, [LISTED], "lists.v5[0].type", False),
        (("classic", "consumer"), NOBODY, [], "lists.v5[0].type", False),
        (("classic", "consumer"), NOBODY, [LISTED, LISTED], "lists.v5[0].type", False),
        (("classic", "consumer"), NOBODY, [{**LISTED, "state": "Stable"}], "lists.v5[0].state", False),
        (("classic", "consumer"), NOBODY, [{**LISTED, "type": "share"}], "lists.v5[0].type", False),
    ],
)
def test_empty_of_another_kind(
    kinds: tuple[str, str], shown: Row, listed: list[Value], path: str, forgiven: bool
) -> None:
    """Both rest with nobody in them, and each is shown and listed as what it is."""
    group: Value = {"error": "NONE", **shown}
    gone: Value = {"error": "GROUP_ID_NOT_FOUND", "members": []}
    views: tuple[Value, Value] = (
        {"DescribeGroups v6": {"groups": [group]}},
        {"DescribeGroups v6": {"groups": [gone]}, "ConsumerGroupDescribe v1": {"groups": [group]}},
    )
    sides = [
        [
            seen(settled={"kind": kind, "state": shown["state"]}),
            seen(settled={"probes": {"views": its, "lists": {"v5": listed}}}),
        ]
        for kind, its in zip(kinds, views, strict=True)
    ]
    drawn = Drawn(seed=0, kind="resting", moves=(Settle(members=()), Probe(members=())))
    its = Scene(drawn=drawn, kafka=sides[0], ours=sides[1], step=2, found=())
    assert rules.empty_of_another_kind(its, found(f"settled.probes.{path}", "x", "y", step=2)) is forgiven


TOOK_SEAT = native("c", {}, instance_id="i-c", member_type=0, rack_id="rack-a")


@pytest.mark.parametrize(
    ("row", "calls", "shown_by_kafka", "values", "forgiven"),
    [
        (TOOK_SEAT, ("i-c", "rack-a", "i-c"), "i-c", (None, "rack-a"), True),
        ({**TOOK_SEAT, "member_type": 1}, ("i-c", "rack-a", "i-c"), "i-c", (None, "rack-a"), False),
        (TOOK_SEAT, ("i-c", "rack-b", "i-c"), "i-c", (None, "rack-a"), False),
        (TOOK_SEAT, ("i-d", "rack-a", "i-c"), "i-c", (None, "rack-a"), False),
        (TOOK_SEAT, ("i-c", "rack-a", "i-d"), "i-c", (None, "rack-a"), False),
        (TOOK_SEAT, ("i-c", "rack-a", "i-c"), "i-d", (None, "rack-a"), False),
        (TOOK_SEAT, ("i-c", "rack-a", "i-c"), "i-c", ("rack-z", "rack-a"), False),
        ({**TOOK_SEAT, "instance_id": None}, (None, "rack-a", None), None, (None, "rack-a"), False),
    ],
)
def test_rack_of_its_predecessor(
    row: Row,
    calls: tuple[str | None, str, str | None],
    shown_by_kafka: str | None,
    values: tuple[Value, Value],
    forgiven: bool,
) -> None:
    """A classic member, whose seat a KIP-848 member had that said this rack, and Kafka's group was classic with it."""
    taken, rack, taking = calls
    moves = (
        chb("a", 0, instance_id=taken, rack_id=rack),
        join("c", group_instance_id=taking),
        Probe(members=()),
    )
    classic: Row = {"error": "NONE", "members": [{"member_id": "<c>", "group_instance_id": shown_by_kafka}]}
    probes: Value = {"views": {"ConsumerGroupDescribe v1": {"groups": [consumer(row)]}}}
    course = [seen(), seen(classic=classic), seen(settled={"probes": probes})]
    its = Scene(drawn=Drawn(seed=0, kind="mixed", moves=moves), kafka=course, ours=course, step=3, found=())
    one = found("settled.probes.views.ConsumerGroupDescribe v1.groups[0].members[0].rack_id", *values, step=3)
    assert rules.rack_of_its_predecessor(its, one) is forgiven
    assert not rules.rack_of_its_predecessor(its, replace(one, path=one.path.replace("rack_id", "client_id")))
    assert not rules.rack_of_its_predecessor(its, replace(one, path=one.path.replace("members[0]", "members[1]")))
