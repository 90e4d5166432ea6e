"""The bridge's own login: names in the configuration, secrets in files or the environment."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.app.login import read_login
from bridge.config.configuration import Config, load
from bridge.config.faults import ConfigError
from bridge.config.keys import Settings
from bridge.net.own_login import PasswordFile, TokenEndpoint, TokenFile
from bridge.wire.sasl import Credentials, Mechanism
from tests.support.certificates import Authority

VARIABLE = "upstream.sasl.password.variable"
BEARER = "upstream.sasl.mechanism=OAUTHBEARER"
SCRAM = ("upstream.sasl.mechanism=SCRAM-SHA-256", "upstream.sasl.username=u")


def config_with(path: Path | None, username: str = "bridge") -> Config:
    """SCRAM with a password file."""
    return Config(
        replace(
            Settings(),
            upstream_sasl_mechanism="SCRAM-SHA-512",
            upstream_sasl_username=username,
            upstream_sasl_password_path="" if path is None else str(path),
        )
    )


@pytest.mark.parametrize(
    "key",
    [
        *("upstream.sasl.username", "upstream.sasl.password.path", VARIABLE, "upstream.sasl.token.path"),
        *("upstream.sasl.token.endpoint", "upstream.sasl.token.scope", "upstream.sasl.token.trust.path"),
    ],
)
def test_login_without_a_mechanism_is_a_fault(key: str) -> None:
    """Nothing would read it, and brokers would refuse the bridge."""
    with pytest.raises(ConfigError, match=f"{key}: 'x' is given, and nothing reads it"):
        read_login(load(None, {}, [f"{key}=x"]), {})


def test_without_a_mechanism_nobody_logs_in() -> None:
    """The default."""
    assert read_login(Config(Settings()), {}) is None


def test_password_stays_in_its_file(tmp_path: Path) -> None:
    """It is read at every login."""
    path = tmp_path / "password"
    path.write_text("word\n", encoding="utf-8")
    assert read_login(config_with(path), {}) == PasswordFile(Mechanism.SCRAM_SHA_512, "bridge", str(path))


def test_password_may_be_in_a_variable() -> None:
    """By name: the configuration does not show it."""
    config = load(None, {}, [*SCRAM, "upstream.sasl.password.variable=WORD"])
    expected = Credentials(mechanism=Mechanism.SCRAM_SHA_256, username="u", password="word")
    assert read_login(config, {"WORD": "word"}) == expected
    with pytest.raises(ConfigError, match="no variable 'WORD' is set"):
        read_login(config, {})
    with pytest.raises(ConfigError, match="one place that the password is in"):
        read_login(load(None, {}, [*SCRAM, f"{VARIABLE}=WORD", "upstream.sasl.password.path=x"]), {"WORD": "w"})


def test_token_is_one_word_of_a_file(tmp_path: Path) -> None:
    """And alone: no name, no password beside it."""
    path = tmp_path / "token"
    path.write_text("a.b.c\n", encoding="utf-8")
    words = [BEARER, f"upstream.sasl.token.path={path}"]
    assert read_login(load(None, {}, words), {}) == TokenFile(str(path))
    with pytest.raises(ConfigError, match=r"upstream\.sasl\.username: 'u' is given, and nothing reads it"):
        read_login(load(None, {}, [*words, "upstream.sasl.username=u"]), {})
    path.write_text("two secrets", encoding="utf-8")
    with pytest.raises(ConfigError, match="holds no token: one word of ASCII is one") as found:
        read_login(load(None, {}, words), {})
    assert "secrets" not in str(found.value)


def test_endpoint_wants_a_client_and_its_secret(tmp_path: Path) -> None:
    """By file or variable, as a password."""
    path = tmp_path / "secret"
    path.write_text("s", encoding="utf-8")
    words = [BEARER, "upstream.sasl.token.endpoint=https://id/token", "upstream.sasl.username=me"]
    found = read_login(load(None, {}, [*words, f"upstream.sasl.password.path={path}"]), {})
    assert found == TokenEndpoint(url="https://id/token", client_id="me", secret_path=str(path))
    trust = str(Authority(tmp_path).trust)
    more = [f"{VARIABLE}=W", "upstream.sasl.token.scope=kafka", f"upstream.sasl.token.trust.path={trust}"]
    found = read_login(load(None, {}, [*words, *more]), {"W": "s"})
    assert found == TokenEndpoint(url="https://id/token", client_id="me", secret="s", scope="kafka", trust_path=trust)
    for missing in (words[:1], words[:2], words):
        with pytest.raises(ConfigError, match=r"nothing is given|neither it nor"):
            read_login(load(None, {}, missing), {})


@pytest.mark.parametrize("url", ["id/token", "ftp://id/t", "http://id/token", "https://u:pw@id/t", "https://[x"])
def test_endpoint_that_is_none_or_would_show_the_secret_is_a_fault(url: str) -> None:
    """Without TLS on this machine only."""
    with pytest.raises(ConfigError, match=r"upstream\.sasl\.token\.endpoint") as found:
        read_login(load(None, {}, [BEARER, f"upstream.sasl.token.endpoint={url}", "upstream.sasl.username=u"]), {})
    assert "pw" not in str(found.value)


@pytest.mark.parametrize(
    ("url", "content", "told"),
    [
        ("https://id/token", None, "trust can't be used: No such file"),
        ("https://id/token", b"no certificate", "trust can't be used"),
        ("http://localhost/token", b"", "trust' is given, and nothing reads it"),
    ],
)
def test_trust_that_the_endpoint_can_not_be_asked_with_is_a_fault(
    url: str, content: bytes | None, told: str, tmp_path: Path
) -> None:
    """At the start, and not at the first login."""
    path = tmp_path / "trust"
    if content is not None:
        path.write_bytes(content)
    words = [BEARER, f"upstream.sasl.token.endpoint={url}", "upstream.sasl.username=me", f"{VARIABLE}=W"]
    with pytest.raises(ConfigError, match=rf"upstream\.sasl\.token\.trust\.path.*{told}"):
        read_login(load(None, {}, [*words, f"upstream.sasl.token.trust.path={path}"]), {"W": "s"})


@pytest.mark.parametrize("content", [b"", b"\n", b"\xffsecret"])
def test_password_that_is_none_is_a_fault_that_shows_nothing(content: bytes, tmp_path: Path) -> None:
    """The file is named, its content is not."""
    path = tmp_path / "password"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as found:
        read_login(config_with(path), {})
    assert str(path) in str(found.value)
    assert "secret" not in str(found.value)
    assert found.value.__cause__ is None


def test_missing_name_and_missing_file_are_faults(tmp_path: Path) -> None:
    """With the key to look at."""
    with pytest.raises(ConfigError, match=r"upstream\.sasl\.username"):
        read_login(config_with(tmp_path, username=""), {})
    for path in (None, tmp_path / "nowhere"):
        with pytest.raises(ConfigError, match=r"upstream\.sasl\.password\.path"):
            read_login(config_with(path), {})
