"""The poller serves sockets that became readable on the spot, and wakes those who can't be served so."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise

import pytest
import trio
import trio.testing

from bridge.net.poller import TURN_NS, Poller


class Bug(Exception):
    """What a waiter raises."""


def reader(ours: socket.socket, heard: list[bytes], *, goes_on: Callable[[], bool]) -> Callable[[], bool]:
    """Reads what is there and says whether it wants to be called again."""

    def serve() -> bool:
        heard.append(ours.recv(100))
        return goes_on()

    return serve


@pytest.fixture
def pair() -> "tuple[socket.socket, socket.socket]":
    """A socket and its other end."""
    return socket.socketpair()


async def test_readable_socket_is_served_again_and_again_without_waking_its_task(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """Each arrival is served; the one who waits goes on waiting."""
    ours, theirs = pair
    poller, heard, returned = Poller(), list[bytes](), list[bool]()
    nursery.start_soon(poller.run)

    async def wait() -> None:
        await poller.wait(ours.fileno(), reader(ours, heard, goes_on=lambda: len(heard) < 3))
        returned.append(True)

    with ours, theirs:
        nursery.start_soon(wait)
        for number in range(3):
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert len(heard) == number
            assert returned == []
            theirs.send(b"%d" % number)
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert heard == [b"0", b"1", b"2"]
        assert returned == [True]


async def test_more_sockets_than_one_turn_takes_are_all_served() -> None:
    """Nobody is forgotten when many become readable at once."""
    poller, heard = Poller(), list[bytes]()
    with ExitStack() as stack:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(poller.run)
            for _ in range(200):
                ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
                nursery.start_soon(poller.wait, ours.fileno(), reader(ours, heard, goes_on=lambda: True))
                theirs.send(b"x")
            await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()
    assert heard == [b"x"] * 200


async def test_sockets_that_take_long_let_others_in_between_and_none_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each costs a whole turn, as those do that get new keys over and over, and has more to say each time."""
    passed_ns, served, passes = 0, list[int](), list[int]()
    monkeypatch.setattr("bridge.net.poller.now_ns", lambda: passed_ns)
    poller = Poller()

    def serve(number: int) -> bool:
        nonlocal passed_ns
        passed_ns += TURN_NS
        served.append(number)
        return True

    async def look() -> None:
        while True:
            passes.append(len(served))
            await trio.lowlevel.checkpoint()

    with ExitStack() as stack:
        async with trio.open_nursery() as nursery:
            for number in range(10):
                ours, theirs = (stack.enter_context(end) for end in socket.socketpair())
                theirs.send(b"x")
                nursery.start_soon(poller.wait, ours.fileno(), partial(serve, number))
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(look)
            nursery.start_soon(poller.run)
            while len(served) < 30:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert max(later - earlier for earlier, later in pairwise(passes)) <= 2, "in whichever order both have their turn"
    assert sorted(served[:30]) == sorted(list(range(10)) * 3)


async def test_failure_while_serving_is_raised_where_it_was_waited_and_nowhere_else(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """A bug in one session ends that session."""
    ours, theirs = pair
    poller = Poller()
    nursery.start_soon(poller.run)

    def fail() -> bool:
        raise Bug

    with ours, theirs:
        theirs.send(b"x")
        with pytest.raises(Bug):
            await poller.wait(ours.fileno(), fail)
        # The poller lives, and the same socket may wait again.
        heard = list[bytes]()
        await poller.wait(ours.fileno(), reader(ours, heard, goes_on=lambda: False))
        assert heard == [b"x"]


async def test_cancelled_guest_is_not_served_any_more(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """A connection that ended must not be read from by somebody else."""
    ours, theirs = pair
    poller, heard = Poller(), list[bytes]()
    nursery.start_soon(poller.run)
    with ours, theirs:
        with trio.move_on_after(0.01) as scope:
            await poller.wait(ours.fileno(), reader(ours, heard, goes_on=lambda: True))
        assert scope.cancelled_caught
        theirs.send(b"x")
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert heard == []


async def test_doorman_closed_with_guests_lets_them_go_quietly(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """The proxy closes it while its connections are being cancelled."""
    ours, theirs = pair
    poller = Poller()
    with ours, theirs:
        with trio.move_on_after(0.01) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(poller.wait, ours.fileno(), lambda: True)
                await trio.testing.wait_all_tasks_blocked(0.001)
                poller.close()
        assert scope.cancelled_caught


async def test_socket_that_is_released_may_be_closed_and_its_number_given_to_another(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """The one who waited goes on unserved, and does not take the next one's place away."""
    poller, heard, returned = Poller(), list[bytes](), list[str]()
    nursery.start_soon(poller.run)

    async def wait(name: str, ours: socket.socket) -> None:
        await poller.wait(ours.fileno(), reader(ours, heard, goes_on=lambda: False))
        returned.append(name)

    ours, theirs = pair
    with theirs:
        number = ours.fileno()
        nursery.start_soon(wait, "first", ours)
        await trio.testing.wait_all_tasks_blocked(0.01)
        poller.release(number)
        ours.close()
        again, other = socket.socketpair()
        with again, other:
            assert again.fileno() == number
            nursery.start_soon(wait, "second", again)
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert (heard, returned) == ([], ["first"])
            other.send(b"x")
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert (heard, returned) == ([b"x"], ["first", "second"])
    poller.release(number)


async def test_who_is_served_may_release_its_own_socket(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """As a connection does that finds, while it reads, that it can't send."""
    poller, returned = Poller(), list[bool]()
    nursery.start_soon(poller.run)
    ours, theirs = pair

    def serve() -> bool:
        poller.release(ours.fileno())
        return False

    async def wait() -> None:
        await poller.wait(ours.fileno(), serve)
        returned.append(True)

    with ours, theirs:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked(0.01)
        theirs.send(b"x")
        await trio.testing.wait_all_tasks_blocked(0.01)
    assert returned == [True]
