"""The keys of logins at the bridge: what cannot be meant is a fault that names the key, before anything is opened."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.app.kept_logins import make_lines, read_kept_logins
from bridge.config.faults import ConfigError
from bridge.config.keys import Settings
from bridge.net.kept_logins import KeptLogins, read_users
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import is_password


def test_lines_that_are_made_are_read(tmp_path: Path) -> None:
    """For both mechanisms, with salt of their own."""
    path = tmp_path / "users"
    lines = list(make_lines("alice b", "wonder"))
    path.write_text("\n".join(lines), encoding="utf-8")
    users = read_users(path)
    for mechanism in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512):
        keys = users.keys_of("alice b", mechanism)
        assert keys is not None
        assert is_password(keys, "wonder")
    assert lines != list(make_lines("alice b", "wonder"))
    settings = Settings(
        listen_sasl_mechanisms=("PLAIN", "SCRAM-SHA-256"), listen_sasl_clients_path=str(path), listen_sasl_session_ms=9
    )
    assert read_kept_logins(settings) == KeptLogins(path, (Mechanism.PLAIN, Mechanism.SCRAM_SHA_256), 9)
    assert read_kept_logins(Settings()) is None


WANTED = Settings(listen_sasl_mechanisms=("PLAIN",), listen_sasl_clients_path="/none")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            Settings(listen_sasl_clients_path="/none"),
            "listen.sasl.clients.path: '/none' is given, and nothing reads it",
        ),
        (Settings(listen_sasl_session_ms=1), "listen.sasl.session.ms: 1 is given, and nothing reads it"),
        (Settings(listen_sasl_mechanisms=("PLAIN",)), "listen.sasl.clients.path: nothing is given"),
        (WANTED, "listen.sasl.clients.path: /none can't be read: No such file"),
        (replace(WANTED, listen_sasl_mechanisms=("plain",)), "'plain' is none of them"),
        (replace(WANTED, upstream_sasl_mechanism="PLAIN"), "the cluster has logins of its own"),
        (replace(WANTED, listen_tls_clients_path="/map"), "listen.tls.clients.path is given, too"),
    ],
)
def test_what_cannot_be_meant_is_refused(settings: Settings, said: str) -> None:
    """By the key that is wrong."""
    with pytest.raises(ConfigError) as refused:
        read_kept_logins(settings)
    assert said in str(refused.value.faults[0])
