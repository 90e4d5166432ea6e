"""Classic members in consumer groups, call by call in every version: joins, syncs, heartbeats, leaves, offsets (K4.*, K5.*)."""

from dataclasses import replace

from tests.conformance.wire.scenarios.consumers import ONE as IN_SEAT
from tests.conformance.wire.scenarios.joining import OTHER
from tests.conformance.wire.scenarios.mixed import mixed, upgraded
from tests.conformance.wire.scenarios.offsets import begin, end, txn
from tests.conformance.wire.scenarios.seats import A, B
from tests.conformance.wire.scenarios.versions import ONE
from tests.support.conformance.calls import (
    alone,
    beat,
    chb,
    commit,
    delete,
    delete_offsets,
    describe,
    describe_consumer,
    enter,
    fetch,
    join,
    leave,
    leave_all,
    list_groups,
    offer,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.steps import Part, Pause, Scenario, Step, Subscription

BROKEN = offer("range", metadata=b"\x00")
CLAIMING = offer("cooperative-sticky", metadata=Subscription(owned={"wire-six": [0, 1]}))
OWNING = offer("range", metadata=Subscription(owned={"wire-six": [0, 1]}))


def joined(v: int = 9, /, **fields: Part) -> tuple[Step, ...]:
    """A group of n, of KIP-848, that has everything, and the classic member b, that has joined and synced."""
    static = {"group_instance_id": fields["group_instance_id"]} if "group_instance_id" in fields else {}
    return (chb("n", 0), *enter("b", v, **fields), sync("b", v, **static))


JOINS: tuple[Scenario, ...] = (
    *(
        mixed(
            f"a classic member joins a consumer group, v{v}",
            "K4.2 K4.5 K4.7 K4.13 K4.14 K4.22 K4.33",
            *(chb("n", 0), *enter("b", v), sync("b", v), beat("b", v), chb("n", "#n"), beat("b", v)),
            tests="testJoiningConsumerGroupWithNewDynamicMember",
        )
        for v in (2, 6, 8)
    ),
    *(
        mixed(f"{what} joins a consumer group, v{v}", rules, *(chb("n", 0), join("b", v, **fields), chb("n", "#n")))
        for v in range(10)
        for what, rules, fields in (
            ("a member of another type", "K4.4 K4.6", {"protocol_type": "connect", "member_id": "made-up"}),
            ("a member whose session is too long", "K4.1", {"session_timeout_ms": 1_800_001, "member_id": "made-up"}),
            ("a member whose words can't be read", "K4.5 K4.10", {"protocols": BROKEN}),
        )
    ),
    *(
        mixed(
            f"a member that writes version {number} is written to in it",
            "K4.10 K4.22",
            *(chb("n", 0), *enter("b", protocols=words), sync("b"), rejoin("b", protocols=words), sync("b")),
            tests="testClassicGroupSyncToConsumerGroupWithAllConsumerProtocolVersions",
        )
        for number in range(5)
        for words in (offer("range", metadata=Subscription(version=number)),)
    ),
    mixed(
        "who can't be read is refused when it comes with its id",
        "K4.5 K4.6 K4.10",
        *(chb("n", 0), join("b", protocols=BROKEN), rejoin("b", protocols=BROKEN), chb("n", "#n")),
    ),
    mixed(
        "a member whose words can't be read any more",
        "K4.10",
        *(*joined(), rejoin("b", protocols=BROKEN), beat("b")),
    ),
    mixed(
        "a newcomer that claims partitions",
        "K4.5 K4.12",
        *(chb("n", 0), join("b", protocols=OWNING), rejoin("b", protocols=OWNING), chb("n", "#n")),
    ),
    mixed(
        "a cooperative newcomer that claims partitions",
        "K4.5 K4.12",
        *(chb("n", 0), join("b", protocols=CLAIMING), rejoin("b", protocols=CLAIMING), chb("n", "#n")),
    ),
    mixed(
        "an assignor of its own joins a consumer group",
        "K4.4",
        *(chb("n", 0), join("b", protocols=offer("custom")), chb("n", "#n")),
    ),
    mixed(
        "an assignor of its own beside a known one",
        "K4.4 K4.14",
        *(chb("n", 0), *enter("b", protocols=offer("custom", "range")), chb("n", "#n")),
    ),
    mixed(
        "two members without a common protocol name",
        "K4.4",
        *(*joined(), join("c", protocols=offer("roundrobin")), beat("b"), chb("n", "#n")),
    ),
    mixed(
        "several protocols are answered with the first",
        "K4.14",
        *(chb("n", 0), *enter("b", protocols=offer("roundrobin", "range")), sync("b", protocol_name="roundrobin")),
    ),
)

SEATS: tuple[Scenario, ...] = (
    *(
        mixed(
            f"a static classic member of a consumer group restarts, v{v}",
            "K4.8 K2.30",
            *(*joined(v, **A), join("c", v, **A), sync("c", v, **A), beat("b", **A), beat("c", **A), sync("b", v, **A)),
            tests="testJoiningConsumerGroupReplacingExistingStaticMember testJoiningConsumerGroupWithNewStaticMember",
        )
        for v in range(5, 10)
    ),
    *(
        mixed(
            f"a seat of a consumer group is claimed under {what}, v{v}",
            "K4.9 K4.6",
            *(*joined(v, **A), join("c", v, **fields), beat("b", **A)),
            tests="testStaticMemberJoiningConsumerGroupWithUnmatchedMemberId "
            "testStaticMemberJoiningConsumerGroupWithUnknownInstanceId",
        )
        for v in (5, 7, 9)
        for what, fields in (
            ("a foreign id", {"member_id": "made-up", **A}),
            ("an unknown instance and its own id", {"member_id": "@b", **B}),
        )
    ),
    *(
        mixed(
            f"{api} under another id than the seat's, v{v}",
            "K4.20 K4.30",
            *(*joined(**A), step("b", v, member_id="made-up", **A), step("b", v, **B), beat("b", **A)),
            tests="testClassicGroupSyncToConsumerGroupWithFencedInstanceId",
        )
        for api, step, versions in (("a heartbeat", beat, (3, 4)), ("a sync", sync, (3, 4, 5)))
        for v in versions
    ),
    *(
        mixed(
            f"a static classic member takes the seat of one that had a pattern{what}",
            "K4.8 K4.11 K2.30",
            *(chb("m", 0), chb("n", 0, subscribed_topic_names=None, subscribed_topic_regex="wire-two", **IN_SEAT)),
            *(Pause(ms=1_500), *leaves, join("c", **fields, **A), sync("c", **A)),
            *(delete_offsets("wire-two"), describe_consumer()),
        )
        for what, leaves, fields in (
            (", under its id", (), {"member_id": "member-n"}),
            (" and is away", (chb("n", -2, **IN_SEAT),), {}),
        )
    ),
    mixed(
        "a static classic member of a consumer group comes back with other topics",
        "K4.11 K2.23",
        *(*joined(**A), join("c", protocols=offer("range", metadata=OTHER), **A), sync("c", **A), beat("c", **A)),
        tests="testJoiningConsumerGroupWithExistingStaticMemberAndNewSubscription",
    ),
    *(
        replace(
            mixed(
                f"{what} finds a full consumer group",
                "K4.3 K4.6",
                *(*joined(), join("c", **fields), beat("b")),
                tests="testJoiningConsumerGroupThrowsExceptionIfGroupOverMaxSize",
            ),
            profile="small",
        )
        for what, fields in (
            ("a new classic member", {}),
            ("an old classic member", {"member_id": "made-up"}),
            ("a static classic member", B),
            ("a static classic member with an id", {"member_id": "made-up", **B}),
            ("a member of another type", {"protocol_type": "connect"}),
            ("a member with a short session", {"session_timeout_ms": 1}),
        )
    ),
    replace(
        mixed("a member of a full consumer group rejoins", "K4.3", *(*joined(), rejoin("b"), sync("b"), beat("b"))),
        profile="small",
    ),
)

CALLS: tuple[Scenario, ...] = (
    *(
        mixed(f"{what} of a consumer group's classic member, v{v}", rule, *(*joined(v), step, beat("b")))
        for v in range(6)
        for what, rule, step in (
            ("an early sync", "K4.20", sync("b", v, generation_id="#b+1")),
            ("a sync under an unknown id", "K4.20", sync("b", v, member_id="made-up")),
            ("a repeated sync", "K4.22", sync("b", v)),
            ("a sync of no group", "K4.20", sync("b", v, group_id="")),
        )
    ),
    *(
        mixed(
            f"a sync under the id of a KIP-848 member, v{v}",
            "K4.20",
            *(*joined(), sync("b", v, member_id="member-n")),
            tests="testClassicGroupSyncToConsumerGroupWithUnknownMemberId",
        )
        for v in (0, 3, 5)
    ),
    *(
        mixed(f"{what} of a consumer group's classic member, v{v}", "K4.30", *(*joined(), step, beat("b", v)))
        for v in range(5)
        for what, step in (
            ("an early heartbeat", beat("b", v, generation_id="#b+1")),
            ("a heartbeat under an unknown id", beat("b", v, member_id="made-up")),
            ("a heartbeat of no group", beat("b", v, group_id="")),
            ("a heartbeat under the id of a KIP-848 member", beat("b", v, member_id="member-n", generation_id="#n")),
        )
    ),
    *(
        mixed(
            f"a classic member {what} a consumer group, v{v}",
            "K4.40 K4.41",
            *(*joined(), step, beat("b"), chb("n", "#n"), describe_consumer()),
            tests="testConsumerGroupMemberUsingClassicProtocolBatchLeaveGroup",
        )
        for v in range(6)
        for what, step in (
            ("leaves", leave("b", v)),
            ("leaves under an unknown id", leave("b", v, member_id="made-up")),
        )
    ),
    mixed(
        "a mixed batch leaves a consumer group",
        "K4.40 K4.41",
        *(*joined(**A), *enter("c"), sync("c")),
        leave_all("x", ("@c", None), ("made-up", None), ("", "one"), ("", "two"), ("@b", "one"), ("@c", "one")),
        *(beat("b", **A), beat("c"), chb("n", "#n"), describe_consumer()),
        tests="testConsumerGroupMemberUsingClassicProtocolBatchLeaveGroup",
    ),
    mixed(
        "a batch of nobody leaves a consumer group",
        "K4.40",
        *(*joined(), leave_all("x", ("made-up", None), ("", "two"), ("", None)), leave_all("x"), beat("b")),
        tests="testClassicGroupLeaveToConsumerGroupWithoutValidLeaveGroupMember",
    ),
    mixed(
        "a classic member that was called does not come",
        "K4.31 K4.51",
        *(*alone("a", rebalance_timeout_ms=2_000), chb("n", 0), beat("a"), chb("n", "#n")),
        *(until(beat("a"), error="UNKNOWN_MEMBER_ID"), chb("n", "#n")),
        tests="testConsumerGroupMemberUsingClassicProtocolFencedWhenJoinTimeout",
    ),
    mixed(
        "a classic member of a consumer group never syncs",
        "K4.15 K4.52",
        *(chb("n", 0), *enter("b", rebalance_timeout_ms=2_000), until(beat("b"), error="UNKNOWN_MEMBER_ID")),
    ),
)

OFFSETS: tuple[Scenario, ...] = (
    *(
        mixed(
            f"offsets of a consumer group's classic member, v{v}",
            "K5.10 K5.11",
            *(*upgraded(), commit("a", v), commit("a", v, generation_id="#a+9"), commit("a", v, member_id="made-up")),
            *(commit("a", v, generation_id=-1, member_id=""), fetch("x", 8)),
        )
        for v in range(2, 11)
    ),
    *(
        mixed(
            f"offsets of a group of both kinds are read, v{v}",
            "K5.20",
            *(*upgraded(), commit("a"), fetch("x", v), fetch("x", v, topics=[])),
        )
        for v in range(1, 11)
    ),
    *(
        mixed(
            f"{who} of a group of both kinds reads offsets, v{v}",
            "K5.20",
            *(*upgraded(), commit("a"), fetch("a", v, **fields)),
        )
        for v in (9, 10)
        for who, fields in (
            ("a classic member", {"member_id": "@a", "member_epoch": "#a"}),
            ("a classic member of another generation", {"member_id": "@a", "member_epoch": "#a+9"}),
            ("a KIP-848 member", {"member_id": "member-n", "member_epoch": "#n"}),
            ("a KIP-848 member of another epoch", {"member_id": "member-n", "member_epoch": "#n+9"}),
            ("a stranger", {"member_id": "made-up", "member_epoch": 1}),
        )
    ),
    *(
        mixed(
            f"a transaction of {what} in a group of both kinds, v{v}",
            "K5.16 K5.17",
            *(*upgraded(), *begin(), txn(v, **fields), *end()),
            until(fetch("x", 8, topics=ONE, require_stable=True), error="NONE"),
        )
        for v in (0, 3, 4)
        for what, fields in (
            ("a classic member", {"member_id": "@a", "generation_id": "#a"}),
            ("another generation", {"member_id": "@a", "generation_id": "#a+9"}),
            ("a stranger", {"member_id": "made-up", "generation_id": "#a"}),
        )
    ),
    mixed(
        "offsets of a group of both kinds are deleted",
        "K5.22 K6.7",
        *(*upgraded(), commit("a"), delete_offsets(), delete_offsets("wire-two"), delete(), fetch("x")),
    ),
    *(mixed(f"a group of both kinds is listed, v{v}", "K6.4", *(*upgraded(), list_groups(v))) for v in range(6)),
    *(mixed(f"a group of both kinds is deleted, v{v}", "K6.7", *(*upgraded(), delete(v))) for v in range(3)),
    *(
        mixed(
            f"a group of both kinds is described, v{v}", "K6.1 K6.5", *(*upgraded(), describe(6), describe_consumer(v))
        )
        for v in (0, 1)
    ),
)

SCENARIOS: tuple[Scenario, ...] = (*JOINS, *SEATS, *CALLS, *OFFSETS)
