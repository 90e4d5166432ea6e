"""When a connection's broker takes questions of the bridge's own."""

import pytest

from bridge.session.login import SPARE_MAX_MS, Login
from bridge.wire.apis import ApiKey
from bridge.wire.frames import response_frame
from bridge.wire.sasl import Step, read_lifetime_ms, read_step

LIFETIME_MS = 60_000


def answer(version: int, lifetime_ms: int, error: int = 0, token: bytes = b"t") -> bytes:
    """The broker's answer to SaslAuthenticate."""
    tail = b"" if version == 0 else lifetime_ms.to_bytes(8, "big")

    size = len(token)
    rest = b"\x00" + bytes([size + 1]) if version == 2 else b"\xff\xff" + size.to_bytes(4, "big")
    rest += token
    plain = error.to_bytes(2, "big") + rest + tail
    return response_frame(ApiKey.SASL_AUTHENTICATE, version, 5, plain + (b"\x00" if version == 2 else b""))


@pytest.mark.parametrize(("version", "expected"), [(0, 0), (1, LIFETIME_MS), (2, LIFETIME_MS)])
def test_lifetime_is_read_where_the_version_has_it(version: int, expected: int) -> None:
    """Version 2 is flexible."""
    assert read_lifetime_ms(answer(version, LIFETIME_MS), version) == expected
    assert read_lifetime_ms(answer(version, LIFETIME_MS, error=58), version) == 0


def test_steps_count_until_one_ends_a_login() -> None:
    """Refusals, and what can't be read, bring nobody in."""
    login = Login()
    login.begin()
    assert not login.hear(0, answer(0, 0, error=58), 10)
    assert not login.hear(0, b"", 10)
    assert login.steps == 3
    assert login.hear(0, answer(0, 0), 10)
    assert login.steps == 0


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(
    ("token", "error", "step"),
    [
        (b"", 0, Step.LAST),
        (b"", 58, Step.REFUSED),
        (b"r=n,s=c2FsdA==,i=4096", 0, Step.MIDDLE),
        (b"v=c2lnbmF0dXJl", 0, Step.LAST),
        (b'{"status":"invalid_token"}', 0, Step.MIDDLE),
        (b'{"version":"2020_10_22","request-id":"1"}', 0, Step.LAST),
    ],
)
def test_steps_are_told_by_what_mechanisms_say(version: int, token: bytes, error: int, step: Step) -> None:
    """SCRAM goes on after its challenge, OAUTHBEARER after a word on the token; others are in by their first step."""
    assert read_step(answer(version, 0, error, token), version) is step


def test_connection_without_a_login_takes_questions_always() -> None:
    """No clock has to be asked."""
    login = Login()
    assert not login.is_limited
    assert login.takes_questions(0)


def test_nothing_is_asked_between_handshake_and_the_answer_that_ends_the_exchange() -> None:
    """SCRAM's first answer has no error and no lifetime."""
    login = Login()
    login.begin()
    login.hear(1, answer(1, 0), 10)
    assert (login.is_limited, login.takes_questions(10)) == (True, False)
    login.hear(1, answer(1, LIFETIME_MS), 20)
    assert login.takes_questions(20)


def test_broker_that_tells_no_lifetime_is_asked_when_the_client_goes_on() -> None:
    """There is no second login then, and nothing to look at any more."""
    login = Login()
    login.begin()
    login.hear(0, answer(0, 0), 10)
    login.go_on()
    assert (login.is_limited, login.takes_questions(10**9), login.has_run_out(10**9)) == (False, True, False)


def test_nothing_is_asked_beyond_the_lifetime_until_the_next_login() -> None:
    """The broker closes the connection at the first request after it."""
    login = Login()
    login.begin()
    login.hear(1, answer(1, LIFETIME_MS), 0)
    login.go_on()
    end_ms = LIFETIME_MS - SPARE_MAX_MS
    assert [login.takes_questions(at) for at in (end_ms - 1, end_ms)] == [True, False]
    assert [login.has_run_out(at) for at in (LIFETIME_MS - 1, LIFETIME_MS)] == [False, True]
    login.begin()
    login.hear(1, answer(1, LIFETIME_MS), end_ms)
    assert login.takes_questions(LIFETIME_MS)
    assert not login.has_run_out(LIFETIME_MS)


def test_answer_that_can_not_be_read_tells_nothing() -> None:
    """It is the client's to judge."""
    login = Login()
    login.begin()
    login.hear(1, answer(1, LIFETIME_MS)[:-3], 0)
    assert not login.takes_questions(0)
