"""A member's recorder: which events in which order. It must not know a client library."""

import io
import itertools
import os
from collections.abc import Mapping

from bridge.demo.events import (
    Assigned,
    Committed,
    Consumed,
    Ended,
    Event,
    EventWriter,
    Failed,
    Lost,
    Mode,
    Partition,
    Protocol,
    Revoked,
    Started,
    decode_event,
)
from bridge.demo.members.process import parse_member_options
from bridge.demo.members.recorder import Recorder, consume

P0, P1 = Partition("t", 0), Partition("t", 1)
NEEDED = ("--bootstrap", "h:1", "--group", "g", "--topic", "t", "--name", "n", "--commit-interval-ms", "1000")


class Book:
    """A recorder into memory; its clock shows `time_ns`, which tests set."""

    def __init__(self, *more: str) -> None:
        self._stream = io.StringIO()
        self.time_ns = 1
        self.recorder = Recorder(
            parse_member_options((*NEEDED, *more)), EventWriter(self._stream), lambda: self.time_ns
        )

    def events(self) -> list[Event]:
        """What was written."""
        return [decode_event(line) for line in self._stream.getvalue().splitlines()]


def test_start_tells_who_it_is_without_assignor_in_the_consumer_protocol() -> None:
    """The consumer protocol's assignor is the server's affair."""
    book = Book("--protocol", "consumer", "--instance-id", "i")
    book.recorder.start("lib", "1.2")
    assert book.events() == [
        Started(
            at_ns=1,
            seat="n",
            client_id="n",
            library="lib",
            library_version="1.2",
            protocol=Protocol.CONSUMER,
            assignor="",
            instance_id="i",
            pid=os.getpid(),
        )
    ]


def test_revoke_tells_its_begin_first_and_returns_what_to_commit() -> None:
    """The line comes at the start of the callback, before the commit; only the revoked partitions are committed."""
    book = Book()
    book.recorder.assign([P1, P0])
    book.recorder.process(P0, 7)
    book.recorder.process(P1, 3)
    offsets = book.recorder.revoke([P0])
    assert offsets == {P0: 8}
    book.recorder.commit(offsets)
    book.recorder.release([P0])
    assert book.events() == [
        Assigned(at_ns=1, partitions=(P0, P1), mode=Mode.EAGER),
        Revoked(at_ns=1, partitions=(P0,), mode=Mode.EAGER),
        Consumed(at_ns=1, partition=P0, first=7, last=7),
        Consumed(at_ns=1, partition=P1, first=3, last=3),
        Committed(at_ns=1, offsets=((P0, 8),)),
    ]
    assert book.recorder.due_commit(now=True) == {P1: 4}


def test_lost_partitions_are_never_committed() -> None:
    """Another member may own them already."""
    book = Book()
    book.recorder.assign([P0])
    book.recorder.process(P0, 7)
    book.recorder.lose([P0])
    assert book.recorder.due_commit(now=True) == {}
    assert book.events()[1:] == [
        Lost(at_ns=1, partitions=(P0,), mode=Mode.EAGER),
        Consumed(at_ns=1, partition=P0, first=7, last=7),
    ]


def test_commit_is_due_once_per_interval_and_tells_records_first() -> None:
    """What is committed was told as processed before, so the two can be compared."""
    book = Book()
    book.recorder.assign([P0])
    book.recorder.process(P0, 0)
    assert book.recorder.due_commit() == {P0: 1}
    assert isinstance(book.events()[-1], Consumed)
    book.recorder.process(P0, 1)
    book.time_ns = 1_000_000_000
    assert book.recorder.due_commit() == {}
    book.time_ns = 1_000_000_001
    assert book.recorder.due_commit() == {P0: 2}


def test_end_tells_the_last_records_first() -> None:
    """Nothing follows `ended`."""
    book = Book()
    book.recorder.fail("odd")
    for offset in itertools.islice(itertools.count(), 3):
        book.recorder.process(P0, offset)
    book.recorder.end()
    assert book.events() == [
        Failed(at_ns=1, reason="odd"),
        Consumed(at_ns=1, partition=P0, first=0, last=2),
        Ended(at_ns=1),
    ]


class Consumer:
    """One that is handed a record of P0 each time, and whose broker takes every commit."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.taken = 0

    def take(self) -> None:
        self._recorder.process(P0, self.taken)
        self.taken += 1

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        if offsets:
            self._recorder.commit(offsets)

    def close(self) -> None:
        self.commit(self._recorder.revoke([P0]))
        self._recorder.release([P0])


def test_what_is_left_is_committed_before_the_member_leaves() -> None:
    """The interval is not over then; in its callback nothing is left to commit."""
    book = Book()
    book.recorder.assign([P0])
    consumer = Consumer(book.recorder)
    consume(consumer, book.recorder, lambda: consumer.taken == 3)
    told = [event for event in book.events() if not isinstance(event, Assigned)]
    assert [type(event) for event in told] == [Consumed, Committed, Consumed, Committed, Revoked, Ended]
    assert [event.offsets for event in told if isinstance(event, Committed)] == [((P0, 1),), ((P0, 3),)]
