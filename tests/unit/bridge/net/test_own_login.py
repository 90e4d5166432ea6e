"""What the bridge logs in with, asked for at every login."""

import logging
import os
import socket
from math import inf
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.config.named_files import SECRET_BYTES_MAX
from bridge.log_lines import RateLimitedLog
from bridge.net.own_login import (
    REFUSED_MS,
    LoginSource,
    NoLogin,
    OwnLogin,
    PasswordFile,
    RenewedLogin,
    SecretUnreadable,
    TokenEndpoint,
    TokenFile,
    read_secret,
    read_token,
)
from bridge.net.shared import LOG
from bridge.ports import BrokerUnreachable
from bridge.wire.sasl import BearerToken, Credentials, Mechanism
from tests.support.token_endpoint import endpoint


def login(source: LoginSource) -> OwnLogin:
    """Without anything read yet."""
    return OwnLogin(source, RateLimitedLog(LOG))


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_secret_is_the_file_without_its_line_end(end: str, tmp_path: Path) -> None:
    """Editors put one there; blanks count."""
    path = tmp_path / "secret"
    path.write_bytes(f" word {end}".encode())
    assert read_secret(str(path)) == " word "


@pytest.mark.parametrize("content", [b"", b"\n", b"\xffword", b"w" * (SECRET_BYTES_MAX + 1)])
def test_file_without_a_secret_is_told_and_not_shown(content: bytes, tmp_path: Path) -> None:
    """The path is."""
    path = tmp_path / "secret"
    path.write_bytes(content)
    with pytest.raises(SecretUnreadable) as found:
        read_secret(str(path))
    assert str(path) in str(found.value)
    assert "ww" not in str(found.value)


async def test_rotated_password_counts_at_the_next_login(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file that is away for a moment costs nothing, and is told."""
    path = tmp_path / "password"
    path.write_text("old", encoding="utf-8")
    own = login(PasswordFile(Mechanism.PLAIN, "u", str(path)))
    assert await own.proof() == Credentials(mechanism=Mechanism.PLAIN, username="u", password="old")
    path.unlink()
    with caplog.at_level(logging.WARNING):
        assert await own.proof() == Credentials(mechanism=Mechanism.PLAIN, username="u", password="old")
    path.write_text("new", encoding="utf-8")
    assert await own.proof() == Credentials(mechanism=Mechanism.PLAIN, username="u", password="new")
    (line,) = caplog.messages
    assert line.startswith(f"EB-NET-206: what the bridge logs in with can't be had anew, what it has counts on: {path}")


async def test_file_that_hangs_holds_up_no_other_thread_and_what_was_read_counts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that never answers is waited for a while, once for all who come meanwhile; the journal needs threads."""
    monkeypatch.setattr("bridge.net.own_login.SPARE_WAIT_S", 0.05)
    path = tmp_path / "token"
    path.write_text("old", encoding="utf-8")
    own = login(TokenFile(str(path)))
    assert await own.proof() == BearerToken("old")
    path.unlink()
    os.mkfifo(path)
    for _ in range(50):
        assert await own.proof() == BearerToken("old")
    assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
    (line,) = caplog.messages
    assert line.endswith(f"what it has counts on: nothing came of {path} within 0.05 s")
    # The one that waits is let go.
    await trio.to_thread.run_sync(path.write_text, "new")


async def test_endpoint_that_hangs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the broker, which has done nothing."""
    monkeypatch.setattr("bridge.net.own_login.WAIT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/token"
        with pytest.raises(BrokerUnreachable, match=f"EB-NET-205: .*nothing came of {url} within 0.05 s"):
            await of_endpoint(url).proof()


async def test_little_time_for_a_broker_is_not_all_waited_for_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever gives the broker its time would blame it."""
    path = tmp_path / "token"
    os.mkfifo(path)
    own = OwnLogin(TokenFile(str(path)), RateLimitedLog(LOG), broker_wait_s=2.5)
    with pytest.raises(NoLogin, match=r"EB-NET-205: .*within 2 s"):
        await own.proof()
    # The one that waits is let go.
    await trio.to_thread.run_sync(path.write_text, "x")
    own = OwnLogin(TokenFile(str(path)), RateLimitedLog(LOG), broker_wait_s=2.5)
    path.unlink()
    path.write_text("old", encoding="utf-8")
    assert await own.proof() == BearerToken("old")
    path.unlink()
    os.mkfifo(path)
    assert await own.proof() == BearerToken("old")
    assert caplog.messages[-1].endswith("within 0.5 s")
    await trio.to_thread.run_sync(path.write_text, "x")


async def test_nothing_to_log_in_with_is_told(tmp_path: Path) -> None:
    """Which file it was."""
    with pytest.raises(BrokerUnreachable, match=f"EB-NET-205: .*{tmp_path / 'nowhere'} can't be read"):
        await login(TokenFile(str(tmp_path / "nowhere"))).proof()


async def test_token_of_a_file_is_read_at_every_login(tmp_path: Path) -> None:
    """Whoever keeps it fresh need not tell."""
    path = tmp_path / "token"
    own = login(TokenFile(str(path)))
    for token in ("a.b.c", "d.e.f"):
        path.write_text(f"{token}\n", encoding="utf-8")
        assert read_token(str(path)) == await own.proof() == BearerToken(token)


def of_endpoint(url: str, scope: str = "") -> OwnLogin:
    """By client id and secret."""
    return login(TokenEndpoint(url=url, client_id="me", secret="s3cret", scope=scope))


async def test_token_of_an_endpoint_lasts_four_fifths_of_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked by the client's id and secret; refused by a broker, it is asked for anew, once in ten seconds."""
    now = [0]
    monkeypatch.setattr("bridge.net.own_login.now_ms", lambda: now[0])
    with endpoint([(200, {"access_token": "one", "expires_in": 3600}), (200, {"access_token": "two"})]) as (url, asked):
        own = of_endpoint(url, scope="kafka")
        assert [await own.proof(), await own.proof()] == [BearerToken("one")] * 2
        assert asked == [("Basic bWU6czNjcmV0", "grant_type=client_credentials&scope=kafka")]
        for _ in range(3):
            own.forget()
            assert await own.proof() == BearerToken("one")
        now[0] += REFUSED_MS
        assert [await own.proof(), await own.proof()] == [BearerToken("two")] * 2
        now[0] += REFUSED_MS
        assert await own.proof() == BearerToken("two")
        own.forget()
        assert await own.proof() == BearerToken("two")
        assert len(asked) == 3, "one that is older is asked for anew at once"
        assert asked[1][1] == asked[0][1]


async def test_token_is_renewed_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the endpoint is away the old one counts as long as it lasts, and no longer."""
    now = [0]
    monkeypatch.setattr("bridge.net.own_login.now_ms", lambda: now[0])
    answers = [(200, {"access_token": "one", "expires_in": 10}), (503, {}), (200, {"access_token": "two"}), (503, {})]
    with endpoint(answers) as (url, asked):
        own = of_endpoint(url)
        for at_ms, token in ((0, "one"), (7_999, "one"), (8_001, "one"), (9_000, "two")):
            now[0] = at_ms
            assert await own.proof() == BearerToken(token)
        assert len(asked) == 3
        now[0] = 10_000_000
        with pytest.raises(BrokerUnreachable, match="EB-NET-205"):
            await own.proof()


async def test_login_is_renewed_when_it_is_due(autojump_clock: trio.testing.MockClock) -> None:
    """Not before; one without an end never is."""
    logins = 0

    async def enter() -> float:
        nonlocal logins
        await trio.lowlevel.checkpoint()
        logins += 1
        return trio.current_time() * 1_000 + 1_000 if logins < 3 else inf

    renewed = RenewedLogin(enter)
    for wait_s, expected in ((0, 1), (0.5, 1), (0.6, 2), (5, 3), (5_000, 3)):
        await trio.sleep(wait_s)
        await renewed.be_in()
        assert logins == expected
