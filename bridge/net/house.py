"""What all connections of one proxy share: limits, counters, buffers, and those who answer.

It must not know any connection.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import trio

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
CODEC_THREADS = 1
"""How many large messages are decoded or encoded at once: more threads would take turns with the one that serves."""
ResultT = TypeVar("ResultT")

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
    codec_limiter: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(CODEC_THREADS))

    async def beside(self, work: Callable[[], ResultT]) -> ResultT:
        """What `work` gives, made in another thread while everybody else is served; it must not know connections."""
        return await trio.to_thread.run_sync(work, limiter=self.codec_limiter)
