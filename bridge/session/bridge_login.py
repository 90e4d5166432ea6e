"""A login at the bridge itself, decided as Kafka's SaslServerAuthenticator does: who is let in, and what is said to it.

A nonce is given to it, and what takes long may be run in any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from bridge.session.kept_users import KeptUsers
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import ClientFirst, ScramFailed, ScramKeys, challenge, is_password, judge_final, read_first
from translators.dialects.errors import ErrorCode

PLAIN_PARTS = 3
RENEWED_MIN_MS = 1_000
"""So long after a login was renewed none is renewed again on its connection, as at Kafka
(MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS): each may cost milliseconds.
"""
OTHER_NAME = "Authentication failed: Client requested an authorization id that is different from username"
WRONG_PLAIN = "Authentication failed: Invalid username or password"
NOBODY = "no line has this name for this mechanism"
NAME_CHARS_SHOWN = 80
"""So much of a name is in the log that nobody has proved to be theirs: it may be as long as a request."""


class BridgeLogins:
    """What holds for all logins at one bridge; the users may be exchanged at any time."""

    def __init__(self, users: KeptUsers, mechanisms: Sequence[Mechanism], session_ms: int = 0) -> None:
        """`session_ms` is how long a login lasts (KIP-368), 0: for ever."""
        self.users = users
        self.mechanisms = tuple(mechanisms)
        self.session_ms = session_ms

    def use(self, users: KeptUsers) -> None:
        """Take these for logins that begin now."""
        self.users = users


@dataclass(frozen=True, slots=True)
class Said:
    """What a client is told; `principal` is who it is from now on, `seen` why it is refused, for the log.

    An answer with an error is the last: the connection ends, as at Kafka.
    """

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    token: bytes = field(default=b"", repr=False)
    principal: str | None = None
    seen: str = ""


@dataclass(frozen=True, slots=True)
class _Challenged:
    """SCRAM in the middle."""

    first: ClientFirst
    keys: ScramKeys
    challenge: bytes
    is_there: bool
    """Whether anybody has that name; who lists names would else see it by who is challenged."""


class BridgeLogin:
    """That of one connection."""

    __slots__ = ("_again_ms", "_challenged", "_known", "_logins", "_mechanism", "is_in")

    def __init__(self, logins: BridgeLogins) -> None:
        self._logins = logins
        self._mechanism: Mechanism | None = None
        """That of the exchange that goes on."""
        self._challenged: _Challenged | None = None
        self._known: tuple[Mechanism, str] | None = None
        self._again_ms = -inf
        """When a login may be renewed."""
        self.is_in = False
        """Whether anything but a login is served."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Those that are taken."""
        return self._logins.mechanisms

    @property
    def lifetime_ms(self) -> int:
        """How long a login lasts, 0: for ever."""
        return self._logins.session_ms

    @property
    def is_slow(self) -> bool:
        """Whether the next token takes so long to be judged that others have to be served meanwhile."""
        return self._mechanism is Mechanism.PLAIN

    def begin(self, wanted: str, now_ms: int) -> Said:
        """A handshake: from now on tokens of this mechanism come, if it is taken."""
        mechanism = next((one for one in self._logins.mechanisms if one == wanted), None)
        is_again = self._mechanism is not None or (self._known is not None and not self._logins.session_ms)
        if is_again or now_ms < self._again_ms:
            # Kafka takes another handshake only where logins run out, not all the time, and none in the middle of one.
            return self._refuse(ErrorCode.ILLEGAL_SASL_STATE, None, "a second handshake" + " too soon" * (not is_again))
        is_other = self._known is not None and self._known[0] != mechanism
        if mechanism is None or is_other:
            return self._refuse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, None, f"mechanism {wanted[:NAME_CHARS_SHOWN]!r}")
        if self._known is not None:
            self._again_ms = now_ms + RENEWED_MIN_MS
        self._mechanism, self.is_in = mechanism, False
        return Said()

    def judge(self, token: bytes, nonce: str) -> Said:
        """A token of the mechanism. Changes nothing but this login."""
        mechanism = self._mechanism
        if mechanism is None:
            return self._refuse(ErrorCode.ILLEGAL_SASL_STATE, None, "a token before its handshake")
        said = self._judge_plain(token) if mechanism is Mechanism.PLAIN else self._judge_scram(mechanism, token, nonce)
        if said.principal is None:
            return said
        if self._known is not None and self._known[1] != said.principal:
            known = self._known[1]
            message = f"Cannot change principals during re-authentication from User.{known}: User.{said.principal}"
            return self._refuse(ErrorCode.SASL_AUTHENTICATION_FAILED, message, "another name than before")
        self._known, self._mechanism, self._challenged, self.is_in = (mechanism, said.principal), None, None, True
        return said

    def _judge_plain(self, token: bytes) -> Said:
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            parts = []
        if len(parts) != PLAIN_PARTS:
            return self._refuse_generally("a token that is none of PLAIN")
        authorization, name, password = parts
        if not name or not password:
            what = "password" if name else "username"
            message = f"Authentication failed: {what} not specified"
            return self._refuse(ErrorCode.SASL_AUTHENTICATION_FAILED, message, f"no {what}")
        keys, judged = self._find(name, Mechanism.PLAIN)
        if judged is None or not is_password(judged, password) or keys is None:
            return self._refuse(ErrorCode.SASL_AUTHENTICATION_FAILED, WRONG_PLAIN, _why(name, keys))
        if authorization and authorization != name:
            return self._refuse(
                ErrorCode.SASL_AUTHENTICATION_FAILED, OTHER_NAME, f"user {name[:NAME_CHARS_SHOWN]!r} as another"
            )
        return Said(principal=name)

    def _find(self, name: str, mechanism: Mechanism) -> tuple[ScramKeys | None, ScramKeys | None]:
        """The keys of a user, and by what a name is judged: who is not there takes as long as somebody who is."""
        users = self._logins.users
        keys, stand_in = users.keys_of(name, mechanism), users.stand_in_keys(name, mechanism)
        return keys, keys or stand_in

    def _judge_scram(self, mechanism: Mechanism, token: bytes, nonce: str) -> Said:
        challenged = self._challenged
        try:
            if challenged is not None:
                answer = judge_final(challenged.keys, challenged.first, challenged.challenge, token)
                if not challenged.is_there:
                    raise ScramFailed(NOBODY)
                return Said(token=answer, principal=challenged.first.username)
            first = read_first(token)
        except ScramFailed as problem:
            if challenged is None:
                return self._refuse_generally(str(problem))
            seen = str(problem) if challenged.is_there else NOBODY
            return self._refuse_generally(f"user {challenged.first.username[:NAME_CHARS_SHOWN]!r}: {seen}")
        if first.authorization and first.authorization != first.username:
            seen = f"user {first.username[:NAME_CHARS_SHOWN]!r} as another"
            return self._refuse(ErrorCode.SASL_AUTHENTICATION_FAILED, OTHER_NAME, seen)
        keys, judged = self._find(first.username, mechanism)
        if judged is None:
            return self._refuse_generally(_why(first.username, keys))
        self._challenged = _Challenged(first, judged, challenge(judged, first, nonce), keys is not None)
        return Said(token=self._challenged.challenge)

    def _refuse_generally(self, seen: str) -> Said:
        message = (
            "Authentication failed during authentication due to invalid credentials with SASL mechanism "
            f"{self._mechanism}"
        )
        return self._refuse(ErrorCode.SASL_AUTHENTICATION_FAILED, message, seen)

    def _refuse(self, code: ErrorCode, message: str | None, seen: str) -> Said:
        self._mechanism, self._challenged, self.is_in = None, None, False
        return Said(code, message, seen=seen)


def _why(name: str, keys: ScramKeys | None) -> str:
    return f"user {name[:NAME_CHARS_SHOWN]!r}: " + (NOBODY if keys is None else "a wrong password")
