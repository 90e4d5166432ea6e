"""Which program a member or producer process runs and with which arguments."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bridge.demo.events import Protocol

CONFLUENT = (sys.executable, "-m", "bridge.demo.members.confluent")
KAFKA_PYTHON = (sys.executable, "-m", "bridge.demo.members.kafka_python")
PRODUCER = (sys.executable, "-m", "bridge.demo.producer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the fleet talks to: one group and its topics behind one bootstrap address."""

    bootstrap: str
    group: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """One member: `program` starts its process (CONFLUENT, KAFKA_PYTHON, or any program with the same arguments)."""

    seat: str
    program: tuple[str, ...] = CONFLUENT
    protocol: Protocol = Protocol.CLASSIC
    assignor: str = "range"
    instance_id: str | None = None
    session_timeout_ms: int | None = 6000
    heartbeat_interval_ms: int | None = 400
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSpec:
    """One producer: `rate` is records per second over all partitions, `partitions` counts those of each topic."""

    seat: str = "producer"
    partitions: int
    rate: float = 200.0


def member_command(spec: MemberSpec, target: Target) -> Sequence[str]:
    """The whole command line of a member process."""
    optional = {
        "--instance-id": spec.instance_id,
        "--session-timeout-ms": spec.session_timeout_ms,
        "--heartbeat-interval-ms": spec.heartbeat_interval_ms,
    }
    return [
        *spec.program,
        *_address(target),
        *("--group", target.group, "--name", spec.seat, "--client-id", spec.seat),
        *("--protocol", spec.protocol.value, "--assignor", spec.assignor),
        *(word for name, value in optional.items() if value is not None for word in (name, str(value))),
        *spec.more,
    ]


def producer_command(spec: ProducerSpec, target: Target) -> Sequence[str]:
    """The whole command line of a producer process."""
    return [
        *PRODUCER,
        *_address(target),
        *("--partitions", str(spec.partitions), "--rate", str(spec.rate), "--name", spec.seat),
    ]


def _address(target: Target) -> Sequence[str]:
    return ["--bootstrap", target.bootstrap, *(word for topic in target.topics for word in ("--topic", topic))]
