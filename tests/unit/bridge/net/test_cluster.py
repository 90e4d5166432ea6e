"""The cluster behind the bridge."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import trio
import trio.testing

from bridge.migration.route import Road, Rule
from bridge.net.cluster import UNHEARD_MS, UpstreamCluster
from bridge.net.cluster_memory import Entrance
from bridge.net.own_login import TokenFile
from bridge.net.settings import ProxySettings
from bridge.net.transport import SocketTransport
from bridge.ports import BrokerUnreachable
from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader
from bridge.wire.sasl import Credentials, Mechanism
from bridge.wire.versions import KNOWN, VersionRange
from tests.support.front import settings_for
from tests.support.ports import free_port
from tests.support.scripted_broker import LOOPBACK, MECHANISMS, ScriptedBroker

NO_SASL = b"\x00\x22\x00\x00\x00\x00"
"""ILLEGAL_SASL_STATE, which Kafka says on a listener without SASL."""


def cluster_for(settings: ProxySettings) -> UpstreamCluster:
    """A cluster whose listeners are imagined at port 9000 + node id."""
    directory = Directory(Advertised(host="bridge", first_port=1, ports={}))

    def listen_for(node_id: int) -> bool:
        directory.settle(node_id, 9000 + node_id)
        return True

    return UpstreamCluster(settings, directory, listen_for)


async def test_versions_are_asked_once_and_the_offer_is_the_intersection() -> None:
    """One question per broker while the answer is fresh, many clients at once included."""
    broker = ScriptedBroker(versions={**KNOWN, ApiKey.METADATA: VersionRange(0, 3), 9_999: VersionRange(0, 1)})
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(settings_for(broker))
        assert cluster.offered_nowait(None) is None
        async with trio.open_nursery() as askers:
            for _ in range(5):
                askers.start_soon(cluster.offered, None)
        offered = cluster.offered_nowait(None)
        assert offered is not None
        assert offered.answer.versions[ApiKey.METADATA] == VersionRange(0, 3)
        assert 9_999 not in offered.answer.versions
        assert len(broker.streams) == 1
        nursery.cancel_scope.cancel()


async def test_commit_of_old_clients_is_offered_where_a_group_takes_another_road() -> None:
    """In front of Kafka 4, which begins at 2."""
    kafka_4 = {**KNOWN, ApiKey.OFFSET_COMMIT: VersionRange(2, 10)}
    broker = ScriptedBroker(versions=kafka_4)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        for road, lowest in ((Road.PASS, 2), (Road.UPSTREAM, 1), (Road.EMBEDDED, 1)):
            cluster = cluster_for(replace(settings_for(broker), rules=(Rule("*", road),)))
            offered = await cluster.offered(None)
            assert offered is not None
            assert offered.answer.versions[ApiKey.OFFSET_COMMIT] == VersionRange(lowest, 10)
        nursery.cancel_scope.cancel()


async def test_those_who_come_for_strange_brokers_wait_for_one_look(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that hangs takes ten seconds to say nothing: 50 in a line held their places for eight minutes."""
    cluster, looks = cluster_for(settings_for(ScriptedBroker())), list[float]()

    async def refresh() -> bool:
        looks.append(trio.current_time())
        await trio.sleep(10)
        return False

    monkeypatch.setattr(cluster, "refresh", refresh)
    async with trio.open_nursery() as nursery:
        for node_id in range(50):
            nursery.start_soon(cluster.names, 100 + node_id)
    assert len(looks) == 1
    await trio.sleep(1)
    assert not await cluster.names(7)
    assert len(looks) == 2, "who comes later has it asked again"


async def test_stale_versions_serve_while_the_broker_is_down(autojump_clock: trio.testing.MockClock) -> None:
    """Group requests are answered on every listener, also while that broker is down (decision 20)."""
    broker = ScriptedBroker()
    settings = replace(settings_for(broker), versions_max_age_ms=1_000)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(replace(settings, bootstrap=(Address(LOOPBACK, broker.port),)))
        fresh = await cluster.offered(None)
        nursery.cancel_scope.cancel()
    await trio.sleep(2)
    assert cluster.offered_nowait(None) is None
    assert await cluster.offered(None) == fresh


class FrozenBroker(ScriptedBroker):
    """Takes connections and requests without a word while it is frozen."""

    is_frozen = False

    async def answer(self, stream: trio.SocketStream, header: RequestHeader) -> None:
        """Answer one request, or none."""
        if not self.is_frozen:
            await super().answer(stream, header)


LIMIT_S = 5


async def test_nobody_waits_for_a_broker_that_is_asked_already_where_it_is_known_what_it_spoke(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A hundred members of a group that is coordinated here waited five seconds each, one after the other."""
    broker, waited = FrozenBroker(), list[int]()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(
            replace(settings_for(broker), versions_max_age_ms=1_000, connect_timeout_ms=1_000 * LIMIT_S)
        )
        assert await cluster.offered(None) is not None
        broker.is_frozen = True
        await trio.sleep(2)

        async def ask() -> None:
            began = trio.current_time()
            assert await cluster.offered(None) is not None
            waited.append(round(trio.current_time() - began))

        async with trio.open_nursery() as askers:
            for _ in range(100):
                askers.start_soon(ask)
        assert sorted(waited) == [0] * 99 + [LIMIT_S]
        await ask()
        assert waited[-1] == 0, "it is left alone for a while"
        await trio.sleep(UNHEARD_MS / 1000)
        await ask()
        assert waited[-1] == LIMIT_S
        nursery.cancel_scope.cancel()


async def test_nobody_waits_for_more_than_two_questions_of_others(autojump_clock: trio.testing.MockClock) -> None:
    """Of a broker that never said anything the hundredth was told after a quarter of an hour that it is away."""
    limits = Limits(upstream_wait_max_ms=3_000)
    settings = replace(settings_for(ScriptedBroker(port=free_port())), limits=limits)
    cluster, waited = cluster_for(settings), list[float]()

    async def ask(after_s: float) -> None:
        await trio.sleep(after_s)
        began = trio.current_time()
        assert await cluster.offered(None) is None
        waited.append(trio.current_time() - began)

    async with trio.open_nursery() as askers:
        for number in range(100):
            askers.start_soon(ask, number % 10 / 10)
    assert max(waited) < 2 * 3 + 1
    assert min(waited) >= 3


async def test_question_whose_client_hangs_up_is_asked_by_the_next(autojump_clock: trio.testing.MockClock) -> None:
    """That it got no answer says nothing of the broker."""
    broker = FrozenBroker()
    broker.is_frozen = True
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(replace(settings_for(broker), limits=Limits(upstream_wait_max_ms=60_000)))

        async def ask_and_hang_up() -> None:
            with trio.move_on_after(5):
                await cluster.offered(None)
            broker.is_frozen = False

        nursery.start_soon(ask_and_hang_up)
        await trio.sleep(1)
        assert await cluster.offered(None) is not None
        nursery.cancel_scope.cancel()


async def test_bootstrap_list_is_tried_in_turn() -> None:
    """A dead first address costs one short pause."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        dead = Address(LOOPBACK, free_port())
        cluster = cluster_for(replace(settings_for(broker), bootstrap=(dead, Address(LOOPBACK, broker.port))))
        transport = await cluster.connect(None)
        assert transport is not None
        transport.close()
        nursery.cancel_scope.cancel()


async def test_cluster_is_there_while_one_broker_of_the_list_is(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever's turn it is: a broker that was restarted made the bridge not ready at each of its turns."""
    broker, dead = ScriptedBroker(), [Address(LOOPBACK, free_port()) for _ in range(2)]
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        settings = replace(settings_for(broker), bootstrap=(dead[0], Address(LOOPBACK, broker.port), dead[1]))
        cluster = cluster_for(settings)
        for _ in range(4):
            assert await cluster.refresh()
            assert (cluster.is_reachable, cluster.fault) == (True, "")
        nursery.cancel_scope.cancel()
    assert "can't be asked" not in caplog.text


async def test_cluster_that_is_away_is_told_once_however_many_brokers_are_listed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is asked again every second, and whose turn is first differs."""
    away = tuple(Address(LOOPBACK, free_port()) for _ in range(2))
    cluster = cluster_for(replace(settings_for(ScriptedBroker()), bootstrap=away))
    for number in range(4):
        assert not await cluster.refresh()
        assert str(away[0]) in cluster.fault
        if number == 1:
            # A client's own try takes a turn in between.
            cluster._address(None)
    assert caplog.text.count("can't be asked for its brokers") == 1


async def test_patience_with_a_dead_broker_ends(autojump_clock: trio.testing.MockClock) -> None:
    """None after upstream_wait_max_ms, and not reachable."""
    settings = replace(settings_for(ScriptedBroker(port=free_port())), limits=Limits(upstream_wait_max_ms=3_000))
    cluster, started = cluster_for(settings), trio.current_time()
    assert await cluster.connect(None) is None
    assert 3 <= trio.current_time() - started < 4
    assert not await cluster.refresh()
    assert not cluster.is_reachable


async def test_tries_come_after_pauses_that_double_up_to_a_second(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first pause is the one that was configured; the log has one line of them all."""
    tried_s: list[float] = []

    async def refuse(address: Address, timeout_s: float, tls: None, announcement: bytes) -> SocketTransport:
        assert (tls, announcement) == (None, b"")
        tried_s.append(trio.current_time())
        raise BrokerUnreachable(f"{address} refuses")

    monkeypatch.setattr("bridge.net.cluster.connect", refuse)
    broker = ScriptedBroker(port=free_port())
    limits = Limits(upstream_wait_max_ms=2_000)
    cluster = cluster_for(replace(settings_for(broker), limits=limits, connect_backoff_ms=300))
    with caplog.at_level("INFO", "epochbridge.net"):
        assert await cluster.connect(None) is None
    pauses_s = [after - before for before, after in pairwise(tried_s)]
    assert pauses_s == pytest.approx([0.3, 0.6, 1.0])
    assert caplog.text.count("EB-NET-012") == 1


async def test_refresh_learns_brokers_and_cluster_that_authenticates_is_noticed() -> None:
    """A listener with SASL closes at Metadata: reachable, but the bridge learns brokers from its clients only."""
    broker = ScriptedBroker(node_ids=(2, 9))
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(settings_for(broker))
        assert await cluster.refresh()
        assert dict(cluster.directory.ours) == {2: Address("bridge", 9002), 9: Address("bridge", 9009)}
        assert (cluster.is_reachable, cluster.entrance) == (True, Entrance.OPEN)
        broker.hangs_up_at = ApiKey.METADATA
        broker.bodies[ApiKey.SASL_HANDSHAKE] = MECHANISMS
        assert await cluster.refresh()
        assert (cluster.is_reachable, cluster.entrance) == (True, Entrance.LOGIN)
        nursery.cancel_scope.cancel()


async def test_cluster_that_hangs_up_at_everything_is_away_and_as_open_as_before() -> None:
    """A broker that goes away, or a balancer without brokers, asks nobody for a login."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(settings_for(broker))
        assert await cluster.refresh()
        assert await cluster.offered(None) is not None
        nursery.cancel_scope.cancel()

    async def hang_up(stream: trio.SocketStream) -> None:
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_tcp, hang_up, broker.port, host=LOOPBACK))
        assert not await cluster.refresh()
        assert (cluster.is_reachable, cluster.entrance) == (False, Entrance.OPEN)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("hangs_up_at", [ApiKey.METADATA, ApiKey.SASL_HANDSHAKE])
@pytest.mark.parametrize("body", [b"", NO_SASL])
async def test_broker_that_dies_while_it_is_asked_and_is_back_at_once_is_no_cluster_with_a_login(
    hangs_up_at: ApiKey, body: bytes
) -> None:
    """A hung broker that is killed closes at Metadata, and whoever takes its place speaks ApiVersions: no proof.

    The cluster was taken for one with authentication, and every client got GROUP_AUTHORIZATION_FAILED.
    """
    broker = ScriptedBroker(bodies={ApiKey.SASL_HANDSHAKE: body})
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        fresh = cluster_for(settings_for(broker))
        known = cluster_for(settings_for(broker))
        assert await known.refresh()
        broker.hangs_up_at, broker.hangs_up_too = ApiKey.METADATA, hangs_up_at
        for cluster, entrance in ((fresh, Entrance.UNKNOWN), (known, Entrance.OPEN)):
            assert not await cluster.refresh()
            assert (cluster.is_reachable, cluster.entrance) == (False, entrance)
        nursery.cancel_scope.cancel()


async def test_answer_that_cannot_be_read_proves_nothing() -> None:
    """A TLS listener, a web server, an answer that ends too early: asked again, and nothing is known."""

    async def say(words: bytes, stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(words)
        await stream.aclose()

    for words in (
        b"\x15\x03\x03\x00\x02\x02\x50",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x00\x00\x05\x00\x00\x00\x00\x00",
    ):
        async with trio.open_nursery() as nursery:
            (listener,) = await nursery.start(partial(trio.serve_tcp, partial(say, words), 0, host=LOOPBACK))
            port: int = listener.socket.getsockname()[1]
            cluster = cluster_for(settings_for(ScriptedBroker(port=port)))
            assert not await cluster.refresh()
            assert (cluster.is_reachable, cluster.entrance) == (False, Entrance.UNKNOWN)
            nursery.cancel_scope.cancel()


async def test_cluster_that_is_slow_is_as_it_was_known_and_away() -> None:
    """What was refused is not served because a broker did not answer in time, nor the other way round."""

    async def say_nothing(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, say_nothing, 0, host=LOOPBACK))
        settings = settings_for(ScriptedBroker(port=listener.socket.getsockname()[1]))
        for entrance in Entrance:
            cluster = cluster_for(replace(settings, connect_timeout_ms=300))
            cluster.recall(entrance)
            assert not await cluster.refresh()
            assert (cluster.is_reachable, cluster.entrance) == (False, entrance)
        nursery.cancel_scope.cancel()


async def test_bridge_that_logs_in_learns_brokers_of_a_cluster_that_authenticates() -> None:
    """It stays one that authenticates, though the bridge is let in; who is not let in says so once."""
    credentials = Credentials(mechanism=Mechanism.PLAIN, username="bridge", password="word")
    let_in: dict[int, bytes] = {
        ApiKey.SASL_HANDSHAKE: b"\x00\x00\x00\x00\x00\x00",
        ApiKey.SASL_AUTHENTICATE: b"\x00\x00\xff\xff\x00\x00\x00\x00",
    }
    broker = ScriptedBroker(bodies=let_in)
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(replace(settings_for(broker), login=credentials))
        assert (cluster.can_log_in, cluster.entrance) == (True, Entrance.UNKNOWN)
        assert await cluster.refresh()
        assert cluster.entrance is Entrance.LOGIN
        assert dict(cluster.directory.ours) == {1: Address("bridge", 9001)}
        broker.bodies[ApiKey.SASL_AUTHENTICATE] = b"\x00\x3a\xff\xff\x00\x00\x00\x00"
        assert await cluster.refresh()
        assert (cluster.is_reachable, cluster.entrance) == (True, Entrance.LOGIN)
        assert cluster.fault.startswith("EB-NET-042")
        nursery.cancel_scope.cancel()


async def test_bridge_that_has_nothing_to_log_in_with_does_not_call_the_cluster_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The broker takes connections; it is neither told to be looked at nor, as it said nothing, known to be there."""
    broker = ScriptedBroker()
    async with trio.open_nursery() as nursery:
        await nursery.start(broker.serve)
        cluster = cluster_for(replace(settings_for(broker), login=TokenFile(str(tmp_path / "nowhere"))))
        for _ in range(2):
            assert await cluster.refresh(), "asked again as seldom as one that refuses a login"
        assert (cluster.is_reachable, cluster.has_answered, cluster.entrance) == (True, False, Entrance.UNKNOWN)
        assert cluster.fault.startswith("EB-NET-205: ")
        nursery.cancel_scope.cancel()
    (line,) = [line for line in caplog.records if line.levelname == "ERROR"]
    assert line.getMessage() == cluster.fault
    assert "check bootstrap" not in caplog.text
    assert not await cluster.refresh()
    assert cluster.fault != line.getMessage(), "a cluster that is away is called so"
