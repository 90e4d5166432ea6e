"""Rules that the other themes leave over: rejoins in a rebalance, full mixed groups, calls at the wrong time."""

from dataclasses import replace

from tests.conformance.wire.scenarios.joining import OTHER, classic
from tests.conformance.wire.scenarios.mixed import mixed
from tests.conformance.wire.scenarios.seats import A
from tests.support.conformance.calls import (
    ALL_SIX,
    SIX,
    alone,
    beat,
    chb,
    commit,
    committed_topics,
    describe_consumer,
    enter,
    enter_parked,
    join,
    leave,
    offer,
    pair,
    parked,
    rejoin,
    sync,
)
from tests.support.conformance.steps import Await, Scenario

SCENARIOS: tuple[Scenario, ...] = (
    *(
        classic(
            f"members rejoin with other words while members join, v{v}",
            "K1.25",
            *(
                *pair(v),
                parked(rejoin("a", v)),
                rejoin("b", v, protocols=offer("range", metadata=OTHER)),
                Await(who="a"),
            ),
        )
        for v in (0, 2, 5, 9)
    ),
    *(
        classic(
            f"a refused commit is refused for every partition, v{v}",
            "K5.2",
            *(*alone("a"), commit("a", v, generation_id="#a+1", topics=committed_topics(v, SIX, (0, 1, 5)))),
        )
        for v in (2, 7, 9)
    ),
    *(
        replace(one, profile="small")
        for one in (
            mixed(
                "a classic member is refused by a full consumer group",
                "K4.3 K4.6",
                *(chb("n", 0), chb("m", 0), join("b"), join("c", **A), chb("n", "#n")),
                tests="testJoiningConsumerGroupThrowsExceptionIfGroupOverMaxSize",
            ),
            mixed(
                "a KIP-848 member is refused by a full classic group",
                "K3.16",
                *(*pair(), chb("n", 0), beat("a"), beat("b")),
            ),
        )
    ),
    replace(
        mixed(
            "a KIP-848 member is refused by a classic group that is too large for it",
            "K3.16",
            *(*pair(), chb("n", 0), beat("a"), beat("b")),
        ),
        profile="narrow",
    ),
    mixed(
        "an empty consumer group that was left by classic calls",
        "K1.58 K4.42",
        *(
            chb("n", 0),
            chb("n", -1),
            leave("b", member_id="made-up"),
            leave("b", member_id="made-up", group_id="$g-none"),
        ),
    ),
    mixed(
        "both kinds of calls on a group of the other kind",
        "K2.15 K6.8",
        *(*alone("a"), chb("n", 1), chb("n", -1), describe_consumer(), beat("a")),
    ),
    mixed(
        "a classic member syncs late in a consumer group",
        "K4.21",
        *(chb("n", 0), *enter("b"), chb("m", 0), sync("b"), beat("b")),
        tests="testClassicGroupSyncToConsumerGroupRebalanceInProgress",
    ),
    mixed(
        "a KIP-848 member joins while one waits that lacks the group's protocol",
        "K3.13 K3.6",
        *(
            *enter("a", protocols=offer("roundrobin", "range")),
            sync("a", assign={"@a": ALL_SIX}, protocol_name="roundrobin"),
        ),
        *enter_parked("b", protocols=offer("range")),
        *(chb("n", 0), Await(who="b"), beat("a")),
    ),
)
