"""One name is one group of one kind: share groups where consumer groups are asked for, and the other way about (K6.5).

Kafka 4.3.1 has share groups on as it comes; 3.9.1 does not know them. Who comes second under a name is also refused in
`tests/endtoend/test_one_name.py`, there with streams groups, and with a share group that is the broker's alone.
"""

from tests.conformance.wire.scenarios.consumers import native
from tests.support.conformance.calls import (
    alone,
    beat,
    chb,
    commit,
    delete,
    describe,
    describe_consumer,
    describe_share,
    fetch,
    join,
    leave,
    list_groups,
    set_share_offsets,
    share_chb,
    sync,
)
from tests.support.conformance.steps import Part, Scenario

STRANGER: dict[str, Part] = {"member_id": "share-s", "generation_id": 1}

SCENARIOS: tuple[Scenario, ...] = (
    native(
        "a KIP-848 member comes to a share group",
        "K6.5",
        *(share_chb("s"), chb("n", 0), describe_share(), list_groups(5)),
        tests="testConsumerGroupHeartbeatOnShareGroup",
    ),
    native(
        "a classic member comes to a share group",
        "K6.5",
        *(share_chb("s"), join("a"), join("a", 3), join("a", protocol_type="connect"), describe_share()),
        tests="testClassicGroupJoinOnShareGroup",
    ),
    native(
        "a member of a share group syncs as a classic one",
        "K6.5",
        *(share_chb("s"), sync("s", **STRANGER), beat("s", **STRANGER)),
        tests="testClassicGroupSyncOnShareGroup",
    ),
    native(
        "a member of a share group leaves as a classic one",
        "K6.5",
        *(share_chb("s"), leave("s", member_id="share-s"), leave("s", 2, member_id="share-s"), describe_share()),
        tests="testClassicGroupLeaveOnShareGroup",
    ),
    native(
        "a share group is described as one of another kind",
        "K6.5",
        *(share_chb("s"), describe_consumer(), describe(6), describe(5), describe_share()),
        tests="testConsumerGroupDescribeOnShareGroup",
    ),
    native(
        "offsets of a share group are another matter",
        "K6.5",
        *(share_chb("s"), commit("s", member_id="", generation_id=-1), commit("s", **STRANGER), fetch("x"), delete()),
    ),
    native(
        "a share member comes to a consumer group",
        "K6.5",
        *(chb("n", 0), share_chb("s"), describe_share(), describe_consumer(), list_groups(5), chb("n", "#n")),
        tests="testShareGroupHeartbeatOnConsumerGroup",
    ),
    native(
        "a share member comes to a classic group",
        "K6.5",
        *(*alone("a"), share_chb("s"), describe_share(), list_groups(5), beat("a")),
    ),
    native(
        "offsets of a share group are set under the name of a consumer group",
        "K6.5",
        *(chb("n", 0), set_share_offsets("wire-six"), set_share_offsets("wire-none"), list_groups(5), describe_share()),
        *(chb("n", "#n"), commit("n", member_id="member-n"), fetch("x"), chb("n", -1), set_share_offsets("wire-six")),
    ),
    native(
        "offsets of a share group are set under the name of a classic group",
        "K6.5",
        *(*alone("a"), set_share_offsets("wire-six"), list_groups(5), beat("a"), commit("a"), fetch("x")),
        *(leave("a"), set_share_offsets("wire-six"), list_groups(5)),
    ),
    native(
        "a consumer group is described as a share group",
        "K6.5",
        *(chb("n", 0), describe_share("$g", "$g-none")),
        tests="testShareGroupDescribeOnConsumerGroup",
    ),
)
