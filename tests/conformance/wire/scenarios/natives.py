"""What else members and admins ask of consumer groups: classic calls, views, empty groups changing kind, offsets."""

from tests.conformance.wire.scenarios.consumers import ONE, native
from tests.conformance.wire.scenarios.offsets import SIMPLE, begin, end, txn
from tests.support.conformance.calls import (
    SIX,
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
    full_chb,
    join,
    leave,
    leave_all,
    list_groups,
    sync,
)
from tests.support.conformance.steps import Pause, Scenario

CLASSIC_CALLS = (
    native(
        "classic calls of a consumer member",
        "K4.20 K4.30 K4.40 K3.21",
        *(
            chb("a", 0),
            beat("a", member_id="member-a", generation_id=2),
            sync("a", member_id="member-a", generation_id=2),
        ),
        *(commit("a", 8, member_id="member-a", generation_id=2), chb("a", "#a")),
        tests="testClassicGroupHeartbeatToConsumerWithMemberNotUsingClassicProtocol",
    ),
    native(
        "an admin takes consumer members out",
        "K3.21 K4.40",
        *(
            chb("a", 0, **ONE),
            chb("b", 0),
            leave_all("admin", ("member-b", None), ("made-up", None), ("", "one"), ("", "two")),
        ),
        *(chb("a", 2), describe_consumer()),
    ),
    native(
        "old eyes on a consumer group",
        "K6.1 K6.4 K6.7",
        chb("a", 0),
        *(describe(v) for v in (0, 5, 6)),
        delete(),
        list_groups(3),
    ),
    native(
        "an emptied consumer group is listed, described and deleted",
        "K2.61 K6.5 K6.7",
        *(
            chb("a", 0),
            chb("a", -1),
            list_groups(5),
            list_groups(5, types=["consumer"]),
            list_groups(5, types=["classic"]),
        ),
        *(list_groups(4, states=["empty"]), describe_consumer(0), describe(6), delete(), describe_consumer(1)),
    ),
    native(
        "states of a consumer group are filters too",
        "K6.4",
        chb("a", 0),
        *(
            list_groups(5, states=[name], types=["Consumer"])
            for name in ("Stable", "assigning", "Reconciling", "Empty", "Dead")
        ),
    ),
    native(
        "several consumer groups are described at once", "K6.5 K6.6", chb("a", 0), describe_consumer(1, "$g", "$g-none")
    ),
    native(
        "an empty classic group becomes a consumer group",
        "K2.15",
        *(*alone("a"), commit("a"), leave("a"), chb("b", 0), describe_consumer(), fetch("x"), list_groups(5)),
        tests="testConsumerGroupHeartbeatWithEmptyClassicGroup testUpgradeFromEmptyClassicToConsumerGroup",
    ),
    native(
        "an empty group of another protocol type becomes a consumer group",
        "K2.15",
        *(*enter("a", protocol_type="connect"), leave("a"), chb("b", 0), describe_consumer()),
    ),
    native(
        "a group of offsets becomes a consumer group",
        "K2.15",
        *(commit("x", **SIMPLE), chb("b", 0), fetch("x"), describe_consumer()),
        tests="testUpgradeFromSimpleGroupToConsumerGroup",
    ),
    native(
        "an empty consumer group becomes a classic group",
        "K1.8 K1.9 K1.11",
        *(
            chb("a", 0),
            chb("a", -1),
            join("b"),
            Pause(ms=500),
            describe(5),
            list_groups(5),
            *enter("b"),
            sync("b"),
            describe_consumer(),
        ),
        tests="testClassicGroupJoinWithEmptyConsumerGroup testDowngradeFromEmptyConsumerToClassicGroup",
    ),
    native(
        "classic calls on an empty consumer group",
        "K1.48 K1.55 K1.58",
        *(chb("a", 0), chb("a", -1), beat("b", member_id="made-up", generation_id=1)),
        *(sync("b", member_id="made-up", generation_id=1), leave("b", member_id="made-up"), describe_consumer()),
    ),
)

OFFSETS = (
    *(
        native(
            f"a consumer member commits{what}, v{v}",
            rule,
            *(chb("a", 0), commit("a", v, **{"member_id": "member-a", "generation_id": "#a", **fields}), fetch("x")),
            tests="testConsumerGroupOffsetCommit testValidateOffsetCommit",
        )
        for v in (2, 8, 9, 10)
        for what, rule, fields in (
            ("", "K5.10 K5.11", {}),
            (" under an older epoch", "K5.11", {"generation_id": "#a-1"}),
            (" under a later epoch", "K5.11", {"generation_id": "#a+1"}),
            (" under an unknown id", "K5.9", {"member_id": "made-up"}),
            (" without an id", "K5.9", SIMPLE),
            (" under an instance of nobody", "K5.12", {"group_instance_id": "nobody"}),
        )
    ),
    native(
        "commits under an older epoch that still had the partitions",
        "K5.11",
        *(chb("a", 0), chb("a", "#a", subscribed_topic_names=[SIX, "wire-two"])),
        *(commit("a", member_id="member-a", generation_id="#a-1"), chb("a", "#a", subscribed_topic_names=["wire-two"])),
        *(
            commit("a", member_id="member-a", generation_id="#a-1"),
            full_chb("a", "#a", subscribed_topic_names=["wire-two"]),
        ),
        *(commit("a", member_id="member-a", generation_id="#a"), commit("a", member_id="member-a", generation_id=2)),
    ),
    *(
        native(
            f"a consumer member reads{what}, v{v}",
            rule,
            *(chb("a", 0), commit("a", 9, member_id="member-a", generation_id="#a")),
            fetch("a", v, **{"member_id": "member-a", "member_epoch": "#a", **fields}),
            tests="testConsumerGroupOffsetFetch testValidateOffsetFetch",
        )
        for v in (9, 10)
        for what, rule, fields in (
            ("", "K5.20", {}),
            (" under another epoch", "K5.20", {"member_epoch": "#a+1"}),
            (" under an older epoch", "K5.20", {"member_epoch": "#a-1"}),
            (" under an unknown id", "K5.20", {"member_id": "made-up"}),
            (" under no id but an epoch", "K5.20", {"member_id": None}),
            (" under an empty id", "K5.20", {"member_id": ""}),
            (" as anyone", "K5.20", {"member_id": None, "member_epoch": -1}),
        )
    ),
    native(
        "commits of static members that are away",
        "K5.13",
        *(chb("a", 0, **ONE), chb("a", -2, **ONE), commit("a", member_id="member-a", generation_id=2)),
        *(
            commit("a", member_id="member-a", generation_id=-2),
            commit("a", member_id="member-a", generation_id=-1),
            fetch("x"),
        ),
    ),
    *(
        native(
            f"a transaction in a consumer group by {what}",
            rule,
            *(chb("a", 0), *begin(), txn(**fields), *end(), fetch("x")),
            tests="testConsumerGroupTransactionalOffsetCommit testValidateTransactionalOffsetCommit",
        )
        for what, rule, fields in (
            ("a member", "K5.16", {"member_id": "member-a", "generation_id": "#a"}),
            ("an older epoch", "K5.16", {"member_id": "member-a", "generation_id": "#a-1"}),
            ("a stranger", "K5.16", {"member_id": "made-up", "generation_id": "#a"}),
            ("nobody", "K5.17", {}),
        )
    ),
    native(
        "offsets of a consumer group are deleted",
        "K5.22",
        *(
            chb("a", 0),
            commit("a", member_id="member-a", generation_id="#a"),
            delete_offsets(),
            delete_offsets("wire-two"),
        ),
        *(chb("a", -1), delete_offsets(), fetch("x")),
        tests="testConsumerGroupOffsetDelete",
    ),
)

SCENARIOS: tuple[Scenario, ...] = (*CLASSIC_CALLS, *OFFSETS)
