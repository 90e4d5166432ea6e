"""Deadlines that move."""

from math import inf

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from bridge.coordinators.deadlines import CATCH_UP_MS, LATE_MS, Alarm, Deadlines


def test_deadline_that_moved_later_is_noted_anew() -> None:
    """A heartbeat costs no entry; the old one finds the new time."""
    deadlines = Deadlines[str]()
    deadlines.note("a", 10)
    deadlines.note("a", 20)
    assert deadlines.next_ms() == 10
    assert deadlines.take_due(10, {"a": 20}.get) == []
    assert deadlines.next_ms() == 20
    assert deadlines.take_due(20, {"a": 20}.get) == ["a"]
    assert deadlines.next_ms() is None


def test_deadline_that_moved_earlier_is_found_in_time() -> None:
    """Never too late."""
    deadlines = Deadlines[str]()
    deadlines.note("a", 20)
    deadlines.note("a", 10)
    assert deadlines.take_due(10, {"a": 10}.get) == ["a"]


def test_key_without_a_deadline_is_forgotten() -> None:
    """What is gone is not looked at."""
    deadlines = Deadlines[str]()
    deadlines.note("a", 10)
    deadlines.note("b", None)
    assert deadlines.take_due(10, {"b": 1}.get) == []
    assert deadlines.next_ms() is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50))))
def test_due_keys_are_those_whose_time_has_come(moves: list[tuple[str, int]]) -> None:
    """Against a dictionary."""
    deadlines, truth = Deadlines[str](), dict[str, int]()
    for key, at_ms in moves:
        truth[key] = at_ms
        deadlines.note(key, at_ms)
    for now_ms in range(51):
        due = {key for key, at_ms in truth.items() if at_ms <= now_ms}
        assert set(deadlines.take_due(now_ms, truth.get)) == due
        for key in due:
            del truth[key]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 30), st.integers(0, 9)), max_size=40))
def test_due_keys_are_told_once_and_in_time_while_deadlines_move(moves: list[tuple[str, int, int]]) -> None:
    """Against a dictionary, as the clock goes on: a deadline moves, earlier or later, and its key is given out once."""
    deadlines, truth, now_ms = Deadlines[str](), dict[str, int](), 0
    for key, in_ms, passed_ms in moves:
        truth[key] = now_ms + in_ms
        deadlines.note(key, truth[key])
        now_ms += passed_ms
        next_ms = deadlines.next_ms()
        assert next_ms is not None
        assert next_ms <= min(truth.values())
        due = deadlines.take_due(now_ms, truth.get)
        assert sorted(due) == sorted(key for key, at_ms in truth.items() if at_ms <= now_ms)
        for one in due:
            del truth[one]
        if not truth:
            deadlines.note("d", now_ms + 1)
            truth["d"] = now_ms + 1


def test_keys_are_given_out_in_the_order_of_their_times() -> None:
    """Those of one time in the order in which they were noted."""
    deadlines, truth = Deadlines[str](), {"a": 20, "b": 10, "c": 20, "d": 10}
    for key, at_ms in truth.items():
        deadlines.note(key, at_ms)
    assert deadlines.take_due(30, truth.get) == ["b", "d", "a", "c"]


def test_member_that_is_heard_of_again_and_again_has_one_entry_for_its_session() -> None:
    """While its answer is waited for its session is what is due next; each question left an entry of it behind."""
    deadlines, interval_ms, session_ms = Deadlines[str](), 5, 1_000
    due_ms = session_ms
    deadlines.note("a", session_ms)
    for now_ms in range(0, session_ms // 2, interval_ms):
        due_ms = now_ms + interval_ms
        deadlines.note("a", due_ms)
        assert deadlines.take_due(due_ms, {"a": due_ms}.get) == ["a"]
        deadlines.note("a", session_ms + now_ms)
        assert sum(map(len, deadlines._at.values())) == len(deadlines._heap) == 1
    assert deadlines.next_ms() == session_ms


def test_failure_of_who_tells_deadlines_loses_nobody_else() -> None:
    """Who stands behind it in the same millisecond is found by the next look."""

    def fail(key: str) -> int:
        if key == "b":
            raise ValueError(key)
        return 10

    deadlines = Deadlines[str]()
    for key in "abc":
        deadlines.note(key, 10)
    with pytest.raises(ValueError, match="b"):
        deadlines.take_due(10, fail)
    assert deadlines.take_due(10, fail) == ["c"]


async def test_alarm_wakes_when_something_is_due_and_when_it_is_rung(autojump_clock: trio.testing.MockClock) -> None:
    """What is due earlier than was thought hurries it; what is due later does not."""
    due_ms: list[float] = [5_000]
    alarm, woken = Alarm(lambda: int(trio.current_time() * 1_000), lambda: due_ms[0]), list[int]()

    async def sleep() -> None:
        for _ in range(3):
            await alarm.wait()
            woken.append(round(trio.current_time() * 1_000 - began_ms))
            due_ms[0] = inf

    began_ms = trio.current_time() * 1_000
    due_ms[0] += began_ms
    async with trio.open_nursery() as nursery:
        nursery.start_soon(sleep)
        await trio.sleep(6)
        alarm.due_changed()
        await trio.sleep(1)
        due_ms[0] = 0
        alarm.due_changed()
        await trio.sleep(1)
        due_ms[0] = inf
        alarm.ring()
    assert woken == [5_000, 7_000, 8_000]


async def test_alarm_that_is_told_what_is_due_wakes_for_what_is_due_earlier(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody is asked again for what is said."""

    def now_ms() -> int:
        return round(trio.current_time() * 1_000)

    due_ms = now_ms() + 5_000
    alarm, woken = Alarm(now_ms, lambda: due_ms), list[int]()

    async def sleep() -> None:
        await alarm.wait()
        woken.append(now_ms())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sleep)
        await trio.sleep(1)
        alarm.due_at(due_ms)
        await trio.sleep(1)
        assert not woken
        alarm.due_at(due_ms - 1)
        await trio.sleep(1)
        assert woken


@pytest.mark.parametrize(("late_ms", "is_read_first"), [(LATE_MS, False), (LATE_MS + 1, True)])
async def test_alarm_that_wakes_late_lets_others_read_first(
    autojump_clock: trio.testing.MockClock, late_ms: int, is_read_first: bool
) -> None:
    """What came while the machine stood still came in time, and takes more than a turn of the loop to be read."""
    stood_still_ms, read = [0], list[str]()
    alarm = Alarm(lambda: int(trio.current_time() * 1_000) + stood_still_ms[0], lambda: due_ms)
    due_ms = int(trio.current_time() * 1_000) + 1_000

    async def read_sockets() -> None:
        await trio.sleep(0.5)
        stood_still_ms[0] = late_ms
        await trio.sleep(0.5 + CATCH_UP_MS / 2_000)
        read.append("a JoinGroup")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read_sockets)
        await alarm.wait()
        assert bool(read) is is_read_first


async def test_alarm_that_is_cancelled_ends(autojump_clock: trio.testing.MockClock) -> None:
    """Also in its sleep, which no exception ends."""
    alarm = Alarm(lambda: int(trio.current_time() * 1_000), lambda: inf)
    with trio.move_on_after(5) as scope:
        await alarm.wait()
        pytest.fail("nothing was due")
    assert scope.cancelled_caught
