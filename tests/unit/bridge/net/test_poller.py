"""The poller serves sockets that became readable on the spot, and wakes those who can't be served so."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise

import pytest
import trio
import trio.testing

from bridge.net.poller import PATIENCE_MS, SOCKETS_PER_TURN, TURN_NS, Poller, _nap


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


class Naps:
    """Stands in for the poller's sleep, which ends when the test says so."""

    def __init__(self) -> None:
        self.count = 0
        self.over = trio.Event()

    async def nap(self, seconds: float) -> None:
        """One begins."""
        assert 0 < seconds <= PATIENCE_MS / 1000
        self.count += 1
        await self.over.wait()


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> Naps:
    """Those of the poller of a test."""
    naps = Naps()
    monkeypatch.setattr("bridge.net.poller._nap", naps.nap)
    return naps


class Heard:
    """What was read; each of `count` sockets says something once."""

    def __init__(self, count: int) -> None:
        self.words: list[bytes] = []
        self._count = count
        self._are_all = trio.Event()

    def reader(self, ours: socket.socket) -> Callable[[], bool]:
        """Reads of one of them, for ever."""

        def serve() -> bool:
            self.words.append(ours.recv(100))
            if len(self.words) == self._count:
                self._are_all.set()
            return True

        return serve

    async def wait(self) -> None:
        """Until all was read."""
        with trio.fail_after(60):
            await self._are_all.wait()


async def test_patient_sockets_are_served_together_once_their_patience_is_over(
    naps: Naps, nursery: trio.Nursery
) -> None:
    """However many turns they take; nobody else has to wait for that, nor who is not patient any more."""
    poller, count = Poller(), 3 * SOCKETS_PER_TURN
    prompt, patient = Heard(2), Heard(count)
    nursery.start_soon(poller.run)
    nursery.start_soon(partial(poller.run, is_patient=True))
    with ExitStack() as stack:
        ends = [tuple(stack.enter_context(end) for end in socket.socketpair()) for _ in range(2 + count)]
        for heard, (ours, _) in zip((prompt, prompt, *[patient] * count), ends, strict=True):
            nursery.start_soon(poller.wait, ours.fileno(), heard.reader(ours))
        await trio.testing.wait_all_tasks_blocked()
        for ours, _ in ends[1:]:
            assert poller.set_patience(ours.fileno(), is_patient=True)
        assert not poller.set_patience(ends[1][0].fileno(), is_patient=False)
        for _, theirs in reversed(ends):
            theirs.send(b"x")
        await prompt.wait()
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert (patient.words, naps.count) == ([], 1)
        naps.over.set()
        await patient.wait()
        assert naps.count == 1
        nursery.cancel_scope.cancel()


async def test_patience_ends_with_the_wait(
    naps: Naps, pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """Who waits anew is in a hurry, and who does not wait has no patience."""
    poller, heard = Poller(), list[bytes]()
    nursery.start_soon(poller.run)
    nursery.start_soon(partial(poller.run, is_patient=True))
    ours, theirs = pair
    serve = reader(ours, heard, goes_on=lambda: False)
    with ours, theirs, trio.fail_after(60):
        assert not poller.set_patience(ours.fileno(), is_patient=True)
        theirs.send(b"a")
        await poller.wait(ours.fileno(), serve)
        naps.over.set()

        async def be_patient() -> None:
            assert poller.set_patience(ours.fileno(), is_patient=True)
            theirs.send(b"b")

        nursery.start_soon(be_patient)
        await poller.wait(ours.fileno(), serve)
        assert (heard, naps.count) == ([b"a", b"b"], 1)
        theirs.send(b"c")
        await poller.wait(ours.fileno(), serve)
        assert (heard, naps.count) == ([b"a", b"b", b"c"], 1)


async def test_poller_sleeps_no_longer_than_patience_lasts(
    pair: tuple[socket.socket, socket.socket], nursery: trio.Nursery
) -> None:
    """By the clock: the sleep ends by itself."""
    poller, heard = Poller(), Heard(1)
    nursery.start_soon(poller.run)
    nursery.start_soon(partial(poller.run, is_patient=True))
    ours, theirs = pair
    with ours, theirs:
        nursery.start_soon(poller.wait, ours.fileno(), heard.reader(ours))
        await trio.testing.wait_all_tasks_blocked()
        assert poller.set_patience(ours.fileno(), is_patient=True)
        theirs.send(b"x")
        await heard.wait()
        nursery.cancel_scope.cancel()


async def test_poller_that_is_cancelled_while_it_sleeps_ends() -> None:
    """Its sleep ends without an exception, unless it is for good."""
    ended = list[str]()

    async def sleep() -> None:
        await _nap(3_600)
        ended.append("by itself")

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sleep)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert ended == []
