"""A real proxy in front of a real cluster, in a thread of its own, for clients that block."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

import trio

from bridge.migration.route import Router
from bridge.net.proxy import Proxy, Services, serve_proxy
from bridge.net.reply_routes import ReplyRoutes
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address
from bridge.session.contracts import Hear, PassingRequest
from bridge.session.counters import Counters
from bridge.telemetry.passing import PassingLog
from bridge.wire.codec.registry import Request
from bridge.wire.frames import RequestHeader
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef, Via

START_TIMEOUT_S = 90.0
LOOPBACK = "127.0.0.1"
ResultT = TypeVar("ResultT")


class NoGroups:
    """Nobody answers for groups: for proxies whose rules send every group to road `pass`."""

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """Never called: no rule sends a group here."""
        raise AssertionError(f"{request} of {client} was not to pass")

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """Never called: no rule sends a group here."""
        return False

    def disconnected(self, connection: int) -> None:
        """Nothing to forget."""


class SeenGroups(PassingLog):
    """Remembers which group requests passed; with `listens` also their answers and Fetch requests."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[int, GroupId]] = set()
        self.listens = False
        self.answers: list[bytes] = []
        self.fetches: list[bytes] = []
        self.not_looked_at: list[int] = []

    def passed_unread(self, header: RequestHeader, client: ClientIdentity) -> None:
        """Remember the api."""
        self.not_looked_at.append(header.api_key)

    def overhear(
        self, ref: RequestRef, request: PassingRequest, client: ClientIdentity, broker_id: int | None
    ) -> Hear | None:
        """Remember the answer."""
        return self.answers.append if self.listens else None

    def awaits_fetch(self, client: ClientIdentity) -> bool:
        """While it listens."""
        return self.listens

    def fetched(self, header: RequestHeader, data: bytes | memoryview, client: ClientIdentity) -> None:
        """Remember the request."""
        self.fetches.append(bytes(data))

    def passed(self, header: RequestHeader, group_id: GroupId, client: ClientIdentity) -> None:
        """Remember api key and group."""
        self.seen.add((header.api_key, group_id))


class ProxyInThread:
    """A running proxy; `bootstrap` is where clients go."""

    def __init__(self, proxy: Proxy, token: trio.lowlevel.TrioToken, groups: SeenGroups) -> None:
        self.proxy = proxy
        self.groups = groups
        self.bootstrap = str(proxy.bootstrap)
        self._token = token

    def call(self, function: Callable[[], ResultT]) -> ResultT:
        """Run a function in the proxy's thread."""
        return trio.from_thread.run_sync(function, trio_token=self._token)


def settings_for(bootstrap: str) -> ProxySettings:
    """Settings of a proxy on free loopback ports in front of `bootstrap`."""
    host, port = bootstrap.rsplit(":", 1)
    return ProxySettings(bootstrap=(Address(host, int(port)),), listen=Address(LOOPBACK, 0))


@contextmanager
def proxy_in_thread(settings: ProxySettings) -> Iterator[ProxyInThread]:
    """Run a proxy until the end of the block; whatever goes wrong in it fails the test."""
    started: SimpleQueue[tuple[Proxy, trio.lowlevel.TrioToken, trio.CancelScope] | BaseException] = SimpleQueue()
    groups = SeenGroups()
    failures: list[BaseException] = []

    async def main() -> None:
        counters = Counters()
        reply_routes = ReplyRoutes(counters)
        services = Services(
            router=Router(settings.rules), groups={}, passing=groups, reply_routes=reply_routes, counters=counters
        )
        async with trio.open_nursery() as nursery:
            proxy: Proxy = await nursery.start(serve_proxy, settings, services)
            started.put((proxy, trio.lowlevel.current_trio_token(), nursery.cancel_scope))

    def run() -> None:
        try:
            trio.run(main)
        except BaseException as error:
            failures.append(error)
            started.put(error)
            raise

    thread = threading.Thread(target=run, name="proxy")
    thread.start()
    first = started.get(timeout=START_TIMEOUT_S)
    if isinstance(first, BaseException):
        thread.join()
        raise first
    proxy, token, scope = first
    try:
        yield ProxyInThread(proxy, token, groups)
    finally:
        trio.from_thread.run_sync(scope.cancel, trio_token=token)
        thread.join()
    if failures:
        raise failures[0]
