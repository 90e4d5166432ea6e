"""Lines between clients and bridge."""

import pytest

from tests.support.simulation.network import Network
from tests.support.simulation.oracle import InvariantBroken
from tests.support.simulation.timeline import Timeline
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, RequestRef
from translators.dialects.messages import GroupReply, GroupRequest

BEAT = Heartbeat(GroupId("g"), 1, MemberId("m"), None)
GOOD, CALLED = HeartbeatReply(ErrorCode.NONE), HeartbeatReply(ErrorCode.REBALANCE_IN_PROGRESS)


class Ends:
    """A network with both its ends in view."""

    def __init__(self, latency_ms: int = 3) -> None:
        self.timeline = Timeline()
        self.arrived: list[RequestRef] = []
        self.lost: list[int] = []
        self.answers: list[GroupReply | None] = []
        self.network = Network(self.timeline, 1, latency_ms, self._arrive, self.lost.append)

    def send(self, client: int = 1, road: int = 0) -> None:
        """Send a heartbeat; its answer goes to `answers`."""
        self.network.send(client, road, BEAT, self.answers.append)

    def _arrive(self, ref: RequestRef, client: int, request: GroupRequest) -> None:
        assert (self.network.client_of(ref.connection), request) == (client, BEAT)
        self.arrived.append(ref)


def test_answers_leave_in_the_order_of_the_requests() -> None:
    """A parked request holds the place of those behind it (reliability 3.2, 8)."""
    ends = Ends()
    ends.send()
    ends.send()
    ends.timeline.run_until(10)
    first, second = ends.arrived
    assert first.sequence < second.sequence
    ends.network.answer(second, CALLED)
    ends.timeline.run_until(20)
    assert ends.answers == []
    ends.network.answer(first, GOOD)
    ends.timeline.run_until(30)
    assert ends.answers == [GOOD, CALLED]


def test_what_a_lag_holds_up_is_late_until_it_is_there() -> None:
    """Also when the lag itself is over, and only on a line that stands."""
    ends = Ends()
    ends.send(client=2)
    assert ends.network.late() == []
    ends.network.lag(2, 100_000, 1_000)
    ends.send(client=2)
    ends.network.lag(2, 0, 0)
    assert ends.network.late() == [2]
    ends.timeline.run_until(100_000)
    assert ends.network.late() == []
    ends.network.lag(2, 100_000, 1_000)
    ends.send(client=2)
    ends.network.cut(2)
    assert ends.network.late() == []


def test_second_answer_or_one_to_nothing_breaks_the_law() -> None:
    """Every request is answered once."""
    ends = Ends()
    ends.send()
    ends.timeline.run_until(10)
    (ref,) = ends.arrived
    ends.network.answer(ref, GOOD)
    for wrong in (ref, ref._replace(sequence=9)):
        with pytest.raises(InvariantBroken, match="answered once"):
            ends.network.answer(wrong, GOOD)


def test_cut_line_answers_nobody_and_the_bridge_hears_of_it() -> None:
    """What waits hears None; the next request takes a new line."""
    ends = Ends()
    ends.send()
    ends.timeline.run_until(10)
    ends.network.answer(ends.arrived[0], GOOD)
    ends.network.cut(1)
    ends.timeline.run_until(5_000)
    assert (ends.answers, ends.lost) == ([None], [ends.arrived[0].connection])
    ends.send()
    ends.timeline.run_until(5_010)
    assert ends.arrived[1].connection != ends.arrived[0].connection


def test_cut_leaves_other_clients_alone_and_takes_all_roads() -> None:
    """Both lines of the client break, the other's stands."""
    ends = Ends()
    ends.send(1, 0)
    ends.send(1, 1)
    ends.send(2, 0)
    ends.timeline.run_until(10)
    ends.network.cut(1)
    ends.timeline.run_until(5_000)
    other = [ref for ref in ends.arrived if ends.network.client_of(ref.connection) == 2]
    assert (len(ends.lost), len(ends.answers)) == (2, 2)
    assert ends.network.overdue(5_000) == other
    assert ends.network.overdue(0) == []


def test_lost_bridge_gets_nothing_that_was_on_its_way() -> None:
    """The process is gone, and nobody is left to hear of lines."""
    ends = Ends()
    ends.send()
    ends.network.cut_all()
    ends.timeline.run_until(5_000)
    assert (ends.arrived, ends.lost, ends.answers) == ([], [], [None])


def test_lag_delays_until_it_ends() -> None:
    """Slow lines keep their order."""
    ends = Ends(latency_ms=0)
    ends.network.lag(1, 1_000_000, 100)
    ends.send()
    ends.timeline.run_until(50)
    assert ends.arrived == []
    ends.send(2)
    ends.timeline.run_until(50)
    assert [ends.network.client_of(ref.connection) for ref in ends.arrived] == [2]
    ends.timeline.run_until(1_000_000)
    assert len(ends.arrived) == 2
