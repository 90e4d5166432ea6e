"""ConsumerGroupHeartbeat on consumer groups: validation, epochs, reconciliation, static members (K2.*, K5.9-K5.20)."""

from tests.support.conformance.calls import (
    SIX,
    chb,
    describe_consumer,
    full_chb,
    list_groups,
    until,
)
from tests.support.conformance.steps import Owned, Part, Pause, Scenario, Step

BOTH_VERSIONS = (0, 1)
ONE: dict[str, Part] = {"instance_id": "one"}
TWO: dict[str, Part] = {"instance_id": "two"}


def native(name: str, rules: str, *steps: Step, tests: str = "", shares: bool = False) -> Scenario:
    """A scenario of KIP-848 members, which Kafka 4.3 plays."""
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, tests=tuple(tests.split()), shares=shares)


def settled(**fields: Part) -> tuple[Step, ...]:
    """A group of a and b, each with three partitions of wire-six, at rest."""
    return (
        chb("a", 0, **fields),
        chb("b", 0),
        chb("a", "#a"),
        full_chb("a", "#a", owned=Owned(who="a")),
        chb("b", "#b"),
        chb("a", "#a"),
        chb("b", "#b"),
    )


JOINED = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": [SIX], "topic_partitions": []}
INVALID: tuple[tuple[str, str, int, dict[str, Part]], ...] = (
    ("no group", "K2.1", 0, {"group_id": ""}),
    ("a blank group", "K2.1", 0, {"group_id": "  "}),
    ("a blank instance", "K2.2", 0, {"instance_id": ""}),
    ("an instance of blanks", "K2.2", 0, {"instance_id": "  "}),
    ("a blank rack", "K2.3", 0, {"rack_id": ""}),
    ("no member id", "K2.5", 1, {"member_id": ""}),
    ("no member id leaving", "K2.5", -1, {"member_id": ""}),
    ("no member id at the beginning", "K2.6", 0, {"member_id": ""}),
    ("no rebalance timeout", "K2.6", 0, {"rebalance_timeout_ms": -1}),
    ("no list of owned partitions", "K2.6", 0, {"topic_partitions": None}),
    ("owned partitions at the beginning", "K2.6", 0, {"topic_partitions": Owned(keep={SIX: [0]})}),
    ("no topics", "K2.6", 0, {"subscribed_topic_names": None}),
    ("an empty list of topics", "K2.6", 0, {"subscribed_topic_names": []}),
    ("no instance when it goes for a while", "K2.7", -2, {}),
    ("no member id when it goes for a while", "K2.7", -2, {"member_id": "", **ONE}),
    ("an epoch below all", "K2.8", -3, {}),
    ("an unknown assignor", "K2.9", 0, {"server_assignor": "best"}),
    ("a blank assignor", "K2.9", 0, {"server_assignor": ""}),
    ("a rebalance timeout of zero", "K2.6", 0, {"rebalance_timeout_ms": 0}),
    ("a group that is not there", "K2.15", 3, {}),
    ("a group that is not there, leaving", "K2.11", -1, {}),
    ("a group that is not there, going for a while", "K2.11", -2, ONE),
)

CHECKS = (
    *(
        native(
            f"a heartbeat with {what}, v{v}", rule, chb("a", epoch, v, **fields), describe_consumer(), tests=VALIDATION
        )
        for VALIDATION in ("testConsumerHeartbeatRequestValidation testUnknownGroupId",)
        for v in BOTH_VERSIONS
        for what, rule, epoch, fields in INVALID
    ),
    *(
        native(
            f"{what} of a member, v{v}",
            rule,
            *(chb("a", 0), chb("a", epoch, v, **fields), chb("a", "#a"), describe_consumer()),
            tests="testConsumerGroupMemberEpochValidation testUnknownMemberIdJoinsConsumerGroup",
        )
        for v in BOTH_VERSIONS
        for what, rule, epoch, fields in (
            ("an epoch of the future", "K2.18", "#a+1", {}),
            ("an epoch of the past", "K2.18", "#a-1", {}),
            ("the epoch before with what it owns", "K2.18", "#a-1", {"topic_partitions": Owned(who="a")}),
            (
                "the epoch before with what it never had",
                "K2.18",
                "#a-1",
                {"topic_partitions": Owned(keep={"wire-two": [0]})},
            ),
            ("epoch 0 again", "K2.19", 0, {}),
            ("an unknown id", "K2.17", 1, {"member_id": "made-up"}),
            ("leaving under an unknown id", "K2.12", -1, {"member_id": "made-up"}),
            ("leaving under an unknown instance", "K2.13", -1, {"instance_id": "nobody"}),
            ("going for a while under an unknown instance", "K2.13", -2, {"instance_id": "nobody"}),
            ("an unknown instance", "K2.21", "#a", {"instance_id": "nobody"}),
            ("another assignor", "K2.23 K2.27", "#a", {"server_assignor": "range"}),
            ("another rack", "K2.23", "#a", {"rack_id": "r"}),
            ("an empty list of topics", "K2.22 K2.23", "#a", {"subscribed_topic_names": []}),
            ("another topic", "K2.22 K2.23", "#a", {"subscribed_topic_names": ["wire-two"]}),
            ("one more topic", "K2.22 K2.23", "#a", {"subscribed_topic_names": [SIX, "wire-two"]}),
            ("an unknown topic", "K2.24", "#a", {"subscribed_topic_names": [SIX, "wire-none"]}),
            ("everything again", "K2.42", "#a", {**JOINED, "topic_partitions": Owned(who="a")}),
            ("all but the timeout", "K2.42", "#a", {**JOINED, "rebalance_timeout_ms": -1}),
        )
    ),
    native(
        "the epoch before with a topic without partitions, of its own and of nobody",
        "K2.18",
        *(chb("a", 0), chb("b", 0), chb("a", "#a"), full_chb("a", "#a")),
        chb("a", "#a-1", topic_partitions=Owned(keep={SIX: []})),
        chb("a", "#a-1", topic_partitions=Owned(keep={"wire-two": []})),
        shares=True,
    ),
    native(
        "a member without an id is given one, v0",
        "K2.6",
        *(chb("a", 0, 0, member_id=""), chb("a", "#a", 0, member_id="@a")),
        tests="testMemberIdGeneration",
    ),
)

FLOWS = (
    *(
        native(
            f"a member joins, stays and leaves, v{v}",
            "K2.15 K2.41 K2.42 K2.50 K2.14 K2.60 K2.61",
            *(chb("a", 0, v), chb("a", "#a", v), describe_consumer(v), list_groups(5), chb("a", -1, v)),
            *(describe_consumer(v), chb("a", 2, v), chb("a", 0, v)),
            tests="testMemberJoinsEmptyConsumerGroup testLeavingMemberBumpsGroupEpoch testConsumerGroupStates",
        )
        for v in BOTH_VERSIONS
    ),
    native(
        "a second member gets what the first gives up",
        "K2.26 K2.31 K2.32 K2.33 K2.38 K2.43",
        *(chb("a", 0), chb("b", 0), chb("b", "#b"), chb("a", "#a"), chb("b", "#b"), chb("a", "#a")),
        *(describe_consumer(), full_chb("a", "#a"), chb("b", "#b"), chb("b", "#b"), describe_consumer()),
        tests="testNewJoiningMemberTriggersNewTargetAssignment testReconciliationProcess testStableToUnrevokedPartitions",
        shares=True,
    ),
    native(
        "a member that already gave up is not asked to",
        "K2.33 K2.34",
        *(chb("a", 0), chb("b", 0), full_chb("a", "#a", owned=[]), chb("b", "#b"), describe_consumer()),
        tests="testStableToUnreleasedPartitionsWithOwnedPartitionsNotHavingRevokedPartitions",
        shares=True,
    ),
    native(
        "a member that acknowledges what it was not asked for is believed",
        "K2.32 K2.34",
        *(chb("a", 0), chb("b", 0), chb("a", "#a", topic_partitions=[]), chb("b", "#b"), describe_consumer()),
        shares=True,
    ),
    native(
        "a member whose every heartbeat names nothing gives up one heartbeat later",
        "K2.32 K2.34",
        *(chb("a", 0), chb("b", 0), full_chb("a", "#a", owned=[]), full_chb("a", "#a", owned=[])),
        *(chb("b", "#b"), full_chb("a", "#a"), chb("b", "#b"), describe_consumer()),
        shares=True,
    ),
    native(
        "a member that was told to give up says nothing of it",
        "K2.32 K2.37",
        *(
            chb("a", 0),
            chb("b", 0),
            chb("a", "#a"),
            chb("a", "#a"),
            full_chb("a", "#a", owned=Owned(keep={SIX: [0, 1, 2, 3, 4, 5]})),
        ),
        *(chb("b", "#b"), describe_consumer()),
        tests="testRemainsInUnrevokedPartitions",
        shares=True,
    ),
    native(
        "who does not give up in time is put out",
        "K2.37 K2.50",
        *(chb("a", 0, rebalance_timeout_ms=2_000), chb("b", 0), chb("a", "#a")),
        *(until(chb("a", "#a"), error="UNKNOWN_MEMBER_ID"), chb("b", "#b"), describe_consumer()),
        tests="testRebalanceTimeoutExpiration testRebalanceTimeoutLifecycle",
        shares=True,
    ),
    native(
        "two members at rest",
        "K2.60 K2.10",
        *(*settled(), describe_consumer(), chb("b", -1), chb("a", "#a"), describe_consumer()),
        tests="testUnreleasedPartitionsToStable testLeavingMemberBumpsGroupEpoch",
        shares=True,
    ),
    native(
        "a member changes its topics and gets others",
        "K2.22 K2.23 K2.33",
        *(
            chb("a", 0),
            chb("a", "#a", subscribed_topic_names=["wire-two"]),
            full_chb("a", "#a", subscribed_topic_names=["wire-two"]),
        ),
        *(chb("a", "#a"), describe_consumer()),
        tests="testUpdatingSubscriptionTriggersNewTargetAssignment",
    ),
    native(
        "the lost answer of a change",
        "K2.18 K2.35",
        *(chb("a", 0), chb("a", "#a", subscribed_topic_names=[SIX, "wire-two"])),
        *(full_chb("a", "#a-1", subscribed_topic_names=[SIX, "wire-two"]), chb("a", "#a")),
    ),
    native(
        "an assignor is chosen by most",
        "K2.27 K6.5",
        *(chb("a", 0, server_assignor="range"), chb("b", 0, server_assignor="range"), chb("c", 0), describe_consumer()),
        shares=True,
    ),
    native(
        "only a topic that is not there",
        "K2.24",
        chb("a", 0, subscribed_topic_names=["wire-none"]),
        chb("a", "#a"),
        describe_consumer(),
    ),
)

PATTERNS = (
    native(
        "a pattern is resolved a little later",
        "K2.4 K11.4",
        chb("a", 0, subscribed_topic_names=None, subscribed_topic_regex="wire-(one|two)"),
        *(
            until(describe_consumer(), state="Stable", group_epoch=2),
            until(full_chb("a", "#a", subscribed_topic_names=None), member_epoch=2),
        ),
        *(chb("a", "#a", subscribed_topic_regex=""), chb("a", "#a"), describe_consumer()),
        tests="testConsumerHeartbeatRegexValidation",
    ),
    native(
        "a bad pattern",
        "K2.4",
        chb("a", 0, subscribed_topic_names=None, subscribed_topic_regex="wire-("),
        describe_consumer(),
    ),
    native(
        "a bad pattern of a member",
        "K2.4",
        *(chb("a", 0), chb("a", "#a", subscribed_topic_regex="["), chb("a", "#a"), describe_consumer()),
    ),
    native(
        "a pattern that matched nothing is given up",
        "K2.4 K2.23",
        chb("a", 0, subscribed_topic_regex="none-such-.*"),
        Pause(ms=1_000),
        *(chb("a", "#a"), chb("a", "#a", subscribed_topic_regex=""), chb("a", "#a"), describe_consumer()),
    ),
    native(
        "a pattern that matches nothing is another member's, too",
        "K2.4 K2.23",
        chb("a", 0, subscribed_topic_names=[], subscribed_topic_regex="none-such-.*"),
        Pause(ms=1_500),
        *(chb("a", "#a"), chb("b", 0, subscribed_topic_names=[], subscribed_topic_regex="none-such-.*")),
        *(chb("a", "#a"), describe_consumer()),
    ),
    native(
        "a member comes to another's pattern, which changes nothing of what it has",
        "K2.4 K2.23",
        *(chb("a", 0), chb("b", 0, subscribed_topic_names=[], subscribed_topic_regex="none-such-.*")),
        Pause(ms=1_500),
        *(chb("b", "#b"), chb("a", "#a", subscribed_topic_regex="none-such-.*"), chb("b", "#b"), describe_consumer()),
    ),
    native(
        "an empty pattern and no names",
        "K2.4 K2.6",
        *(chb("a", 0, subscribed_topic_names=None, subscribed_topic_regex=""), chb("a", "#a"), describe_consumer()),
    ),
)

BLANKS = tuple(
    native(
        f"{what} of nothing but {which}",
        "K2.1 K2.2 K2.3",
        *(chb("a", 0, **{field: name}), describe_consumer()),
    )
    for what, field in (("a member id", "member_id"), ("an instance id", "instance_id"), ("a rack", "rack_id"))
    for which, name in (("control characters", "\x01\x1f"), ("wide spaces", "\u3000\u00a0"))
)

SEATS = (
    native(
        "a static member goes for a while and comes back under another id",
        "K2.13 K2.20 K2.30 K2.39 K2.60",
        *(chb("a", 0, **ONE), chb("a", -2, **ONE), describe_consumer(), chb("b", 0, **ONE), describe_consumer()),
        *(chb("a", 2, **ONE), chb("a", 2), chb("b", "#b")),
        tests="testStaticMemberGetsBackAssignmentUponRejoin testNoGroupEpochBumpWhenStaticMemberTemporarilyLeaves",
    ),
    native(
        "a static member comes back with other topics",
        "K2.20 K2.23 K2.30",
        *(chb("a", 0, **ONE), chb("a", -2, **ONE), chb("b", 0, **ONE, subscribed_topic_names=["wire-two"])),
        *(full_chb("b", "#b", subscribed_topic_names=["wire-two"]), describe_consumer()),
        tests="testStaticMemberRejoinsWithNewSubscribedTopics",
    ),
    native(
        "a static member comes back under its own id",
        "K2.19 K2.20",
        *(chb("a", 0, **ONE), chb("a", -2, **ONE), chb("a", 0, **ONE), chb("a", "#a")),
    ),
    native(
        "an instance in use is not given away",
        "K2.20",
        *(chb("a", 0, **ONE), chb("b", 0, **ONE), chb("a", "#a"), describe_consumer()),
        tests="testShouldThrownUnreleasedInstanceIdExceptionWhenNewMemberJoinsWithInUseInstanceId",
    ),
    native(
        "another's instance",
        "K2.13 K2.21",
        *(chb("a", 0, **ONE), chb("b", 0, **TWO), chb("a", "#a", **TWO), chb("a", -1, **TWO), chb("a", -2, **TWO)),
        *(chb("a", "#a", **ONE), chb("made-up", 1, **ONE)),
        tests="testShouldThrowFencedInstanceIdExceptionWhenStaticMemberWithDifferentMemberIdJoins "
        "testShouldThrowFencedInstanceIdExceptionWhenStaticMemberWithDifferentMemberIdLeaves",
        shares=True,
    ),
    native(
        "a static member leaves for good",
        "K2.12 K2.13",
        *(chb("a", 0, **ONE), chb("a", -1, **ONE), describe_consumer(), chb("b", 0, **ONE), chb("b", -1)),
        tests="testLeavingStaticMemberBumpsGroupEpoch testGroupEpochBumpWhenNewStaticMemberJoins",
    ),
    native(
        "an absent static member keeps its partitions from others",
        "K2.39 K2.60",
        *(
            chb("a", 0, **ONE),
            chb("a", -2, **ONE),
            chb("b", 0),
            chb("b", "#b"),
            chb("c", 0, **ONE),
            chb("b", "#b"),
            describe_consumer(),
        ),
        shares=True,
    ),
)

SCENARIOS: tuple[Scenario, ...] = (*CHECKS, *FLOWS, *PATTERNS, *BLANKS, *SEATS)
