"""When the broker of one connection takes questions of the bridge's own: not while its client logs in, nor after that
login has run out (KIP-368).
"""

from math import inf

from bridge.wire.errors import MalformedFrame
from bridge.wire.sasl import Step, read_lifetime_ms, read_step

SPARE_SHARE = 10
SPARE_MAX_MS = 1_000
"""So long before the end of a login nothing is asked any more, at most such a part of it: the broker's clock began
first, and a question may wait there behind another.
"""


class Login:
    """The logins of one connection, as they pass by.

    A broker answers nothing but SASL between SaslHandshake and the end of the exchange (34, and it closes), and closes
    at whatever comes after the lifetime that it told. How many steps an exchange has, its mechanism knows: it is over
    once the broker tells a lifetime, or the client sends something else.
    """

    __slots__ = ("_ends_at_ms", "_is_under_way", "is_limited", "is_over", "steps")

    def __init__(self) -> None:
        self._is_under_way = False
        self._ends_at_ms = inf
        self.is_limited = False
        """Whether questions may ever have to wait: there was a handshake, and no word yet that all is well for good."""
        self.is_over = False
        """Whether it had run out at the last look: nothing but another login is taken."""
        self.steps = 0
        """Requests of SASL in a row that brought no login to its end."""

    def begin(self) -> None:
        """SaslHandshake goes to the broker."""
        self._is_under_way = self.is_limited = True
        self.steps += 1

    def hear(self, version: int, frame: bytes, now_ms: int) -> bool:
        """The answer to a SaslAuthenticate of this version came; what can't be read is for the client to judge.

        Returns whether the broker takes the client for somebody now.
        """
        self.steps += 1
        try:
            lifetime_ms, step = read_lifetime_ms(frame, version), read_step(frame, version)
        except MalformedFrame:
            return False
        if step is Step.LAST:
            self.steps = 0
        if lifetime_ms > 0:
            self.end_in(lifetime_ms, now_ms)
        return step is Step.LAST

    def end_in(self, lifetime_ms: int, now_ms: int) -> None:
        """The client is logged in for so long, whether its version of the answer has a place to say so or not."""
        self._is_under_way = self.is_over = False
        self._ends_at_ms = now_ms + lifetime_ms - min(SPARE_MAX_MS, lifetime_ms // SPARE_SHARE)

    def go_on(self) -> None:
        """The client sends something that is not SASL: it takes itself for logged in."""
        self._is_under_way = False
        self.is_limited = self._ends_at_ms != inf

    def takes_questions(self, now_ms: int) -> bool:
        """Whether the broker would answer a question now."""
        return not self._is_under_way and now_ms < self._ends_at_ms

    def has_run_out(self, now_ms: int) -> bool:
        """Whether the broker would close the connection at the client's next request, if that is not SASL."""
        self.is_over = now_ms >= self._ends_at_ms + SPARE_MAX_MS
        return self.is_over
