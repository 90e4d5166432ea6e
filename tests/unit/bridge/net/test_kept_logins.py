"""The file of those who log in at the bridge: read whole, or refused by name, with nothing of what it holds."""

from pathlib import Path

import pytest

from bridge.net.kept_logins import KeptLogins, read_users
from bridge.net.tls import TlsFile, TlsUnusable
from bridge.session.kept_users import user_line
from bridge.wire.sasl import Mechanism
from bridge.wire.scram import make_keys

KEYS = make_keys(Mechanism.SCRAM_SHA_256, "word", bytes(16), 4_096)


def test_users_are_read(tmp_path: Path) -> None:
    """With the mechanisms and the time that are configured."""
    path = tmp_path / "users"
    path.write_text(user_line("alice", KEYS), encoding="utf-8")
    logins = KeptLogins(path, (Mechanism.PLAIN,), 5_000).read()
    assert logins.users.keys_of("alice", Mechanism.PLAIN) == KEYS
    assert (logins.mechanisms, logins.session_ms) == ((Mechanism.PLAIN,), 5_000)


@pytest.mark.parametrize(("content", "said"), [(None, "No such file"), (b"\xff", "no UTF-8"), (b"a secret", "line 1")])
def test_files_that_cannot_be_used_are_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    """For the key that names them."""
    path = tmp_path / "users"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TlsUnusable, match=said) as refused:
        read_users(path)
    assert refused.value.file is TlsFile.CLIENTS
    assert "secret" not in str(refused.value)
