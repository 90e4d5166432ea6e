"""The composition root: what it puts together, and how it says that it can't."""

import os
import re
import signal
import socket
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
import trio

from bridge.admin.tokens import TokenPair, Tokens
from bridge.app.composition import FRESH_IDS, AppError, _renew, fresh_member_id, make_owner, make_upstream, serve
from bridge.app.settings import share_limits
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from bridge.coordinators.embedded.shares import Shares
from bridge.coordinators.ledger import Clients
from bridge.net.bridge_questions import BridgeQuestions
from bridge.net.clock import TrioClock
from bridge.session.contracts import NoAccess
from bridge.supervision import Failures
from tests.support.scripted_broker import ScriptedBroker

LOOPBACK = "127.0.0.1"


def config_for(port: int, listen_port: int = 0) -> Config:
    """A bridge on loopback in front of a broker, without an admin API."""
    return Config(
        Settings(
            bootstrap=(f"{LOOPBACK}:{port}",),
            listen=f"{LOOPBACK}:{listen_port}",
            admin_listen="off",
            drain_timeout_ms=100,
            connect_timeout_ms=200,
        )
    )


def test_member_ids_are_kafkas_and_differ() -> None:
    """22 characters of URL-safe base64, as Kafka's tools can take them: none begins with a dash."""
    ids = {fresh_member_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", member_id) for member_id in ids)


def test_ids_of_classic_members_end_in_a_random_uuid() -> None:
    """A name and a random uuid (K1.17), which tools and filters of logs know."""
    endings = {FRESH_IDS.ending() for _ in range(100)}
    assert len(endings) == 100
    assert {UUID(ending).version for ending in endings} == {4}
    assert all(str(UUID(ending)) == ending for ending in endings)


def test_no_assignment_before_the_grace_after_start() -> None:
    """Survivors come first, and find their partitions with nobody else (decision 9)."""
    assert make_owner(Config(Settings(embedded_resume_grace_ms=700)), 1_000).shard.no_assignment_before_ms == 1_700


@pytest.mark.parametrize("journal", ["sqlite", "memory"])
async def test_members_of_brokers_groups_have_shares_of_their_journal(journal: str) -> None:
    """It is a file of its own, as large as that of the embedded groups; in memory there is no room to share out."""
    settings, nobody = Settings(journal=journal), cast(BridgeQuestions, None)
    clients = Clients(lambda _ref, _reply: None, lambda _via: NoAccess())
    shares = make_upstream(Config(settings), nobody, TrioClock(), clients, Failures())._shares
    assert (shares.limits if isinstance(shares, Shares) else shares) == share_limits(settings)


async def test_bridge_gets_ready_and_ends_when_cancelled() -> None:
    """One line once clients may come, naming where."""
    lines: list[str] = []
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)

        def ready(line: str) -> None:
            lines.append(line)
            nursery.cancel_scope.cancel()

        with trio.fail_after(60):
            await serve(config_for(broker.port), say=ready)
    assert len(lines) == 1
    assert lines[0].startswith(f"epochbridge ready: clients {LOOPBACK}:")


async def test_signal_has_tokens_of_the_admin_api_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What the file holds by then counts, without a restart."""
    path = tmp_path / "token"
    path.write_text("0123456789abcdef", encoding="ascii")
    broker = ScriptedBroker()
    lines, hear = trio.open_memory_channel[str](1)
    with caplog.at_level("INFO", "epochbridge.app"):
        async with trio.open_nursery() as nursery:
            await nursery.start(broker.serve)
            config = config_for(broker.port)
            config = replace(config, settings=replace(config.settings, admin_token_path=str(path)))
            nursery.start_soon(partial(serve, config, say=lines.send_nowait))
            await hear.receive()
            path.write_text("fedcba9876543210", encoding="ascii")
            os.kill(os.getpid(), signal.SIGHUP)
            for _ in range(1_000):
                await trio.sleep(0.05)
                if "admin.token: the files hold other tokens" in caplog.text:
                    break
            nursery.cancel_scope.cancel()
    assert "admin.token: the files hold other tokens" in caplog.text
    assert "fedcba" not in caplog.text


async def test_reload_that_waits_for_a_disk_can_be_left(tmp_path: Path) -> None:
    """Whoever stops the bridge does not wait for it."""
    path = tmp_path / "token"
    os.mkfifo(path)
    config = Config(replace(Settings(), admin_token_path=str(path)))
    with trio.move_on_after(0.1) as patience:
        await _renew(config, (), Tokens(TokenPair(order=b"", read=b"")))
    assert patience.cancelled_caught
    # The thread that waits is let go.
    await trio.to_thread.run_sync(path.write_text, "0123456789abcdef")


async def test_taken_port_is_told() -> None:
    """Which address, and a stable code."""
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(AppError, match=rf"EB-NET-020.*{port}"), trio.fail_after(60):
            await serve(config_for(1, port), say=lambda _: None)
