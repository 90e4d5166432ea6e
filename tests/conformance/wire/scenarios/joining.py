"""JoinGroup on classic groups: newcomers, known members, protocols (K1.6-K1.44)."""

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
    offer,
    pair,
    parked,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.steps import BOTH, Await, Scenario, Step, Subscription

JOINS = range(10)
OTHER = Subscription(topics=("wire-two",))
COMPLETING: tuple[Step, ...] = (
    *alone("a"),
    join("b"),
    parked(rejoin("b")),
    rejoin("a"),
    Await(who="b"),
)
"""A group of a, who leads, and b between join and sync, in generation 2."""


def classic(name: str, rules: str, *steps: Step, tests: str = "") -> Scenario:
    """A scenario that both Kafkas play."""
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, tests=tuple(tests.split()), kafkas=BOTH)


SCENARIOS: tuple[Scenario, ...] = (
    *(
        classic(
            f"first member of a group joins, syncs, beats and leaves, v{v}",
            "K1.7 K1.10 K1.17 K1.18 K1.19 K1.22 K1.30 K1.36 K1.37 K1.51 K1.63",
            *(*alone("a", v), beat("a", v), leave("a", min(v, 5)), beat("a", v), describe(5)),
            tests="JoinGroupRequestTest SyncGroupRequestTest HeartbeatRequestTest LeaveGroupRequestTest",
        )
        for v in JOINS
    ),
    *(
        classic(
            f"second member joins and both get their share, v{v}",
            "K1.28 K1.29 K1.31 K1.32 K1.33 K1.37 K1.50 K1.51 K1.56 K1.62",
            *(*pair(v), beat("a", v), beat("b", v), describe(5)),
            tests="testSyncGroupLeaderAfterFollower testHeartbeatDuringPreparingRebalance",
        )
        for v in JOINS
    ),
    *(
        classic(
            f"{what}, v{v}",
            rules,
            *(join("a", v, **fields), describe(5)),
            tests=tests,
        )
        for v in (0, 4, 6, 7, 9)
        for what, rules, fields, tests in (
            ("a group without a name is refused", "K1.6", {"group_id": ""}, "JoinGroupRequestTest"),
            (
                "a session shorter than allowed",
                "K1.6",
                {"session_timeout_ms": 5_999},
                "testJoinGroupInvalidSessionTimeout",
            ),
            (
                "a session longer than allowed",
                "K1.6",
                {"session_timeout_ms": 1_800_001},
                "testJoinGroupInvalidSessionTimeout",
            ),
            (
                "a made-up id joins no group",
                "K1.10 K1.11",
                {"member_id": "made-up"},
                "testJoinGroupUnknownMemberNewGroup",
            ),
            ("no protocols", "K1.15", {"protocols": []}, "JoinGroupRequestTest"),
            ("no protocol type", "K1.15", {"protocol_type": ""}, "testClassicGroupJoinInconsistentProtocolType"),
        )
    ),
    *(
        classic(
            f"{what} is refused by a group with members, v{v}",
            "K1.15",
            *(*alone("a", v), join("b", v, **fields), beat("a", v), describe(5)),
            tests="testClassicGroupJoinInconsistentProtocolType",
        )
        for v in (0, 4, 9)
        for what, fields in (
            ("another protocol type", {"protocol_type": "connect"}),
            ("no common protocol", {"protocols": offer("sticky")}),
            ("an empty list of protocols", {"protocols": []}),
        )
    ),
    *(
        classic(
            f"a made-up id is refused by a group with members, v{v}",
            "K1.23 K1.24 K1.44",
            *(*alone("a", v), join("b", v, member_id="made-up"), beat("a", v)),
        )
        for v in (0, 3, 4, 9)
    ),
    classic("the only member cannot switch its only protocol", "K1.16", *alone("a"), rejoin("a", protocols=offer("x"))),
    classic(
        "a known member with another protocol type keeps its id in the refusal",
        "K1.15",
        *(*alone("a"), rejoin("a", protocol_type="connect"), beat("a")),
    ),
    classic(
        "a promised id with an instance is an internal error",
        "K1.23 K1.44",
        *(join("a"), rejoin("a", group_instance_id="one"), rejoin("a"), describe(5)),
        tests="testJoinGroupExistingPendingMemberWithGroupInstanceIdThrowsException",
    ),
    classic(
        "a promised id belongs to its group only",
        "K1.10",
        *(join("a"), rejoin("a", group_id="$g-2"), rejoin("a")),
    ),
    classic(
        "a promised member holds the others back until it joins",
        "K1.20 K1.33",
        *(*alone("a"), join("b"), parked(rejoin("a")), rejoin("b"), Await(who="a"), describe(5)),
        tests="testJoinGroupCompletionWhenPendingMemberJoins",
    ),
    classic(
        "a promised member that leaves holds nobody back",
        "K1.20 K1.59",
        *(*alone("a"), join("b"), parked(rejoin("a")), leave("b"), Await(who="a"), rejoin("b"), describe(5)),
        tests="testPendingMembersLeaveGroup",
    ),
    classic(
        "a promised member whose session ends holds nobody back",
        "K1.19 K1.60",
        *(*alone("a"), join("b", session_timeout_ms=6_000), parked(rejoin("a")), Await(who="a"), rejoin("b")),
        tests="testJoinGroupCompletionWhenPendingMemberTimesOut testHeartbeatExpirationShouldRemovePendingMember",
    ),
    *(
        classic(
            f"an unchanged follower is told where it stands, an unchanged leader rebalances, v{v}",
            "K1.27",
            *(*pair(v), rejoin("b", v), beat("b", v), parked(rejoin("a", v)), beat("b", v), rejoin("b", v)),
            *(Await(who="a"), describe(5)),
            tests="testJoinGroupFromUnchangedFollowerDoesNotRebalance testJoinGroupFromUnchangedLeaderShouldRebalance",
        )
        for v in JOINS
    ),
    classic(
        "a follower with other topics rebalances",
        "K1.27",
        *(*pair(), parked(rejoin("b", protocols=offer("range", metadata=OTHER))), beat("a"), rejoin("a")),
        *(Await(who="b"), beat("b")),
    ),
    classic(
        "while the leader computes the same words are answered at once",
        "K1.26",
        *(*COMPLETING, rejoin("a"), rejoin("b"), beat("a"), beat("b"), describe(5)),
    ),
    classic(
        "other words while the leader computes begin again",
        "K1.26 K1.29",
        *(*COMPLETING, parked(sync("d", member_id="@b", generation_id="#b"))),
        *(parked(rejoin("b", protocols=offer("range", metadata=OTHER))), Await(who="d"), beat("a")),
    ),
    classic(
        "a newcomer while the leader computes sends parked syncs back",
        "K1.28 K1.29",
        *(*COMPLETING, parked(sync("b")), join("c"), parked(rejoin("c")), Await(who="b"), beat("a"), describe(5)),
        *(parked(rejoin("a")), rejoin("b"), Await(who="a"), Await(who="c")),
    ),
    classic(
        "who does not rejoin in time loses its place",
        "K1.4 K1.31 K1.34 K1.35",
        *pair(a={"rebalance_timeout_ms": 1_000}, b={"rebalance_timeout_ms": 1_500}),
        parked(rejoin("b", rebalance_timeout_ms=1_500, protocols=offer("range", metadata=OTHER))),
        *(Await(who="b"), beat("a"), sync("b", assign={"@b": ALL_SIX}), describe(5)),
        tests="testCompleteJoinRemoveNotYetRejoinedDynamicMembers",
    ),
    *(
        classic(
            f"who does not sync in time loses its place, v{v}",
            "K1.53",
            *pair(v, a={"rebalance_timeout_ms": 2_000}, b={"rebalance_timeout_ms": 2_000})[:-3],
            sync("a", v, assign={"@a": FIRST_HALF, "@b": SECOND_HALF}),
            *(until(beat("a", v), error="REBALANCE_IN_PROGRESS"), beat("b", v, generation_id="#a", member_id="@b")),
            tests="testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers",
        )
        for v in (1, 4, 9)
    ),
    classic(
        "nobody syncs in time and the group ends up empty",
        "K1.53 K1.36",
        *(*enter("a", rebalance_timeout_ms=1_000), until(describe(5), state="Empty"), beat("a")),
        tests="testRebalanceTimesOutWhenSyncRequestIsNotReceived",
    ),
    classic(
        "the protocol that most want first is chosen",
        "K1.38",
        *(*enter("a", protocols=offer("range", "roundrobin")), sync("a", assign={"@a": ALL_SIX})),
        *(
            join("b", protocols=offer("roundrobin", "range")),
            parked(rejoin("b", protocols=offer("roundrobin", "range"))),
        ),
        *(
            join("c", protocols=offer("roundrobin", "range")),
            parked(rejoin("c", protocols=offer("roundrobin", "range"))),
        ),
        *(rejoin("a", protocols=offer("range", "roundrobin")), Await(who="b"), Await(who="c"), describe(5)),
    ),
    classic(
        "a name that one member lacks is no candidate",
        "K1.38",
        *(*enter("a", protocols=offer("sticky", "range")), sync("a", protocol_name="sticky")),
        *(join("b", protocols=offer("range")), parked(rejoin("b", protocols=offer("range")))),
        *(rejoin("a", protocols=offer("sticky", "range")), Await(who="b")),
    ),
    classic(
        "other protocol types are their own business",
        "K1.22 K6.2",
        *enter("a", protocol_type="connect", protocols=offer("default", metadata=b"\x00\x01worker")),
        sync("a", protocol_type="connect", protocol_name="default", assign={"@a": b"tasks"}),
        *(beat("a"), describe(5), leave("a"), describe(5)),
    ),
    classic(
        "a second parked join of a member takes the first one's place",
        "K1.52",
        *(*pair(), parked(rejoin("a")), parked(rejoin("d", member_id="@a")), Await(who="a", silent=True)),
        *(rejoin("b"), Await(who="d")),
    ),
    classic(
        "the leader leaves and the other one leads",
        "K1.61 K1.59",
        *(*pair(), leave("a"), beat("b"), rejoin("b"), sync("b", assign={"@b": ALL_SIX}), describe(5)),
    ),
    classic(
        "a group that was left begins again with the next generation",
        "K1.36 K1.22",
        *(*alone("a"), leave("a"), describe(5), *enter("b"), sync("b", assign={"@b": ALL_SIX}), beat("b"), describe(5)),
    ),
    classic(
        "another protocol type may follow in an empty group",
        "K1.15 K1.22",
        *(*alone("a"), leave("a"), *enter("b", protocol_type="connect", protocols=offer("default")), describe(5)),
    ),
)
