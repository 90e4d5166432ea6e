"""The listener over real loopback sockets."""

import logging
import math
import socket
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import ModuleType

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from bridge.admin import server
from bridge.admin.addresses import parse_address
from bridge.admin.contracts import AdminError
from bridge.admin.server import WEB, serve_admin
from bridge.supervision import Failures
from tests.support.admin_asked import get, running, talk
from tests.support.admin_views import CONSUMER, ORDERS, StillSnapshots, still_sources


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules that the listener has loaded."""
    names: list[str] = []

    def load(name: str) -> ModuleType:
        names.append(name)
        return import_module(name)

    monkeypatch.setattr(server, "import_module", load)
    return names


async def test_any_port_is_reported_and_answers() -> None:
    """Port 0 is for tests: the bound one is told."""
    async with running() as bound:
        assert parse_address(bound)[1] > 0
        answer = await get(bound, "/groups/orders-billing")
        assert answer.json()["members"][1]["client_id"] == "billing-2"


async def test_taken_port_is_refused_with_a_sentence() -> None:
    """EB-ADMIN-001 names the address and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(AdminError, match=f"EB-ADMIN-001: the admin API can't listen at {address}: .*--admin off"):
            await serve_admin(address, still_sources())


async def test_address_of_another_machine_is_not_called_taken() -> None:
    """What can't be bound has another cause than another bridge."""
    with pytest.raises(AdminError, match="no interface of this machine has that address"):
        await serve_admin("192.0.2.1:9190", still_sources())


async def test_listening_beyond_loopback_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """Tokens go without TLS, so the log says it."""
    with caplog.at_level(logging.WARNING, "epochbridge.admin"):
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(serve_admin, "0.0.0.0:0", still_sources()))
            nursery.cancel_scope.cancel()
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["EB-ADMIN-003"]


async def test_web_server_is_loaded_when_somebody_asks(loaded: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at the start, which Kafka's clients wait for; who asks gets the answer all the same."""
    monkeypatch.setattr(server, "LOADED_AFTER_S", math.inf)
    async with running() as bound:
        await wait_all_tasks_blocked()
        assert loaded == []
        assert (await get(bound, "/livez")).status_code == 200
        assert loaded == [WEB]


async def test_web_server_is_loaded_if_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with it shows soon after the start."""
    is_loaded = trio.Event()

    def load(name: str) -> ModuleType:
        trio.from_thread.run_sync(is_loaded.set)
        return import_module(name)

    monkeypatch.setattr(server, "import_module", load)
    monkeypatch.setattr(server, "LOADED_AFTER_S", 0.0)
    async with running():
        with trio.fail_after(60):
            await is_loaded.wait()


async def test_unread_answer_does_not_keep_the_bridge_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypercorn's writes can't be cancelled; the kernel gives the client up instead."""
    monkeypatch.setattr(server, "STALL_MAX_MS", 500)
    many = replace(ORDERS, members=tuple(replace(CONSUMER, member_id=f"m-{number}") for number in range(30_000)))
    with trio.fail_after(120):
        async with running(StillSnapshots(views=[many])) as bound:
            stream = await talk(bound, b"GET /groups/orders-billing HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await stream.receive_some(12)) == b"HTTP/1.1 200"
            assert (await get(bound, "/livez")).status_code == 200
    await stream.aclose()


async def test_web_server_that_fails_is_started_again_at_the_same_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener stays open meanwhile, so that whoever asks waits and is not refused."""
    supervised, tried = Failures(), list[str]()

    def load(name: str) -> ModuleType:
        tried.append(name)
        if len(tried) == 1:
            raise ValueError("a bug")
        return import_module(name)

    monkeypatch.setattr(server, "import_module", load)
    async with trio.open_nursery() as nursery:
        bound: str = await nursery.start(serve_admin, "127.0.0.1:0", still_sources(), supervised)
        assert (await get(bound, "/livez")).status_code == 200
        nursery.cancel_scope.cancel()
    assert (supervised.counts["admin"], tried) == (1, [WEB, WEB])
