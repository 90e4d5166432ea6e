"""What time and broken connections bring about (K1.19, K1.30-K1.35, K1.59-K1.62, K2.36, K3.11, K3.25, K3.34, K3.35, K5.8, K5.31)."""

from dataclasses import replace

from tests.conformance.wire.scenarios.consumers import ONE, native
from tests.conformance.wire.scenarios.joining import OTHER, classic
from tests.conformance.wire.scenarios.mixed import mixed
from tests.conformance.wire.scenarios.seats import A, B
from tests.support.conformance.calls import (
    ALL_SIX,
    FIRST_HALF,
    SECOND_HALF,
    alone,
    beat,
    chb,
    commit,
    describe,
    describe_consumer,
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
    until,
)
from tests.support.conformance.steps import Await, Close, Pause, Scenario

TWELVE = {"session_timeout_ms": 12_000}
SHORT_REBALANCE = {"rebalance_timeout_ms": 1_500}

SESSIONS: tuple[Scenario, ...] = (
    classic(
        "a commit is a sign of life",
        "K1.62 K5.8",
        *(*alone("a", **TWELVE), Pause(ms=7_000), commit("a"), Pause(ms=7_000), beat("a")),
        tests="testGenericGroupOffsetCommit",
    ),
    classic(
        "a read is no sign of life",
        "K1.62",
        *(*alone("a", session_timeout_ms=6_000), Pause(ms=4_000), fetch("x"), Pause(ms=4_000), beat("a")),
    ),
    mixed(
        "a commit is no sign of life in a consumer group",
        "K5.14",
        *(chb("n", 0), *enter("b", session_timeout_ms=6_000), sync("b"), Pause(ms=4_000), commit("b", topics=[])),
        *(Pause(ms=4_000), beat("b")),
    ),
    classic(
        "the first one leaves, silently, before the other is in",
        "K1.31 K1.34 K1.60",
        *(*alone("a", session_timeout_ms=6_000), join("b"), parked(rejoin("b")), Await(who="b"), describe(5)),
    ),
    classic(
        "a promised member leaves a group at rest",
        "K1.59",
        *(*alone("a"), join("b"), leave("b"), beat("a"), describe(5)),
        tests="testPendingMembersLeaveGroup",
    ),
)

BROKEN_CONNECTIONS: tuple[Scenario, ...] = (
    *(
        classic(
            f"a newcomer's connection ends while it waits, v{v}",
            "K1.22 K1.32",
            *(*alone("a", v), parked(join("b", v)), Close(who="b"), beat("a", v), rejoin("a", v), describe(5)),
            *(sync("a", v, assign={"@a": ALL_SIX}), beat("a", v)),
        )
        for v in (0, 3)
    ),
    classic(
        "a member's connection ends while it waits, and it comes again",
        "K1.32 K1.52",
        *(*pair(), parked(rejoin("a")), Close(who="a"), parked(rejoin("a")), rejoin("b"), Await(who="a")),
    ),
    classic(
        "a member's connection ends between join and sync",
        "K1.50",
        *(*pair()[:-3], parked(sync("b")), Close(who="b")),
        *(sync("a", assign={"@a": FIRST_HALF, "@b": SECOND_HALF}), sync("b"), beat("b")),
    ),
    classic(
        "a member's connection ends and it goes on by another",
        "K1.56",
        *(*alone("a"), Close(who="a"), beat("a"), commit("a"), leave("a"), describe(5)),
    ),
)

REBALANCES: tuple[Scenario, ...] = (
    classic(
        "only static members are left and none has joined",
        "K1.35",
        *pair(a={**A, **SHORT_REBALANCE}, b={**B, **SHORT_REBALANCE}),
        *(join("c", **SHORT_REBALANCE), parked(rejoin("c", **SHORT_REBALANCE)), leave("x", member_id="@c")),
        *(Await(who="c"), Pause(ms=3_500), describe(5), parked(rejoin("a", **A)), rejoin("b", **B), Await(who="a")),
        describe(5),
        tests="testGroupStuckInRebalanceTimeoutDueToNonjoinedStaticMember "
        "testCompleteJoinPhaseNoMembersRejoinedExtendsJoinPhase",
    ),
    classic(
        "a rebalance ends without those that were promised an id",
        "K1.33",
        *(*alone("a", **SHORT_REBALANCE), join("b"), parked(rejoin("a", **SHORT_REBALANCE)), Await(who="a")),
        *(parked(rejoin("b")), beat("a"), rejoin("a"), Await(who="b")),
    ),
    classic(
        "the rebalance takes as long as the slowest may",
        "K1.4 K1.31",
        *(*alone("a", rebalance_timeout_ms=3_000), join("b", **SHORT_REBALANCE)),
        *(parked(rejoin("b", **SHORT_REBALANCE)), Pause(ms=1_600), beat("a"), rejoin("a"), Await(who="b")),
    ),
    *(
        replace(one, profile="delay")
        for one in (
            classic(
                "a member joins again while first joins wait",
                "K1.30 K1.52",
                *(join("a"), parked(rejoin("a")), parked(rejoin("d", member_id="@a"))),
                *(Await(who="a", silent=True), Await(who="d"), describe(5)),
            ),
            classic(
                "a static newcomer restarts while first joins wait",
                "K1.30 K1.40",
                *(parked(join("a", **A)), parked(join("c", **A)), Await(who="a"), Await(who="c"), describe(5)),
            ),
            classic(
                "a heartbeat while first joins wait",
                "K1.30 K1.56",
                *(join("a"), parked(rejoin("a")), beat("d", member_id="@a", generation_id=0), Await(who="a")),
            ),
            mixed(
                "KIP-848 members do not wait for each other",
                "K2.15",
                *(chb("a", 0), *enter("b"), sync("b"), describe_consumer()),
            ),
        )
    ),
)

BACK_BY_RESTART: tuple[Scenario, ...] = (
    mixed(
        "a static KIP-848 member comes back as a classic one with other topics",
        "K3.30 K3.34",
        *(*alone("a"), chb("n", 0, **ONE), beat("a"), rejoin("a"), sync("a"), chb("n", "#n")),
        *(join("c", protocols=offer("range", metadata=OTHER), **A), describe(5)),
    ),
    mixed(
        "a static KIP-848 member comes back as a classic one before others gave up",
        "K3.30 K3.35",
        *(*pair(), chb("n", 0, **ONE), join("c", **A), sync("c", **A), beat("a"), beat("b"), describe(5)),
    ),
)

CONVERTED: tuple[Scenario, ...] = (
    mixed(
        "a silent member of a converted group has its own session",
        "K3.11 K4.50",
        *(*alone("a", session_timeout_ms=6_000), chb("n", 0), Pause(ms=8_000), beat("a"), chb("n", "#n")),
        describe_consumer(),
    ),
    mixed(
        "a silent member of a group that is classic again has its own session",
        "K3.25 K3.26 K1.60",
        *(*alone("a", session_timeout_ms=6_000), chb("n", 0), beat("a"), rejoin("a", session_timeout_ms=6_000)),
        *(sync("a"), chb("n", "#n"), chb("n", -1), Pause(ms=8_000), beat("a"), describe(5)),
    ),
    native(
        "what was to be given up comes back before it was",
        "K2.36",
        *(chb("a", 0), chb("b", 0), chb("a", "#a"), chb("b", -1), chb("a", "#a"), chb("a", "#a"), describe_consumer()),
        shares=True,
    ),
)

FORGOTTEN: tuple[Scenario, ...] = tuple(
    replace(one, profile="expiry")
    for one in (
        classic(
            "an empty group without offsets is forgotten",
            "K5.31",
            *(*alone("a", **A), leave("a", **A), until(describe(5), state="Dead"), list_groups(4), *alone("b", **A)),
        ),
        classic(
            "an empty group with offsets is kept",
            "K5.31",
            *(*alone("a", **A), commit("a", **A), leave("a", **A), Pause(ms=3_000), describe(5), fetch("x")),
        ),
        classic(
            "a group with a member is kept without offsets",
            "K5.31",
            *(*alone("a", **A), Pause(ms=3_000), describe(5), beat("a", **A)),
        ),
        native(
            "an empty consumer group without offsets is forgotten",
            "K5.31",
            *(chb("n", 0), chb("n", -1), until(describe_consumer(), error="GROUP_ID_NOT_FOUND"), chb("n", 0)),
        ),
        classic(
            "a refused newcomer's group is forgotten",
            "K1.11 K5.31",
            *(join("a", protocols=[]), until(describe(5), state="Dead")),
        ),
    )
)

SCENARIOS: tuple[Scenario, ...] = (
    *SESSIONS,
    *BROKEN_CONNECTIONS,
    *REBALANCES,
    *BACK_BY_RESTART,
    *CONVERTED,
    *FORGOTTEN,
)
