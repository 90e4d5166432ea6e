"""Requests that name a group, a topic, a partition or a member twice, or a group by no name: what each API makes of it."""

from collections.abc import Sequence

from tests.conformance.wire.scenarios.offsets import SIMPLE
from tests.support.conformance.calls import (
    ALL_SIX,
    LONG_MS,
    SHORT_MS,
    SIX,
    alone,
    beat,
    call,
    chb,
    commit,
    delete,
    describe,
    describe_consumer,
    enter,
    fetch,
    join,
    leave,
    leave_all,
    list_groups,
    sync,
    topic_of,
)
from tests.support.conformance.steps import NEWEST, Call, Part, Pause, Scenario, Step

BESIDE = "beside-$g"
"""A group that the bridge lets pass."""
NAMES = ("$g", BESIDE, "$g", BESIDE, "none-$g")
NAMELESS: dict[str, Part] = {"group_id": ""}
SEAT: dict[str, Part] = {"group_instance_id": "seat"}
EXPIRES = Pause(ms=SHORT_MS + 3_000)
Deleted = Sequence[tuple[str, Sequence[int]]]
NONE: Deleted = []
NOTHING: Deleted = [("wire-two", [])]
TOO_LONG = "x" * 5_000
EVERYWHERE = "everywhere"
"""A profile in which the bridge takes every group, also one without a name."""


def twice(name: str, rules: str, *steps: Step, profile: str = "plain") -> Scenario:
    """A scenario of Kafka's newest."""
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, kafkas=(NEWEST,), profile=profile)


def fetch_groups(*groups: tuple[str, str | None, int | str, Part], version: int = 9) -> Call:
    """OffsetFetch of several groups: name, member id, epoch and topics."""
    rows: list[Part] = [
        {"group_id": name, "member_id": member, "member_epoch": epoch, "topics": topics}
        for name, member, epoch, topics in groups
    ]
    return call("admin", "OffsetFetch", version, {"groups": rows}, {})


def delete_topics(*topics: tuple[str, Sequence[int]], group: str = "$g") -> Call:
    """OffsetDelete of an admin."""
    rows: list[Part] = [
        {"name": name, "partitions": [{"partition": partition} for partition in partitions]}
        for name, partitions in topics
    ]
    return call("admin", "OffsetDelete", 0, {"group_id": group, "topics": rows}, {})


def commit_all(version: int, *topics: tuple[str, Sequence[tuple[int, int, str]]], **fields: Part) -> Call:
    """A commit of partitions, offsets and texts, a simple one unless `fields` say otherwise."""
    rows: list[Part] = [
        {
            **topic_of(version, name),
            "partitions": [
                {"partition": partition, "offset": offset, "leader_epoch": -1, "metadata": text}
                for partition, offset, text in entries
            ],
        }
        for name, entries in topics
    ]
    usual: dict[str, Part] = {"group_id": "$g", **SIMPLE, "topics": rows}
    return call("x", "OffsetCommit", version, usual, fields)


OFFSETS = commit("x", 9, **SIMPLE)
OFFSETS_BESIDE = commit("p", 9, group_id=BESIDE, **SIMPLE)
OWN_OFFSETS = commit("a", 9, member_id="member-a")
BOTH_HALVES: Part = [{"name": SIX, "partitions": [0, 1]}]
ONE: Part = [{"name": "wire-one", "partitions": [0]}]
DOUBLED: Part = [
    {"name": SIX, "partitions": [0, 0, 1]},
    {"name": SIX, "partitions": [0, 2]},
    {"name": "wire-one", "partitions": []},
]

VIEWS = (
    twice(
        "groups are described twice",
        "K6.1 K6.2",
        *(*alone("a"), OFFSETS_BESIDE, describe(5, *NAMES), describe(6, *NAMES), describe_consumer(1, *NAMES)),
    ),
    twice("consumer groups are described twice", "K6.5", chb("a", 0), OFFSETS_BESIDE, describe_consumer(1, *NAMES)),
    twice(
        "empty groups are deleted twice",
        "K6.7",
        *(*alone("a"), leave("a"), OFFSETS, OFFSETS_BESIDE, delete(2, *NAMES), delete(2, *NAMES)),
    ),
    twice("a live group is deleted twice", "K6.7", *alone("a"), OFFSETS_BESIDE, delete(2, *NAMES)),
    twice(
        "filters are given twice, and types with blanks",
        "K6.4",
        *(
            *alone("a"),
            list_groups(5, ["Stable", "Stable"], ["classic", "Classic"]),
            *(list_groups(5, types=[kind]) for kind in (" classic", "classic ", "CLASSIC", "")),
            *(list_groups(5, states=[state]) for state in (" Stable", "stable ", "")),
        ),
    ),
    twice(
        "types of a consumer group are given with blanks",
        "K6.4",
        *(chb("a", 0), *(list_groups(5, types=[kind]) for kind in ("consumer", " consumer", "Consumer ", ""))),
    ),
)
FETCHES = (
    *(
        twice(
            f"groups are fetched twice, v{v}",
            "K5.18",
            *(
                *(OFFSETS, OFFSETS_BESIDE),
                fetch_groups(
                    *(("$g", None, -1, BOTH_HALVES), (BESIDE, None, -1, None)),
                    *(("$g", None, -1, ONE), (BESIDE, None, -1, ONE), ("none-$g", None, -1, ONE)),
                    version=v,
                ),
                fetch_groups(("$g", None, -1, None), ("$g", None, -1, None), version=v),
            ),
        )
        for v in (8, 9)
    ),
    twice(
        "a member fetches its group twice, once under a stale epoch",
        "K5.20",
        *(chb("a", 0), OWN_OFFSETS),
        fetch_groups(
            *(("$g", "member-a", 7, BOTH_HALVES), ("$g", "member-a", "#a", BOTH_HALVES)),
            ("$g", None, -1, ONE),
        ),
        fetch_groups(("$g", "member-a", "#a", BOTH_HALVES), ("$g", "member-a", 7, BOTH_HALVES)),
    ),
    *(
        twice(f"topics are fetched twice, v{v}", "K5.18", OFFSETS, fetch("x", v, topics=DOUBLED))
        for v in (1, 5, 7, 8, 9)
    ),
    twice(
        "a classic member fetches under any epoch",
        "K5.19",
        *(*alone("a"), commit("a")),
        *(fetch("a", 9, member_id="@a", member_epoch=epoch) for epoch in (-1, "#a", 77)),
        *(fetch("a", 9, member_id=member, member_epoch=3) for member in ("nobody", "", None)),
        fetch("a", 10, member_id="@a", member_epoch=-1),
    ),
)
COMMITS = (
    *(
        twice(
            f"partitions are committed twice, v{v}",
            "K5.1",
            commit_all(
                v,
                *((SIX, [(0, 5, ""), (0, 6, ""), (1, 7, "")]), ("wire-one", [(0, 1, "")])),
                *((SIX, [(0, 8, ""), (2, 9, "")]), ("wire-two", [])),
            ),
            fetch("x", 9, topics=[{"name": SIX, "partitions": [0, 1, 2]}]),
        )
        for v in (2, 8, 9, 10)
    ),
    twice(
        "partitions that are not there are committed twice",
        "K5.1",
        commit_all(
            9,
            *((SIX, [(0, 5, ""), (77, 5, ""), (77, 6, "")]), ("wire-none", [(0, 1, ""), (0, 2, "")])),
            *((SIX, [(0, 8, ""), (77, 9, "")]), ("wire-none", [(0, 1, "")])),
        ),
        commit_all(9),
        commit_all(9, ("wire-two", [])),
    ),
    *(
        twice(
            f"topics without partitions are committed by nobody of {what}",
            "K5.1 K5.2",
            *first,
            commit_all(9, ("wire-two", []), member_id="made-up", generation_id=3),
            commit_all(
                9, ("wire-two", []), (SIX, [(0, 5, "")]), ("wire-one", []), member_id="made-up", generation_id=3
            ),
        )
        for what, first in (("a consumer group", (chb("a", 0),)), ("a classic group", alone("a")))
    ),
    twice(
        "a partition is committed twice, once with too long a text",
        "K5.1",
        commit_all(9, (SIX, [(0, 1, TOO_LONG), (0, 2, "")]), (SIX, [(0, 3, TOO_LONG)])),
        fetch("x"),
    ),
)
DELETIONS = (
    twice(
        "offsets are deleted twice",
        "K5.22",
        commit_all(9, (SIX, [(number, 42, "") for number in range(3)])),
        delete_topics((SIX, [0, 0, 1]), (SIX, [2, 1]), ("wire-one", []), ("wire-none", [0, 0])),
        fetch("x", 9),
    ),
    twice(
        "offsets of a live consumer group are deleted twice",
        "K5.22",
        *(chb("a", 0), OWN_OFFSETS),
        delete_topics((SIX, [0, 0]), (SIX, [1]), ("wire-one", []), ("wire-one", [0]), ("wire-two", [1, 1])),
        *(delete_topics(*topics) for topics in (NONE, NOTHING, [(SIX, [])], [("wire-two", [9])])),
    ),
    twice(
        "offsets of a live classic group are deleted twice",
        "K5.22",
        *alone("a"),
        delete_topics((SIX, [0, 0]), ("wire-one", [0, 0]), ("wire-two", [])),
        *(delete_topics(*topics) for topics in (NONE, NOTHING, [("wire-none", [9])])),
    ),
    twice(
        "offsets are deleted where there is no group",
        "K5.22",
        *(delete_topics(*topics) for topics in (NONE, NOTHING, [(SIX, [0])], [("wire-none", [0])])),
        delete_topics(group=""),
    ),
)
DEPARTURES = (
    twice("a classic member leaves twice", "K1.59", *alone("a"), leave_all("admin", ("@a", None), ("@a", None))),
    twice(
        "a static classic member leaves by all its names",
        "K1.59",
        *alone("a", 9, **SEAT),
        leave_all("admin", ("", "seat"), ("", "seat"), ("@a", "seat"), ("@a", None)),
    ),
    twice("a consumer member leaves twice", "K4.40", chb("a", 0), leave_all("x", ("@a", None), ("@a", None))),
    twice(
        "a classic member of a consumer group leaves twice",
        "K4.40",
        *(chb("a", 0), *enter("b")),
        leave_all("admin", ("@b", None), ("@b", None)),
    ),
    twice("nobody leaves", "K1.59", *alone("a"), leave_all("admin"), beat("a")),
)
NO_NAME = (
    twice(
        "a group without a name",
        "K1.6 K2.1 K1.47 K1.54",
        *(join("a", 9, **NAMELESS), join("a", 1, **NAMELESS), chb("b", 0, **NAMELESS), chb("b", 5, **NAMELESS)),
        *(chb("b", -1, **NAMELESS), chb("b", 0, group_id="  "), chb("b", 5, group_id="  ")),
        sync("c", 5, member_id="x", generation_id=1, **NAMELESS),
        beat("c", 4, member_id="x", generation_id=1, **NAMELESS),
        leave("c", 5, member_id="x", **NAMELESS),
        *(describe_consumer(1, ""), delete_topics(group="")),
        profile=EVERYWHERE,
    ),
    twice(
        "a group is fetched beside one without a name",
        "K5.18",
        OFFSETS,
        *(
            fetch_groups(("$g", None, -1, topics), ("", None, -1, topics), version=v)
            for v in (8, 9)
            for topics in (None, BOTH_HALVES)
        ),
        fetch_groups(("", None, -1, None), ("$g", None, -1, None)),
        profile=EVERYWHERE,
    ),
)
RETURNING = (
    twice(
        "a static member that comes back keeps the longer session until it beats",
        "K1.40",
        join("a", 9, session_timeout_ms=LONG_MS, **SEAT),
        sync("a", assign={"@a": ALL_SIX}, **SEAT),
        join("b", 9, session_timeout_ms=SHORT_MS, **SEAT),
        *(EXPIRES, describe(5), beat("b", **SEAT), EXPIRES, describe(5)),
    ),
    twice(
        "a static member that comes back may be silent for longer than its own session until it beats",
        "K1.40",
        *(join("a", 8, session_timeout_ms=LONG_MS, **SEAT), sync("a", assign={"@a": ALL_SIX}, **SEAT)),
        *(join("b", 8, session_timeout_ms=SHORT_MS, **SEAT), EXPIRES),
        *(beat("b", **SEAT), EXPIRES, beat("b", member_id="@b", **SEAT)),
    ),
    twice(
        "a static member of a consumer group that comes back has the shorter session at once",
        "K4.50",
        *(chb("n", 0), join("a", 9, session_timeout_ms=LONG_MS, **SEAT), sync("a", **SEAT)),
        *(join("b", 9, session_timeout_ms=SHORT_MS, **SEAT), EXPIRES, beat("b", member_id="@b", **SEAT)),
    ),
    twice(
        "a displaced static member of a consumer group goes on",
        "K4.8 K5.9",
        *(chb("n", 0), join("a", 9, **SEAT), sync("a", **SEAT), join("b", 9, **SEAT)),
        *(commit("a"), commit("a", **SEAT), commit("a", group_instance_id="other"), beat("a"), beat("a", **SEAT)),
        fetch("a", 9, member_id="@a", member_epoch="#a"),
    ),
)
PATTERNS = (
    *(
        twice(
            f"a pattern that RE2 for Java refuses, {what}",
            "K2.4",
            chb("a", 0, subscribed_topic_names=[], subscribed_topic_regex=pattern),
        )
        for what, pattern in (
            ("a group named twice", "(?P<x>wire)-(?P<x>six)"),
            ("a group named twice in short", "(?<x>wire)-(?<x>six)"),
            ("a letter of no English name", "(?P<é>wire)"),
            ("any byte", r"\C"),
        )
    ),
    twice(
        "members that nobody knows",
        "K2.15 K2.17 K5.3",
        *(chb("a", 5), chb("a", -1), chb("b", 0), chb("a", 5), chb("a", -1), chb("b", -1), chb("a", 5)),
    ),
    twice("a commit of a member of no group", "K5.3", commit("a", 9, member_id="x", generation_id=3)),
)
SCENARIOS: tuple[Scenario, ...] = (
    *(*VIEWS, *FETCHES, *COMMITS, *DELETIONS),
    *(*DEPARTURES, *NO_NAME, *RETURNING, *PATTERNS),
)
