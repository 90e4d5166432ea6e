"""Addresses of hosts by their names, each asked for once for all who want it, in threads of nobody else's.

A resolver that hangs is waited for by nobody but those who want just that name. trio asks in the threads that everybody
shares: forty clients of one broker, whose name nobody answered for, kept admin API and large answers from all others.
"""

import socket
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from socket import AddressFamily, SocketKind
from typing import Generic, Literal, NamedTuple, TypeVar

import trio

AT_ONCE_MAX = 128
"""Of so many names at once, and of so many addresses; of a further one it is said that it is not known now. A cluster
has a name a broker.
"""
Found = list[
    tuple[Literal[AddressFamily.AF_INET], SocketKind, int, str, tuple[str, int]]
    | tuple[Literal[AddressFamily.AF_INET6], SocketKind, int, str, tuple[str, int, int, int] | tuple[int, bytes]]
]
"""As `socket.getaddrinfo` gives it."""
Port = bytes | str | int | None
Place = tuple[str, int] | tuple[str, int, int, int]
Asked = TypeVar("Asked", bound=Hashable)
Told = TypeVar("Told")


class AddressQuestion(NamedTuple):
    """What is looked up, as `socket.getaddrinfo` is asked for it."""

    host: bytes | None
    port: Port
    family: int = 0
    type: int = 0
    proto: int = 0
    flags: int = 0


class NameQuestion(NamedTuple):
    """Whose name is looked up, as `socket.getnameinfo` is asked for it."""

    sockaddr: Place
    flags: int


def ask_system(asked: AddressQuestion) -> Found:
    """Ask and wait, for as long as the system's resolver takes. Raises OSError."""
    return socket.getaddrinfo(*asked)


def ask_system_for_name(asked: NameQuestion) -> tuple[str, str]:
    """Ask and wait, for as long as the system's resolver takes. Raises OSError."""
    return socket.getnameinfo(*asked)


class HostLookups(trio.abc.HostnameResolver):
    """Asks the system, as trio does by itself; for addresses of addresses it is not asked."""

    def __init__(
        self,
        ask: Callable[[AddressQuestion], Found] = ask_system,
        ask_for_name: Callable[[NameQuestion], tuple[str, str]] = ask_system_for_name,
    ) -> None:
        self._addresses = _LookUps(ask)
        self._names = _LookUps(ask_for_name)

    async def getaddrinfo(self, host: bytes | None, port: Port, *kinds: int, **named: int) -> Found:
        """The addresses of a name, as trio asks for them. Raises OSError."""
        return await self._addresses.find(AddressQuestion(host, port, *kinds, **named))

    async def getnameinfo(self, sockaddr: Place, flags: int) -> tuple[str, str]:
        """The names of a host and of a port by their numbers. Raises OSError."""
        return await self._names.find(NameQuestion(sockaddr, flags))


@dataclass(slots=True)
class _LookUp(Generic[Told]):
    """One that is under way; it goes on though nobody waits for it any more."""

    over: trio.Event = field(default_factory=trio.Event)
    found: Told | Exception = field(init=False)
    """Set once it is over."""


class _LookUps(Generic[Asked, Told]):
    """Those of one kind: each question is asked once for all who want its answer meanwhile."""

    def __init__(self, ask: Callable[[Asked], Told]) -> None:
        self._ask = ask
        self._running: dict[Asked, _LookUp[Told]] = {}

    async def find(self, asked: Asked) -> Told:
        """What the system says. Raises OSError."""
        running = self._running.get(asked)
        if running is None:
            if len(self._running) >= AT_ONCE_MAX:
                raise socket.gaierror(socket.EAI_AGAIN, f"{AT_ONCE_MAX} others are being looked up")
            self._begin(asked)
            running = self._running[asked] = _LookUp()
        await running.over.wait()
        if isinstance(running.found, Exception):
            # One for all who wait: each would keep the frames of those before it.
            raise running.found.with_traceback(None)
        return running.found

    def _begin(self, asked: Asked) -> None:
        token = trio.lowlevel.current_trio_token()

        def look_up() -> Told | Exception:
            try:
                return self._ask(asked)
            except Exception as problem:  # noqa: BLE001 - whoever waits for it raises it
                return problem

        def tell(found: Told | Exception) -> None:
            # There may be nobody any more.
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self._end, asked, found)

        trio.lowlevel.start_thread_soon(look_up, lambda given: tell(given.unwrap()), name="epochbridge-names")

    def _end(self, asked: Asked, found: Told | Exception) -> None:
        running = self._running.pop(asked)
        running.found = found
        running.over.set()
