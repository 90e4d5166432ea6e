"""A proxy in front of a scripted broker, in the test's own event loop, with group answers that the test gives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from bridge.migration.route import Road, Router, Rule
from bridge.net.proxy import Proxy, Services, serve_proxy
from bridge.net.reply_routes import ReplyRoutes
from bridge.net.settings import ProxySettings
from bridge.net.shared import Place, no_place
from bridge.session.broker_addresses import Address
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import Access, AccessOnUse, NoAccess
from bridge.session.counters import Counters
from bridge.session.group_requests import KnownGroups
from bridge.session.limits import Limits
from bridge.wire.codec.registry import Request
from tests.support.proxy import SeenGroups
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, dial
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef, TopicName, Via

EMBEDDED_RULES = (Rule("embedded-*", Road.EMBEDDED),)


@dataclass(slots=True)
class RecordedGroups:
    """Keeps what was submitted; the test answers through the reply_routes."""

    submitted: list[tuple[RequestRef, Request, AccessOnUse, ClientIdentity]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    fails: bool = False
    access: Access = field(default_factory=lambda: lambda _: NoAccess())
    beats: list[Heartbeat | ConsumerGroupHeartbeat] | None = None
    """Heartbeats that were known again; None: none may be answered without being submitted."""
    subscribed: frozenset[TopicName] = frozenset()
    """What every member is subscribed to."""
    matched: frozenset[TopicName] = frozenset()
    """What every member has by its pattern, whatever it is given."""
    held: frozenset[GroupId] = frozenset()
    """The groups that there are."""

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """Remember a request."""
        if self.fails:
            raise ValueError("a bug")
        self.submitted.append((ref, request, AccessOnUse(self.access, via), client))

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """Answer ordinary heartbeats of those who are at peace, and count them."""
        if self.beats is None:
            return False
        self.beats.append(request)
        return True

    def disconnected(self, connection: int) -> None:
        """Remember an end."""
        self.gone.append(connection)


@dataclass(slots=True)
class Front:
    """A running proxy and what stands behind it."""

    proxy: Proxy
    reply_routes: ReplyRoutes
    groups: RecordedGroups
    passing: SeenGroups
    clients: list[RawClient] = field(default_factory=list)

    async def dial(self, port: int | None = None) -> RawClient:
        """A client of the bootstrap listener, or of another; closed at the end."""
        self.clients.append(await dial(port or self.proxy.bootstrap.port))
        return self.clients[-1]

    def closed(self, reason: CloseReason) -> int:
        """How many connections were closed for a reason."""
        return self.proxy.statistics().closed.get(reason, 0)


def settings_for(broker: ScriptedBroker, limits: Limits | None = None) -> ProxySettings:
    """Settings on free ports in front of the broker, groups `embedded-*` on road embedded."""
    return ProxySettings(
        bootstrap=(Address(LOOPBACK, broker.port),),
        listen=Address(LOOPBACK, 0),
        rules=EMBEDDED_RULES,
        limits=limits or Limits(),
        refresh_interval_ms=3_600_000,
    )


@asynccontextmanager
async def running(settings: ProxySettings, place: Place | None = None) -> AsyncIterator[Front]:
    """Run a proxy until the end of the block; with `place` nobody knows of any group where it lives."""
    counters = Counters()
    front_groups, passing, reply_routes = RecordedGroups(), SeenGroups(), ReplyRoutes(counters)
    front_groups.access = reply_routes.access
    by_road = {Road.EMBEDDED: front_groups}
    services = Services(
        router=Router(settings.rules),
        groups=by_road,
        passing=passing,
        reply_routes=reply_routes,
        counters=counters,
        known_groups=KnownGroups(
            subscribed=lambda _group_id, _member_id: front_groups.subscribed,
            is_known=lambda _: place is None,
            matched=lambda _group_id, _member_id, _assignment: front_groups.matched,
            holds=lambda group_id: group_id in front_groups.held,
        ),
        place=place or no_place,
    )
    async with trio.open_nursery() as nursery:
        proxy: Proxy = await nursery.start(serve_proxy, settings, services)
        front = Front(proxy, reply_routes, front_groups, passing)
        try:
            yield front
        finally:
            for client in front.clients:
                await trio.aclose_forcefully(client.stream)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def front_of(
    broker: ScriptedBroker, limits: Limits | None = None, place: Place | None = None
) -> AsyncIterator[Front]:
    """Run the broker and a proxy in front of it until the end of the block."""
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(settings_for(broker, limits), place) as front:
            yield front
        nursery.cancel_scope.cancel()
