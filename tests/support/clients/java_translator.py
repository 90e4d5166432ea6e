"""What Java's VerifiableConsumer prints, from standard input to events on standard output, until Java closes it.

It runs in a session of its own, so that it still tells what Java said before both were killed.
"""

import sys
import time
from collections.abc import Iterable

from bridge.demo.events import Event, EventWriter, Failed, Mode, now_ns
from tests.support.clients.java_events import events_of


def wall_ms_to_now_ns(wall_ms: int) -> int:
    """The monotonic instant of a wall-clock stamp (milliseconds since 1970) taken lately on this host; never in the
    future.
    """
    seen_ns = time.monotonic_ns()
    return min(seen_ns, wall_ms * 1_000_000 - time.time_ns() + seen_ns)


def translate(lines: Iterable[str], mode: Mode, writer: EventWriter) -> bool:
    """Write what Java prints as events, what is no JSON to standard error; whether Java's consumer closed."""
    has_closed = False
    for line in lines:
        if not line.startswith("{"):
            sys.stderr.write(line)
            continue
        has_closed = has_closed or '"shutdown_complete"' in line
        try:
            events: tuple[Event, ...] = events_of(line, mode, wall_ms_to_now_ns)
        except (KeyError, ValueError) as error:
            events = (Failed(at_ns=now_ns(), reason=f"unreadable line of VerifiableConsumer, {error!r}: {line}"),)
        for event in events:
            writer.write(event)
    return has_closed


if __name__ == "__main__":
    sys.exit(0 if translate(sys.stdin, Mode(sys.argv[1]), EventWriter(sys.stdout)) else 1)
