"""One at a time per partition, in order, at a cost of what is concerned."""

from functools import partial

from bridge.coordinators.embedded.partition_queue import GroupPartition, GroupPartitions, PartitionQueue, Work
from translators.dialects.ids import GroupId, TopicName, TopicPartition


def places(*numbers: int) -> GroupPartitions:
    """GroupPartitions of one group."""
    return frozenset(GroupPartition(GroupId("g"), TopicPartition(TopicName("t"), number)) for number in numbers)


class Desk:
    """A queue and what was started on it, by name."""

    def __init__(self, waiting_max: int = 10) -> None:
        self.queue = PartitionQueue(waiting_max)
        self.started: list[str] = []

    def enter(self, name: str, *numbers: int, connection: int = 1) -> Work:
        """Put work in."""
        work = Work(connection, places(*numbers), partial(self.started.append, name))
        assert self.queue.enter(work)
        return work


def test_free_places_start_at_once_and_taken_ones_wait() -> None:
    """Other partitions are no obstacle."""
    desk = Desk()
    desk.enter("a", 1, 2)
    desk.enter("b", 2)
    desk.enter("c", 3)
    assert desk.started == ["a", "c"]
    desk.queue.leave(places(1, 2))
    assert desk.started == ["a", "c", "b"]


def test_later_work_does_not_overtake_on_any_of_its_places() -> None:
    """What waits for two places keeps both from those behind it."""
    desk = Desk()
    desk.enter("a", 1)
    desk.enter("b", 1, 2)
    desk.enter("c", 2)
    assert desk.started == ["a"]
    desk.queue.leave(places(1))
    assert desk.started == ["a", "b"]
    desk.queue.leave(places(1, 2))
    assert desk.started == ["a", "b", "c"]


def test_forgotten_work_lets_the_next_one_in() -> None:
    """A connection that is gone leaves no gap behind; its running work goes on."""
    desk = Desk()
    desk.enter("a", 1, connection=7)
    desk.enter("b", 1, 2, connection=7)
    desk.enter("c", 2)
    desk.queue.forget(7)
    assert desk.started == ["a", "c"]
    assert desk.queue.waiting == 0


def test_forgotten_work_is_not_started_by_what_is_forgotten_with_it() -> None:
    """Two commits of a connection that is gone, one behind the other; the place is free for others afterwards."""
    desk = Desk()
    desk.enter("a", 1)
    desk.enter("b", 1, 2, connection=7)
    desk.enter("c", 2, connection=7)
    desk.queue.forget(7)
    desk.enter("d", 2)
    desk.queue.leave(places(2))
    desk.enter("e", 2)
    assert desk.started == ["a", "d", "e"]


def test_withdrawn_work_is_gone_whether_it_waited_or_ran() -> None:
    """For whoever is cancelled."""
    desk = Desk()
    first, second = desk.enter("a", 1), desk.enter("b", 1)
    desk.enter("c", 1)
    desk.queue.withdraw(second)
    desk.queue.withdraw(first)
    assert desk.started == ["a", "c"]


def test_limit_refuses_what_would_wait_only() -> None:
    """A named limit; work on free places is never refused."""
    desk = Desk(waiting_max=1)
    desk.enter("a", 1)
    desk.enter("b", 1)
    assert not desk.queue.enter(Work(1, places(1), lambda: None))
    desk.enter("c", 2)
    assert desk.started == ["a", "c"]


def test_long_chain_of_work_that_ends_at_once_does_not_nest() -> None:
    """Ten thousand refused commits behind one another."""
    queue = PartitionQueue()
    ended: list[int] = []

    def end(number: int) -> None:
        ended.append(number)
        if number:
            queue.leave(places(1))

    for number in range(10_000):
        assert queue.enter(Work(1, places(1), partial(end, number)))
    queue.leave(places(1))
    assert ended == list(range(10_000))


def test_work_without_places_starts_at_once() -> None:
    """A commit of nothing."""
    desk = Desk()
    desk.enter("a")
    assert desk.started == ["a"]


def test_work_that_is_first_at_one_of_its_places_waits_for_the_others() -> None:
    """However many of them are free by then."""
    desk = Desk()
    desk.enter("a", 1)
    desk.enter("b", 2)
    desk.enter("c", 1, 2, 3)
    desk.queue.leave(places(2))
    assert desk.started == ["a", "b"]
    desk.queue.leave(places(1))
    assert desk.started == ["a", "b", "c"]


class Compared(Work):
    """Work that counts with how much other it is compared."""

    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return self is other

    __hash__ = object.__hash__


def test_connection_that_goes_is_not_looked_for_among_those_before_it() -> None:
    """A thousand commits that wait behind nine thousand of others, each for a thousand partitions, took minutes."""
    desk = Desk(waiting_max=1_000)
    desk.enter("first", 1, 2, connection=1)
    for connection in (1, 2):
        for _ in range(200):
            assert desk.queue.enter(Compared(connection, places(1, 2), partial(desk.started.append, str(connection))))
    desk.queue.forget(2)
    assert desk.queue.waiting == 200
    assert Compared.count < 200
    for _ in range(201):
        desk.queue.leave(places(1, 2))
    assert desk.started == ["first", *["1"] * 200]
