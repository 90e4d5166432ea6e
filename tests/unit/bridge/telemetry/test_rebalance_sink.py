"""Rebalances handed to several takers."""

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.event_log.sinks import Line
from bridge.telemetry.rebalance_sink import RebalanceSink
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import Event
from tests.support.event_stories import Story


class Remembering:
    """Remembers what it takes."""

    def __init__(self) -> None:
        self.taken: list[Rebalance] = []
        self.is_closed = False

    def take(self, rebalance: Rebalance) -> None:
        self.taken.append(rebalance)

    def close(self) -> None:
        self.is_closed = True


class Failing(Remembering):
    """Fails every time."""

    def take(self, rebalance: Rebalance) -> None:
        raise RuntimeError(rebalance.rebalance_id)


def lines(events: list[Event]) -> list[Line]:
    """Events as the recorder hands them over."""
    return [Line(event, encode_event(event)) for event in events]


def test_failing_taker_costs_the_others_nothing() -> None:
    """It is counted and logged."""
    failing, remembering = Failing(), Remembering()
    sink = RebalanceSink([failing, remembering], lambda: 99_000_000)
    story = Story().at(0)
    story.left("c1")
    story.began(2).target(1).explained()
    sink.write(lines(story.events))
    assert [one.epoch for one in remembering.taken] == [2]
    assert (sink.fate.failures, sink.fate.written, sink.fate.lost) == (1, 0, 0)
    sink.close()
    assert failing.is_closed
    assert remembering.is_closed


def test_rebalance_that_owes_a_fetch_is_handed_out_in_time() -> None:
    """The recorder calls every second, though nothing comes."""
    now_us = 0
    remembering = Remembering()
    sink = RebalanceSink([remembering], lambda: now_us)
    story = Story().at(0)
    story.left("c1")
    story.began(2).gets("c2", "orders-0").explained()
    sink.write(lines(story.events))
    assert remembering.taken == []
    now_us = 60_000_000
    sink.tend()
    assert len(remembering.taken) == 1
