"""What every member process understands: its command line, and when to end (SIGTERM, or the death of its parent)."""

import argparse
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from bridge.demo.events import Mode, Protocol

COOPERATIVE_ASSIGNORS = frozenset({"cooperative-sticky"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions:
    """One member: where it connects, which group it joins, and how. Timeouts None leave the library's default."""

    bootstrap: str
    group: str
    topics: tuple[str, ...]
    name: str
    client_id: str
    instance_id: str | None
    assignor: str
    protocol: Protocol
    session_timeout_ms: int | None
    heartbeat_interval_ms: int | None
    max_poll_interval_ms: int | None
    auto_offset_reset: str
    metadata_max_age_ms: int
    commit_interval_ms: int

    @property
    def mode(self) -> Mode:
        """What the lists in this member's rebalance callbacks mean (KIP-429; KIP-848 members are always
        incremental).
        """
        incremental = self.protocol is Protocol.CONSUMER or self.assignor in COOPERATIVE_ASSIGNORS
        return Mode.INCREMENTAL if incremental else Mode.EAGER


def parse_member_options(arguments: Sequence[str]) -> MemberOptions:
    """The options of a member process; usage errors end the process with status 2, as argparse does."""
    parsed = _parser().parse_args(arguments)
    return MemberOptions(
        bootstrap=parsed.bootstrap,
        group=parsed.group,
        topics=tuple(parsed.topic),
        name=parsed.name,
        client_id=parsed.client_id or parsed.name,
        instance_id=parsed.instance_id,
        assignor=parsed.assignor,
        protocol=Protocol(parsed.protocol),
        session_timeout_ms=parsed.session_timeout_ms,
        heartbeat_interval_ms=parsed.heartbeat_interval_ms,
        max_poll_interval_ms=parsed.max_poll_interval_ms,
        auto_offset_reset=parsed.auto_offset_reset,
        metadata_max_age_ms=parsed.metadata_max_age_ms,
        commit_interval_ms=parsed.commit_interval_ms,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="A consumer that prints one JSON line per event; SIGTERM ends it cleanly."
    )
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT")
    parser.add_argument("--group", required=True)
    parser.add_argument("--topic", required=True, action="append", help="may be given several times")
    parser.add_argument("--name", required=True, help="the seat this process fills in the fleet")
    parser.add_argument("--client-id", default="", help="default: the name")
    parser.add_argument("--instance-id", default=None, help="makes the member static (KIP-345)")
    parser.add_argument("--assignor", default="range", help="ignored with --protocol consumer")
    parser.add_argument("--protocol", default="classic", choices=[protocol.value for protocol in Protocol])
    parser.add_argument("--session-timeout-ms", type=int, default=None)
    parser.add_argument("--heartbeat-interval-ms", type=int, default=None)
    parser.add_argument("--max-poll-interval-ms", type=int, default=None)
    parser.add_argument("--auto-offset-reset", default="earliest", choices=["earliest", "latest"])
    parser.add_argument("--metadata-max-age-ms", type=int, default=5000)
    parser.add_argument("--commit-interval-ms", type=int, default=500)
    return parser


class StopSignal:
    """Set by SIGTERM; SIGINT is left to the parent, which gets it too when a terminal sends it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._parent = os.getppid()
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def is_set(self) -> bool:
        """Whether the process must end now; an orphan must, so that a killed parent leaves nothing behind."""
        return self._event.is_set() or os.getppid() != self._parent

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._event.set()
