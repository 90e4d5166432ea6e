"""Logins that the bridge answers, over real sockets in front of a scripted broker that wants none."""

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.migration.route import Road, Rule
from bridge.net import client_connection, login_bounds
from bridge.net.clock import now_ms
from bridge.net.cluster_memory import Entrance
from bridge.net.kept_logins import KeptLogins
from bridge.net.login_answers import PASSWORDS_AT_ONCE_MAX
from bridge.net.shared import connection_fields
from bridge.session.bridge_login import BridgeLogin, Said
from bridge.session.close_reasons import CloseReason
from bridge.session.kept_users import user_line
from bridge.session.limits import Limits
from bridge.session.login import SPARE_MAX_MS
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import encode_request
from bridge.wire.frames import LENGTH_BYTES
from bridge.wire.packing import INT32, nullable_string
from bridge.wire.sasl import (
    Credentials,
    Mechanism,
    authenticate_request,
    handshake_request,
    plain_token,
    read_authenticate,
)
from bridge.wire.scram import check_server, first_message, make_keys, prove
from tests.support.front import Front, running, settings_for
from tests.support.scripted_broker import RawClient, ScriptedBroker, request
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

SCRAM = Mechanism.SCRAM_SHA_256
JOIN = encode_request(
    ApiKey.JOIN_GROUP,
    5,
    6,
    "me",
    JoinGroup(
        group_id=GroupId("orders"),
        member_id=MemberId(""),
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", b""),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
    ),
)
HOUR_MS = 3_600_000
METADATA = request(ApiKey.METADATA, 0, 5, INT32.pack(0))


def write_users(path: Path, **passwords: str) -> None:
    """The file of those who may log in."""
    keys = {name: make_keys(SCRAM, word, bytes(16), 4_096) for name, word in passwords.items()}
    path.write_text("\n".join(user_line(name, one) for name, one in keys.items()), encoding="utf-8")


@asynccontextmanager
async def front_with_users(
    folder: Path, limits: Limits | None = None, session_ms: int = 0, rules: tuple[Rule, ...] = ()
) -> AsyncIterator[tuple[Front, ScriptedBroker]]:
    """A proxy at which alice logs in, before a broker that lets everybody in."""
    broker, path = ScriptedBroker(), folder / "users"
    write_users(path, alice="wonder")
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        logins = KeptLogins(path, (Mechanism.PLAIN, SCRAM), session_ms)
        async with running(replace(settings_for(broker, limits), logins=logins, rules=rules)) as front:
            yield front, broker
        nursery.cancel_scope.cancel()


async def step(client: RawClient, token: bytes, version: int = 1) -> tuple[ErrorCode, bytes, int]:
    """One request of SASL: the code, the token and the lifetime of its answer."""
    await client.send(authenticate_request(token, "me", version))
    correlation_id, rest = await client.answer()
    answer = read_authenticate(INT32.pack(len(rest) + LENGTH_BYTES) + INT32.pack(correlation_id) + rest, version)
    return answer.error, answer.token, answer.lifetime_ms


def token_of(name: str, password: str) -> bytes:
    """What PLAIN says."""
    return plain_token(Credentials(mechanism=Mechanism.PLAIN, username=name, password=password))


async def plain(client: RawClient, name: str, password: str, version: int = 1) -> tuple[ErrorCode, bytes, int]:
    """Both steps."""
    await client.send(handshake_request(Mechanism.PLAIN, "me"))
    await client.answer()
    return await step(client, token_of(name, password), version)


async def ends(client: RawClient, front: Front, reason: CloseReason) -> None:
    """Return once its connection was closed for this reason."""
    assert await client.is_closed()
    with trio.fail_after(60):
        while not front.closed(reason):
            await trio.testing.wait_all_tasks_blocked(0.01)


async def test_nothing_is_served_before_a_login(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """But the versions; and the broker hears nothing of a login."""
    async with front_with_users(tmp_path) as (front, broker):
        client = await front.dial()
        await client.send(request(ApiKey.API_VERSIONS, 0, 1), METADATA)
        assert (await client.answer())[0] == 1
        await ends(client, front, CloseReason.NOT_LOGGED_IN)
        assert broker.requests == []
        client = await front.dial()
        code, _, lifetime_ms = await plain(client, "alice", "wonder")
        assert (code, lifetime_ms) == (ErrorCode.NONE, 0)
        await client.send(METADATA)
        assert (await client.answer())[0] == 5
        assert {key for key, _, _ in broker.requests} == {ApiKey.METADATA}
    assert "Metadata of client" in caplog.text


async def test_scram_is_answered_in_its_steps(tmp_path: Path) -> None:
    """And proves that the bridge knows the password, too."""
    async with front_with_users(tmp_path) as (front, _):
        client = await front.dial()
        credentials = Credentials(mechanism=SCRAM, username="alice", password="wonder")
        await client.send(handshake_request(SCRAM, "me"))
        await client.answer()
        _, challenge, _ = await step(client, first_message(credentials, "ours"))
        proof = prove(credentials, "ours", challenge)
        code, final, _ = await step(client, proof.message)
        assert code is ErrorCode.NONE
        check_server(final, proof)
        await client.send(METADATA)
        assert (await client.answer())[0] == 5


async def bare_step(client: RawClient, token: bytes) -> bytes:
    """One token without a header, and what is said to it."""
    await client.send(INT32.pack(len(token)) + token)
    received = b""
    while len(received) < LENGTH_BYTES or len(received) < LENGTH_BYTES + INT32.unpack_from(received)[0]:
        chunk = await client.stream.receive_some()
        if not chunk:
            raise EOFError
        received += chunk
    return received[LENGTH_BYTES:]


async def test_bare_tokens_are_answered_as_bare(tmp_path: Path) -> None:
    """By both mechanisms, behind SaslHandshake 0; whoever is refused hears the end alone (decision 831)."""
    async with front_with_users(tmp_path) as (front, _):
        for mechanism in (Mechanism.PLAIN, SCRAM):
            client = await front.dial()
            await client.send(request(ApiKey.SASL_HANDSHAKE, 0, 1, nullable_string(mechanism, flexible=False)))
            assert (await client.answer())[1][:2] == bytes(2)
            if mechanism is Mechanism.PLAIN:
                assert await bare_step(client, token_of("alice", "wonder")) == b""
            else:
                credentials = Credentials(mechanism=SCRAM, username="alice", password="wonder")
                proof = prove(credentials, "ours", await bare_step(client, first_message(credentials, "ours")))
                check_server(await bare_step(client, proof.message), proof)
            await client.send(METADATA)
            assert (await client.answer())[0] == 5
        client = await front.dial()
        await client.send(request(ApiKey.SASL_HANDSHAKE, 0, 1, nullable_string(Mechanism.PLAIN, flexible=False)))
        await client.answer()
        with pytest.raises(EOFError):
            await bare_step(client, token_of("alice", "blunder"))
        await ends(client, front, CloseReason.LOGIN_REFUSED)


async def test_wrong_password_is_told_and_ends_the_connection(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Error 58, then the end; the log has the name, and no password."""
    with caplog.at_level(logging.WARNING):
        async with front_with_users(tmp_path) as (front, _):
            client = await front.dial()
            code, _, _ = await plain(client, "alice", "blunder")
            assert code is ErrorCode.SASL_AUTHENTICATION_FAILED
            await ends(client, front, CloseReason.LOGIN_REFUSED)
    assert "user 'alice': a wrong password" in caplog.text
    assert "blunder" not in caplog.text


@pytest.mark.parametrize(("name", "is_ours"), [("alice", True), ("bob", False)])
async def test_name_counts_for_rules(tmp_path: Path, name: str, is_ours: bool) -> None:
    """Where one asks for the principal; lines of the log have it, too."""
    rules = (Rule("*", Road.EMBEDDED, principal="alice"),)
    async with front_with_users(tmp_path, rules=rules) as (front, broker):
        write_users(tmp_path / "users", alice="wonder", bob="wonder")
        await front.proxy.certificates.read_changed()
        client = await front.dial()
        assert (await plain(client, name, "wonder"))[0] is ErrorCode.NONE
        await client.send(JOIN)
        with trio.fail_after(60):
            while not (front.groups.submitted or any(key == ApiKey.JOIN_GROUP for key, _, _ in broker.requests)):
                await trio.testing.wait_all_tasks_blocked(0.01)
        assert bool(front.groups.submitted) is is_ours
        (connection,) = front.proxy._connections.values()
        assert connection_fields(connection.session).get("principal") == name


async def test_bounds_before_a_login_hold(tmp_path: Path) -> None:
    """Although the cluster is open: this client is nobody yet."""
    limits = Limits(unauthenticated_frame_bytes_max=20_000)
    async with front_with_users(tmp_path, limits) as (front, _):
        client = await front.dial()
        await client.send(request(ApiKey.SASL_AUTHENTICATE, 1, 9, bytes(30_000))[:1_000])
        await ends(client, front, CloseReason.UNAUTHENTICATED_FRAME)


def run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour goes by, as far as logins are concerned."""
    for room in (client_connection, login_bounds):
        monkeypatch.setattr(room, "now_ms", lambda: now_ms() + HOUR_MS + SPARE_MAX_MS)


async def test_logins_run_out_where_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are renewed on the same connection, which else ends at the next request."""
    async with front_with_users(tmp_path, session_ms=HOUR_MS) as (front, _):
        client = await front.dial()
        assert (await plain(client, "alice", "wonder"))[2] == HOUR_MS
        assert (await plain(client, "alice", "wonder"))[2] == HOUR_MS
        await client.send(METADATA)
        assert (await client.answer())[0] == 5
        run_out(monkeypatch)
        await client.send(METADATA)
        await ends(client, front, CloseReason.LOGIN_RAN_OUT)


async def test_logins_run_out_for_clients_that_are_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 0 has no place for a lifetime; a broker ends such a connection, too."""
    async with front_with_users(tmp_path, session_ms=HOUR_MS) as (front, _):
        client = await front.dial()
        assert (await plain(client, "alice", "wonder", version=0))[0] is ErrorCode.NONE
        await client.send(METADATA)
        assert (await client.answer())[0] == 5
        run_out(monkeypatch)
        await client.send(METADATA)
        await ends(client, front, CloseReason.LOGIN_RAN_OUT)


async def test_bridge_itself_answers_nothing_once_a_login_ran_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also not what no broker is needed for, as a share group's name that is taken."""
    async with front_with_users(tmp_path, session_ms=HOUR_MS) as (front, _):
        client = await front.dial()
        assert (await plain(client, "alice", "wonder"))[0] is ErrorCode.NONE
        (connection,) = front.proxy._connections.values()
        connection.session._holds = lambda _: True
        beat = request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 7, b"\x02g")
        await client.send(beat)
        assert (await client.answer())[0] == 7
        run_out(monkeypatch)
        await client.send(beat)
        await ends(client, front, CloseReason.LOGIN_RAN_OUT)


async def test_nothing_is_answered_behind_a_refusal(tmp_path: Path) -> None:
    """Also not what came together with the refused token: one connection is one guess."""
    async with front_with_users(tmp_path) as (front, _):
        client = await front.dial()
        handshake = handshake_request(Mechanism.PLAIN, "me")
        await client.send(handshake, authenticate_request(token_of("alice", "blunder"), "me", 1), handshake)
        await client.answer()
        await client.answer()
        await ends(client, front, CloseReason.LOGIN_REFUSED)


@pytest.mark.parametrize("api_key", [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE])
async def test_login_that_cannot_be_read_is_the_clients_fault(tmp_path: Path, api_key: ApiKey) -> None:
    """No broker has said anything yet."""
    async with front_with_users(tmp_path) as (front, _):
        client = await front.dial()
        await client.send(request(api_key, 1, 9, b"\x00"))
        await ends(client, front, CloseReason.MALFORMED_REQUEST)


async def test_users_that_change_count_for_logins_that_come_then(tmp_path: Path) -> None:
    """Without a connection lost; what can't be read changes nothing."""
    async with front_with_users(tmp_path) as (front, _):
        client = await front.dial()
        await plain(client, "alice", "wonder")
        write_users(tmp_path / "users", bob="builder")
        told = await front.proxy.certificates.read_changed()
        assert told == ("listen.sasl: its files have changed and count for new connections",)
        (tmp_path / "users").write_text("bob builder", encoding="utf-8")
        (told_wrong,) = await front.proxy.certificates.read_changed()
        assert told_wrong.startswith("listen.sasl.clients.path: ")
        assert "builder" not in told_wrong
        assert (await plain(await front.dial(), "bob", "builder"))[0] is ErrorCode.NONE
        assert (await plain(await front.dial(), "alice", "wonder"))[0] is ErrorCode.SASL_AUTHENTICATION_FAILED
        await client.send(METADATA)
        assert (await client.answer())[0] == 5


async def test_cluster_that_wants_logins_is_told_of(tmp_path: Path) -> None:
    """Clients can't log in twice: who asks whether the bridge is ready hears it, and so does the log."""
    async with front_with_users(tmp_path) as (front, _):
        assert front.proxy.is_ready
        front.proxy.cluster.entrance = Entrance.LOGIN
        assert CloseReason.LOGIN_TWICE.code in front.proxy.why_not_ready
        client = await front.dial()
        await client.send(handshake_request(Mechanism.PLAIN, "me"))
        await ends(client, front, CloseReason.LOGIN_TWICE)


async def test_only_so_many_wait_for_their_passwords_to_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more is closed without a word that would end its client, and comes in once there is room; SCRAM waits for
    nobody.
    """
    gate = threading.Event()
    judge = BridgeLogin.judge

    def judge_late(login: BridgeLogin, token: bytes, nonce: str) -> Said:
        assert not login.is_slow or gate.wait(60)
        return judge(login, token, nonce)

    monkeypatch.setattr(BridgeLogin, "judge", judge_late)
    waiting = 3
    async with front_with_users(tmp_path, Limits(logins_waiting_max=waiting)) as (front, _):
        clients = [await front.dial() for _ in range(PASSWORDS_AT_ONCE_MAX + waiting + 1)]
        for client in clients:
            await client.send(handshake_request(Mechanism.PLAIN, "me"))
            await client.answer()
            await client.send(authenticate_request(token_of("alice", "wonder"), "me", 1))
            await trio.testing.wait_all_tasks_blocked(0.01)
        await ends(clients.pop(), front, CloseReason.TOO_MANY_LOGINS)
        client = await front.dial()
        await client.send(handshake_request(SCRAM, "me"))
        await client.answer()
        assert (await step(client, b"n,,n=alice,r=ours"))[0] is ErrorCode.NONE
        gate.set()
        for client in clients:
            await client.answer()
        assert (await plain(await front.dial(), "alice", "wonder"))[0] is ErrorCode.NONE
