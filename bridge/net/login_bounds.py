"""What a client may do before it has logged in: little is held for it, and it may not try for ever.

What an answer means is told by `bridge.session.login`.
"""

from collections.abc import Callable

from bridge.net.clock import now_ms
from bridge.net.shared import SMALL_BYTES, InFlight
from bridge.session.client_session import ClientSession
from bridge.session.close_reasons import CloseReason
from bridge.session.outbox import Slot
from bridge.session.raw_login import BareToken, bare_answer
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader
from bridge.wire.sasl import is_refused


class LoginBounds:
    """The bounds of one connection on a cluster that wants logins, or is not known to want none.

    `everybody` counts what is held for all connections that have not logged in; `close` ends this one. It is one bound
    for all: a stranger opens as many connections as it likes, and sixteen MiB for each were a way to fill the memory.
    Who has logged in once keeps the larger bounds, also while it logs in again.
    """

    __slots__ = ("_close", "_everybody", "_session")

    def __init__(
        self, everybody: InFlight, session: ClientSession, close: Callable[[CloseReason, str], None], *, is_open: bool
    ) -> None:
        self._everybody, self._session, self._close = everybody, session, close
        if not is_open or session.bridge_login is not None:
            session.hold_back()

    def note_held(self, held: int) -> None:
        """Of all that are not known little is held together: who holds more than a little beyond that goes."""
        if self._session.is_let_in:
            return
        self._everybody.note(self._session.connection, held, 0)
        if self._everybody.is_over and held > SMALL_BYTES:
            self._close(CloseReason.UNAUTHENTICATED_BYTES, f"{held} bytes of {self._everybody.total_bytes} in all")

    def look_at_cluster(self, *, is_open: bool) -> None:
        """A cluster that was not known when the client came may want no login; a login may have run out since the last
        look, at the bridge or at a broker, and then nothing is answered here either.
        """
        session = self._session
        has_run_out = session.login.is_limited and session.login.has_run_out(now_ms())
        if session.bridge_login is None:
            if is_open and not session.is_let_in:
                self._let_in()
        elif has_run_out:
            session.bridge_login.is_in = False

    def hear(self, version: int, frame: bytes) -> None:
        """The answer to a SaslAuthenticate came."""
        if self._session.login.hear(version, frame, now_ms()):
            self._let_in()

    def fill(self, header: RequestHeader, slot: Slot, frame: bytes) -> None:
        """Hand on the answer to a step of a login, as bare as the step was that came without a header."""
        said: bytes | None = frame
        if isinstance(header, BareToken):
            said = bare_answer(frame)
        elif header.api_key == ApiKey.SASL_HANDSHAKE and is_refused(frame):
            self._session.requests.read_frames()
        if said is None:
            self._close(CloseReason.RAW_LOGIN_REFUSED, f"client {header.client_id!r}")
        else:
            self._session.outbox.fill(slot, said)

    def count_steps(self) -> None:
        """End a connection whose client tries for ever, once it was answered."""
        steps = self._session.login.steps
        if steps > self._session.limits.login_steps_max:
            self._close(CloseReason.TOO_MANY_LOGIN_STEPS, f"{steps} requests")

    def end(self) -> None:
        """Nothing is held any more."""
        self._everybody.note(self._session.connection, 0, 0)

    def _let_in(self) -> None:
        self._session.let_in()
        self.end()
