"""Static membership in classic groups (K1.21, K1.24, K1.40-K1.46; KIP-345)."""

from collections.abc import Iterable

from tests.conformance.wire.scenarios.joining import OTHER, classic
from tests.support.conformance.calls import (
    ALL_SIX,
    FIRST_HALF,
    SECOND_HALF,
    alone,
    beat,
    commit,
    describe,
    enter,
    join,
    leave,
    leave_all,
    offer,
    pair,
    parked,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.steps import Await, Part, Scenario, Step

A: dict[str, Part] = {"group_instance_id": "one"}
B: dict[str, Part] = {"group_instance_id": "two"}
STATIC_JOINS = range(5, 10)


def seats(v: int = 9) -> tuple[Step, ...]:
    """A stable group of two static members: a leads on seat one, b follows on seat two."""
    return pair(v, a=A, b=B)


def old_id(who: str, seat: Part) -> Iterable[Step]:
    """All that a member says whose seat has gone to somebody else."""
    fields = {"group_instance_id": seat}
    return (beat(who, **fields), sync(who, **fields), commit(who, **fields), rejoin(who, **fields), beat(who))


SCENARIOS: tuple[Scenario, ...] = (
    *(
        classic(
            f"a static member is let in at once, v{v}",
            "K1.21 K1.63",
            *(*alone("a", v, **A), beat("a", **A), beat("a"), describe(5)),
            tests="testStaticMemberJoinAsFirstMember",
        )
        for v in STATIC_JOINS
    ),
    *(
        classic(
            f"a restarted static leader gets its seat back without a rebalance, v{v}",
            "K1.40 K1.41 K1.45",
            *(*seats(v), join("c", v, **A), beat("b", **B), sync("c", **A), beat("c", **A), *old_id("a", "one")),
            *(beat("b", **B), describe(5)),
            tests="testStaticMemberRejoinWithLeaderIdAndUnknownMemberId testReplaceStaticMemberInStableStateNoError",
        )
        for v in STATIC_JOINS
    ),
    *(
        classic(
            f"a restarted static follower gets its seat back without a rebalance, v{v}",
            "K1.40 K1.41 K1.45",
            *(*seats(v), join("c", v, **B), sync("c", **B), beat("a", **A), *old_id("b", "two"), describe(5)),
            tests="testStaticMemberRejoinAsFollowerWithUnknownMemberId testReplaceStaticMemberInStableStateSucceeds",
        )
        for v in STATIC_JOINS
    ),
    *(
        classic(
            f"a static join by {what}, v{v}",
            "K1.24 K1.44",
            *(*seats(), *(join("c", v, **fields) for fields in joins), beat("a", **A), beat("b", **B)),
            tests=tests,
        )
        for v in (5, 9)
        for what, joins, tests in (
            (
                "a foreign id",
                [{"member_id": "made-up", **A}],
                "testStaticMemberRejoinWithExplicitUnknownMemberId",
            ),
            (
                "an unknown instance with a known id",
                [{"member_id": "@b", "group_instance_id": "three"}],
                "testStaticMemberJoinWithUnknownInstanceIdAndKnownMemberId",
            ),
            (
                "an unknown instance with a made-up id",
                [{"member_id": "made-up", "group_instance_id": "three"}],
                "testStaticMemberJoinWithUnknownInstanceIdAndKnownMemberId",
            ),
            (
                "the id of another instance",
                [{"member_id": "@b", **A}, {"member_id": "@a", **B}],
                "testStaticMemberRejoinAsFollowerWithMismatchedInstanceId",
            ),
            (
                "its own id and no instance",
                [{"member_id": "@b"}],
                "testStaticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange",
            ),
            (
                "a follower that says the same",
                [{"member_id": "@b", **B}],
                "testStaticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange",
            ),
        )
    ),
    *(
        classic(
            f"{api} of a static member under {what}, v{v}",
            "K1.24 K1.49 K1.55 K1.63",
            *(*seats(), step("a", v, **fields), beat("b", **B)),
            tests=tests,
        )
        for api, step, versions, tests in (
            (
                "a heartbeat",
                beat,
                (3, 4),
                "testStaticMemberHeartbeatLeaderWithInvalidMemberId",
            ),
            (
                "a sync",
                sync,
                (3, 5),
                "testStaticMemberSyncAsLeaderWithInvalidMemberId",
            ),
            ("a commit", commit, (7, 9), "OffsetCommitRequestTest"),
        )
        for v in versions
        for what, fields in (
            ("another id", {"member_id": "made-up", **A}),
            ("another's id", {"member_id": "@b", **A}),
            ("an unknown instance", {"group_instance_id": "three"}),
            ("an older generation", {"generation_id": "#a-1", **A}),
        )
    ),
    classic(
        "a static leader with its own id rebalances",
        "K1.27 K1.45",
        *(*seats(), parked(rejoin("a", **A)), beat("b", **B), rejoin("b", **B), Await(who="a")),
        tests="testStaticMemberRejoinWithLeaderIdAndKnownMemberId",
    ),
    classic(
        "a restarted member with other topics is not noticed",
        "K1.42",
        *(
            *seats(),
            join("c", **B, protocols=offer("range", metadata=OTHER)),
            beat("a", **A),
            sync("c", **B),
            describe(5),
        ),
        tests="testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchanged",
    ),
    classic(
        "a restarted member whose protocols change the choice rebalances",
        "K1.43",
        *pair(a={**A, "protocols": offer("range", "sticky")}, b={**B, "protocols": offer("range", "sticky")}),
        *(parked(join("c", **B, protocols=offer("sticky"))), beat("a", **A), beat("b", **B)),
        *(rejoin("a", **A, protocols=offer("range", "sticky")), Await(who="c")),
        tests="testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged "
        "testReplaceStaticMemberInStableStateWithUpdatedProtocolTriggersRebalance",
    ),
    classic(
        "a restarted member without a common protocol is refused",
        "K1.15 K1.17",
        *(*seats(), join("c", **B, protocols=offer("sticky")), beat("a", **A), beat("b", **B)),
    ),
    classic(
        "a seat is taken while its join is parked",
        "K1.40 K1.43",
        *(*seats(), parked(rejoin("a", **A)), parked(join("c", **A)), Await(who="a"), rejoin("b", **B), Await(who="c")),
        tests="testJoinGroupReplaceStaticMember testStaticMemberFenceDuplicateRejoinedFollower",
    ),
    classic(
        "a seat is taken while its sync is parked",
        "K1.40 K1.43 K1.29",
        *(*seats()[:-3], parked(sync("b", **B)), parked(join("c", **B)), Await(who="b"), beat("a", **A)),
        *(rejoin("a", **A), Await(who="c")),
        tests="testStaticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged "
        "testReplaceStaticMemberInCompletingRebalanceStateTriggersRebalance",
    ),
    classic(
        "the old id comes late to a rebalance",
        "K1.24 K1.40",
        *(*seats(), join("c", **B), parked(rejoin("a", **A)), rejoin("b", **B), rejoin("c", **B), Await(who="a")),
        tests="testStaticMemberFenceDuplicateRejoiningFollowerAfterMemberIdChanged",
    ),
    classic(
        "a new id at each restart",
        "K1.17 K1.40",
        *(*alone("a", **A), join("c", **A), join("d", **A), beat("c", **A), beat("d", **A), describe(5)),
        tests="testGetDifferentStaticMemberIdAfterEachRejoin",
    ),
    classic(
        "an absent static follower keeps its seat over a rebalance",
        "K1.34 K1.37 K1.46",
        *pair(a={**A, "rebalance_timeout_ms": 1_500}, b={**B, "rebalance_timeout_ms": 1_500}),
        *(parked(rejoin("a", rebalance_timeout_ms=1_500, **A)), Await(who="a"), describe(5)),
        tests="testStaticMemberFollowerFailToRejoinBeforeRebalanceTimeout",
    ),
    classic(
        "an absent static leader is followed by another leader",
        "K1.35",
        *pair(a={**A, "rebalance_timeout_ms": 1_500}, b={**B, "rebalance_timeout_ms": 1_500}),
        parked(rejoin("b", rebalance_timeout_ms=1_500, protocols=offer("range", metadata=OTHER), **B)),
        *(Await(who="b"), beat("a", **A), describe(5)),
        tests="testStaticMemberLeaderFailToRejoinBeforeRebalanceTimeout",
    ),
    classic(
        "an absent static member goes when it does not sync either",
        "K1.53",
        *pair(a={**A, "rebalance_timeout_ms": 1_500}, b={**B, "rebalance_timeout_ms": 1_500}),
        *(parked(rejoin("a", rebalance_timeout_ms=1_500, **A)), Await(who="a")),
        *(
            sync("a", assign={"@a": FIRST_HALF, "@b": SECOND_HALF}, **A),
            until(beat("a", **A), error="REBALANCE_IN_PROGRESS"),
        ),
        *(rejoin("a", **A), beat("b", **B), describe(5)),
    ),
    classic(
        "a silent static member is put out",
        "K1.46 K1.60",
        *pair(a=A, b={**B, "session_timeout_ms": 6_000}),
        *(until(beat("a", **A), error="REBALANCE_IN_PROGRESS"), rejoin("a", **A), beat("b", **B), describe(5)),
    ),
    *(
        classic(
            f"static members leave by {what}", "K1.59", *(*seats(), step, beat("a", **A), beat("b", **B)), tests=tests
        )
        for what, step, tests in (
            ("instance", leave_all("admin", ("", "one"), ("", "two")), "testStaticMembersValidBatchLeaveGroup"),
            ("id", leave_all("admin", ("@b", None)), "LeaveGroupRequestTest"),
            (
                "id and instance",
                leave_all("admin", ("@a", "one"), ("@b", "two")),
                "testStaticMembersValidBatchLeaveGroup",
            ),
            (
                "another's id",
                leave_all("admin", ("@b", "one"), ("@b", "two")),
                "testStaticMembersFencedInstanceBatchLeaveGroup testLeaveGroupWithFencedInstanceId",
            ),
            (
                "a foreign id",
                leave_all("admin", ("made-up", "one"), ("@a", "one")),
                "testStaticMembersFencedInstanceBatchLeaveGroup",
            ),
            (
                "an unknown instance",
                leave_all("admin", ("", "three"), ("@b", "three"), ("", "two")),
                "testStaticMembersUnknownInstanceBatchLeaveGroup testLeaveGroupStaticMemberWithUnknownMemberId",
            ),
            ("the same instance twice", leave_all("admin", ("", "one"), ("", "one")), "LeaveGroupRequestTest"),
        )
    ),
    classic(
        "a seat that was left is free for a new member",
        "K1.21",
        *(*alone("a", **A), leave_all("admin", ("", "one")), *enter("c", **A), sync("c", assign={"@c": ALL_SIX}, **A)),
    ),
    classic(
        "an instance of a dynamic member's id is unknown",
        "K1.24",
        *(*alone("a"), beat("a", **A), sync("a", **A), leave("a", **A), beat("a")),
    ),
)
