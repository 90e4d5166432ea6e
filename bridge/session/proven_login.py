"""As whom the broker took one connection's client, told by what that said in its login: connections of the same one may
share what brokers say of its rights.

The key that hides secrets is given to it. What a login says is never kept.
"""

import re
from hashlib import blake2b

from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader
from bridge.wire.sasl import (
    FIRST_WITH_LIFETIME,
    BearerToken,
    Credentials,
    Mechanism,
    bearer_token,
    plain_token,
    read_answer_token,
    read_mechanism,
    read_token,
)

Identity = bytes
"""Equal for connections that brokers can't tell apart by their logins."""
IDENTITY_BYTES = 32
STEPS = {Mechanism.PLAIN: 1, Mechanism.OAUTHBEARER: 1, Mechanism.SCRAM_SHA_256: 2, Mechanism.SCRAM_SHA_512: 2}
"""Of so many tokens of the client the last one proves who it is. Of others (GSSAPI, what a vendor made up) nobody here
can say by which of their bytes a broker knows somebody, or those are new each time.
"""
_SCRAM_FIRST = re.compile(rb"([ny],(?:a=[^,]*)?,n=[^,]+,r=)[\x21-\x2b\x2d-\x7e]+((?:,[A-Za-z]+=[^,]*)*)")
"""What a client says first in SCRAM (RFC 5802). All but its nonce tells who it is: with `tokenauth=true` behind that
the same name is that of a delegation token.
"""


def identity_of(key: bytes, mechanism: str, telling: bytes) -> Identity:
    """Hides what a client told, which may be a password."""
    return blake2b(mechanism.encode() + b"\0" + telling, key=key, digest_size=IDENTITY_BYTES).digest()


def identity_by(key: bytes, proof: Credentials | BearerToken) -> Identity:
    """The same of what the bridge logs in with for a client."""
    if isinstance(proof, BearerToken):
        return identity_of(key, Mechanism.OAUTHBEARER, bearer_token(proof))
    # With the password also for SCRAM: it costs a question more when that is exchanged, and no thought.
    return identity_of(key, proof.mechanism, plain_token(proof))


def telling_part(mechanism: Mechanism, token: bytes) -> bytes | None:
    """By which bytes of the first token a broker knows who logs in; None: that can't be said.

    Of PLAIN that is all of it: there are brokers to which the name is the same for everybody, and a password tells who
    it is.
    """
    if STEPS[mechanism] == 1:
        return token
    found = _SCRAM_FIRST.fullmatch(token)
    return None if found is None else found.group(1) + found.group(2)


class ProvenLogin:
    """The logins of one connection as they pass by: every step is said and heard before the next.

    Whatever is not as it should be is nobody that others are: the broker may take it for a login, the bridge need not.
    """

    __slots__ = ("_key", "_mechanism", "_said", "_steps_left", "identity")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._mechanism: Mechanism | None = None
        self._said: Identity | None = None
        """Whom the client says that it is, in the exchange that goes on."""
        self._steps_left = 0
        self.identity: Identity | None = None
        """Whom the broker has taken it for, since its last handshake."""

    def say(self, header: RequestHeader, frame: FrameBytes, *, is_whole: bool) -> None:
        """A request of SASL is on its way to the broker."""
        self.identity = None
        try:
            self._say(header, frame, is_whole=is_whole)
        except MalformedFrame:
            self._give_up()

    def _say(self, header: RequestHeader, frame: FrameBytes, *, is_whole: bool) -> None:
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            self._give_up()
            wanted = read_mechanism(header, frame) if is_whole else ""
            self._mechanism = next((one for one in STEPS if one == wanted), None)
            self._steps_left = 0 if self._mechanism is None else STEPS[self._mechanism]
            return
        # Older versions are not told how long their login lasts, so that nobody here would know when it is over.
        if self._mechanism is None or not self._steps_left or not is_whole or header.api_version < FIRST_WITH_LIFETIME:
            self._give_up()
            return
        token = read_token(header, frame)
        if self._steps_left == STEPS[self._mechanism]:
            telling = telling_part(self._mechanism, token)
            self._said = None if telling is None else identity_of(self._key, self._mechanism, telling)
        self._steps_left -= 1

    def hear(self, version: int, frame: FrameBytes) -> None:
        """The broker's answer to the last SaslAuthenticate."""
        if self._mechanism is None:
            return
        try:
            token = read_answer_token(frame, version)
        except MalformedFrame:
            token = None
        if token is None:
            self._give_up()
        elif not self._steps_left:
            # A signature ends SCRAM, and nothing the others: a broker may refuse a token in words of its mechanism.
            is_in = token.startswith(b"v=") if STEPS[self._mechanism] > 1 else not token
            said = self._said if is_in else None
            self._give_up()
            self.identity = said

    def _give_up(self) -> None:
        self._mechanism = self._said = self.identity = None
        self._steps_left = 0
