"""Offsets of classic and simple groups: commit, fetch, in transactions, delete (K5.1-K5.8, K5.15-K5.22)."""

from collections.abc import Iterable

from tests.conformance.wire.scenarios.joining import COMPLETING, classic
from tests.support.conformance.calls import (
    SIX,
    alone,
    beat,
    call,
    commit,
    committed_topics,
    delete,
    delete_offsets,
    describe,
    enter,
    fetch,
    join,
    leave,
    list_groups,
    offer,
    pair,
    parked,
    rejoin,
    sync,
)
from tests.support.conformance.steps import NEWEST, Await, Call, Part, Pause, Scenario, Step

COMMITS = range(2, 11)
FETCHES = range(1, 11)
SIMPLE: dict[str, Part] = {"generation_id": -1, "member_id": ""}
ON_BOTH_UP_TO = 9


def scenario(v: int, name: str, rules: str, *steps: Step, tests: str = "") -> Scenario:
    """A scenario for the Kafkas that have this version."""
    one = classic(name, rules, *steps, tests=tests)
    if v <= ON_BOTH_UP_TO:
        return one
    return Scenario(name=one.name, rules=one.rules, steps=one.steps, tests=one.tests, kafkas=(NEWEST,))


def begin(who: str = "p", version: int = 4) -> tuple[Step, ...]:
    """A producer's transaction that the group's offsets are part of."""
    first = call(who, "InitProducerId", version, {"transactional_id": "$g-t", "timeout_ms": 30_000}, NO_PRODUCER)
    fields: dict[str, Part] = {"transactional_id": "$g-t", "group_id": "$g", **PRODUCER}
    return (first, call(who, "AddOffsetsToTxn", 3, fields, {}))


NO_PRODUCER: dict[str, Part] = {"producer_id": -1, "producer_epoch": -1}
PRODUCER: dict[str, Part] = {"producer_id": "!id", "producer_epoch": "!epoch"}


def txn(version: int = 3, /, **fields: Part) -> Call:
    """TxnOffsetCommit of 42 for partition 0 of wire-six, by nobody of the group."""
    topics: Part = [{"name": SIX, "partitions": [{"partition": 0, "offset": 42, "leader_epoch": -1, "metadata": ""}]}]
    usual: dict[str, Part] = {"transactional_id": "$g-t", "group_id": "$g", "topics": topics, **PRODUCER}
    return call("p", "TxnOffsetCommit", version, {**usual, "generation_id": -1, "member_id": ""}, fields)


def reading(group: str) -> Part:
    """A group in a fetch of several."""
    return {"group_id": group, "member_id": None, "member_epoch": -1, "topics": [{"name": SIX, "partitions": [0]}]}


def end(*, committed: bool = True) -> tuple[Step, ...]:
    """The end of the transaction, and time for its markers to be written."""
    last = call("p", "EndTxn", 3, {"transactional_id": "$g-t", "committed": committed, **PRODUCER}, {})
    return (last, Pause(ms=1_000))


BAD_COMMITS: Iterable[tuple[str, str, dict[str, Part]]] = (
    ("a stranger", "K5.5", {"member_id": "made-up"}),
    ("a member of an older generation", "K5.5", {"generation_id": "#a-1"}),
    ("a member of a later generation", "K5.5", {"generation_id": "#a+1"}),
    ("nobody", "K5.6", SIMPLE),
    ("a member without a generation", "K5.5", {"generation_id": -1}),
    ("nobody with a generation", "K5.5", {"member_id": ""}),
)

BY_MEMBERS: tuple[Scenario, ...] = (
    *(
        scenario(
            v,
            f"a member commits and anyone reads, v{v}",
            "K5.5 K5.8",
            *alone("a"),
            commit("a", v),
            fetch("x", min(v, 8)),
        )
        for v in COMMITS
    ),
    *(
        scenario(
            v,
            f"a commit of {what}, v{v}",
            rule,
            *(*alone("a"), commit("a", v, **fields), fetch("x")),
            tests="testGenericGroupOffsetCommit OffsetCommitRequestTest",
        )
        for v in (2, 5, 8, 9, 10)
        for what, rule, fields in BAD_COMMITS
    ),
    *(
        scenario(v, f"a commit while the leader computes, v{v}", "K5.7", *COMPLETING, commit("b", v), fetch("x"))
        for v in (2, 8, 9, 10)
    ),
    *(
        scenario(
            v,
            f"a commit while members join, v{v}",
            "K5.7 K5.8",
            *pair(),
            parked(rejoin("a")),
            commit("b", v),
            fetch("x"),
        )
        for v in (2, 8, 9, 10)
    ),
    classic(
        "a commit of a promised member", "K5.5", *alone("a"), join("b"), commit("b", generation_id="#a"), fetch("x")
    ),
    classic(
        "a commit after the group was left",
        "K5.4 K5.5",
        *(*alone("a"), commit("a"), leave("a"), commit("a"), commit("x", **SIMPLE), fetch("x")),
    ),
    classic(
        "a commit under the instance of nobody",
        "K5.5",
        *(*alone("a"), commit("a", group_instance_id="one"), commit("x", group_instance_id="one", **SIMPLE)),
    ),
)

BY_NOBODY: tuple[Scenario, ...] = (
    *(
        scenario(
            v,
            f"a group of offsets only, v{v}",
            "K1.5 K5.3 K5.4 K6.4",
            *(
                commit("x", v, **SIMPLE),
                describe(5),
                list_groups(4),
                fetch("x", 8),
                delete(),
                fetch("x", 8),
                describe(5),
            ),
            tests="testSimpleGroupOffsetCommit",
        )
        for v in COMMITS
    ),
    *(
        scenario(
            v,
            f"a commit with a generation of no group, v{v}",
            "K5.3",
            *(commit("x", v, generation_id=3, member_id="made-up"), describe(5)),
            tests="testOffsetCommitWithUnknownGroup",
        )
        for v in COMMITS
    ),
    *(
        scenario(
            v,
            f"a commit {what}, v{v}",
            "K5.1",
            *(commit("x", v, **{**SIMPLE, **fields}), fetch("x", 8, topics=None)),
            tests="OffsetCommitRequestTest",
        )
        for v in (2, 6, 8, 9)
        for what, fields in (
            ("for an unknown topic", {"topics": committed_topics(v, "wire-none")}),
            ("for an unknown partition", {"topics": committed_topics(v, SIX, (0, 6))}),
            ("with text beyond the limit", {"topics": committed_topics(v, SIX, (0,), "x" * 4_097)}),
            ("with text at the limit", {"topics": committed_topics(v, SIX, (0,), "x" * 4_096)}),
            ("of no topics", {"topics": []}),
        )
    ),
    classic(
        "a member joins a group of offsets", "K1.5 K5.4", commit("x", **SIMPLE), *alone("a"), fetch("x"), describe(5)
    ),
)

READS: tuple[Scenario, ...] = (
    *(
        scenario(
            v,
            f"{what} is read, v{v}",
            "K5.19 K5.20",
            *(commit("x", 8, **SIMPLE), fetch("x", v, **fields)),
            tests="OffsetFetchRequestTest testFetchOffsetsWithUnknownGroup",
        )
        for v in FETCHES
        for what, fields in (
            ("what was committed and what was not", {}),
            *((("all that was committed", {"topics": None}),) if v > 1 else ()),
            *((("what is stable", {"require_stable": True}),) if v > 6 else ()),
        )
    ),
    *(scenario(v, f"a group that nobody knows is read, v{v}", "K5.19", fetch("x", v)) for v in FETCHES),
    *(
        scenario(v, f"all of a group that nobody knows is read, v{v}", "K5.19", fetch("x", v, topics=None))
        for v in (2, 5, 8, 9, 10)
    ),
    *(
        scenario(
            v,
            f"{what} reads a classic group, v{v}",
            "K5.20",
            *(*alone("a"), commit("a"), fetch("x", v, **fields)),
            tests="testConsumerGroupOffsetFetch",
        )
        for v in (9, 10)
        for what, fields in (
            ("a member", {"member_id": "@a", "member_epoch": "#a"}),
            ("a stranger", {"member_id": "made-up", "member_epoch": 1}),
            ("a member of another generation", {"member_id": "@a", "member_epoch": 7}),
        )
    ),
    *(
        scenario(
            v,
            f"several groups are read at once, v{v}",
            "K5.19 K5.20",
            commit("x", 8, **SIMPLE),
            call("x", "OffsetFetch", v, {"groups": [reading("$g"), reading("$g-2"), reading("$g-3")]}, {}),
        )
        for v in (8, 9)
    ),
    classic("an unknown topic is read", "K5.19", fetch("x", 8, topics=[{"name": "wire-none", "partitions": [0]}])),
    classic("an unknown partition is read", "K5.19", fetch("x", 8, topics=[{"name": SIX, "partitions": [77]}])),
    classic("a group without a name is read", "K5.19", fetch("x", 5, group_id="")),
)

IN_TRANSACTIONS: tuple[Scenario, ...] = (
    *(
        classic(
            f"offsets of a transaction that {what}, v{v}",
            "K5.16 K5.17 K5.18 K5.21",
            *(*begin(), txn(v), fetch("x", 8), fetch("x", 8, require_stable=True), *end(committed=committed)),
            *(fetch("x", 8, topics=[{"name": SIX, "partitions": [1]}]), describe(5)),
            tests="OffsetFetchRequestTest",
        )
        for v in (0, 2, 3, 4)
        for what, committed in (("commits", True), ("aborts", False))
    ),
    *(
        classic(
            f"a transaction of {what}, v{v}",
            rule,
            *(*alone("a"), *begin(), txn(v, **fields), *end(), beat("a")),
        )
        for v in (3, 4)
        for what, rule, fields in (
            ("a member", "K5.5", {"member_id": "@a", "generation_id": "#a"}),
            ("a stranger", "K5.5", {"member_id": "made-up", "generation_id": "#a"}),
            ("an older generation", "K5.5", {"member_id": "@a", "generation_id": "#a-1"}),
            ("nobody", "K5.6", {}),
        )
    ),
    *(
        classic(
            f"a transaction of nobody with members there, v{v}", "K5.6 K5.17", *alone("a"), *begin(), txn(v), *end()
        )
        for v in (0, 2)
    ),
    classic(
        "a transaction while the leader computes",
        "K5.7",
        *(*COMPLETING, *begin(), txn(member_id="@b", generation_id="#b"), *end()),
    ),
    classic(
        "a transaction with a generation of no group",
        "K5.16",
        *(*begin(), txn(member_id="made-up", generation_id=3), *end(), describe(5)),
    ),
    classic("a transaction of a group without a name", "K5.15", *begin(), txn(group_id=""), *end(committed=False)),
)

DELETED: tuple[Scenario, ...] = (
    classic("offsets of no group are deleted", "K5.22", delete_offsets(), delete_offsets(group="")),
    classic(
        "offsets that nobody reads on are deleted",
        "K5.22",
        *(commit("x", **SIMPLE, topics=committed_topics(9, SIX, (0, 1))), delete_offsets(SIX, (0, 5)), fetch("x")),
        tests="OffsetDeleteRequestTest",
    ),
    classic(
        "offsets of a subscribed topic stay",
        "K5.22 K1.39",
        *(*alone("a"), commit("a"), commit("a", topics=committed_topics(9, "wire-two"))),
        *(delete_offsets(), delete_offsets("wire-two"), fetch("x", topics=None), beat("a")),
        tests="OffsetDeleteRequestTest",
    ),
    classic(
        "offsets of a group that is no consumers' stay",
        "K5.22",
        *enter("a", protocol_type="connect", protocols=offer("default")),
        sync("a", protocol_type="connect", protocol_name="default"),
        *(commit("a"), delete_offsets(), leave("a"), delete_offsets(), fetch("x")),
    ),
    classic(
        "offsets of a group whose topics can't be read stay",
        "K5.22 K1.39",
        *alone("a", protocols=[{"name": "range", "metadata": b"\x00"}]),
        *(commit("a"), delete_offsets(), delete_offsets("wire-two"), leave("a"), delete_offsets()),
    ),
    classic("offsets of an unknown topic are deleted", "K5.22", commit("x", **SIMPLE), delete_offsets("wire-none")),
    classic("offsets of an unknown partition are deleted", "K5.22", commit("x", **SIMPLE), delete_offsets(SIX, (77,))),
    classic("offsets of nothing are deleted", "K5.22", commit("x", **SIMPLE), delete_offsets(SIX, ()), fetch("x")),
    classic(
        "offsets are deleted while members join",
        "K5.22",
        *(*pair(), commit("a"), parked(rejoin("a")), delete_offsets(), leave("b"), Await(who="a")),
    ),
)

SCENARIOS = (*BY_MEMBERS, *BY_NOBODY, *READS, *IN_TRANSACTIONS, *DELETED)
