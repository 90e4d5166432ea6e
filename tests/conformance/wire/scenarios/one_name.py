"""One name is one group of one kind: share groups where consumer groups are asked for, and the other way about (K6.5).

Kafka 4.3.1 has share groups on as it comes; 3.9.1 does not know them. Who comes second under a name is refused in
`tests/endtoend/test_one_name.py`, where the same is asked of Kafka beside the bridge.
"""

from tests.conformance.wire.scenarios.consumers import native
from tests.support.conformance.calls import (
    beat,
    chb,
    commit,
    delete,
    describe,
    describe_consumer,
    describe_share,
    fetch,
    leave,
    share_chb,
    sync,
)
from tests.support.conformance.steps import Part, Scenario

STRANGER: dict[str, Part] = {"member_id": "share-s", "generation_id": 1}

SCENARIOS: tuple[Scenario, ...] = (
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
        "a consumer group is described as a share group",
        "K6.5",
        *(chb("n", 0), describe_share("$g", "$g-none")),
        tests="testShareGroupDescribeOnConsumerGroup",
    ),
)
