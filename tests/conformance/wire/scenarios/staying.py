"""SyncGroup, Heartbeat, LeaveGroup and expiry on classic groups (K1.47-K1.63)."""

from tests.conformance.wire.scenarios.joining import COMPLETING, classic
from tests.support.conformance.calls import (
    ALL_SIX,
    FIRST_HALF,
    SECOND_HALF,
    alone,
    beat,
    describe,
    enter,
    join,
    leave,
    leave_all,
    pair,
    parked,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.steps import Await, Pause, Scenario

SHORT = {"session_timeout_ms": 6_000}
BAD_SYNCS = (
    ("of no group", "K1.48", {"group_id": "$g-none"}, "SyncGroupRequestTest"),
    ("of a group without a name", "K1.47", {"group_id": ""}, "SyncGroupRequestTest"),
    ("of a stranger", "K1.49", {"member_id": "made-up"}, "SyncGroupRequestTest"),
    ("with an older generation", "K1.49", {"generation_id": "#a-1"}, "SyncGroupRequestTest"),
    ("with a later generation", "K1.49", {"generation_id": "#a+1"}, "SyncGroupRequestTest"),
)
BAD_NAMES = (
    (
        "another protocol type",
        {"protocol_type": "connect"},
        "testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent",
    ),
    ("another protocol name", {"protocol_name": "sticky"}, "testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent"),
    ("no protocol type", {"protocol_type": None}, "SyncGroupRequestTest"),
    ("no protocol name", {"protocol_name": None}, "SyncGroupRequestTest"),
)

SYNCS: tuple[Scenario, ...] = (
    *(
        classic(f"a sync {what}, v{v}", rule, *alone("a"), sync("a", v, **fields), beat("a"), tests=tests)
        for v in (0, 3, 4, 5)
        for what, rule, fields, tests in BAD_SYNCS
    ),
    *(
        classic(f"a sync with {what}", "K1.47 K1.49 K1.63", *(*alone("a"), sync("a", **fields), beat("a")), tests=tests)
        for what, fields, tests in BAD_NAMES
    ),
    *(
        classic(f"a sync in a stable group brings the same share, v{v}", "K1.50", *pair(v), sync("b", v), sync("a", v))
        for v in range(6)
    ),
    *(
        classic(
            f"the leader syncs before the follower, v{v}",
            "K1.50 K1.51",
            *pair(v)[:-3],
            *(sync("a", v, assign={"@a": FIRST_HALF, "@b": SECOND_HALF}), sync("b", v), describe(5)),
            tests="testSyncGroupFollowerAfterLeader",
        )
        for v in range(6)
    ),
    classic(
        "who is not mentioned gets nothing, who is unknown is ignored",
        "K1.51",
        *pair()[:-3],
        *(parked(sync("b")), sync("a", assign={"@a": ALL_SIX, "made-up": SECOND_HALF}), Await(who="b"), describe(5)),
    ),
    classic(
        "a follower's assignments count for nothing",
        "K1.51",
        *pair()[:-3],
        *(parked(sync("b", assign={"@b": ALL_SIX})), sync("a", assign={"@a": ALL_SIX}), Await(who="b")),
    ),
    classic(
        "nobody syncs while members join",
        "K1.50 K1.56",
        *(*pair(), parked(rejoin("a")), sync("b"), beat("b"), describe(5)),
        tests="testHeartbeatDuringPreparingRebalance",
    ),
    classic(
        "a heartbeat while the leader computes is fine",
        "K1.56",
        *(*COMPLETING, beat("a"), beat("b"), parked(sync("b")), beat("d", member_id="@b", generation_id="#b")),
        tests="testHeartbeatDuringCompletingRebalance",
    ),
    classic("a sync of a group that everybody left", "K1.48", *alone("a"), leave("a"), sync("a"), beat("a")),
    classic(
        "a second parked sync of a member takes the first one's place",
        "K1.52",
        *(*pair()[:-3], parked(sync("b")), parked(sync("d", member_id="@b", generation_id="#b"))),
        *(Await(who="b", silent=True), sync("a", assign={"@a": FIRST_HALF, "@b": SECOND_HALF}), Await(who="d")),
    ),
)

BEATS: tuple[Scenario, ...] = (
    *(
        classic(f"a heartbeat {what}, v{v}", rule, *alone("a"), beat("a", v, **fields), beat("a", v), tests=tests)
        for v in range(5)
        for what, rule, fields, tests in (
            ("of no group", "K1.55", {"group_id": "$g-none"}, "HeartbeatRequestTest"),
            ("of a group without a name", "K1.54", {"group_id": ""}, "HeartbeatRequestTest"),
            ("of a stranger", "K1.55", {"member_id": "made-up"}, "HeartbeatRequestTest"),
            ("without a member id", "K1.55", {"member_id": ""}, "HeartbeatRequestTest"),
            ("with an older generation", "K1.55", {"generation_id": "#a-1"}, "HeartbeatRequestTest"),
            ("with a later generation", "K1.55", {"generation_id": "#a+1"}, "HeartbeatRequestTest"),
        )
    ),
    classic("a promised member has no heartbeat", "K1.55", *alone("a"), join("b"), beat("b", generation_id="#a")),
)

LEAVES: tuple[Scenario, ...] = (
    *(
        classic(
            f"members leave one by one, v{v}",
            "K1.57 K1.59",
            *(*pair(v), leave("b", v), beat("a", v), rejoin("a", v), leave("a", v), leave("a", v), describe(5)),
            tests="LeaveGroupRequestTest",
        )
        for v in range(6)
    ),
    *(
        classic(f"{what} leaves, v{v}", rule, *alone("a"), leave("a", v, **fields), beat("a"), tests=tests)
        for v in (0, 2, 3, 5)
        for what, rule, fields, tests in (
            ("a stranger", "K1.59", {"member_id": "made-up"}, "testLeaveGroupThrowsUnknownMemberIdException"),
            ("nobody", "K1.59", {"member_id": ""}, "LeaveGroupRequestTest"),
            ("a member of no group", "K1.58", {"group_id": "$g-none"}, "testStaticMembersLeaveUnknownGroup"),
            ("a member of a group without a name", "K1.57", {"group_id": ""}, "LeaveGroupRequestTest"),
        )
    ),
    classic("an empty batch leaves", "K1.59", *alone("a"), leave_all("a"), beat("a")),
    classic(
        "known and unknown members leave in one batch",
        "K1.59",
        *(
            *pair(),
            leave_all("a", ("@b", None), ("made-up", None), ("", None), ("", "nobody"), ("@b", None)),
            beat("a"),
        ),
        tests="testPendingMemberBatchLeaveGroup",
    ),
    classic(
        "a promised member leaves in a batch",
        "K1.59",
        *(*alone("a"), join("b"), leave_all("a", ("@b", None), ("@a", None)), rejoin("b"), describe(5)),
        tests="testPendingMemberBatchLeaveGroup",
    ),
    classic(
        "a member whose join is parked is made to leave",
        "K1.59",
        *(*pair(), parked(rejoin("a")), leave("admin", member_id="@a"), Await(who="a"), beat("b")),
        *(rejoin("b"), describe(5)),
    ),
    classic(
        "a member whose sync is parked is made to leave",
        "K1.59",
        *(*pair()[:-3], parked(sync("b")), leave("admin", member_id="@b"), Await(who="b", silent=True), beat("a")),
    ),
    classic(
        "everybody else has joined when one leaves",
        "K1.33 K1.59",
        *(*pair(), parked(rejoin("a")), leave("b"), Await(who="a"), sync("a", assign={"@a": ALL_SIX}), describe(5)),
    ),
    classic("a batch without ids", "K1.59", *alone("a"), leave_all("a", ("", None)), beat("a")),
)

ENDS: tuple[Scenario, ...] = (
    *(
        classic(
            f"a silent follower is put out, v{v}",
            "K1.60 K1.46",
            *(*pair(v, b=SHORT), until(beat("a", v), error="REBALANCE_IN_PROGRESS"), rejoin("a", v)),
            *(beat("b", v), describe(5)),
            tests="testSessionExpiration",
        )
        for v in (0, 4, 9)
    ),
    classic(
        "a silent leader is put out and the other leads",
        "K1.60 K1.61",
        *(*pair(a=SHORT), until(beat("b"), error="REBALANCE_IN_PROGRESS"), rejoin("b"), beat("a")),
    ),
    classic(
        "a silent group ends up empty",
        "K1.60 K1.36",
        *(*alone("a", session_timeout_ms=6_000), until(describe(5), state="Empty"), beat("a"), rejoin("a")),
        *(*enter("b"), sync("b", assign={"@b": ALL_SIX})),
    ),
    classic(
        "a promised id lasts for a session",
        "K1.19 K1.60",
        *(join("a", session_timeout_ms=6_000), Pause(ms=7_500), rejoin("a")),
        tests="testHeartbeatExpirationShouldRemovePendingMember",
    ),
)

SCENARIOS = (*SYNCS, *BEATS, *LEAVES, *ENDS)
