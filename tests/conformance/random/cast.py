"""The members of a drawn sequence: which versions they speak, what they propose, and what they share out.

It knows chance and the usual fields, and must not know what any coordinator answers.
"""

from collections.abc import Mapping, Sequence
from random import Random

from tests.conformance.random.members import Member
from tests.conformance.random.sequences import OWN_TOPIC
from tests.support.conformance.calls import offer
from tests.support.conformance.steps import Part, Subscription

ALL = ("wire-six", "wire-two", "wire-one")
NAMES = ("a", "b", "c", "d")
STATIC_SINCE = 5
LONG_MS, SHORT_MS = 120_000, 3_000
PROTOCOLS: Sequence[Sequence[str]] = (
    ("range",),
    ("range",),
    ("range", "roundrobin"),
    ("roundrobin", "range"),
    ("cooperative-sticky", "range"),
)
TOPICS: Sequence[tuple[str, ...]] = (
    ("wire-six",),
    ("wire-six",),
    ("wire-six", "wire-two"),
    ("wire-two",),
    ("wire-one", "wire-two", "wire-six"),
    ("wire-none", "wire-six"),
)

PATTERNS = ("wire-(six|two)", "wire-s.*x", "wire-one|wire-two", "wire-[to].*", "six", "(", "")
"""Whole names count; none of them matches topics of other sequences."""
OWN_TOPICS: Sequence[tuple[str, ...]] = ((OWN_TOPIC,), (OWN_TOPIC, "wire-six"), ("wire-six",))


def draw_member(rng: Random, name: str, *, native: bool, has_own_topic: bool) -> Member:
    """A member of either protocol."""
    instance = f"i-{name}" if rng.random() < 0.3 else None
    join = rng.choice((STATIC_SINCE, 7, 8, 9, 9)) if instance else rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9))
    topics = rng.choice(OWN_TOPICS if has_own_topic else TOPICS)
    own_low = 3 if instance else 0
    return Member(
        name=name,
        join=join,
        sync=rng.randint(own_low, 5),
        beat=rng.randint(own_low, 4),
        leave=rng.randint(own_low, 5),
        native=native,
        instance=instance,
        topics=topics,
        fields=native_fields(rng, name, topics, instance) if native else classic_fields(rng, topics, instance),
    )


def classic_fields(rng: Random, topics: tuple[str, ...], instance: str | None) -> dict[str, Part]:
    """What its JoinGroup says beside ids."""
    metadata = Subscription(topics=topics, version=rng.choice((0, 1, 1, 2, 3)))
    fields: dict[str, Part] = {
        "session_timeout_ms": LONG_MS,
        "rebalance_timeout_ms": LONG_MS,
        "protocols": offer(*rng.choice(PROTOCOLS), metadata=metadata),
    }
    return fields if instance is None else {**fields, "group_instance_id": instance}


def native_fields(rng: Random, name: str, topics: tuple[str, ...], instance: str | None) -> dict[str, Part]:
    """What its first heartbeat says beside ids."""
    fields: dict[str, Part] = {"subscribed_topic_names": list(topics), "rebalance_timeout_ms": LONG_MS}
    if instance is not None:
        fields["instance_id"] = instance
    if rng.random() < 0.2:
        fields["rack_id"] = f"rack-{name}"
    if rng.random() < 0.2:
        fields["server_assignor"] = "range"
    return fields


def draw_assignment(rng: Random, members: Sequence[str]) -> Mapping[str, Mapping[str, list[int]]]:
    """Partitions of wire-six dealt out to these members by their names."""
    shares: dict[str, list[int]] = {name: [] for name in members}
    for partition in range(6):
        if members:
            shares[rng.choice(members)].append(partition)
    return {name: {"wire-six": share} if share else {} for name, share in shares.items()}
