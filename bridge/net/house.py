"""What all connections of one proxy share: limits, counters, buffers, and those who answer.

It must not know any connection.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.log_lines import RateLimitedLog
from bridge.migration.route import Road
from bridge.net.doorman import Doorman
from bridge.net.in_flight import InFlight
from bridge.net.relay import Pipes
from bridge.session.client_session import Rules
from bridge.session.contracts import Groups, Passing
from bridge.session.counters import Counters
from bridge.supervision import Failures

RECEIVE_BYTES = 256 * 1024

LOG = logging.getLogger("epochbridge.net")


@dataclass(slots=True, kw_only=True)
class House:
    """Shared by all connections; `buffer` is lent to whoever reads and empty again before the next wait."""

    rules: Rules
    groups: Mapping[Road, Groups]
    """Who serves which road; `pass` needs nobody."""
    passing: Passing
    counters: Counters = field(default_factory=Counters)
    failures: Failures = field(default_factory=Failures)
    log: RateLimitedLog = field(default_factory=lambda: RateLimitedLog(LOG))
    pipes: Pipes = field(default_factory=Pipes)
    doorman: Doorman = field(default_factory=Doorman)
    in_flight: InFlight
    buffer: memoryview = field(default_factory=lambda: memoryview(bytearray(RECEIVE_BYTES)))
    is_draining: bool = False
