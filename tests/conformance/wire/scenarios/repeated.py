"""JoinGroup with a protocol that is named twice, which no client library sends and the wire allows."""

from tests.support.conformance.calls import ALL_SIX, alone, beat, describe, enter, offer, rejoin, sync
from tests.support.conformance.steps import NEWEST, Scenario, Step, Subscription

OTHER = Subscription(topics=("wire-two",))
AGAIN = [*offer("range"), *offer("range", metadata=OTHER)]
"""The same name, and what is said under it is something else."""
MIXED_UP = offer("range", "roundrobin", "range")


def repeated(name: str, rules: str, *steps: Step) -> Scenario:
    """A scenario of Kafka's newest."""
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, kafkas=(NEWEST,), profile="plain")


SCENARIOS: tuple[Scenario, ...] = (
    repeated(
        "a protocol named twice around another",
        "K1.15 K1.35",
        *(
            *enter("a", protocols=MIXED_UP),
            sync("a", protocol_name=None, assign={"@a": ALL_SIX}),
            beat("a"),
            describe(5),
        ),
    ),
    repeated(
        "a member names its protocol twice when it comes again",
        "K1.29 K1.35",
        *(*alone("a"), rejoin("a", protocols=AGAIN), beat("a"), describe(5)),
    ),
)
