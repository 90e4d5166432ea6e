"""Addresses of hosts by their names, each asked for once for all who want it, in threads of nobody else's.

A resolver that hangs is waited for by nobody but those who want just that name. trio asks in the threads that everybody
shares: forty clients of one broker, whose name nobody answered for, kept admin API and large answers from all others.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from socket import AddressFamily, SocketKind
from typing import Literal, NamedTuple

import trio

AT_ONCE_MAX = 128
"""Of so many names at once; of a further one it is said that it is not known now. A cluster has a name a broker."""
Found = list[
    tuple[Literal[AddressFamily.AF_INET], SocketKind, int, str, tuple[str, int]]
    | tuple[Literal[AddressFamily.AF_INET6], SocketKind, int, str, tuple[str, int, int, int] | tuple[int, bytes]]
]
"""As `socket.getaddrinfo` gives it."""
Port = bytes | str | int | None


class AddressQuestion(NamedTuple):
    """What is looked up, as `socket.getaddrinfo` is asked for it."""

    host: bytes | None
    port: Port
    family: int = 0
    type: int = 0
    proto: int = 0
    flags: int = 0


def ask_system(asked: AddressQuestion) -> Found:
    """Ask and wait, for as long as the system's resolver takes. Raises OSError."""
    return socket.getaddrinfo(*asked)


@dataclass(slots=True)
class _LookUp:
    """One that is under way; it goes on though nobody waits for it any more."""

    over: trio.Event = field(default_factory=trio.Event)
    found: Found | Exception = field(default_factory=list)


class HostLookups(trio.abc.HostnameResolver):
    """Asks the system, as trio does by itself; of addresses, which are no names, it is not asked."""

    def __init__(self, ask: Callable[[AddressQuestion], Found] = ask_system) -> None:
        self._ask = ask
        self._running: dict[AddressQuestion, _LookUp] = {}

    async def getaddrinfo(self, host: bytes | None, port: Port, *kinds: int, **named: int) -> Found:
        """The addresses of a name, as trio asks for them. Raises OSError."""
        asked = AddressQuestion(host, port, *kinds, **named)
        running = self._running.get(asked)
        if running is None:
            if len(self._running) >= AT_ONCE_MAX:
                raise socket.gaierror(socket.EAI_AGAIN, f"{AT_ONCE_MAX} other names are being looked up")
            self._begin(asked)
            running = self._running[asked] = _LookUp()
        await running.over.wait()
        if isinstance(running.found, Exception):
            raise running.found
        return running.found

    async def getnameinfo(self, sockaddr: tuple[str, int] | tuple[str, int, int, int], flags: int) -> tuple[str, str]:
        """Nobody asks for the names of addresses."""
        raise NotImplementedError

    def _begin(self, asked: AddressQuestion) -> None:
        token = trio.lowlevel.current_trio_token()

        def look_up() -> Found | Exception:
            try:
                return self._ask(asked)
            except Exception as problem:  # noqa: BLE001 - whoever waits for it raises it
                return problem

        def tell(found: Found | Exception) -> None:
            # There may be nobody any more.
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self._end, asked, found)

        trio.lowlevel.start_thread_soon(look_up, lambda given: tell(given.unwrap()), name="epochbridge-names")

    def _end(self, asked: AddressQuestion, found: Found | Exception) -> None:
        running = self._running.pop(asked)
        running.found = found
        running.over.set()
