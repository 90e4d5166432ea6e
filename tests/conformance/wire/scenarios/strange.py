"""Requests whose fields no client library fills so and the wire allows: nameless topics, protocols and members."""

from itertools import product

from tests.conformance.wire.scenarios.offsets import begin, txn
from tests.support.conformance.calls import (
    ALL_SIX,
    SIX,
    alone,
    beat,
    chb,
    commit,
    committed_topics,
    delete_offsets,
    describe,
    enter,
    fetch,
    join,
    offer,
    sync,
)
from tests.support.conformance.steps import NEWEST, Part, Scenario, Step

NO_TOPIC = "00000000-0000-0000-0000-000000000000"
GENERATIONS = (-3, -2, -1, 0, 1, 2)
NAMELESS_SYNCS: tuple[dict[str, Part], ...] = (
    {"protocol_name": None},
    {"protocol_type": None},
    {"protocol_name": None, "member_id": "made-up"},
    {"protocol_name": None, "member_id": ""},
    {"protocol_name": None, "generation_id": 9},
    {"protocol_name": None, "group_id": ""},
    {"protocol_name": None, "group_id": "$g-x"},
    {"protocol_name": None, "group_instance_id": "made-up"},
    {"protocol_name": ""},
    {"protocol_type": ""},
)


NO_ID: Part = [
    {"topic_id": NO_TOPIC, "partitions": [{"partition": 0, "offset": 42, "leader_epoch": -1, "metadata": ""}]}
]


CUT_SHORT = b"\x00\x01\x00\x00\x00\x01\x00\x08wire-six\xff\xff\xff\xff"
"""Version 1 without what a member owns, as kafka-go and others write it."""


WHOSE: dict[str, dict[str, Part]] = {
    "its seat": {"member_id": "@a", "group_instance_id": "i-a"},
    "its id": {"member_id": "@a"},
    "a seat of nobody": {"member_id": "@a", "group_instance_id": "made-up"},
    "the seat alone": {"member_id": "", "group_instance_id": "i-a"},
}
NAMELESS: dict[str, dict[str, Part]] = {"nobody": {}, "a stranger": {"member_id": "made-up"}}


def strange(name: str, rules: str, *steps: Step) -> Scenario:
    """A scenario of Kafka's newest."""
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, kafkas=(NEWEST,), profile="plain")


def anonymous_transactions(who: str) -> tuple[Step, ...]:
    """Offsets in a transaction, by all sorts of nobody."""
    named: tuple[dict[str, Part], ...] = ({}, {"group_instance_id": "made-up"}, {"member_id": "made-up"})
    return tuple(
        txn(version, **{"generation_id": generation, **fields})
        for generation, fields, version in product(GENERATIONS, named, (3, 4))
    ) + tuple(txn(3, generation_id=generation, group_instance_id=f"i-{who}") for generation in GENERATIONS)


SCENARIOS: tuple[Scenario, ...] = (
    strange(
        "a SyncGroup names no protocol where there is no group",
        "K1.47 K1.48",
        *(sync("a", 5, **{"generation_id": -1, "member_id": "", **fields}) for fields in NAMELESS_SYNCS),
        *(sync("a", 4, **{"generation_id": -1, "member_id": "", **fields}) for fields in NAMELESS_SYNCS),
    ),
    strange(
        "a SyncGroup names no protocol in a classic group",
        "K1.47 K1.49",
        *alone("a"),
        *(sync("a", 5, **fields) for fields in NAMELESS_SYNCS),
        *(sync("a", 4, **fields) for fields in NAMELESS_SYNCS),
        beat("a"),
    ),
    strange(
        "a SyncGroup names no protocol in a consumer group",
        "K1.47 K4.20",
        chb("n", 0),
        *(sync("a", 5, **{"generation_id": 1, "member_id": "member-n", **fields}) for fields in NAMELESS_SYNCS),
    ),
    strange(
        "a subscription that ends before the fields of its version joins a consumer group",
        "K4.10",
        chb("n", 0, subscribed_topic_names=["wire-two"]),
        join("a", 3, protocols=offer("range", metadata=CUT_SHORT)),
    ),
    *(
        strange(
            f"no offsets are deleted {whose}",
            "K5.22",
            *begun,
            *(delete_offsets(name, ()) for name in ("wire-none", SIX, "")),
            *(*commits, delete_offsets("wire-none", ()), delete_offsets(SIX, ())),
        )
        for whose, begun, commits in (
            ("of a consumer group", (chb("a", 0),), (commit("a", member_id="member-a", generation_id="#a"),)),
            ("of a classic group", alone("a"), (commit("a"),)),
        )
    ),
    strange(
        "a text that is too long is committed under epochs of all sorts",
        "K5.1 K5.11",
        chb("a", 0),
        *(
            commit("a", member_id=member, generation_id=epoch, topics=committed_topics(metadata="x" * 4_097))
            for member, epoch in (("member-a", "#a-1"), ("member-a", "#a"), ("member-a", "#a+1"), ("made-up", "#a"))
        ),
        *(commit("a", member_id="member-a", generation_id="#a-1"), fetch("x")),
    ),
    strange(
        "a member's only protocol has no name",
        "K1.38",
        *(
            *enter("a", 6, protocols=offer("")),
            sync("a", 4, protocol_name="", assign={"@a": ALL_SIX}),
            *enter("b", 7, protocols=offer(""), group_id="$g-x"),
            sync("b", 5, protocol_name="", group_id="$g-x", assign={"@b": ALL_SIX}),
            describe(5),
        ),
    ),
    strange(
        "transactions of all sorts of nobody in a consumer group",
        "K5.16 K5.17",
        *(chb("a", 0, instance_id="i-a"), *begin(), *anonymous_transactions("a"), chb("a", -1, instance_id="i-a")),
        *anonymous_transactions("a"),
    ),
    strange(
        "transactions of all sorts of nobody in a classic group",
        "K5.5 K5.6",
        *(*alone("a", group_instance_id="i-a"), *begin(), *anonymous_transactions("a")),
    ),
    *(
        strange(
            f"a static member whose seat another has commits under {what}, v{version}",
            "K5.5",
            *(*alone("a", group_instance_id="i-a"), *begin(), join("b", 7, group_instance_id="i-a")),
            *(commit("a", version, generation_id=generation, **fields) for generation in (-1, 1, 2)),
            *(txn(3, generation_id=generation, **fields) for generation in (-1, 1, 2)),
            fetch("x"),
        )
        for version in (7, 9)
        for what, fields in WHOSE.items()
    ),
    *(
        strange(
            f"a transaction of a group without a name by {what}",
            "K5.15",
            *begin(),
            *(txn(3, group_id="", generation_id=generation, **fields) for generation in GENERATIONS),
        )
        for what, fields in NAMELESS.items()
    ),
    strange(
        "a topic without a name is committed by nobody of the group",
        "K5.1 K5.5",
        *alone("a"),
        *begin(),
        *(
            commit("a", version, member_id=member, topics=committed_topics(version, "") if version < 10 else NO_ID)
            for version, member in product((2, 8, 9, 10), ("@a", "made-up"))
        ),
        *(txn(3, **fields, topics=committed_topics(9, "")) for fields in ({"member_id": "made-up"}, {})),
    ),
    strange(
        "offsets of a topic without a name are deleted",
        "K5.22",
        *(*alone("a"), commit("a"), delete_offsets(""), delete_offsets(SIX), delete_offsets("", group="$g-x")),
    ),
)
