"""Group requests measured from arrival to answer."""

from bridge.telemetry.request_times import BOUNDS_US, RequestTimes, TimedGroups, time_answers
from bridge.wire.codec.registry import Reply, Request
from tests.support.proxy import NoGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NOWHERE, ClientIdentity, GroupId, MemberId, RequestRef, Via

ONE, TWO = RequestRef(1, 1, 1), RequestRef(1, 1, 2)


def test_request_is_measured_once() -> None:
    """An answer that nobody waits for counts for nothing."""
    times = RequestTimes()
    times.asked(ONE, "JoinGroup", 100)
    times.asked(TWO, "SyncGroup", 100)
    assert times.held == 2
    times.answered(ONE, 350)
    times.answered(ONE, 900)
    tally = times.tallies["JoinGroup"]
    assert (times.held, tally.total_us, sum(tally.counts)) == (1, 250, 1)
    assert tally.counts[BOUNDS_US.index(250)] == 1


def test_slow_request_is_in_the_last_bucket() -> None:
    """A JoinGroup may be parked for minutes."""
    times = RequestTimes()
    times.asked(ONE, "JoinGroup", 0)
    times.answered(ONE, 10 * BOUNDS_US[-1])
    assert times.tallies["JoinGroup"].counts[-1] == 1


def test_lost_connection_leaves_nothing_waiting() -> None:
    """Its requests will never be answered."""
    times = RequestTimes()
    times.asked(ONE, "JoinGroup", 0)
    times.asked(TWO, "Heartbeat", 0)
    times.lost(1)
    times.answered(ONE, 5)
    assert (times.held, times.tallies) == (0, {})


def test_groups_and_answers_are_passed_on() -> None:
    """Whoever stands behind hears what it would have heard."""
    heard: list[RequestRef] = []

    class Groups(NoGroups):
        def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
            heard.append(ref)

    def deliver(ref: RequestRef, reply: Reply) -> None:
        heard.append(ref)

    now_us = [0]
    times = RequestTimes()
    groups = TimedGroups(Groups(), times, lambda: now_us[0])
    request = Heartbeat(group_id=GroupId("g"), generation=1, member_id=MemberId("m"), instance_id=None)
    groups.submit(ONE, ClientIdentity(client_id="c", client_host="h"), NOWHERE, request)
    now_us[0] = 40
    time_answers(deliver, times, lambda: now_us[0])(ONE, HeartbeatReply(error=ErrorCode.NONE))
    assert (heard, times.tallies["Heartbeat"].total_us) == ([ONE, ONE], 40)
    groups.submit(TWO, ClientIdentity(client_id="c", client_host="h"), NOWHERE, request)
    groups.disconnected(1)
    assert times.held == 0
