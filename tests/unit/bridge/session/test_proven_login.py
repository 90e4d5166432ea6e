"""Whom a broker took a connection's client for is told by its login, and nobody is taken for somebody else."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from bridge.session.proven_login import STEPS, Identity, ProvenLogin, identity_by
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader, read_request_header, request_frame
from bridge.wire.packing import INT16, INT32
from bridge.wire.sasl import BearerToken, Credentials, Mechanism, authenticate_answer, bearer_token, plain_token
from translators.dialects.errors import ErrorCode

KEY = b"k" * 32
CHALLENGE, SIGNATURE = b"r=ab,s=c2FsdA==,i=4096", b"v=c2ln"
MECHANISMS = (*STEPS, "GSSAPI", "plain", "")


def handshake(mechanism: str) -> bytes:
    """SaslHandshake v1."""
    text = mechanism.encode()
    return request_frame(RequestHeader(0, ApiKey.SASL_HANDSHAKE, 1, 1, "c", 0), INT16.pack(len(text)) + text)


def authenticate(token: bytes, version: int = 1) -> bytes:
    """SaslAuthenticate before its flexible version."""
    return request_frame(RequestHeader(0, ApiKey.SASL_AUTHENTICATE, version, 1, "c", 0), INT32.pack(len(token)) + token)


def say(login: ProvenLogin, frame: bytes, *, is_whole: bool = True) -> RequestHeader:
    """It goes to the broker."""
    header = read_request_header(frame)
    assert header is not None
    login.say(header, frame if is_whole else frame[: header.body_offset + 1], is_whole=is_whole)
    return header


def step(login: ProvenLogin, token: bytes, answer: bytes, version: int = 1) -> None:
    """A token, and what the broker says to it."""
    header = say(login, authenticate(token, version))
    login.hear(version, authenticate_answer(header, ErrorCode.NONE, None, answer))


def scram(name: str, nonce: str = "abc", more: str = "", authorization: str = "") -> bytes:
    """What a client says first."""
    return f"n,{authorization},n={name},r={nonce}{more}".encode()


def entered(mechanism: str, first: bytes, version: int = 1) -> Identity | None:
    """Who has logged in by a whole exchange to which the broker says yes."""
    login = ProvenLogin(KEY)
    say(login, handshake(mechanism))
    if mechanism.startswith("SCRAM"):
        step(login, first, CHALLENGE, version)
        assert login.identity is None
        step(login, b"c=biws,r=ab,p=cHJvb2Y=", SIGNATURE, version)
    else:
        step(login, first, b"", version)
    return login.identity


def test_same_ones_are_told_as_the_same() -> None:
    """By PLAIN and by a token what they say, by SCRAM who they say that they are."""
    for mechanism, first in (
        (Mechanism.PLAIN, b"\0alice\0word"),
        (Mechanism.OAUTHBEARER, b"n,,\x01auth=Bearer t\x01\x01"),
    ):
        assert entered(mechanism, first) == entered(mechanism, first) is not None
    assert entered("SCRAM-SHA-512", scram("alice", "x")) == entered("SCRAM-SHA-512", scram("alice", "yz!")) is not None


def test_others_are_told_as_others() -> None:
    """To some brokers the name of PLAIN is the same for everybody, and to Kafka a name of SCRAM may be a token's."""
    told = [
        entered("PLAIN", b"\0$ConnectionString\0one"),
        entered("PLAIN", b"\0$ConnectionString\0other"),
        entered("PLAIN", b"alice\0alice\0word"),
        entered("PLAIN", b"\0alice\0word"),
        entered("SCRAM-SHA-256", scram("alice")),
        entered("SCRAM-SHA-512", scram("alice")),
        entered("SCRAM-SHA-512", scram("alice", more=",tokenauth=true")),
        entered("SCRAM-SHA-512", scram("alice", authorization="a=bob")),
        entered("SCRAM-SHA-512", scram("bob")),
        entered("OAUTHBEARER", b"n,,\x01auth=Bearer t\x01\x01"),
    ]
    assert None not in told
    assert len(set(told)) == len(told)


def test_who_can_not_be_known_is_nobody() -> None:
    """Of other mechanisms, of odd tokens, and of versions that tell no lifetime: the bridge would not see its end."""
    assert entered("GSSAPI", b"ticket") is None
    assert entered("SCRAM-SHA-512", b"p=tls-unique,,n=alice,r=abc") is None
    assert entered("SCRAM-SHA-512", b"n,,n=alice") is None
    assert entered("PLAIN", b"\0alice\0word", version=0) is None


def test_login_that_the_broker_does_not_end_in_its_mechanisms_words_is_nobodys() -> None:
    """A refusal in words of SCRAM or OAUTHBEARER has no error code with some brokers."""
    for mechanism, first, last in (("SCRAM-SHA-512", scram("alice"), b"e=invalid-proof"), ("PLAIN", b"\0a\0b", b"no")):
        login = ProvenLogin(KEY)
        say(login, handshake(mechanism))
        step(login, first, last)
        step(login, first, last)
        assert login.identity is None


def test_own_logins_are_told_by_what_was_said() -> None:
    """A file that holds another token holds somebody else."""
    one, other = (BearerToken(word) for word in ("one", "other"))
    assert identity_by(KEY, one) != identity_by(KEY, other)
    assert identity_by(KEY, one) == entered("OAUTHBEARER", bearer_token(one))
    kept = Credentials(mechanism=Mechanism.PLAIN, username="alice", password="word")
    assert identity_by(KEY, kept) == entered("PLAIN", plain_token(kept))


@dataclass(frozen=True, slots=True)
class Move:
    """What a client does next, and what the broker says to it."""

    mechanism: str | None
    token: bytes
    version: int
    code: ErrorCode
    answer: bytes
    is_whole: bool


TOKENS = st.sampled_from(
    (
        *(f"\0{name}\0{name}".encode() for name in ("alice", "bob")),
        *(scram(name, nonce) for name in ("alice", "bob") for nonce in ("x", "y")),
        b"c=biws,r=ab,p=cHJvb2Y=",
        b"",
        b"\xff\0\0",
    )
)
MOVES = st.builds(
    Move,
    mechanism=st.sampled_from((None, *MECHANISMS)),
    token=TOKENS,
    version=st.sampled_from((0, 1)),
    code=st.sampled_from((ErrorCode.NONE, ErrorCode.NONE, ErrorCode.SASL_AUTHENTICATION_FAILED)),
    answer=st.sampled_from((b"", CHALLENGE, SIGNATURE, b"e=no")),
    is_whole=st.sampled_from((True, True, True, False)),
)


def expected(done: list[Move]) -> tuple[str, bytes] | None:
    """Who is in by the last moves, told the plain way: a handshake and just the steps of a login that is let in."""
    for index in range(len(done) - 1, -1, -1):
        mechanism = done[index].mechanism
        if mechanism is None:
            continue
        steps, is_scram = done[index + 1 :], mechanism.startswith("SCRAM")
        is_known = mechanism in STEPS and done[index].is_whole and len(steps) == 1 + is_scram
        if not is_known or any(one.version == 0 or one.code or not one.is_whole for one in steps):
            return None
        name = next((name for name in (b"alice", b"bob") if b"n=" + name in steps[0].token), None)
        if is_scram:
            return None if name is None or not steps[1].answer.startswith(b"v=") else (mechanism, name)
        return None if steps[0].answer else (mechanism, steps[0].token)
    return None


@given(st.lists(MOVES, max_size=6), st.lists(MOVES, max_size=6))
def test_two_are_the_same_only_by_logins_that_are(one: list[Move], other: list[Move]) -> None:
    """Whatever order requests of SASL come in, and whatever is said to them: also after logins of others before."""
    told: list[Identity | None] = []
    for moves in (one, other):
        login = ProvenLogin(KEY)
        for number, move in enumerate(moves, 1):
            if move.mechanism is not None:
                say(login, handshake(move.mechanism), is_whole=move.is_whole)
            else:
                header = say(login, authenticate(move.token, move.version), is_whole=move.is_whole)
                login.hear(move.version, authenticate_answer(header, move.code, None, move.answer))
            assert (login.identity is None) == (expected(moves[:number]) is None)
        told.append(login.identity)
    if None not in told:
        assert (told[0] == told[1]) == (expected(one) == expected(other))
