"""Certificates that are read again where their files have changed, for connections that come from then on.

It must not know connections: whoever makes them is given a new context. What can't be used changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import trio

from bridge.net.shared import LOG
from bridge.net.tls import TlsUnusable

Stamp = tuple[int, int, int, int]
"""When a file and its rights were changed, its size and which one it is; zeros where there is none."""
NOT_THERE: Stamp = (0, 0, 0, 0)


MadeT = TypeVar("MadeT")


@dataclass(slots=True)
class CertificateFiles(Generic[MadeT]):
    """The files of one side, which begin with its keys' name; to be made before they are first read."""

    name: str
    paths: frozenset[Path]
    make: Callable[[], MadeT]
    """Reads them. Raises TlsUnusable."""
    put: Callable[[MadeT], None]
    """Takes what they come to."""
    _read: Mapping[Path, Stamp] = field(init=False)
    _seen: Mapping[Path, Stamp] = field(init=False)
    _is_refused: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._read = self._seen = self._stamps()

    async def look(self, *, is_ready: bool = False) -> str:
        """Read them if they changed, and are what they were at the last look: who puts a certificate and its key in
        place has a moment for both. `is_ready`: somebody says that they are. Gives a sentence where anything was read.
        """
        # A disk may never answer, and who stops the bridge does not wait for it.
        found = await trio.to_thread.run_sync(self._stamps, abandon_on_cancel=True)
        was_seen, self._seen = self._seen, found
        is_read = found == self._read and not (is_ready and self._is_refused)
        if is_read or (found != was_seen and not is_ready):
            return ""
        # Also where they can't be used: that is said once, and again when they have changed again.
        self._read, self._is_refused = found, True
        try:
            made = await trio.to_thread.run_sync(self.make, abandon_on_cancel=True)
        except TlsUnusable as problem:
            sentence = f"{self.name}.{problem.file.value}: {problem}"
            LOG.error("EB-NET-068: files have changed and can't be used, what was read before counts on: %s", sentence)
            return sentence
        self._is_refused = False
        self.put(made)
        LOG.info("EB-NET-067: the files of %s have changed and were read again, for new connections", self.name)
        return f"{self.name}: its files have changed and count for new connections"

    def _stamps(self) -> dict[Path, Stamp]:
        return {path: _stamp(path) for path in self.paths}


def _stamp(path: Path) -> Stamp:
    try:
        # Through links: Kubernetes exchanges what they lead to.
        status = path.stat()
    except OSError:
        return NOT_THERE
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


class Renewed(Protocol):
    """See `CertificateFiles`."""

    async def look(self, *, is_ready: bool = False) -> str:
        """Read them if they changed; gives a sentence where anything was read."""
        ...


class Certificates:
    """All files of both sides."""

    def __init__(self, sides: Iterable[Renewed], interval_ms: int) -> None:
        self._sides = tuple(sides)
        self._interval_ms = interval_ms

    async def read_changed(self) -> tuple[str, ...]:
        """Read at once what has changed; gives what came of it."""
        told = [await side.look(is_ready=True) for side in self._sides]
        return tuple(sentence for sentence in told if sentence)

    async def keep_looking(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await trio.sleep(self._interval_ms / 1000)
            for side in self._sides:
                await side.look()
