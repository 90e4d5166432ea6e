"""Rules about groups at rest: each forgives what it is about, and not when what it rests on is not so."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.conformance.random import settled_rules as rules
from tests.conformance.random.members import Member
from tests.conformance.random.plots import answered, consumer, found, native, seen, share
from tests.conformance.random.scenes import Scene
from tests.conformance.random.sequences import Drawn, Move, Probe, Settle
from tests.support.conformance.calls import chb, join, offer
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Part

SOUND: Mapping[str, Value] = {
    "quiet": True,
    "unanswered": [],
    "owned twice": [],
    "told otherwise": [],
    "kind": "consumer",
    "state": "Stable",
    "owned": ["wire-six 0", "wire-six 1", "wire-six 2"],
    "shares": {"a": 1, "b": 2},
}
WAITING = {**SOUND, "quiet": False, "unanswered": ["JoinGroup of a"], "state": "PreparingRebalance"}


def member(name: str, *names: str) -> Member:
    """A classic member that proposes these."""
    fields: dict[str, Part] = {"protocols": offer(*names)}
    return Member(
        name=name, join=9, sync=5, beat=4, leave=5, native=False, instance=None, topics=("wire-six",), fields=fields
    )


def rest(kafka: Mapping[str, Value], ours: Mapping[str, Value], *moves: Move, pipelined: bool = False) -> Scene:
    """Both sides at rest after these steps, to all of which the same was answered."""
    last = Settle(members=(member("a", "range"), member("b", "sticky")))
    before = [seen(answered(at, member_id=f"<a of step {at}>")) for at in range(1, len(moves) + 1)]
    return Scene(
        drawn=Drawn(seed=0, kind="mixed", moves=(*moves, last)),
        kafka=[*before, seen(settled=kafka)],
        ours=[*before, seen(settled=ours)],
        step=len(moves) + 1,
        found=(),
        pipelined=pipelined,
    )


def test_every_rule_has_its_own_test_here() -> None:
    """A rule that nobody tries with its premise broken forgives by area."""
    names = {rule.applies.__name__ for rule in rules.SETTLED_RULES}
    tried = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {name for name in names if not any(one.startswith(name) for one in tried)} == set()


@pytest.mark.parametrize(
    ("kafka", "ours", "path", "forgiven"),
    [
        (WAITING, SOUND, "settled.state", True),
        (SOUND, SOUND, "settled.state", False),
        ({**WAITING, "unanswered": [], "state": "Stable"}, SOUND, "settled.state", False),
        (WAITING, {**SOUND, "quiet": False}, "settled.state", False),
        (WAITING, {**SOUND, "owned twice": ["wire-six 0"]}, "settled.owned twice[0]", False),
        (WAITING, {**SOUND, "told otherwise": ["a"]}, "settled.told otherwise[0]", False),
        (WAITING, {**SOUND, "unanswered": ["SyncGroup of a"]}, "settled.unanswered[0]", False),
        (WAITING, SOUND, "answer.error", False),
        (WAITING, SOUND, "settled.ended.a", False),
    ],
)
def test_kafka_waits(kafka: Mapping[str, Value], ours: Mapping[str, Value], path: str, forgiven: bool) -> None:
    """Kafka's clients wait, and ours are at rest and sound; who waits has not ended."""
    assert rules.kafka_waits(rest(kafka, ours), found(path, 1, 2)) is forgiven


@pytest.mark.parametrize(
    ("pipelined", "instance", "codes", "forgiven"),
    [
        (True, "i-a", ("FENCED_INSTANCE_ID", ""), True),
        (False, "i-a", ("FENCED_INSTANCE_ID", ""), False),
        (True, None, ("FENCED_INSTANCE_ID", ""), False),
        (True, "i-a", ("UNKNOWN_MEMBER_ID", ""), False),
        (True, "i-a", ("FENCED_INSTANCE_ID", "UNKNOWN_SERVER_ERROR"), False),
    ],
)
def test_fenced_late(pipelined: bool, instance: str | None, codes: tuple[str, str], forgiven: bool) -> None:
    """A static member whose old joins were read late, and that lives here."""
    its = rest(SOUND, SOUND, join("a", group_instance_id=instance), pipelined=pipelined)
    assert rules.fenced_late(its, found("settled.ended.a", *codes, step=2)) is forgiven


@pytest.mark.parametrize(
    ("joins", "shares", "forgiven"),
    [(2, {"a": 2, "b": 1}, True), (1, {"a": 2, "b": 1}, False), (2, {"a": 2, "b": 2}, False)],
)
def test_spare_by_chance(joins: int, shares: Mapping[str, Value], forgiven: bool) -> None:
    """Somebody had two ids, one partition went elsewhere, and none was lost or won."""
    its = rest(SOUND, {**SOUND, "shares": shares}, *[join("a")] * joins)
    assert rules.spare_by_chance(its, found("settled.shares.a", 1, 2, step=joins + 1)) is forgiven


@pytest.mark.parametrize(("waits", "forgiven"), [(True, True), (False, False)])
def test_spare_by_chance_where_a_join_waited(waits: bool, forgiven: bool) -> None:
    """Whoever waits when clients go on by themselves comes before or after others as it happens."""
    moves = Drawn(seed=0, kind="mixed", moves=(join("a"), Settle(members=())))
    first = seen() if waits else seen(answered(1, member_id="<a>"))
    its = [[first, seen(settled=settled)] for settled in (SOUND, {**SOUND, "shares": {"a": 2, "b": 1}})]
    where = Scene(drawn=moves, kafka=its[0], ours=its[1], step=2, found=())
    assert rules.spare_by_chance(where, found("settled.shares.a", 1, 2, step=2)) is forgiven


def test_spare_by_chance_not_of_two() -> None:
    """One partition is spare, two are a share."""
    its = rest(SOUND, {**SOUND, "shares": {"a": 3, "b": 0}}, join("a"), join("a"))
    assert not rules.spare_by_chance(its, found("settled.shares.a", 1, 3, step=3))


@pytest.mark.parametrize(
    ("kind", "leaders", "has", "path", "forgiven"),
    [
        ("classic", ("<a>", ""), SOUND["owned"], "settled.shares.a", True),
        ("consumer", ("<a>", ""), SOUND["owned"], "settled.shares.a", False),
        ("classic", ("<a>", "<a>"), SOUND["owned"], "settled.shares.a", False),
        ("classic", ("<a>", ""), SOUND["owned"], "settled.state", False),
        ("classic", ("<a>", ""), ["wire-six 0"], "settled.owned", False),
    ],
)
def test_nobody_leads(kind: str, leaders: tuple[str, str], has: Value, path: str, forgiven: bool) -> None:
    """A classic group on both sides, which somebody was told to lead by Kafka only, and nothing lies idle here."""
    settled = {**SOUND, "kind": kind}
    kafka, ours = (
        [seen(answered(1, leader=leader)), seen(settled={**settled, "owned": its})]
        for leader, its in zip(leaders, (SOUND["owned"], has), strict=True)
    )
    moves = Drawn(seed=0, kind="mixed", moves=(join("a"), Settle(members=())))
    its = Scene(drawn=moves, kafka=kafka, ours=ours, step=2, found=())
    assert rules.nobody_leads(its, found(path, 1, 2, step=2)) is forgiven


@pytest.mark.parametrize(
    ("patterns", "owned", "forgiven"),
    [
        (("wire-six", "six"), ["wire-six 0"], True),
        (("six", "six"), ["wire-six 0"], False),
        (("wire-six", "wire-s.*"), ["wire-six 0"], False),
        (("wire-six", "six"), ["wire-two 0"], False),
    ],
)
def test_left_to_nobody(patterns: tuple[str, str], owned: list[Value], forgiven: bool) -> None:
    """A member went over to a pattern without match, and what Kafka leaves lying is somebody's here."""
    calls = [chb("a", 0, subscribed_topic_regex=pattern) for pattern in patterns]
    its = rest({**SOUND, "owned": owned}, SOUND, *calls)
    assert rules.left_to_nobody(its, found("settled.owned[1]", "(absent)", "wire-six 1", step=3)) is forgiven


@pytest.mark.parametrize(
    ("assignor", "ours", "path", "forgiven"),
    [
        ("uniform", (0, 1), "target_assignment", True),
        ("range", (0, 1), "target_assignment", False),
        ("uniform", (0,), "target_assignment", False),
        ("uniform", (0, 1), "state", False),
    ],
)
def test_uniform_by_chance(assignor: str, ours: tuple[int, ...], path: str, forgiven: bool) -> None:
    """Which partitions, never how many, and by uniform only."""
    groups = [consumer(native("a", share(*numbers)), assignor=assignor) for numbers in ((4, 5), ours)]
    sides = [[seen(consumer=group)] for group in groups]
    its = Scene(
        drawn=Drawn(seed=0, kind="consumer", moves=(chb("a", 0),)), kafka=sides[0], ours=sides[1], step=1, found=()
    )
    one = found(f"consumer view.groups[0].members[0].{path}", "[4, 5]", str(list(ours)))
    assert rules.uniform_by_chance(its, one) is forgiven


@pytest.mark.parametrize(
    ("names", "kind", "codes", "forgiven"),
    [
        (("sticky",), "consumer", ("INCONSISTENT_GROUP_PROTOCOL", ""), True),
        (("range",), "consumer", ("INCONSISTENT_GROUP_PROTOCOL", ""), False),
        (("sticky",), "classic", ("INCONSISTENT_GROUP_PROTOCOL", ""), False),
        (("sticky",), "consumer", ("INCONSISTENT_GROUP_PROTOCOL", "FENCED_INSTANCE_ID"), False),
        (("sticky",), "consumer", ("UNKNOWN_MEMBER_ID", ""), False),
    ],
)
def test_no_common_protocol(names: tuple[str, ...], kind: str, codes: tuple[str, str], forgiven: bool) -> None:
    """A consumer group whose classic members indeed have no name in common."""
    move = Settle(members=(member("a", "range"), member("b", *names)))
    sides = [seen(settled={**SOUND, "kind": kind})]
    its = Scene(drawn=Drawn(seed=0, kind="mixed", moves=(move,)), kafka=sides, ours=sides, step=1, found=())
    assert rules.no_common_protocol(its, found("settled.ended.b", *codes)) is forgiven


REFUSED = {**SOUND, "quiet": False, "state": "Reconciling", "ended": {"a": "", "b": "INCONSISTENT_GROUP_PROTOCOL"}}


@pytest.mark.parametrize(
    ("first", "instance", "error", "kafka", "forgiven"),
    [
        ("other", "i-b", "NONE", REFUSED, True),
        ("other", None, "NONE", REFUSED, False),
        ("other", "i-c", "NONE", REFUSED, False),
        ("other", "i-b", "MEMBER_ID_REQUIRED", REFUSED, False),
        ("range", "i-b", "NONE", REFUSED, False),
        ("other", "i-b", "NONE", {**REFUSED, "ended": {"a": "", "b": ""}}, False),
        ("other", "i-b", "NONE", {**REFUSED, "kind": "classic"}, False),
        ("other", "i-b", "NONE", {**REFUSED, "owned twice": ["wire-six 0"]}, False),
    ],
)
def test_refused_by_its_seat(
    first: str, instance: str | None, error: str, kafka: Mapping[str, Value], forgiven: bool
) -> None:
    """Kafka let the static member in with another protocol than it proposes now: its seat still has that."""
    static = replace(member("b", "range"), instance="i-b")
    moves = (join("b", group_instance_id=instance, protocols=offer(first)), Settle(members=(static,)))
    sides = [[seen(answered(1, error)), seen(settled=settled)] for settled in (kafka, SOUND)]
    its = Scene(drawn=Drawn(seed=0, kind="mixed", moves=moves), kafka=sides[0], ours=sides[1], step=2, found=())
    differing: Mapping[str, tuple[Value, Value]] = {
        "settled.ended.b": ("INCONSISTENT_GROUP_PROTOCOL", ""),
        "settled.shares.a": (2, 1),
        "settled.quiet": (False, True),
    }
    for path, values in differing.items():
        assert rules.refused_by_its_seat(its, found(path, *values, step=2)) is forgiven
    assert not rules.refused_by_its_seat(its, found("settled.ended.a", "", "UNKNOWN_MEMBER_ID", step=2))
    assert not rules.refused_by_its_seat(its, found("settled.ended.b", "X", "FENCED_INSTANCE_ID", step=2))


def test_refused_by_its_seat_not_where_kafka_rests() -> None:
    """A group that came to rest has dealt out what there is."""
    static = replace(member("b", "range"), instance="i-b")
    moves = (join("b", group_instance_id="i-b", protocols=offer("other")), Settle(members=(static,)))
    rested = {**REFUSED, "quiet": True, "state": "Stable"}
    sides = [[seen(answered(1)), seen(settled=settled)] for settled in (rested, SOUND)]
    its = Scene(drawn=Drawn(seed=0, kind="mixed", moves=moves), kafka=sides[0], ours=sides[1], step=2, found=())
    assert not rules.refused_by_its_seat(its, found("settled.shares.a", 2, 1, step=2))


@pytest.mark.parametrize(
    ("epoch", "state", "owned", "codes", "forgiven"),
    [
        (-1, "Empty", [], ("classic", "consumer"), True),
        (-2, "Empty", [], ("classic", "consumer"), True),
        (1, "Empty", [], ("classic", "consumer"), False),
        (-1, "Stable", [], ("classic", "consumer"), False),
        (-1, "Empty", ["wire-six 0"], ("classic", "consumer"), False),
        (-1, "Empty", [], ("consumer", "classic"), False),
    ],
)
def test_emptied_before_it_turned(
    epoch: int, state: str, owned: list[Value], codes: tuple[str, str], forgiven: bool
) -> None:
    """Members of both kinds were in it, who speaks KIP-848 left, and nobody is there on either side."""
    kafka, ours = ({**SOUND, "state": state, "owned": owned, "kind": kind} for kind in codes)
    its = rest(kafka, ours, join("a"), chb("b", epoch))
    assert rules.emptied_before_it_turned(its, found("settled.kind", *codes, step=3)) is forgiven
    assert not rules.emptied_before_it_turned(its, found("settled.state", *codes, step=3))


def converted_in_a_join(*names: str, failed: str = "b lacks roundrobin", ours: Mapping[str, Value] = SOUND) -> Scene:
    """A KIP-848 member for whom Kafka failed, a classic one that offers these, and what ours came to."""
    newcomer = replace(member("n"), native=True, fields={})
    moves = (Settle(members=(member("a", "roundrobin", "range"), member("b", *names), newcomer)),)
    kafka = [seen(settled={**SOUND, "failed": {"n": failed}})]
    return Scene(
        drawn=Drawn(seed=0, kind="mixed", moves=moves), kafka=kafka, ours=[seen(settled=ours)], step=1, found=()
    )


@pytest.mark.parametrize(
    ("scene", "path", "kafka", "ours", "forgiven"),
    [
        (converted_in_a_join("range"), "settled.failed.n", "b lacks roundrobin", "(absent)", True),
        (converted_in_a_join("range"), "settled.failed.n", "(absent)", "b lacks roundrobin", False),
        (converted_in_a_join("range"), "settled.failed.n", "a lacks roundrobin", "(absent)", False),
        (converted_in_a_join("range"), "settled.failed.n", "a b lacks roundrobin", "(absent)", False),
        (converted_in_a_join("range"), "settled.failed.n", "nobody lacks roundrobin", "(absent)", False),
        (converted_in_a_join("range"), "settled.failed.b", "b lacks roundrobin", "(absent)", False),
        (converted_in_a_join("range", "roundrobin"), "settled.failed.n", "b lacks roundrobin", "(absent)", False),
        (converted_in_a_join("range"), "settled.kind", "classic", "consumer", False),
        (converted_in_a_join("range"), "settled.shares.n", 1, 2, False),
        (converted_in_a_join("range"), "settled.ended.n", "UNKNOWN_SERVER_ERROR", "", False),
        (
            converted_in_a_join("range", ours={**SOUND, "quiet": False}),
            "settled.failed.n",
            "b lacks roundrobin",
            "(absent)",
            False,
        ),
    ],
)
def test_newcomer_lacks_protocol(scene: Scene, path: str, kafka: Value, ours: Value, forgiven: bool) -> None:
    """Kafka failed and we did not, as who was there does not offer what the group had; what both come to is equal."""
    assert rules.newcomer_lacks_protocol(scene, found(path, kafka, ours)) is forgiven


@pytest.mark.parametrize(
    ("assignors", "shares", "values", "forgiven"),
    [
        (("uniform", "uniform"), {"a": 2, "b": 1}, (1, 2), True),
        (("uniform", "range"), {"a": 2, "b": 1}, (1, 2), False),
        ((None, None), {"a": 2, "b": 1}, (1, 2), False),
        (("uniform", "uniform"), {"a": 2, "b": 2}, (1, 2), False),
        (("uniform", "uniform"), {"a": 2, "b": 1}, (1, 3), False),
    ],
)
def test_uniform_spare(
    assignors: tuple[str | None, str | None], shares: Mapping[str, Value], values: tuple[int, int], forgiven: bool
) -> None:
    """One partition went elsewhere, as many have as much, and the group that is asked next is dealt out by uniform."""
    sides = []
    for assignor, settled in zip(assignors, (SOUND, {**SOUND, "shares": shares}), strict=True):
        views: Value = {"ConsumerGroupDescribe v1": {"groups": [consumer(assignor=assignor)]}}
        asked: Mapping[str, Value] = {"probes": {"views": views}} if assignor else {}
        sides.append([seen(settled=settled), seen(settled=asked)])
    moves = (Settle(members=()), Probe(members=()))
    its = Scene(drawn=Drawn(seed=0, kind="mixed", moves=moves), kafka=sides[0], ours=sides[1], step=1, found=())
    assert rules.uniform_spare(its, found("settled.shares.a", *values)) is forgiven
    assert not rules.uniform_spare(its, found("settled.state", *values))
