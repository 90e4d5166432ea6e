"""Who plays in groups that are moved: every library by itself, and libraries side by side.

It must not know what is done to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.demo.kafka_properties import DEFAULT_VERSION
from tests.support.kafka import OLD_VERSION, SCOUTED_VERSION

UPSTREAM_VERSIONS = (DEFAULT_VERSION, SCOUTED_VERSION)
"""Where members can be taken over by themselves; with the older one a scout goes first."""
VERSIONS = (*UPSTREAM_VERSIONS, OLD_VERSION)


@dataclass(frozen=True, slots=True)
class Troupe:
    """The kinds of a group's members (`casts.KINDS`, `casts.GO_KINDS`).

    `speaks_consumer` is a group with KIP-848 members: brokers before 4.0 have none, and it is never adopted.
    """

    kinds: tuple[str, ...]
    is_static: bool = False
    speaks_consumer: bool = False

    def seats(self) -> Mapping[str, str]:
        """Kinds by seat; the names of static members' seats begin with "static"."""
        name = "static" if self.is_static else "m"
        return {f"{name}{number}": kind for number, kind in enumerate(self.kinds, 1)}

    def roads(self, version: str) -> tuple[str, ...]:
        """Where the group goes at such a broker, one after the other, from road pass and back."""
        ways = ways_at(version)
        if self.speaks_consumer or len(ways) == 1:
            ways = tuple(there for there in ways if not (self.speaks_consumer and there == "embedded"))
            return tuple(road for there in ways for road in (there, "pass"))
        # Each way by itself, then from one to the other in one order and back: a release's seats are taken over.
        return ("upstream", "pass", "embedded", "upstream", "embedded", "pass")


def ways_at(version: str) -> tuple[str, ...]:
    """The roads that lead away from pass at such a broker."""
    return ("upstream", "embedded") if version in UPSTREAM_VERSIONS else ("embedded",)


TROUPES: Mapping[str, Troupe] = {
    "kafka-python": Troupe(("kafka-python-range",) * 3),
    "kafka-python-cooperative": Troupe(("kafka-python-cooperative",) * 3),
    "aiokafka": Troupe(("aiokafka",) * 3),
    "confluent": Troupe(("confluent-range",) * 3),
    "confluent-cooperative": Troupe(("confluent-cooperative",) * 3),
    "confluent-static": Troupe(("confluent-range",) * 3, is_static=True),
    "java": Troupe(("java-default",) * 2),
    "java-cooperative": Troupe(("java-cooperative",) * 2),
    "java-static": Troupe(("java-default",) * 2, is_static=True),
    "franz-go": Troupe(("franz-go",) * 3),
    "franz-go-cooperative": Troupe(("franz-go-cooperative",) * 3),
    "sarama": Troupe(("sarama",) * 3),
    "kafkajs": Troupe(("kafkajs",) * 2),
    "mixed": Troupe(("kafka-python-range", "confluent-range", "java-default", "aiokafka", "franz-go", "sarama")),
    "confluent-consumer": Troupe(("confluent-consumer",) * 3, speaks_consumer=True),
    "java-consumer": Troupe(("java-consumer",) * 2, speaks_consumer=True),
    "mixed-consumer": Troupe(("confluent-range", "confluent-consumer", "aiokafka"), speaks_consumer=True),
}
"""By the names that the page shows."""
