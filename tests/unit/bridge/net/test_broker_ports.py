"""Ports of brokers: by their ids, opened or told to be missing, never others in their place."""

import socket
from dataclasses import replace

import pytest
import trio

from bridge.net.broker_ports import NoBrokerPort
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import NO_PORT, Address
from bridge.session.close_reasons import CloseReason
from bridge.wire.apis import ApiKey
from bridge.wire.endpoints import Endpoint, brokers_in
from bridge.wire.frames import response_frame
from tests.support.front import Front, running, settings_for
from tests.support.ports import free_neighbours, free_port
from tests.support.scripted_broker import LOOPBACK, RawClient, ScriptedBroker, request

ASK_METADATA = request(ApiKey.METADATA, 1, 1, bytes(4))


def taken(port: int) -> socket.socket:
    """Somebody else who listens there."""
    return socket.create_server((LOOPBACK, port))


def told(front: Front) -> dict[int, int]:
    """Ports by node id, as clients are told."""
    return {node_id: address.port for node_id, address in front.proxy.broker_addresses.items()}


async def ports_in_metadata(client: RawClient) -> dict[int, int]:
    """The same as an answer has it."""
    await client.send(ASK_METADATA)
    _, body = await client.answer()
    return {node.node_id: node.port for node in brokers_in(ApiKey.METADATA, 1, response_frame(3, 1, 1, body))}


@pytest.mark.parametrize("has_first", [True, False])
async def test_port_is_the_first_one_plus_the_id(has_first: bool) -> None:
    """Behind the bootstrap port, or where the first is said to be; gaps in ids are gaps in ports."""
    broker, start = ScriptedBroker(node_ids=(4, 1)), free_neighbours(6)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = settings_for(broker)
        if has_first:
            settings = replace(settings, first_broker_port=start)
        else:
            settings = replace(settings, listen=settings.listen._replace(port=start - 1))
        async with running(settings) as front:
            assert told(front) == {1: start + 1, 4: start + 4}
            front.proxy.cluster.learn((Endpoint(0, LOOPBACK, broker.port),))
            assert told(front) == {0: start, 1: start + 1, 4: start + 4}
        nursery.cancel_scope.cancel()


async def fails_to_start(settings: ProxySettings) -> str:
    """What is said by a bridge that can't begin."""
    with pytest.RaisesGroup(NoBrokerPort, flatten_subgroups=True) as caught:
        async with running(settings):
            pytest.fail("it began")
    (fault,) = caught.value.exceptions
    while isinstance(fault, BaseExceptionGroup):
        (fault,) = fault.exceptions
    return str(fault)


async def test_taken_port_ends_the_start(caplog: pytest.LogCaptureFixture) -> None:
    """Of a broker that the cluster names, or that is given one while the cluster is away."""
    broker, first = ScriptedBroker(node_ids=(0, 1)), free_neighbours(2)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker), first_broker_port=first)
        with taken(first + 1):
            said = await fails_to_start(settings)
            assert said.startswith(f"EB-NET-150: broker 1 can't be reached by clients: can't listen on {LOOPBACK}:")
            assert said.endswith("or give this broker another port: listen.ports: [1=PORT]")
            nobody = (Address(LOOPBACK, free_port()),)
            away = replace(settings, bootstrap=nobody, broker_ports={7: first + 1})
            assert "broker 7 can't be reached" in await fails_to_start(away)
        nursery.cancel_scope.cancel()
    assert "EB-NET-150" in caplog.text


async def test_port_that_the_bridge_itself_has_is_told_with_its_holder() -> None:
    """Two brokers that come to one port, by what is given and by their ids."""
    broker, first = ScriptedBroker(node_ids=(1,)), free_neighbours(2)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker), first_broker_port=first, broker_ports={9: first + 1})
        assert f"port {first + 1}, which is its own, is that of broker 9 in this bridge" in await fails_to_start(
            settings
        )
        nursery.cancel_scope.cancel()


async def test_taken_port_of_a_later_broker_is_told_counted_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """Others go on; clients are told port 0 for it, and its own once that is free."""
    broker, first = ScriptedBroker(node_ids=(0,)), free_neighbours(3)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), first_broker_port=first)) as front:
            broker.node_ids = (0, 2)
            client = await front.dial()
            with taken(first + 2):
                for _ in range(3):
                    assert await ports_in_metadata(client) == {0: first, 2: NO_PORT}
                assert front.proxy.statistics().brokers_without_port == 1
                assert caplog.text.count("EB-NET-150: broker 2 can't be reached") == 1
            assert await ports_in_metadata(client) == {0: first, 2: first + 2}
            assert front.proxy.statistics().brokers_without_port == 0
            late = await front.dial(first + 2)
            await late.send(request(ApiKey.FETCH, 11, 4))
            assert await late.ids(1) == [4]
        nursery.cancel_scope.cancel()


async def test_port_beyond_the_last_one_is_told_as_a_taken_one() -> None:
    """Ids of brokers may be large: such a one is given a port."""
    broker = ScriptedBroker(node_ids=(70_000,))
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        said = await fails_to_start(replace(settings_for(broker), first_broker_port=free_port()))
        assert "ports end at 65535" in said
        port = free_port()
        given = replace(settings_for(broker), first_broker_port=free_port(), broker_ports={70_000: port})
        async with running(given) as front:
            assert told(front) == {70_000: port}
        nursery.cancel_scope.cancel()


async def test_given_port_is_open_before_its_broker_is_known() -> None:
    """Who comes for a broker that has just come is served; who comes for nobody is told so, and no one is asked for."""
    broker, port, other = ScriptedBroker(node_ids=(1,)), free_port(), free_port()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        async with running(replace(settings_for(broker), broker_ports={4: port, 6: other})) as front:
            assert set(told(front)) == {1}
            broker.node_ids = (1, 4)
            client = await front.dial(port)
            await client.send(request(ApiKey.FETCH, 11, 4))
            assert await client.ids(1) == [4]
            assert told(front)[4] == port
            stranger = await front.dial(other)
            assert await stranger.is_closed()
            assert front.closed(CloseReason.UNKNOWN_BROKER) == 1
            assert set(told(front)) == {1, 4}
        nursery.cancel_scope.cancel()
