"""What stands where a broker was looked for is told in a sentence with a next step, in the log and at `/readyz`."""

import errno
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest
import trio

from bridge.net.settings import ProxySettings
from bridge.net.strange_answers import explain_end, explain_silence, explain_start, why_no_way
from bridge.session.broker_addresses import Address
from bridge.wire.sasl import Credentials, Mechanism
from tests.support.front import running, settings_for
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker

Listener = Callable[[trio.SocketStream], Awaitable[None]]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"HTTP", "an HTTP server"),
        (b"SSH-", "an SSH server"),
        (b"220 ", "a mail or FTP server"),
        (b"\xff" * 4, "-1 b"),
    ],
)
def test_first_bytes_tell_who_speaks(start: bytes, kind: str) -> None:
    """Where nobody is known by them, their meaning as a length is told."""
    told = explain_start(start, 1_000)
    assert told.startswith("EB-NET-200: ")
    assert kind in told
    assert "name a listener" in told


def test_silence_and_end_have_next_steps() -> None:
    """Each with a code of its own."""
    assert explain_silence(0.5).startswith("EB-NET-201: a connection was taken, and nothing answered within 0.5 s")
    told = explain_end("it closed", is_asked_for_login=True)
    assert told.startswith("EB-NET-202: it closed, and no login is wanted there either; most likely no Kafka broker")
    told = explain_end("it closed", is_asked_for_login=False)
    assert told.startswith("EB-NET-202: it closed; most likely no Kafka broker")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "nobody listens there"),
        (OSError(errno.EHOSTUNREACH, "no route"), "no network leads there"),
        (socket.gaierror(-2, "unknown"), "no such host is known"),
        (OSError(errno.EIO, "other"), "[Errno 5] other"),
    ],
)
def test_way_that_is_not_there_is_told_whatever_wraps_it(error: OSError, told: str) -> None:
    """Where a name has several addresses, errors come in a group behind another one."""
    assert told in why_no_way(error)
    outer = OSError("all attempts failed")
    outer.__cause__ = ExceptionGroup("attempts", [error])
    assert told in why_no_way(outer) or told == "[Errno 5] other"


async def say(words: bytes, stream: trio.SocketStream) -> None:
    """Answer the first question with these words, and hang up."""
    await stream.receive_some()
    await stream.send_all(words)
    await stream.aclose()


async def say_nothing(stream: trio.SocketStream) -> None:
    """Take everything."""
    while await stream.receive_some():
        pass


@pytest.mark.parametrize(
    ("listener", "told"),
    [
        (partial(say, b"HTTP/1.1 400 Bad Request\r\n\r\n"), "EB-NET-200: what answers is an HTTP server"),
        (partial(say, b"\x15\x03\x03\x00\x02\x02\x50"), "EB-NET-043: the broker speaks TLS, and upstream.tls is false"),
        (partial(say, b""), "EB-NET-202: the broker closed the connection instead of answering"),
        (say_nothing, "EB-NET-201: a connection was taken, and nothing answered within 1.5 s"),
        (None, "nobody listens there"),
    ],
)
async def test_whatever_stands_there_keeps_the_bridge_from_being_ready(
    listener: Listener | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One line in the log, and the reason at `/readyz`, also once a client's connection was taken there."""
    async with trio.open_nursery() as nursery:
        port = free_port()
        if listener is not None:
            await nursery.start(partial(trio.serve_tcp, listener, port, host=LOOPBACK))
        with caplog.at_level(logging.INFO, "epochbridge.net"):
            async with running(in_front_of(port)) as front:
                while not front.proxy.cluster.has_looked:
                    await front.proxy.cluster.next_look()
                transport = await front.proxy.cluster.connect(None)
                if transport is not None:
                    transport.close()
                assert not front.proxy.is_ready
                assert front.proxy.why_not_ready.startswith("the cluster can't be worked with: ")
                assert told in front.proxy.why_not_ready
        nursery.cancel_scope.cancel()
    lines = [line for line in caplog.messages if "can't be asked for its brokers" in line]
    assert len(lines) == 1
    assert told in lines[0]


async def test_who_has_a_login_of_its_own_is_not_told_that_none_is_wanted() -> None:
    """It never asked."""
    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, partial(say, b""), 0, host=LOOPBACK))
        login = Credentials(mechanism=Mechanism.PLAIN, username="bridge", password="word")
        async with running(replace(in_front_of(listener.socket.getsockname()[1]), login=login)) as front:
            while not front.proxy.cluster.has_looked:
                await front.proxy.cluster.next_look()
            told = front.proxy.why_not_ready
        nursery.cancel_scope.cancel()
    assert "EB-NET-202: the broker closed the connection instead of answering; most likely" in told


def in_front_of(port: int) -> ProxySettings:
    """In front of whatever is there, with little patience."""
    settings = settings_for(ScriptedBroker(port=port))
    limits = replace(settings.limits, upstream_wait_max_ms=300)
    return replace(settings, bootstrap=(Address(LOOPBACK, port),), connect_timeout_ms=1_500, limits=limits)
