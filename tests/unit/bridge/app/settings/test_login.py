"""The bridge's own credentials: a name in the configuration, a password in a file."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.app.settings import read_credentials
from bridge.config.configuration import Config, load
from bridge.config.faults import ConfigError
from bridge.config.keys import Settings
from bridge.wire.sasl import Credentials, Mechanism


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


@pytest.mark.parametrize("key", ["upstream.sasl.username", "upstream.sasl.password.path"])
def test_login_without_a_mechanism_is_a_fault(key: str) -> None:
    """Nothing would read it, and brokers would refuse the bridge."""
    with pytest.raises(ConfigError, match=f"{key}: 'x' is given, and nothing reads it"):
        read_credentials(load(None, {}, [f"{key}=x"]))


def test_without_a_mechanism_nobody_logs_in() -> None:
    """The default."""
    assert read_credentials(Config(Settings())) is None


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_password_is_the_file_without_its_line_end(end: str, tmp_path: Path) -> None:
    """Editors put one there; blanks count."""
    path = tmp_path / "password"
    path.write_bytes(f" word {end}".encode())
    expected = Credentials(mechanism=Mechanism.SCRAM_SHA_512, username="bridge", password=" word ")
    assert read_credentials(config_with(path)) == expected


@pytest.mark.parametrize("content", [b"", b"\n", b"\xffsecret"])
def test_password_that_is_none_is_a_fault_that_shows_nothing(content: bytes, tmp_path: Path) -> None:
    """The file is named, its content is not."""
    path = tmp_path / "password"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as found:
        read_credentials(config_with(path))
    assert str(path) in str(found.value)
    assert "secret" not in str(found.value)
    assert found.value.__cause__ is None


def test_missing_name_and_missing_file_are_faults(tmp_path: Path) -> None:
    """With the key to look at."""
    with pytest.raises(ConfigError, match=r"upstream\.sasl\.username"):
        read_credentials(config_with(tmp_path, username=""))
    for path in (None, tmp_path / "nowhere"):
        with pytest.raises(ConfigError, match=r"upstream\.sasl\.password\.path"):
            read_credentials(config_with(path))
