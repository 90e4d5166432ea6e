"""Logins at the bridge, step by step, without a socket: who is let in, and what everybody else is told."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.session.bridge_login import OTHER_NAME, RENEWED_MIN_MS, WRONG_PLAIN, BridgeLogin, BridgeLogins, Said
from bridge.session.kept_users import KeptUsers, parse_users, user_line
from bridge.wire.sasl import Credentials, Mechanism, plain_token
from bridge.wire.scram import ScramKeys, check_server, first_message, make_keys, prove
from translators.dialects.errors import ErrorCode

PASSWORDS = {"alice": "wonder", "bob": "builder"}
SCRAM = Mechanism.SCRAM_SHA_512
FAILED = ErrorCode.SASL_AUTHENTICATION_FAILED
NOW_MS = 5_000


def users(**passwords: str) -> KeptUsers:
    """With keys for one mechanism."""
    keys = {name: make_keys(SCRAM, word, bytes(16), 4_096) for name, word in passwords.items()}
    return parse_users("\n".join(user_line(name, one) for name, one in keys.items()))


LOGINS = BridgeLogins(users(**PASSWORDS), (Mechanism.PLAIN, SCRAM))
RENEWED = BridgeLogins(users(**PASSWORDS), (Mechanism.PLAIN, SCRAM), 60_000)


def plain(login: BridgeLogin, name: str, password: str, now_ms: int = NOW_MS) -> Said:
    """Both steps of PLAIN."""
    assert login.begin("PLAIN", now_ms).code is ErrorCode.NONE
    assert login.is_slow
    return login.judge(plain_token(Credentials(mechanism=Mechanism.PLAIN, username=name, password=password)), "n")


def scram(login: BridgeLogin, name: str, password: str) -> Said:
    """All steps of SCRAM; the last word, or the refusal."""
    assert login.begin(SCRAM, NOW_MS).code is ErrorCode.NONE
    assert not login.is_slow
    credentials = Credentials(mechanism=SCRAM, username=name, password=password)
    challenged = login.judge(first_message(credentials, "ours"), "theirs")
    if challenged.code is not ErrorCode.NONE:
        return challenged
    assert challenged.principal is None
    assert not login.is_in
    proof = prove(credentials, "ours", challenged.token)
    said = login.judge(proof.message, "more")
    if said.code is ErrorCode.NONE:
        check_server(said.token, proof)
    return said


@pytest.mark.parametrize("log_in", [plain, scram])
def test_right_password_lets_in_and_a_wrong_one_does_not(log_in: Callable[[BridgeLogin, str, str], Said]) -> None:
    """Nor does a name that is not known; the refusal is Kafka's, and says the same for both."""
    login = BridgeLogin(LOGINS)
    assert not login.is_in
    said = log_in(login, "alice", "wonder")
    assert (said.principal, login.is_in) == ("alice", True)
    told = set()
    for name, password in (("alice", "builder"), ("eve", "wonder")):
        login = BridgeLogin(LOGINS)
        said = log_in(login, name, password)
        assert (said.code, said.principal, login.is_in) == (FAILED, None, False)
        assert name in said.seen
        told.add(said.message)
    (message,) = told
    general = f"Authentication failed during authentication due to invalid credentials with SASL mechanism {SCRAM}"
    assert message in {WRONG_PLAIN, general}


def test_handshakes_that_are_not_taken() -> None:
    """Another mechanism, one in the middle of another, and one too many."""
    login = BridgeLogin(LOGINS)
    assert login.begin("GSSAPI", NOW_MS).code is ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert BridgeLogin(LOGINS).judge(b"token", "n").code is ErrorCode.ILLEGAL_SASL_STATE
    login = BridgeLogin(LOGINS)
    login.begin("PLAIN", NOW_MS)
    assert login.begin("PLAIN", NOW_MS).code is ErrorCode.ILLEGAL_SASL_STATE
    login = BridgeLogin(LOGINS)
    plain(login, "alice", "wonder")
    assert login.begin("PLAIN", NOW_MS).code is ErrorCode.ILLEGAL_SASL_STATE
    assert not login.is_in


def test_login_is_renewed_by_the_same_name_and_mechanism() -> None:
    """Where logins run out; nothing else is served meanwhile."""
    login = BridgeLogin(RENEWED)
    assert login.lifetime_ms == 60_000
    assert plain(login, "alice", "wonder").principal == "alice"
    assert login.begin("PLAIN", NOW_MS).code is ErrorCode.NONE
    states = [login.is_in]
    assert login.judge(b"\0alice\0wonder", "n").principal == "alice"
    states.append(login.is_in)
    assert states == [False, True]
    said = plain(login, "bob", "builder", NOW_MS + RENEWED_MIN_MS)
    assert (said.code, said.principal) == (FAILED, None)
    assert said.message == "Cannot change principals during re-authentication from User.alice: User.bob"
    login = BridgeLogin(RENEWED)
    plain(login, "alice", "wonder")
    assert login.begin(SCRAM, NOW_MS).code is ErrorCode.UNSUPPORTED_SASL_MECHANISM


def test_tokens_that_are_none() -> None:
    """Each is told what a broker tells."""
    for token, message in (
        (b"\0alice", "due to invalid credentials with SASL mechanism PLAIN"),
        (b"\xff\0\0", "due to invalid credentials with SASL mechanism PLAIN"),
        (b"\0\0word", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"bob\0alice\0wonder", OTHER_NAME),
    ):
        login = BridgeLogin(LOGINS)
        login.begin("PLAIN", NOW_MS)
        said = login.judge(token, "n")
        assert said.code is FAILED
        assert (said.message or "").endswith(message)
    login = BridgeLogin(LOGINS)
    login.begin(SCRAM, NOW_MS)
    assert login.judge(b"n,a=bob,n=alice,r=x", "n").message == OTHER_NAME


def test_users_are_exchanged_for_logins_that_begin_then() -> None:
    """Who is in stays in."""
    logins = BridgeLogins(users(alice="old"), (Mechanism.PLAIN,))
    login = BridgeLogin(logins)
    plain(login, "alice", "old")
    logins.use(users(alice="new"))
    assert login.is_in
    assert plain(BridgeLogin(logins), "alice", "new").principal == "alice"
    assert plain(BridgeLogin(logins), "alice", "old").code is FAILED


def test_name_that_is_not_there_takes_as_long_as_a_wrong_password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the file's keys have another hash or count than `login-line` gives them."""
    asked: list[ScramKeys] = []

    def judged(keys: ScramKeys, password: str) -> bool:
        asked.append(keys)
        return password == "wonder"

    monkeypatch.setattr("bridge.session.bridge_login.is_password", judged)
    keys = make_keys(Mechanism.SCRAM_SHA_256, "wonder", bytes(16), 4_096)
    logins = BridgeLogins(KeptUsers({"alice": {Mechanism.SCRAM_SHA_256: keys}}), (Mechanism.PLAIN,))
    for token in (b"\0alice\0blunder", b"\0nobody\0blunder", b"\0nobody\0wonder"):
        login = BridgeLogin(logins)
        login.begin(Mechanism.PLAIN, NOW_MS)
        assert login.judge(token, "").code is FAILED
    assert [(one.mechanism, one.iterations, len(one.salt)) for one in asked] == [(keys.mechanism, 4_096, 16)] * 3


def test_login_is_not_renewed_all_the_time() -> None:
    """As at Kafka: the first time at once, for a client may come late to it, and then once in a second."""
    login = BridgeLogin(RENEWED)
    now = NOW_MS
    assert plain(login, "alice", "wonder", now).principal == "alice"
    for _ in range(3):
        assert plain(login, "alice", "wonder", now).principal == "alice"
        now += RENEWED_MIN_MS
    assert plain(login, "alice", "wonder", now).principal == "alice"
    said = login.begin("PLAIN", now + RENEWED_MIN_MS - 1)
    assert (said.code, login.is_in) == (ErrorCode.ILLEGAL_SASL_STATE, False)


def challenged(logins: BridgeLogins, name: str) -> tuple[ErrorCode, str, str]:
    """What the first step of SCRAM is told: the code, the salt and the count."""
    login = BridgeLogin(logins)
    login.begin(SCRAM, NOW_MS)
    said = login.judge(f"n,,n={name},r=ours".encode(), "theirs")
    _, salt, count = said.token.decode().split(",")
    return said.code, salt, count


@given(st.lists(st.text("abcxyz0 =", min_size=1, max_size=8).map(lambda name: name.replace("=", "=3D")), min_size=2))
def test_names_that_are_not_there_are_challenged_as_those_that_are(names: list[str]) -> None:
    """With a salt of their own, the same at each try and in each life of the bridge."""
    made = [challenged(BridgeLogins(users(**PASSWORDS), (SCRAM,)), name) for name in names]
    assert made == [challenged(LOGINS, name) for name in names]
    real = challenged(LOGINS, "alice")
    assert {(code, len(salt), count) for code, salt, count in made} == {(real[0], len(real[1]), real[2])}
    assert len({salt for _, salt, _ in made}) == len(set(names))


def test_nobody_is_challenged_where_nobody_has_keys_of_the_mechanism() -> None:
    """There is nothing that a challenge could look like."""
    login = BridgeLogin(BridgeLogins(users(**PASSWORDS), (Mechanism.SCRAM_SHA_256,)))
    login.begin(Mechanism.SCRAM_SHA_256, NOW_MS)
    assert login.judge(b"n,,n=alice,r=x", "n").code is FAILED
