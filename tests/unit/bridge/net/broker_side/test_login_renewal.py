"""A login that the bridge made for a client runs out: nothing is lost on the way to the next connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import pytest
import trio
import trio.testing

from bridge.migration.route import Router
from bridge.net.broker_side import BrokerSide
from bridge.net.client_connection import ClientConnection
from bridge.net.clock import now_ms
from bridge.net.shared import InFlight, Shared, no_place
from bridge.net.transport import PeerGone, Transport
from bridge.session.broker_answers import Expected
from bridge.session.client_session import ClientSession, Rules
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from tests.support.proxy import SeenGroups
from tests.support.scripted_broker import request
from tests.unit.bridge.net.broker_side.test_broker_side import NO_ACKS, Pieces, Reached

UNANSWERED = request(ApiKey.PRODUCE, 3, 1, NO_ACKS)


class Slow(Pieces):
    """Takes nothing until it is told to, or is gone then."""

    def __init__(self) -> None:
        super().__init__()
        self.takes = trio.Event()
        self.is_gone = False

    def try_send(self, data: bytes | memoryview) -> int:
        """See Pieces."""
        if self.is_gone:
            raise PeerGone("broken pipe")
        return super().try_send(data) if self.takes.is_set() else 0

    async def wait_writable(self) -> None:
        """See Pieces."""
        await self.takes.wait()


@dataclass(slots=True)
class LoggedIn(Reached):
    """Gives one connection after the other, each logged in without an end."""

    later: list[Transport] = field(default_factory=list)

    async def connect(self, broker_id: int | None, announcement: bytes = b"") -> Transport | None:
        """See `broker_side.Cluster`."""
        transport = await Reached.connect(self, broker_id, announcement)
        self.login_ends_ms = inf
        if self.later:
            self.broker = self.later.pop(0)
        return transport


def connection_of(asking: Pieces, cluster: Reached) -> ClientConnection:
    """A client's connection whose groups pass, with nothing around it."""
    rules = Rules(limits=Limits(), router=Router(()))
    bound = InFlight(1 << 20)
    around = Shared(
        rules=rules, groups={}, passing=SeenGroups(), place=no_place, in_flight=bound, unauthenticated=bound
    )
    return ClientConnection(around, cluster, ClientSession(rules, 1, "10.0.0.9", around.passing), asking, None)


def run_out(_: Slow, cluster: LoggedIn) -> None:
    """The login ends."""
    cluster.login_ends_ms = now_ms()


def break_off(first: Slow, _: LoggedIn) -> None:
    """The broker is gone."""
    first.is_gone = True


@pytest.mark.parametrize(("happens", "is_kept"), [(run_out, True), (break_off, False)])
async def test_request_behind_a_slow_one_goes_to_the_next_connection(
    happens: Callable[[Slow, LoggedIn], None], nursery: trio.Nursery, *, is_kept: bool
) -> None:
    """What expects no answer leaves before the connection is closed, and who waits behind it is not forgotten."""
    first, second = Slow(), Pieces()
    cluster = LoggedIn(first, later=[second])
    nursery.start_soon(connection_of(Pieces(UNANSWERED + request(ApiKey.FETCH, 11, 2)), cluster).run)
    await trio.testing.wait_all_tasks_blocked()
    happens(first, cluster)
    first.takes.set()
    await trio.testing.wait_all_tasks_blocked()
    assert first.sent == [UNANSWERED] * is_kept
    assert second.sent == [request(ApiKey.FETCH, 11, 2)]


async def test_login_that_ended_before_the_request_came_loses_nothing_on_its_way_out(nursery: trio.Nursery) -> None:
    """The connection is closed once the broker has taken what came before."""
    first, second = Slow(), Pieces()
    cluster = LoggedIn(first, later=[second])
    connection = connection_of(Pieces(), cluster)
    side = BrokerSide(connection._shared, cluster, connection, None)
    nursery.start_soon(connection.run)
    await trio.testing.wait_all_tasks_blocked()
    assert await side.open()
    side.send_request(None, UNANSWERED, 0)
    run_out(first, cluster)
    nursery.start_soon(side.open)
    await trio.testing.wait_all_tasks_blocked()
    assert side.transport is first
    first.takes.set()
    await trio.testing.wait_all_tasks_blocked()
    assert first.sent == [UNANSWERED]
    assert side.transport is second


async def test_question_behind_a_request_is_asked_although_the_login_ended_in_it(nursery: trio.Nursery) -> None:
    """On the next connection; no other request has to come for that."""
    first, second = Pieces(), Pieces()
    cluster = LoggedIn(first, later=[second])
    connection = connection_of(Pieces(), cluster)
    side = BrokerSide(connection._shared, cluster, connection, None)
    nursery.start_soon(connection.run)
    await trio.testing.wait_all_tasks_blocked()
    assert await side.open()
    side.send_request(None, b"begin", 3)
    side.ask(Expected(7, None, lambda _: None), b"question")
    run_out(Slow(), cluster)
    side.send_rest(memoryview(b"end"), 0)
    await trio.testing.wait_all_tasks_blocked()
    assert (first.sent, second.sent) == ([b"begin", b"end"], [b"question"])
