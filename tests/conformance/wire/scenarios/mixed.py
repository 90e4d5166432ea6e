"""Conversion of groups with members, and classic members in consumer groups (K3.*, K4.*)."""

from tests.conformance.wire.scenarios.consumers import ONE
from tests.conformance.wire.scenarios.joining import COMPLETING, OTHER
from tests.conformance.wire.scenarios.seats import A, B
from tests.support.conformance.calls import (
    FIRST_HALF,
    SIX,
    alone,
    beat,
    chb,
    commit,
    describe,
    describe_consumer,
    enter,
    fetch,
    full_chb,
    join,
    leave,
    list_groups,
    offer,
    pair,
    parked,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.steps import Assignment, Await, Part, Pause, Scenario, Step, Subscription


def mixed(name: str, rules: str, *steps: Step, tests: str = "") -> Scenario:
    """A scenario with both protocols in one group: epochs by their order, shares by their sizes."""
    return Scenario(
        name=name, rules=tuple(rules.split()), steps=steps, tests=tuple(tests.split()), relative=True, shares=True
    )


def upgraded() -> tuple[Step, ...]:
    """A stable classic group of a that n, of KIP-848, has joined."""
    return (*alone("a"), chb("n", 0))


def keeping(who: str) -> Part:
    """The protocols of a cooperative member that says what it has."""
    return offer("cooperative-sticky", metadata=Subscription(owned=who))


UPGRADES = (
    mixed(
        "a KIP-848 member joins a stable classic group",
        "K3.5 K3.8 K3.10 K3.18 K4.30 K6.5",
        *(*upgraded(), describe_consumer(), list_groups(5), beat("a"), rejoin("a"), sync("a"), beat("a")),
        *(chb("n", "#n"), chb("n", "#n"), describe_consumer()),
        tests="testConsumerGroupHeartbeatWithStableClassicGroup testUpgradeMigrationPolicy "
        "testOnlineMigrationWithEagerAssignmentStrategyAndDynamicMembers",
    ),
    mixed(
        "a KIP-848 member joins a classic group of two",
        "K3.8 K3.18 K4.30 K4.16",
        *(*pair(), chb("n", 0), beat("a"), beat("b"), rejoin("a"), sync("a"), rejoin("b"), sync("b")),
        *(chb("n", "#n"), beat("a"), beat("b"), describe_consumer()),
    ),
    mixed(
        "a KIP-848 member joins while members join",
        "K3.6 K3.12",
        *(*pair(), parked(rejoin("a")), chb("n", 0), Await(who="a"), beat("a"), beat("b"), describe_consumer()),
        tests="testConsumerGroupHeartbeatWithPreparingRebalanceClassicGroup",
    ),
    mixed(
        "a KIP-848 member joins while the leader computes",
        "K3.6 K3.14",
        *(*COMPLETING, parked(sync("b")), chb("n", 0), Await(who="b"), beat("a"), describe_consumer()),
        tests="testConsumerGroupHeartbeatWithCompletingRebalanceClassicGroup",
    ),
    mixed(
        "a KIP-848 member joins before the first assignment",
        "K3.14",
        *(*enter("a"), chb("n", 0), sync("a"), beat("a"), rejoin("a"), sync("a"), chb("n", "#n")),
    ),
    mixed(
        "a group of another protocol type stays classic",
        "K3.5",
        *enter("a", protocol_type="connect", protocols=offer("default")),
        *(chb("n", 0), beat("a"), describe(5)),
    ),
    mixed(
        "subscriptions that can't be read keep the group classic",
        "K3.13",
        *(*alone("a", protocols=[{"name": "range", "metadata": b"\x00"}]), chb("n", 0), beat("a"), describe(5)),
    ),
    mixed(
        "user data in an assignment keeps the group classic",
        "K3.15 K11.4",
        *enter("a"),
        sync("a", assign={"@a": Assignment(partitions={SIX: [0, 1, 2, 3, 4, 5]}, user_data=b"x")}),
        *(chb("n", 0), beat("a"), describe(5)),
    ),
    mixed(
        "empty user data in an assignment is no hindrance",
        "K3.15 K11.4",
        *enter("a"),
        sync("a", assign={"@a": Assignment(partitions={SIX: [0, 1, 2, 3, 4, 5]}, user_data=b"")}),
        *(chb("n", 0), beat("a")),
    ),
    mixed(
        "a leader gave a partition to two, and a KIP-848 member joins",
        "K3.14 K3.15 K11.4",
        *(*pair()[:-2], sync("a", assign={"@a": FIRST_HALF, "@b": FIRST_HALF}), Await(who="b"), chb("n", 0)),
        *(beat("a"), beat("b")),
    ),
    mixed(
        "a leader gave out a partition that is not there, and a KIP-848 member joins",
        "K3.14 K3.15 K11.4",
        *(*enter("a"), sync("a", assign={"@a": Assignment(partitions={SIX: [0, 77]})}), chb("n", 0), beat("a")),
    ),
    mixed(
        "a static classic member comes back as a KIP-848 member",
        "K2.20 K2.30 K3.19",
        *(*pair(a=A, b=B), chb("n", 0, **ONE), beat("a", **A), beat("b", **B), describe_consumer()),
        tests="testConsumerGroupHeartbeatToClassicGroupFromExistingStaticMember "
        "testConsumerGroupHeartbeatFromExistingClassicStaticMember",
    ),
    mixed(
        "a promised member joins after the conversion",
        "K3.12 K4.7",
        *(*alone("a"), join("b"), chb("n", 0), rejoin("b"), sync("b"), beat("b")),
    ),
    mixed(
        "offsets stay over the conversion",
        "K3.28 K5.9 K5.11 K5.20",
        *(*alone("a"), commit("a"), chb("n", 0), fetch("x"), commit("a"), commit("a", generation_id="#a+9")),
        *(fetch("a", member_id="@a", member_epoch="#a"), fetch("a", member_id="@a", member_epoch="#a+9")),
    ),
)

CLASSIC_MEMBERS = (
    *(
        mixed(
            f"a classic member joins a consumer group, v{v}",
            "K4.2 K4.5 K4.7 K4.14 K4.22 K4.33",
            *(chb("n", 0), *enter("b", v), sync("b", v), beat("b", v), chb("n", "#n"), full_chb("n", "#n")),
            *(until(beat("b", v), error="REBALANCE_IN_PROGRESS"), rejoin("b", v), sync("b", v), beat("b", v)),
            tests="testJoiningConsumerGroupWithNewDynamicMember testReconciliationInJoiningConsumerGroupWithEagerProtocol",
        )
        for v in (0, 1, 3, 4, 5, 7, 9)
    ),
    *(
        mixed(
            f"{what} joins a consumer group",
            rules,
            *(chb("n", 0), join("b", **fields), chb("n", "#n"), describe_consumer()),
            tests=tests,
        )
        for what, rules, fields, tests in (
            (
                "another protocol type",
                "K4.4",
                {"protocol_type": "connect"},
                "testJoiningConsumerGroupThrowsExceptionIfProtocolIsNotSupported",
            ),
            (
                "a member without protocols",
                "K4.4",
                {"protocols": []},
                "testJoiningConsumerGroupThrowsExceptionIfProtocolIsNotSupported",
            ),
            ("a session too short", "K4.1", {"session_timeout_ms": 1}, ""),
            (
                "an unknown instance with an id",
                "K4.9",
                {"member_id": "made-up", **A},
                "testStaticMemberJoiningConsumerGroupWithUnknownInstanceId",
            ),
            ("an id never given", "K4.7", {"member_id": "made-up"}, ""),
            ("a static member", "K4.8", A, "testJoiningConsumerGroupWithNewStaticMember"),
            ("a subscription that can't be read", "K4.10", {"protocols": offer("range", metadata=b"\x00")}, ""),
        )
    ),
    *(
        mixed(
            f"a classic member's {what} in a consumer group",
            rules,
            *(chb("n", 0), *enter("b"), sync("b"), step, beat("b")),
            tests=tests,
        )
        for what, rules, step, tests in (
            (
                "heartbeat under an unknown id",
                "K4.30",
                beat("b", member_id="made-up"),
                "testClassicGroupHeartbeatToConsumerWithUnknownMember",
            ),
            (
                "heartbeat of another generation",
                "K4.30",
                beat("b", generation_id="#b+1"),
                "testClassicGroupHeartbeatToConsumerWithIllegalGenerationId",
            ),
            (
                "heartbeat under an unknown instance",
                "K4.30",
                beat("b", **A),
                "testClassicGroupHeartbeatToConsumerWithFencedInstanceId",
            ),
            (
                "sync under an unknown id",
                "K4.20",
                sync("b", member_id="made-up"),
                "testClassicGroupSyncToConsumerGroupWithUnknownMemberId",
            ),
            (
                "sync of another generation",
                "K4.20",
                sync("b", generation_id="#b+1"),
                "testClassicGroupSyncToConsumerGroupWithIllegalGeneration",
            ),
            (
                "sync of another type",
                "K4.20",
                sync("b", protocol_type="connect"),
                "testClassicGroupSyncToConsumerGroupWithInconsistentGroupProtocol",
            ),
            (
                "sync of another protocol",
                "K4.20",
                sync("b", protocol_name="sticky"),
                "testClassicGroupSyncToConsumerGroupWithInconsistentGroupProtocol",
            ),
            (
                "leave under an unknown id",
                "K4.40",
                leave("b", member_id="made-up"),
                "testClassicGroupLeaveToConsumerGroupWithoutValidLeaveGroupMember",
            ),
            ("leave", "K4.40 K4.41", leave("b"), "testConsumerGroupMemberUsingClassicProtocolBatchLeaveGroup"),
            ("commit", "K5.10 K5.13", commit("b"), ""),
            ("old commit", "K5.10", commit("b", 2), ""),
            ("commit of another generation", "K5.11", commit("b", generation_id="#b+1"), ""),
        )
    ),
    mixed(
        "a cooperative member keeps what stays its own",
        "K4.17 K4.12 K4.33",
        *(
            *enter("a", protocols=offer("cooperative-sticky", metadata=Subscription())),
            sync(
                "a", protocol_name="cooperative-sticky", assign={"@a": Assignment(partitions={SIX: [0, 1, 2, 3, 4, 5]})}
            ),
        ),
        *(
            chb("n", 0),
            beat("a"),
            rejoin("a", protocols=keeping("a")),
            sync("a", protocol_name="cooperative-sticky"),
            beat("a"),
        ),
        *(
            rejoin("a", protocols=keeping("a")),
            sync("a", protocol_name="cooperative-sticky"),
            beat("a"),
            chb("n", "#n"),
            describe_consumer(),
        ),
        tests="testReconciliationInJoiningConsumerGroupWithCooperativeProtocol",
    ),
    mixed(
        "a classic member of a consumer group with other topics",
        "K4.11 K2.23",
        *(
            chb("n", 0),
            *enter("b"),
            sync("b"),
            rejoin("b", protocols=offer("range", metadata=OTHER)),
            sync("b"),
            beat("b"),
        ),
        *(chb("n", "#n"), describe_consumer()),
        tests="testJoiningConsumerGroupWithExistingStaticMemberAndNewSubscription",
    ),
    mixed(
        "a silent classic member of a consumer group is put out",
        "K4.50",
        *(chb("n", 0), *enter("b", session_timeout_ms=6_000), sync("b"), Pause(ms=8_000), beat("b"), chb("n", "#n")),
        tests="testConsumerGroupMemberUsingClassicProtocolFencedWhenSessionTimeout",
    ),
)

SCENARIOS: tuple[Scenario, ...] = (*UPGRADES, *CLASSIC_MEMBERS)
