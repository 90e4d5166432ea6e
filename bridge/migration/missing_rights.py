"""Which right the bridge's own user lacks where a broker refuses it, and the command that gives it."""

from dataclasses import dataclass
from enum import StrEnum

from translators.dialects.errors import ErrorCode, quote

PRINCIPAL = "User:NAME"
"""What stands for the bridge's user in the command: how brokers call it, their own rules say."""


class Resource(StrEnum):
    """What rights are given on; the values are the options of Kafka's tool."""

    GROUP = "group"
    TOPIC = "topic"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Right:
    """An operation on a resource, in Kafka's words; a cluster has no name."""

    operation: str
    resource: Resource
    name: str = ""

    def missing(self) -> str:
        """The sentence: what the user lacks, and what to run."""
        named = f" {quote(self.name)!r}" if self.name else ""
        option = f"--{self.resource}" + (f" {_shell(self.name)}" if self.name else "")
        return (
            f"the bridge's user lacks the right {self.operation.upper()} on the {self.resource}{named}; give it, with "
            f"upstream.sasl.username for NAME: kafka-acls.sh --bootstrap-server BROKER --add --allow-principal "
            f"{PRINCIPAL} --operation {self.operation} {option}"
        )


_REFUSED_ON = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: Resource.GROUP,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Resource.TOPIC,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: Resource.CLUSTER,
}


def refused_on(code: ErrorCode) -> Resource | None:
    """On what kind of resource a right is missing, where the code says that one is."""
    return _REFUSED_ON.get(code)


def _shell(name: str) -> str:
    """The name as a word for a shell, in single quotes."""
    return "'" + quote(name).replace("'", "'\\''") + "'"
