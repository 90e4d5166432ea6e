"""Full groups and the wait for first joins (K1.12-K1.14, K1.30, K2.16, K2.26)."""

from dataclasses import replace

from tests.conformance.wire.scenarios.consumers import ONE, native
from tests.conformance.wire.scenarios.joining import classic
from tests.conformance.wire.scenarios.seats import A, B
from tests.support.conformance.calls import (
    ALL_SIX,
    SIX,
    alone,
    beat,
    chb,
    describe,
    describe_consumer,
    enter_parked,
    join,
    leave,
    pair,
    parked,
    rejoin,
    sync,
    until,
)
from tests.support.conformance.steps import Await, Owned, Pause, Scenario

FULL = tuple(
    replace(one, profile="small")
    for one in (
        *(
            classic(
                f"a full group takes nobody in, v{v}",
                "K1.12 K1.14",
                *(*pair(v), join("c", v), beat("a", v), beat("b", v), describe(5)),
                tests="testDynamicMembersJoinGroupWithMaxSizeAndRequiredKnownMember",
            )
            for v in (0, 3, 4, 9)
        ),
        native(
            "promised ids do not count until they join",
            "K1.12 K1.14",
            *(*alone("a"), join("b"), join("c"), parked(rejoin("b")), parked(rejoin("c")), rejoin("a")),
            *(Await(who="b", silent=True), beat("a")),
            tests="testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize "
            "testDynamicMembersJoinGroupWithMaxSizeAndNotRequiredKnownMember",
        ),
        classic(
            "members of a full group rejoin",
            "K1.12",
            *(*pair(), parked(rejoin("a")), join("c"), parked(rejoin("b")), leave("c"), Await(who="a"), Await(who="b")),
            *(beat("a"), beat("b")),
            tests="testDynamicMembersCanRejoinGroupWithMaxSizeWhileRebalancing",
        ),
        classic(
            "a static member restarts into a full group",
            "K1.13",
            *(*pair(a=A, b=B), join("c", **B), beat("a", **A), describe(5)),
            tests="testStaticMembersJoinGroupWithMaxSize",
        ),
        classic(
            "a new static member is refused by a full group", "K1.12", *pair(a=A, b=B), join("c", group_instance_id="x")
        ),
        native(
            "a full consumer group takes nobody in",
            "K2.16",
            *(chb("a", 0), chb("b", 0), chb("c", 0), chb("a", "#a"), chb("c", 1), describe_consumer()),
            tests="testNewMemberIsRejectedWithMaximumMembersIsReached",
            shares=True,
        ),
        native(
            "a bad pattern comes to a full classic group",
            "K3.16 K2.4",
            *(
                *pair(),
                chb("n", 0, subscribed_topic_names=None, subscribed_topic_regex="wire-("),
                beat("a"),
                describe(5),
            ),
        ),
        native(
            "a static member restarts into a full consumer group",
            "K2.16 K2.20",
            *(chb("a", 0, **ONE), chb("b", 0), chb("a", -2, **ONE), chb("c", 0, **ONE), chb("b", "#b")),
            shares=True,
        ),
    )
)

FIRST_JOINS = tuple(
    replace(one, profile="delay")
    for one in (
        *(
            classic(
                f"first joins wait for each other, v{v}",
                "K1.30",
                *(*enter_parked("a", v), *enter_parked("b", v)),
                *(describe(5), Await(who="a"), Await(who="b"), describe(5)),
                tests="testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup "
                "testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance",
            )
            for v in (1, 4, 9)
        ),
        classic(
            "the wait ends with the rebalance timeout of the first",
            "K1.30",
            *(join("a", 5, group_instance_id="one", rebalance_timeout_ms=1),),
            tests="testDelayRebalanceUptoRebalanceTimeout",
        ),
        classic(
            "the only one leaves while it waits",
            "K1.30 K1.59",
            *(
                join("a"),
                parked(rejoin("a")),
                leave("admin", member_id="@a"),
                Await(who="a"),
                until(describe(5), state="Empty"),
            ),
        ),
        classic(
            "a group that was left waits again",
            "K1.30",
            *(
                *alone("a"),
                leave("a"),
                join("b"),
                parked(rejoin("b")),
                Await(who="b"),
                sync("b", assign={"@b": ALL_SIX}),
            ),
        ),
    )
)

INTERVAL = tuple(
    replace(one, profile="interval")
    for one in (
        native(
            "a target waits for the interval",
            "K2.26 K11.4",
            *(
                chb("a", 0),
                chb("b", 0),
                chb("b", "#b"),
                describe_consumer(),
                Pause(ms=3_500),
                chb("a", "#a"),
                chb("b", "#b"),
            ),
            *(describe_consumer(),),
            shares=True,
        ),
        native(
            "a topic that is given up does not come back while the target waits",
            "K2.26 K11.4",
            *(
                chb("a", 0, subscribed_topic_names=[SIX, "wire-two"]),
                chb("a", "#a", subscribed_topic_names=["wire-two"]),
                chb("a", "#a", topic_partitions=Owned(keep={"wire-two": [0, 1]})),
                describe_consumer(),
                Pause(ms=3_500),
                chb("a", "#a"),
            ),
            *(describe_consumer(),),
        ),
    )
)

SCENARIOS: tuple[Scenario, ...] = (*FULL, *FIRST_JOINS, *INTERVAL)
