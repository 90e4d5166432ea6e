"""File descriptors that run out."""

import errno
import logging
import resource
import socket

import pytest
import trio
import trio.testing

from bridge.net import descriptors
from bridge.net.broker_connection import connect
from bridge.net.descriptors import (
    KEPT,
    KEPT_FOR_ADMIN,
    FreeDescriptors,
    Spare,
    admin_connections_max,
    clients_max,
    is_used_up,
    pipes_max,
    raise_limit,
    rounds_part,
)
from bridge.net.listener import listen
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address
from bridge.session.close_reasons import CloseReason
from tests.support.front import front_of
from tests.support.scripted_broker import LOOPBACK, ScriptedBroker, request

API_VERSIONS = 18


def test_soft_limit_is_raised_to_the_hard_one() -> None:
    """Nothing here uses select(), for whose sake programs start at 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        assert raise_limit() == descriptors.limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("limit", "clients"), [(1_024, (1_024 - KEPT) // 2), (1 << 20, 10_000), (64, 1)])
def test_clients_get_two_descriptors_each_and_the_bridge_keeps_some(
    limit: int, clients: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One to the client and one to its broker; the rest is for brokers, journal and admin API."""
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    assert clients_max(10_000) == clients


@pytest.mark.parametrize(("brokers", "clients"), [(0, 448), (8, 448), (9, 447), (100, 356), (2_000, 1)])
def test_what_brokers_take_is_not_for_clients(brokers: int, clients: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a listener, and a connection by which the bridge asks it: of a hundred these were more than are kept."""
    monkeypatch.setattr(descriptors, "limit", lambda: 1_024)
    assert clients_max(10_000, brokers) == clients


@pytest.mark.parametrize("limit", [64, 1_024, 20_128, 20_320, 20_384, 1 << 20])
def test_all_that_has_a_bound_fits(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients, programs, pipes and rounds leave at least 32 for the journal, the first brokers and all else."""
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    programs, pipes, rounds = min(256, admin_connections_max(10_000)), pipes_max(10_000), rounds_part(10_000)
    assert pipes >= 16
    assert limit < KEPT or 2 * clients_max(10_000) + programs + 2 * pipes + rounds + 32 <= limit


@pytest.mark.parametrize(("limit", "programs"), [(1_024, 64), (1_025, 65), (20_128, 64), (20_384, 320), (64, 64)])
def test_admin_api_has_a_part_of_what_is_kept_and_what_no_client_can_have(
    limit: int, programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs were let have twice as many as are kept for everything that is no client."""
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    assert admin_connections_max(10_000) == programs
    assert limit < KEPT or programs + 2 * clients_max(10_000) + KEPT - KEPT_FOR_ADMIN <= limit


@pytest.mark.parametrize("limit", [64, 1_024, 20_128, 21_000, 1 << 20])
@pytest.mark.parametrize("clients", [0, 300, 447])
@pytest.mark.parametrize("brokers", [1, 12])
def test_rounds_have_what_no_client_has_and_clients_what_no_round_has(
    limit: int, clients: int, brokers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A round of 1,000 took those of the journal and of the bridge's own questions: nobody had counted them."""
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    room = FreeDescriptors(10_000, lambda: clients, lambda: brokers)
    most = clients_max(10_000, brokers)
    assert room.clients_max == most
    lacking = room.reserve(1 << 24)
    left = (1 << 24) - lacking
    assert left == max(0, rounds_part(10_000) + 2 * (most - clients))
    assert room.clients_max == most, "all or none"
    assert room.reserve(left) == 0
    assert room.reserve(7) == 7
    assert room.clients_max <= max(clients, most - (left - rounds_part(10_000)) // 2)
    assert left + 2 * room.clients_max <= rounds_part(10_000) + 2 * most or not left
    room.give_back(left)
    assert room.clients_max == most
    assert room.reserve(left) == 0


async def test_client_finds_no_place_while_rounds_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And finds one behind them."""
    monkeypatch.setattr(descriptors, "limit", lambda: KEPT + 4)
    async with front_of(ScriptedBroker()) as front:
        served = await front.dial()
        await served.send(request(API_VERSIONS, 2, 5))
        assert await served.ids(1) == [5]
        assert front.proxy.descriptors.reserve(3) == 1
        assert front.proxy.descriptors.reserve(2) == 0
        assert await (await front.dial()).is_closed()
        assert front.closed(CloseReason.NO_DESCRIPTORS) == 1
        front.proxy.descriptors.give_back(2)
        after = await front.dial()
        await after.send(request(API_VERSIONS, 2, 6))
        assert await after.ids(1) == [6]


def test_exhaustion_is_found_behind_other_errors() -> None:
    """Trio says "all attempts to connect failed", raised from a group of what happened to each."""
    outer = OSError("all attempts to connect failed")
    outer.__cause__ = ExceptionGroup("each", [OSError(errno.ECONNREFUSED, "x"), OSError(errno.EMFILE, "y")])
    assert is_used_up(outer)
    assert is_used_up(OSError(errno.ENFILE, "in the system"))
    assert not is_used_up(OSError(errno.ECONNREFUSED, "refused"))


async def test_running_out_on_the_way_to_a_broker_says_so() -> None:
    """And what to do."""
    with listen(Address(LOOPBACK, 0)) as broker:
        address = Address(LOOPBACK, broker.getsockname()[1])
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with socket.socket() as probe:
            lowest = probe.fileno()
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            with pytest.raises(BrokerUnreachable, match=r"EB-NET-025.*LimitNOFILE"):
                await connect(address, 5)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_spare_descriptor_lets_one_more_be_refused() -> None:
    """Whoever waits in the kernel's queue is connected and would wait for nothing."""
    spare = Spare()
    with listen(Address(LOOPBACK, 0)) as listening, socket.socket() as client:
        assert spare.refuse_one(listening) is None
        client.connect((LOOPBACK, listening.getsockname()[1]))
        assert spare.refuse_one(listening) == LOOPBACK
        client.settimeout(5)
        assert client.recv(1) == b""
    spare.close()
    spare.close()


async def test_clients_beyond_the_descriptors_are_refused_at_once_and_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Those who are in go on, and the log has one line for all of them."""
    monkeypatch.setattr(descriptors, "limit", lambda: KEPT + 4)
    caplog.set_level(logging.INFO, "epochbridge.net")
    async with front_of(ScriptedBroker()) as front:
        served = [await front.dial() for _ in range(2)]
        await trio.testing.wait_all_tasks_blocked(0.01)
        for _ in range(20):
            assert await (await front.dial()).is_closed()
        assert front.closed(CloseReason.NO_DESCRIPTORS) == 20
        for client in served:
            await client.send(request(API_VERSIONS, 2, 5))
            assert await client.ids(1) == [5]
        assert (caplog.text.count("EB-NET-023"), caplog.text.count("EB-NET-024")) == (1, 1)
    assert "(and 18 times more since this was last said)" in caplog.text


async def test_brokers_that_come_leave_less_to_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are known only once the cluster was asked; who is in by then goes on."""
    monkeypatch.setattr(descriptors, "limit", lambda: KEPT + 6)
    monkeypatch.setattr(descriptors, "BROKERS_KEPT", 0)
    async with front_of(ScriptedBroker()) as front:
        assert len(front.proxy.brokers) == 1
        served = [await front.dial() for _ in range(2)]
        await trio.testing.wait_all_tasks_blocked(0.01)
        with trio.fail_after(30):
            assert await (await front.dial()).is_closed()
        assert front.closed(CloseReason.NO_DESCRIPTORS) == 1
        await served[0].send(request(API_VERSIONS, 2, 5))
        assert await served[0].ids(1) == [5]


async def test_place_of_a_client_that_went_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its descriptors are."""
    monkeypatch.setattr(descriptors, "limit", lambda: KEPT + 2)
    async with front_of(ScriptedBroker()) as front:
        for _ in range(3):
            client = await front.dial()
            await client.send(request(API_VERSIONS, 2, 5))
            assert await client.ids(1) == [5]
            await client.stream.aclose()
            await trio.testing.wait_all_tasks_blocked(0.05)
