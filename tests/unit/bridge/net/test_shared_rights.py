"""Connections that proved to be the same one share what their broker says of rights, and never any others."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from random import Random

import pytest
import trio

from bridge.net import client_rights
from bridge.net.client_questions import OWN_CORRELATION_ID
from bridge.net.client_rights import OWN_WORD_MS
from bridge.net.clock import now_ms
from bridge.session import grants
from bridge.session.close_reasons import CloseReason
from bridge.session.rights import Operation
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_reply
from bridge.wire.frames import RequestHeader, read_request_header
from bridge.wire.packing import INT16, INT32
from bridge.wire.proxy_protocol import PREFIX_BYTES, Peer, Route, header, read_prefix, read_route
from bridge.wire.sasl import authenticate_answer, handshake_answer, read_token
from tests.support.front import Front, front_of, running, settings_for
from tests.support.scripted_broker import MECHANISMS, RawClient, ScriptedBroker, request
from tests.unit.bridge.net.test_client_rights import (
    BALANCERS,
    OURS,
    READ,
    SEEN,
    JudgingBroker,
    beat,
    join,
    settle,
)
from translators.dialects.admin import DescribedGroup, DescribeGroupsReply
from translators.dialects.classic import HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import via_of

NAMES, HOSTS = ("alice", "bob"), ("203.0.113.9", "203.0.113.10")
WORD = "word"
SEEDS = range(6)
STEPS = 25
KEEP_MS = 400
HOUR_MS = 3_600_000


@dataclass(slots=True)
class Stranger:
    """Who a broker's connection belongs to, as far as it knows."""

    host: str = ""
    name: str = ""


@dataclass(slots=True)
class NamingBroker(ScriptedBroker):
    """Lets in whoever says a name by PLAIN, and says what that one may, by its host."""

    readers: set[tuple[str, str]] = field(default_factory=set)
    questions: list[tuple[str, str]] = field(default_factory=list)
    """Of whom the bridge asked."""
    own_words: int = 0
    """How often the bridge asked on clients' connections whether they are in."""
    wants_prefix: bool = False
    held: trio.Event | None = None
    """When set, what is said of rights from then on is on its way until then, on its connection."""
    news: trio.Event = field(default_factory=trio.Event)

    async def has_heard(self, own_words: int) -> None:
        """Wait until the bridge has asked so often whether clients are in."""
        while self.own_words < own_words:
            self.news = trio.Event()
            await self.news.wait()

    async def _talk(self, stream: trio.SocketStream) -> None:
        known, received = Stranger(), bytearray()
        try:
            async with stream:
                if self.wants_prefix:
                    prefix = read_prefix(await stream.receive_some(PREFIX_BYTES))
                    rest = await stream.receive_some(prefix.rest_bytes) if prefix.rest_bytes else b""
                    route = read_route(prefix, rest) if rest else None
                    known.host = "" if route is None else route.source.host
                async for chunk in stream:
                    received += chunk
                    while (head := read_request_header(received)) and len(received) >= head.frame_bytes:
                        frame = bytes(received[: head.frame_bytes])
                        del received[: head.frame_bytes]
                        await self.hear(stream, known, head, frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def hear(self, stream: trio.SocketStream, known: Stranger, head: RequestHeader, frame: bytes) -> None:
        """Answer one request as one of somebody's."""
        key, version = head.api_key, head.api_version
        if key == ApiKey.SASL_HANDSHAKE and head.client_id == "client":
            await stream.send_all(handshake_answer(head, ErrorCode.NONE, ("PLAIN",)))
        elif key == ApiKey.SASL_AUTHENTICATE:
            name = read_token(head, frame).split(b"\0")[1].decode()
            # Kafka lets nobody become another; brokers that do must not mislead the bridge.
            known.name = name if name in NAMES else ""
            code = ErrorCode.NONE if known.name else ErrorCode.SASL_AUTHENTICATION_FAILED
            await stream.send_all(authenticate_answer(head, code, None, b""))
        elif key == ApiKey.DESCRIBE_GROUPS and head.correlation_id == OWN_CORRELATION_ID:
            self.questions.append((known.name, known.host))
            operations = 1 << Operation.READ if (known.name, known.host) in self.readers else 0
            group = DescribedGroup(error=ErrorCode.NONE, group_id=OURS, authorized_operations=operations)
            if self.held is not None:
                await self.held.wait()
            await stream.send_all(encode_reply(key, version, 0, DescribeGroupsReply(groups=(group,))))
        else:
            self.own_words += key == ApiKey.METADATA and bool(known.name)
            self.news.set()
            await self.answer(stream, head)


def login(*names: str) -> list[bytes]:
    """Frames of a login by PLAIN, one after the other under several names."""
    frames = [request(ApiKey.SASL_HANDSHAKE, 1, 1, INT16.pack(5) + b"PLAIN")]
    for name in names:
        token = f"\0{name}\0{WORD}".encode()
        frames.append(request(ApiKey.SASL_AUTHENTICATE, 1, 2, INT32.pack(len(token)) + token))
    return frames


async def enter(client: RawClient, name: str) -> None:
    """Log in, perhaps anew."""
    await client.send(*login(name))
    assert await client.ids(2) == [1, 2]


@asynccontextmanager
async def world(broker: NamingBroker, keep_ms: int = KEEP_MS) -> AsyncIterator[Front]:
    """A bridge in front of a broker that is known to want logins; clients come by the listener of one broker."""
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        wants = broker.wants_prefix
        settings = settings_for(broker)
        limits = replace(settings.limits, grant_ms=keep_ms)
        balancers = BALANCERS if wants else settings.balancers
        async with running(replace(settings, limits=limits, balancers=balancers, announces_clients=wants)) as front:
            broker.hangs_up_at, broker.bodies[ApiKey.SASL_HANDSHAKE] = ApiKey.METADATA, MECHANISMS
            await front.proxy.cluster.refresh()
            broker.hangs_up_at = None
            # Heartbeats that are known again take the short way.
            front.groups.beats = []
            yield front
        nursery.cancel_scope.cancel()


async def come(front: Front, name: str, host: str = "") -> RawClient:
    """A client of somebody at a host."""
    client = await front.dial(front.proxy.broker_addresses[1].port)
    if host:
        await client.send(header(Route(Peer(host, 40_000), Peer("10.0.0.2", 9192))))
    await enter(client, name)
    return client


async def heard(front: Front, client: RawClient) -> ErrorCode:
    """What a heartbeat is told, which the group would let be."""
    seen = len(front.groups.submitted)
    await client.send(beat(5))
    await settle()
    for ref, *_ in front.groups.submitted[seen:]:
        front.reply_routes.deliver(ref, HeartbeatReply(ErrorCode.NONE))
    correlation_id, body = await client.answer()
    _, reply = decode_reply(ApiKey.HEARTBEAT, 3, correlation_id.to_bytes(4, "big") + body)
    assert isinstance(reply, HeartbeatReply)
    return reply.error


async def hear_no(front: Front, client: RawClient) -> None:
    """Beat until that is refused."""
    for _ in range(10_000):
        if await heard(front, client) is not ErrorCode.NONE:
            return
        await trio.sleep(KEEP_MS / 4_000)
    raise AssertionError("nobody was refused")


async def test_one_answer_serves_all_of_one_identity() -> None:
    """Also those that come later."""
    broker = NamingBroker(readers={("alice", "")})
    async with world(broker, HOUR_MS) as front:
        clients = [await come(front, "alice") for _ in range(3)]
        for _ in range(3):
            assert [await heard(front, client) for client in clients] == [ErrorCode.NONE] * 3
        assert broker.questions == [("alice", "")]


async def test_what_is_lost_is_lost_for_all_of_one_identity() -> None:
    """And what is given back counts at once."""
    broker = NamingBroker(readers={("alice", "")})
    async with world(broker) as front:
        clients = [await come(front, "alice") for _ in range(3)]
        assert [await heard(front, client) for client in clients] == [ErrorCode.NONE] * 3
        broker.readers.clear()
        with trio.fail_after(30):
            for client in clients:
                await hear_no(front, client)
        broker.readers.add(("alice", ""))
        assert [await heard(front, client) for client in clients] == [ErrorCode.NONE] * 3


async def test_who_beats_while_another_asks_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a minute every heartbeat took the long way for as long as a broker took to answer the first of them."""
    broker = NamingBroker(readers={("alice", "")})
    async with world(broker, HOUR_MS) as front:
        clients = [await come(front, "alice") for _ in range(5)]
        for _ in range(2):
            assert [await heard(front, client) for client in clients] == [ErrorCode.NONE] * 5
        monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + HOUR_MS)
        front.proxy._shared.grants.sweep(now_ms() + HOUR_MS)
        broker.held = trio.Event()
        before = len(front.groups.submitted)
        assert [await heard(front, client) for client in clients] == [ErrorCode.NONE] * 5
        assert (len(front.groups.submitted) - before, broker.questions) == (1, [("alice", "")] * 2)
        broker.held.set()


async def test_answer_that_was_long_on_its_way_gives_nobody_what_was_lost_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client that reads no answers holds up its broker's: with many such connections rights would last as long."""
    broker, ahead_ms = NamingBroker(readers={("alice", "")}), 0
    monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + ahead_ms)
    async with world(broker) as front:
        slow, other = await come(front, "alice"), await come(front, "alice")
        held = broker.held = trio.Event()
        await slow.send(beat(5))
        await settle()
        assert broker.questions == [("alice", "")]
        broker.held, ahead_ms = None, KEEP_MS
        broker.readers.clear()
        held.set()
        await settle()
        assert await heard(front, other) is ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_bootstrap_listener_leads_to_any_broker_and_shares_nothing() -> None:
    """Brokers may see the bridge at different addresses."""
    broker = NamingBroker(readers={("alice", "")})
    async with world(broker, HOUR_MS) as front:
        for asked in (1, 2):
            client = await front.dial()
            await enter(client, "alice")
            assert await heard(front, client) is ErrorCode.NONE
            assert len(broker.questions) == asked


async def test_connections_of_one_login_are_the_same_one() -> None:
    """By one of them it may be said that the other's member has left; not by somebody else's, nor where nobody can say
    who it is to which broker.
    """
    broker = NamingBroker(readers={(name, "") for name in NAMES})
    async with world(broker) as front:
        clients = [await come(front, name) for name in ("alice", "alice", "bob")]
        clients.append(await front.dial())
        await enter(clients[-1], "alice")
        assert [await heard(front, client) for client in clients] == [ErrorCode.NONE] * 4
        refs = [ref for ref, *_ in front.groups.submitted]
        one, two, other, anywhere = (front.reply_routes.principal_of(via_of(ref)) for ref in refs)
        assert one is not None
        assert (one == two, one == other, anywhere) == (True, False, None)
        await enter(clients[1], "bob")
        assert front.reply_routes.principal_of(via_of(refs[1])) != one


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_answer_crosses_identities_or_hosts(seed: int) -> None:
    """Whoever comes, logs in anew as somebody else, goes and beats in whatever order: each hears what it may itself."""
    chance = Random(seed)
    broker = NamingBroker(readers={("alice", HOSTS[0]), ("bob", HOSTS[1])}, wants_prefix=True)
    clients: list[tuple[RawClient, str, str]] = []
    async with world(broker) as front:
        for _ in range(STEPS):
            name, host = chance.choice(NAMES), chance.choice(HOSTS)
            step = chance.random()
            if step < 0.3 or not clients:
                clients.append((await come(front, name, host), name, host))
            elif step < 0.5:
                client, _, host = clients.pop(chance.randrange(len(clients)))
                await enter(client, name)
                clients.append((client, name, host))
            for client, name, host in chance.sample(clients, min(2, len(clients))):
                may = (name, host) in broker.readers
                expected = ErrorCode.NONE if may else ErrorCode.GROUP_AUTHORIZATION_FAILED
                assert await heard(front, client) is expected, (name, host)


async def test_login_that_is_over_is_nobodys_answer() -> None:
    """A refused one, and one that has only begun: what comes then is asked for on its connection, or not at all."""
    broker = NamingBroker(readers={("alice", "")})
    async with world(broker, HOUR_MS) as front:
        first, other = await come(front, "alice"), await come(front, "alice")
        assert [await heard(front, client) for client in (first, other)] == [ErrorCode.NONE] * 2
        await other.send(*login("alice", "nobody"), beat(7))
        assert await other.ids(3) == [1, 2, 2]
        await settle()
        assert broker.questions == [("alice", ""), ("", "")]
        assert await heard(front, first) is ErrorCode.NONE


async def test_broker_is_heard_now_and_then_on_each_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take one that is silent for idle, and would not say that its login is over; who is out is let go."""
    assert OWN_WORD_MS + 60_000 < 600_000, "Kafka's connections.max.idle.ms, and what a sweep may be late"
    broker = NamingBroker(readers={("alice", "")})
    monkeypatch.setattr(client_rights, "OWN_WORD_MS", 10)
    async with world(broker) as front:
        clients = [await come(front, "alice") for _ in range(2)]
        for client in clients:
            assert await heard(front, client) is ErrorCode.NONE
        before = broker.own_words
        with trio.fail_after(30):
            await broker.has_heard(before + 4)
        broker.hangs_up_at = ApiKey.METADATA
        with trio.fail_after(30):
            for client in clients:
                assert await client.is_closed()
        # A broker that is restarted does the same, and no client needs other credentials for that.
        reasons = CloseReason.UPSTREAM_LOST, CloseReason.NOT_AUTHENTICATED
        assert [front.closed(reason) for reason in reasons] == [2, 0]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("alice",), CloseReason.UPSTREAM_LOST),
        (("nobody",), CloseReason.NOT_AUTHENTICATED),
        (("alice", ""), CloseReason.NOT_AUTHENTICATED),
    ],
    ids=["who is in", "who was refused", "who begins anew"],
)
async def test_broker_that_hangs_up_at_the_first_question_refuses_none_but_who_is_not_in(
    names: tuple[str, ...], reason: CloseReason
) -> None:
    """Whether it goes away or refuses looks the same from here: what the client's last login came to tells it."""
    broker = NamingBroker()
    async with world(broker) as front:
        client = await come(front, names[0])
        broker.hangs_up_at = ApiKey.METADATA
        again = [request(ApiKey.SASL_HANDSHAKE, 1, 1, INT16.pack(5) + b"PLAIN")] * (len(names) - 1)
        await client.send(*again, beat(5))
        assert await client.ids(len(again)) == [1] * len(again)
        assert await client.is_closed()
        assert [one for one in CloseReason if front.closed(one)] == [reason]


async def test_newcomers_ask_once_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,500 newcomers of a group opened 950 connections to its broker to ask the same: a quarter of all CPU time."""
    monkeypatch.setattr(client_rights, "OTHERS_WAIT_MS", 60_000)
    broker = JudgingBroker(operations=READ, gate=trio.Event())
    async with front_of(broker) as front:
        for _ in range(5):
            await (await front.dial()).send(join(1, SEEN))
            await settle()
        assert broker.gate is not None
        broker.gate.set()
        with trio.fail_after(60):
            while len(front.groups.submitted) < 5:
                await trio.lowlevel.checkpoint()
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS, ApiKey.METADATA]


async def test_newcomers_ask_for_themselves_when_whoever_asked_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would ever answer them."""
    monkeypatch.setattr(client_rights, "OTHERS_WAIT_MS", 60_000)
    broker = JudgingBroker(operations=READ, gate=trio.Event())
    async with front_of(broker) as front:
        first, second = await front.dial(), await front.dial()
        await first.send(join(1, SEEN))
        await settle()
        await first.stream.aclose()
        await settle()
        assert broker.gate is not None
        broker.gate.set()
        await second.send(join(1, SEEN))
        with trio.fail_after(60):
            while not front.groups.submitted:
                await trio.lowlevel.checkpoint()


async def test_grant_that_is_due_is_asked_for_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All members of a group beat while the broker is asked for one of them, and each asked, too."""
    ahead_ms = 0
    monkeypatch.setattr(client_rights, "now_ms", lambda: now_ms() + ahead_ms)
    broker = JudgingBroker(operations=READ)
    async with front_of(broker) as front:
        clients = [await front.dial() for _ in range(4)]
        for client in clients:
            await client.send(beat(1))
            await settle()
        ahead_ms, broker.gate = grants.KEEP_MS, trio.Event()
        for client in clients:
            await client.send(beat(2))
            await settle()
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS] * 2
        # Whoever asked may read no answers: soon another one asks.
        ahead_ms += client_rights.OTHERS_WAIT_MS
        await clients[-1].send(beat(3))
        await settle()
        assert broker.questions == [ApiKey.DESCRIBE_GROUPS] * 3
