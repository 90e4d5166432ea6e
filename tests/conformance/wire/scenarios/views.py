"""What admins see and delete of classic groups: DescribeGroups, ListGroups, DeleteGroups (K6.1-K6.8)."""

from tests.conformance.wire.scenarios.joining import COMPLETING, classic
from tests.conformance.wire.scenarios.offsets import SIMPLE, scenario
from tests.support.conformance.calls import (
    alone,
    beat,
    call,
    chb,
    commit,
    delete,
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
)
from tests.support.conformance.steps import BOTH, NEWEST, Call, Scenario, Step

STATES: tuple[tuple[str, tuple[Step, ...]], ...] = (
    ("a stable group", pair()),
    ("a group whose leader computes", COMPLETING),
    ("a group whose members join", (*pair(), parked(rejoin("a")))),
    ("a group that everybody left", (*alone("a"), leave("a"))),
    ("a group of a promised member", (join("a"),)),
    ("a group of offsets", (commit("x", **SIMPLE),)),
    ("no group", ()),
)
NEWEST_ON_OLDER = 5
OPERATIONS_SINCE = 3


def view(version: int, name: str, rules: str, *steps: Step, tests: str = "") -> Scenario:
    """A scenario for the Kafkas that have this version of DescribeGroups."""
    kafkas = BOTH if version <= NEWEST_ON_OLDER else (NEWEST,)
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, tests=tuple(tests.split()), kafkas=kafkas)


def filtered() -> tuple[Call, ...]:
    """ListGroups by all sorts of filters."""
    states = (["Stable"], ["stable", "EMPTY"], ["Empty"], ["PreparingRebalance"], ["Nonsense"], ["Assigning"], ["Dead"])
    kinds = (["classic"], ["CLASSIC"], ["consumer"], ["nonsense"], ["classic", "consumer"], ["share"])
    by_state = [list_groups(4, states=names) for names in states]
    by_kind = [list_groups(5, types=names) for names in kinds]
    return (*by_state, *by_kind, list_groups(5, states=["stable"], types=["classic"]))


SCENARIOS: tuple[Scenario, ...] = (
    *(
        view(v, f"{what} is described, v{v}", "K1.1 K6.1 K6.2", *steps, describe(v), tests="DescribeGroupsRequestTest")
        for v in range(7)
        for what, steps in STATES
    ),
    *(
        view(5, f"{what} is listed, v{v}", "K6.4", *steps, list_groups(v), tests="ListGroupsRequestTest")
        for v in range(6)
        for what, steps in STATES
    ),
    *(
        view(5, f"{what} is deleted, v{v}", "K6.7", *steps, delete(v), describe(5), tests="DeleteGroupsRequestTest")
        for v in range(3)
        for what, steps in STATES
    ),
    *(view(5, f"{what} is filtered", "K6.4", *steps, *filtered()) for what, steps in STATES),
    *(
        view(7, f"{what} is no consumer group, v{v}", "K6.5", *steps, describe_consumer(v))
        for v in (0, 1)
        for what, steps in STATES
    ),
    *(
        view(
            v,
            f"who describes asks what it may do, v{v}",
            "K6.1",
            *(*alone("a"), describe(v, "$g", "$g-none", operations=True)),
            *(leave("a"), describe(v, operations=True)),
        )
        for v in range(OPERATIONS_SINCE, 7)
    ),
    *(
        view(
            7,
            f"who describes consumer groups asks what it may do, v{v}",
            "K6.1 K6.5",
            *(chb("a", 0), describe_consumer(v, "$g", "$g-none", operations=True)),
            *(describe(5, operations=True), describe(6, operations=True)),
        )
        for v in (0, 1)
    ),
    view(
        7,
        "who describes a group as one of another kind asks what it may do",
        "K6.1 K6.5",
        *(*alone("a"), describe_consumer(1, operations=True)),
    ),
    classic(
        "a filter with blanks", "K6.4", *alone("a"), list_groups(4, states=[" stable "]), list_groups(4, states=[""])
    ),
    classic(
        "several groups are deleted at once",
        "K6.7",
        *(
            *alone("a"),
            commit("x", group_id="$g-2", **SIMPLE),
            delete(2, "$g", "$g-2", "$g-none"),
            fetch("x", 8),
            beat("a"),
        ),
    ),
    classic("a group without a name is deleted", "K6.7", delete(2, "")),
    classic("a group is deleted twice in one request", "K6.7", commit("x", **SIMPLE), delete(2, "$g", "$g")),
    classic("a deleted group begins anew", "K6.7", *alone("a"), leave("a"), delete(), *alone("b")),
    classic("several groups are described at once", "K6.1", *alone("a"), describe(5, "$g", "$g-none", "$g")),
    view(6, "several groups are described at once, v6", "K6.1", *alone("a"), describe(6, "$g", "$g-none")),
    classic("a group without a name is described", "K6.3", describe(5, "")),
    classic("no groups are described", "K6.1", call("admin", "DescribeGroups", 5, {"groups": []}, {})),
    classic(
        "a group of another protocol type is seen",
        "K6.2 K6.4",
        *(*enter("a", protocol_type="connect", protocols=offer("default")), describe(5), list_groups(5)),
        *(leave("a"), describe(5), list_groups(5), list_groups(5, types=["classic"]), delete()),
    ),
    view(7, "consumer groups without names are described", "K6.5", describe_consumer(1, "", "$g-none")),
    scenario(
        10, "a group of a promised member is deleted and the promise is gone", "K6.7", join("a"), delete(), rejoin("a")
    ),
)
