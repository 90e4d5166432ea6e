"""The file of those who log in at the bridge itself, read at the start and whenever it has changed."""

from dataclasses import dataclass
from pathlib import Path

from bridge.config.named_files import FileUnreadable, read_text
from bridge.net.tls import TlsFile, TlsUnusable
from bridge.session.bridge_login import BridgeLogins
from bridge.session.kept_users import ALLOWED, KeptUsers, UsersUnreadable, parse_users
from bridge.wire.sasl import Mechanism

FILE_BYTES_MAX = 67_108_864


def read_users(path: Path) -> KeptUsers:
    """Those of a file. Raises TlsUnusable, as other files of clients do."""
    try:
        return parse_users(read_text(path, FILE_BYTES_MAX))
    except FileUnreadable as problem:
        raise _unusable(str(problem)) from None
    except UsersUnreadable as problem:
        raise _unusable(f"{path}: {problem}") from None


def _unusable(seen: str) -> TlsUnusable:
    return TlsUnusable(TlsFile.CLIENTS, seen, ALLOWED)


@dataclass(frozen=True, slots=True)
class KeptLogins:
    """Whom the bridge lets in, by which mechanisms, and for how long (0: for ever)."""

    path: Path
    mechanisms: tuple[Mechanism, ...]
    session_ms: int = 0

    def read(self) -> BridgeLogins:
        """With the users that the file has now. Raises TlsUnusable."""
        return BridgeLogins(read_users(self.path), self.mechanisms, self.session_ms)
