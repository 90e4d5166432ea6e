"""Facts get their stamps at once, are written in order by a thread, and never hold anybody up."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest

from bridge.telemetry.event_log import recorder as recorder_module
from bridge.telemetry.event_log.codec import decode_line
from bridge.telemetry.event_log.recorder import Clocks, Recorder
from bridge.telemetry.event_log.sinks import Fate, Line
from bridge.telemetry.schema.facts import BridgeStopped, Event, GroupDeleted, MemberJoined, MemberLeft, Stamp
from bridge.telemetry.schema.terms import Departure, Protocol, Road

CLOCKS = Clocks(mono_us=lambda: 1_000, wall_us=lambda: 5_000_000)
SAID = MemberJoined(
    group_id="g",
    road=Road.PASSING,
    member_id="m",
    protocol=Protocol.CLASSIC,
    client_id="c",
    client_host="",
    session_timeout_ms=1,
    rebalance_timeout_ms=1,
)


class Memory:
    def __init__(self) -> None:
        self.fate = Fate()
        self.lines: list[Line] = []
        self.is_closed = False
        self.may_write = threading.Event()
        self.may_write.set()
        self.is_broken = False
        self.has_begun = threading.Event()

    def write(self, lines: Sequence[Line]) -> None:
        self.has_begun.set()
        self.may_write.wait()
        if self.is_broken:
            self.is_broken = False
            raise RuntimeError("a bug")
        self.lines += lines
        self.fate.written += len(lines)

    def tend(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


def test_facts_are_stamped_and_written_in_order() -> None:
    """A fact that was understood late carries the time at which it happened, on both clocks."""
    memory = Memory()
    recorder = Recorder("7f", CLOCKS, [memory], 10)
    fact = GroupDeleted(group_id="g", road=Road.PASSING)
    said = [recorder.say(BridgeStopped(reason="x")), recorder.say(fact, at_us=400)]
    recorder.close()
    expected = [
        Event(Stamp("7f", 1, 5_000_000, 1_000), BridgeStopped(reason="x")),
        Event(Stamp("7f", 2, 4_999_400, 400), fact),
    ]
    assert said == expected
    assert [decode_line(line.data) for line in memory.lines] == expected
    assert [line.group_id for line in memory.lines] == ["", "g"]
    assert (memory.is_closed, recorder.written, recorder.lost) == (True, 2, 0)


def test_full_queue_drops_and_counts_and_leaves_no_gap_in_numbers() -> None:
    """A place that hangs costs events, not traffic."""
    memory = Memory()
    memory.may_write.clear()
    recorder = Recorder("7f", CLOCKS, [memory], 2)
    fact = BridgeStopped(reason="x")
    said = [recorder.say(fact)]
    memory.has_begun.wait()
    said += [recorder.say(fact) for _ in range(5)]
    assert said[3:] == [None] * 3
    assert recorder.dropped == 3
    memory.may_write.set()
    recorder.close()
    assert [event.stamp.number for event in said if event is not None] == [1, 2, 3]
    assert len(memory.lines) == 3


def test_bug_in_a_place_costs_its_batch_and_the_log_goes_on() -> None:
    """The thread outlives what it calls."""
    memory = Memory()
    memory.is_broken = True
    recorder = Recorder("7f", CLOCKS, [memory], 10)
    recorder.say(BridgeStopped(reason="lost"))
    while memory.is_broken:
        memory.may_write.wait(0.01)
    recorder.say(BridgeStopped(reason="kept"))
    recorder.close()
    assert len(memory.lines) == 1


def test_a_place_that_is_away_does_not_hide_what_others_keep() -> None:
    """`epochbridge_events_total{fate="written"}` stood at 0 while files grew, because the topic was not there."""
    files, topic = Memory(), Memory()
    topic.is_broken = True
    recorder = Recorder("7f", CLOCKS, [files, topic], 10)
    recorder.say(BridgeStopped(reason="x"))
    recorder.close()
    assert (files.fate.written, topic.fate.written, recorder.written) == (1, 0, 1)


def test_bug_of_one_place_costs_the_others_nothing() -> None:
    """Whichever of them is asked first; and who can't tend what it has does not keep others from it."""
    broken, sound = Memory(), Memory()
    broken.is_broken = True
    recorder = Recorder("7f", CLOCKS, [broken, sound], 10)
    recorder.say(BridgeStopped(reason="x"))
    recorder.close()
    assert (len(broken.lines), len(sound.lines)) == (0, 1)
    assert broken.is_closed
    assert sound.is_closed


def test_event_that_cannot_be_written_down_is_told_with_whom_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    """A fact whose value is not what its type says; the next one is written."""
    memory = Memory()
    recorder = Recorder("7f", CLOCKS, [memory], 10)
    odd = MemberLeft(
        group_id="g",
        road=Road.PASSING,
        member_id="m",
        instance_id=None,
        departure=Departure.LEFT,
        protocol=Protocol.CLASSIC,
        reason=cast("str", object()),
    )
    recorder.say(odd)
    recorder.say(BridgeStopped(reason="x"))
    recorder.close()
    assert [line.group_id for line in memory.lines] == [""]
    (told,) = [record for record in caplog.records if "EB-EVENTS-005" in record.getMessage()]
    assert (vars(told)["group_id"], vars(told)["member_id"]) == ("g", "m")


def test_what_members_say_at_length_waits_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its number alone it would be 100 GB; what is written makes room, and who says more than all may wait, too."""
    monkeypatch.setattr(recorder_module, "WAITING_CHARS_MAX", 100)
    memory = Memory()
    memory.may_write.clear()
    recorder = Recorder("7f", CLOCKS, [memory], 1_000)
    fact = replace(SAID, topics=("t" * 40,))
    assert recorder.say(replace(SAID, topics=("t" * 500,))) is not None
    memory.has_begun.wait()
    said = [recorder.say(fact) for _ in range(3)]
    assert [one is None for one in said] == [False, False, True]
    assert recorder.say(BridgeStopped(reason="x")) is not None
    assert recorder.dropped == 1
    memory.may_write.set()
    recorder.close()
    assert len(memory.lines) == 4
