"""The composition root: what it puts together, and how it says that it can't."""

import os
import re
import signal
import socket
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
import trio

from bridge.admin.tokens import TokenPair, Tokens
from bridge.app.composition import (
    FRESH_IDS,
    AppError,
    _renew,
    closed_reason,
    fresh_member_id,
    make_owner,
    serve,
    speaks_consumer_protocol,
)
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from bridge.migration.broker_facts import GROUP_VERSION, METADATA_VERSION
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import Entrance
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.session.client_session import Offered
from bridge.wire.api_versions import ApiVersionsAnswer, Features, FinalizedFeature, SupportedFeature
from bridge.wire.apis import ApiKey
from bridge.wire.sasl import Credentials, Mechanism
from bridge.wire.versions import VersionRange
from tests.support.scripted_broker import ScriptedBroker
from translators.dialects.errors import ErrorCode

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


LOGIN = Credentials(mechanism=Mechanism.PLAIN, username="bridge", password="word")


@pytest.mark.parametrize(
    ("entrance", "credentials", "code"),
    [
        (Entrance.LOGIN, None, "EB-APP-004"),
        (Entrance.LOGIN, LOGIN, None),
        (Entrance.OPEN, None, None),
        (Entrance.UNKNOWN, None, "retry"),
        (Entrance.UNKNOWN, LOGIN, None),
    ],
)
def test_embedded_road_fails_closed_and_judges_on_proof_only(
    entrance: Entrance, credentials: Credentials | None, code: str | None
) -> None:
    """Clients of a cluster that authenticates are not served unless it lets the bridge in, too.

    Where neither is known, clients come again: GROUP_AUTHORIZATION_FAILED ends a KIP-848 client for good.
    """
    settings = ProxySettings(bootstrap=(Address(LOOPBACK, 1),), listen=Address(LOOPBACK, 0), login=credentials)
    directory = Directory(Advertised(host=LOOPBACK, first_port=0, ports={}))
    cluster = UpstreamCluster(settings, directory, lambda _: True)
    cluster.recall(entrance)
    refusal = closed_reason(cluster)
    if code == "retry":
        assert refusal is not None
        assert refusal.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        return
    assert (None if refusal is None else refusal.reason.partition(":")[0]) == code
    assert refusal is None or refusal.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


OLD_FEATURES = (SupportedFeature(METADATA_VERSION, 1, 21),)
NEW_FEATURES = (*OLD_FEATURES, SupportedFeature(GROUP_VERSION, 0, 1))
HEARTBEAT = {ApiKey.CONSUMER_GROUP_HEARTBEAT: VersionRange(0, 1)}


@pytest.mark.parametrize(
    ("versions", "features", "speaks"),
    [
        ({}, Features(), False),
        (HEARTBEAT, Features(), True),
        (HEARTBEAT, Features(supported=OLD_FEATURES), False),
        (HEARTBEAT, Features(supported=NEW_FEATURES, finalized=(FinalizedFeature(GROUP_VERSION, 1, 1),)), True),
        (HEARTBEAT, Features(supported=NEW_FEATURES, finalized=(FinalizedFeature(METADATA_VERSION, 21, 1),)), False),
        ({}, Features(supported=NEW_FEATURES, finalized=(FinalizedFeature(GROUP_VERSION, 1, 1),)), False),
    ],
)
def test_protocol_is_believed_to_be_on_unless_the_features_say_otherwise(
    versions: dict[int, VersionRange], features: Features, speaks: bool
) -> None:
    """Kafka 3.9 offers the heartbeat and answers it with UNSUPPORTED_VERSION."""
    answer = ApiVersionsAnswer(features=features)
    cluster = cast(UpstreamCluster, _Heard(Offered(broker=versions, answer=answer)))
    assert speaks_consumer_protocol(cluster) is speaks
    assert speaks_consumer_protocol(cast(UpstreamCluster, _Heard(None)))


@dataclass
class _Heard:
    """A cluster of which this was heard."""

    offered: Offered | None

    def offered_nowait(self, broker_id: int | None) -> Offered | None:
        """What the broker speaks."""
        assert broker_id is None
        return self.offered


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
