"""TLS in front of something that speaks without it, for tests: each connection is taken, unwrapped and handed on."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import trio

from bridge.net.settings import ProxySettings
from bridge.net.tls import BrokerTls, ClientTls
from tests.support.front import Front, running, settings_for
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker

_ENDS = (trio.BrokenResourceError, trio.ClosedResourceError)


async def tunnel(
    context: ssl.SSLContext, target: int, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
) -> None:
    """Until cancelled: TLS at a free loopback port, which is told, to this port without it."""

    async def take(outer: trio.SocketStream) -> None:
        secure = trio.SSLStream(outer, context, server_side=True, https_compatible=True)
        try:
            await secure.do_handshake()
        except _ENDS:
            # An alert says why; trio itself would keep it back.
            await outer.send_all(secure._outgoing.read())
            await outer.aclose()
            return
        async with secure, await trio.open_tcp_stream(LOOPBACK, target) as inner, trio.open_nursery() as nursery:
            nursery.start_soon(_pump, secure, inner, nursery.cancel_scope)
            nursery.start_soon(_pump, inner, secure, nursery.cancel_scope)

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        task_status.started(listeners[0].socket.getsockname()[1])
        await trio.serve_listeners(take, listeners, handler_nursery=nursery)


async def _pump(source: trio.abc.ReceiveStream, sink: trio.abc.SendStream, scope: trio.CancelScope) -> None:
    try:
        while data := await source.receive_some(65_536):
            await sink.send_all(data)
    except _ENDS:
        pass
    scope.cancel()


@asynccontextmanager
async def front_of_tls(broker: ScriptedBroker, context: ssl.SSLContext, tls: BrokerTls) -> AsyncIterator[Front]:
    """A proxy before a scripted broker that has such a certificate."""
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        broker.advertised_port = await nursery.start(tunnel, context, broker.port)
        async with running(tls_settings(broker, tls)) as front:
            yield front
        nursery.cancel_scope.cancel()


def tls_settings(broker: ScriptedBroker, tls: BrokerTls) -> ProxySettings:
    """For a proxy that speaks TLS to it."""
    through = ScriptedBroker(port=broker.advertised_port)
    return replace(settings_for(through), broker_tls=tls)


def front_settings(broker: ScriptedBroker, tls: ClientTls, certificates_watch_ms: int) -> ProxySettings:
    """For a proxy that speaks TLS to clients and looks at its files so often."""
    return replace(settings_for(broker), client_tls=tls, certificates_watch_ms=certificates_watch_ms)


async def dial_tls(port: int, context: ssl.SSLContext, host: str = LOOPBACK, first: bytes = b"") -> RawClient:
    """A client inside TLS, with something said before it; raises trio.BrokenResourceError where TLS does not come
    about.
    """
    plain = await trio.open_tcp_stream(LOOPBACK, port)
    if first:
        await plain.send_all(first)
    stream = trio.SSLStream(plain, context, server_hostname=host, https_compatible=True)
    try:
        await stream.do_handshake()
    except trio.BrokenResourceError:
        await trio.aclose_forcefully(stream)
        raise
    # It sends, receives and ends; nothing more is asked of a client's stream here.
    return RawClient(cast(trio.SocketStream, stream))
