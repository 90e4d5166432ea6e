"""Listening never changes what goes by, and a bug in it concerns nobody."""

from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.outcome import Outcome
from bridge.engine.records import DeadlineCleared
from bridge.telemetry.observing import (
    BUGS_LOGGED_MAX,
    DEPARTURES,
    EngineWatcher,
    Guard,
    ObservedGroups,
    Observer,
    observe_answers,
)
from bridge.telemetry.request_times import RequestTimes
from bridge.wire.codec.registry import Reply, Request
from tests.support.heard import Ears
from tests.support.owned_group import CLIENT, GROUP
from tests.support.passing_words import beat, join, joined
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import DepartReason
from translators.dialects.ids import NOWHERE, ClientIdentity, RequestRef, Via

REF = RequestRef(0, 3, 1)


class Groups:
    def __init__(self) -> None:
        self.submitted: list[Request] = []
        self.gone: list[int] = []

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        self.submitted.append(request)

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        return isinstance(request, Heartbeat) and request.generation == 1

    def disconnected(self, connection: int) -> None:
        self.gone.append(connection)


def _fail() -> None:
    raise RuntimeError("a bug")


def test_bug_is_counted_and_goes_no_further() -> None:
    """Also the hundredth."""
    guard = Guard()
    for _ in range(BUGS_LOGGED_MAX + 2):
        guard.run(_fail)
    assert guard.bugs == BUGS_LOGGED_MAX + 2


def test_requests_answers_and_goodbyes_pass_on_unchanged() -> None:
    """And are heard on the way."""
    ears, groups, delivered = Ears(), Groups(), list[tuple[RequestRef, Reply]]()
    now_us = [5]
    observer = Observer(ears.follower, RequestTimes(), Guard(), lambda: now_us[0])
    observed = ObservedGroups(groups, observer.asked, observer.lost)
    request, reply = join("a"), joined("a", 1)
    observed.submit(REF, CLIENT, NOWHERE, request)
    assert observer.times.held == 1
    now_us[0] = 45
    observe_answers(lambda ref, reply: delivered.append((ref, reply)), observer)(REF, reply)
    assert (observer.times.held, observer.times.tallies["JoinGroup"].total_us) == (0, 40)
    observed.submit(REF, CLIENT, NOWHERE, request)
    observed.disconnected(3)
    assert observer.times.held == 0
    assert (groups.submitted, delivered, groups.gone) == ([request] * 2, [(REF, reply)], [3])
    assert "member-joined" in ears.log.lines()
    assert (observed.beat(CLIENT, beat("a", 1)), observed.beat(CLIENT, beat("a", 2))) == (True, False)


def test_turn_that_only_moved_deadlines_is_no_news() -> None:
    """Ordinary heartbeats of consumer members are such turns."""
    ears = Ears()
    watcher = EngineWatcher(ears.follower, Guard(), lambda: 1 // 0)
    watcher.advanced(Outcome(records=(DeadlineCleared(DeadlineKey(DeadlineKind.SESSION, GROUP)),)))
    assert ears.log.events == []


def test_every_reason_for_departing_has_its_word() -> None:
    """None is left for a KeyError to find."""
    assert set(DEPARTURES) == set(DepartReason)
