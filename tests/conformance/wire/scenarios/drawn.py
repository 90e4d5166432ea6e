"""What sequences drawn by chance have shown to be answered otherwise than by Kafka, made short."""

from tests.conformance.wire.scenarios.consumers import ONE, native
from tests.support.conformance.calls import (
    alone,
    chb,
    commit,
    committed_topics,
    delete_offsets,
    enter_parked,
    offer,
)
from tests.support.conformance.steps import BOTH, Scenario, Subscription

LONG = "x" * 5000
SOME_MISSING = (0, 6)
WANTS_TWO = offer("range", metadata=Subscription(topics=("wire-two",)))

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        name="a commit names partitions that do not exist beside others",
        rules=("K5.1", "K5.2", "K5.5"),
        kafkas=BOTH,
        steps=(
            *alone("a"),
            commit("a", 8, topics=committed_topics(8, partitions=SOME_MISSING)),
            commit("a", 8, topics=committed_topics(8, partitions=SOME_MISSING), member_id="nobody"),
            commit("a", 8, topics=committed_topics(8, partitions=SOME_MISSING), generation_id="#a+1"),
            commit("a", 8, topics=committed_topics(8, partitions=SOME_MISSING, metadata=LONG)),
            commit("a", 8, topics=committed_topics(8, "wire-none"), member_id="nobody"),
        ),
    ),
    native(
        "a consumer member commits to partitions that do not exist beside others",
        "K5.1 K5.9 K5.11",
        chb("a", 0),
        commit("a", 9, topics=committed_topics(9, partitions=SOME_MISSING)),
        commit("a", 9, topics=committed_topics(9, partitions=SOME_MISSING), member_id="nobody"),
        commit("a", 9, topics=committed_topics(9, partitions=SOME_MISSING), generation_id="#a+1"),
    ),
    Scenario(
        name="offsets of partitions that do not exist are deleted",
        rules=("K5.22",),
        kafkas=BOTH,
        steps=(
            *alone("a"),
            delete_offsets(partitions=SOME_MISSING),
            delete_offsets("wire-two", (0, 2)),
            delete_offsets("wire-none"),
        ),
    ),
    native(
        "offsets of partitions that do not exist are deleted from a consumer group",
        "K5.22",
        *(chb("a", 0), delete_offsets(partitions=SOME_MISSING), delete_offsets("wire-two", (0, 2))),
        delete_offsets("wire-none"),
    ),
    Scenario(
        name="offsets of what a newcomer wants are deleted while it joins",
        rules=("K1.39", "K5.22"),
        kafkas=BOTH,
        steps=(
            *alone("a", protocols=WANTS_TWO),
            *enter_parked("b"),
            delete_offsets(),
            delete_offsets("wire-two"),
        ),
    ),
    native(
        "a static member begins anew under its own id without having left",
        "K2.19 K2.20",
        *(chb("a", 0, **ONE), chb("a", 0, **ONE), chb("a", "#a")),
    ),
)
