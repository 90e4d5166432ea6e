"""Turns of the owner, each of which may raise: a bug ends that turn and nothing else."""

import gc
import logging
from collections.abc import Callable, Sequence
from math import inf
from types import TracebackType
from typing import Generic, Self, TypeVar

from bridge.coordinators.arrivals import Arrival, request_fields
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.ledger import Ledger
from bridge.coordinators.owner import GroupOwner
from bridge.log_lines import Line, LogFields, RateLimitedLog
from bridge.ports import Clock, OrderT
from bridge.supervision import TURN, origin_of
from bridge.wire.codec.registry import error_reply
from translators.dialects.coordinator import MembershipReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef

MANY = 200_000
"""Objects that one piece of work may leave behind before looking at them once more costs a pause that members feel."""


class RestingCollector:
    """No looking for garbage in the block, and never at what it made if that is a lot: looking was half its time."""

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> Self:
        """Begin to rest."""
        self._was_enabled = gc.isenabled()
        gc.disable()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Go on as before."""
        del kind, problem, trace
        if gc.get_count()[0] > MANY:
            gc.freeze()
        if self._was_enabled:
            gc.enable()


RELOAD_PAUSE_MS = 5_000
"""A turn that fails so soon after the groups were reloaded is only tidied up: one poisonous request, sent over and
over, must not have everybody's groups read anew every time.
"""
_FAILED = "EB-GROUP-002: a turn failed; the groups go on, please report this with the requests: %.2000r"

LOG = logging.getLogger("epochbridge.coordinators")
ResultT = TypeVar("ResultT")


class Turns(Generic[OrderT]):
    """Carries out turns; `release` gives out what one has to say. `failures` counts those that raised."""

    def __init__(
        self, owner: GroupOwner[OrderT], ledger: Ledger, clock: Clock, release: Callable[[TurnResult], None]
    ) -> None:
        self.failures = 0
        self._owner = owner
        self._ledger = ledger
        self._clock = clock
        self._release = release
        self._reloads_again_ms: float = -inf
        self._log = RateLimitedLog(LOG)

    def take(self, act: Callable[[], TurnResult], concerned: Sequence[Arrival] = ()) -> None:
        """Carry out one turn and release what it says; if it raises its clients are told to try again.

        Without a journal a JoinGroup that its machine holds is answered later: the machine asks again by itself.
        """
        try:
            with RestingCollector():
                result = act()
                self._ledger.note(self._owner.entries())
        except Exception as problem:  # noqa: BLE001 - told and counted
            fields = request_fields(concerned[0].request, concerned[0].client) if concerned else LogFields()
            self._tell(problem, [arrival.request for arrival in concerned], fields)
            answered = {ref for ref, _ in self._end_failed()}
            for arrival in concerned:
                if arrival.ref not in answered and not self._owner.machines.is_parked(arrival.ref):
                    self._ledger.deliver(arrival.ref, error_reply(arrival.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            self._release(result)

    def judge(self, act: Callable[[], ResultT], failed: ResultT, concerned: object) -> ResultT:
        """What `act` says of something that is not answered by a turn; `failed` if it raises."""
        try:
            judged = act()
            self._ledger.note(self._owner.entries())
        except Exception as problem:  # noqa: BLE001 - told and counted
            self._tell(problem, concerned, LogFields())
            self._end_failed()
            return failed
        return judged

    def _tell(self, problem: Exception, concerned: object, fields: LogFields) -> None:
        """One line a minute for each place that fails: a poisonous request comes again and again."""
        line = Line(logging.ERROR, _FAILED, (concerned,), fields, problem)
        self._log.write(self._clock.now_ms(), origin_of(problem), line)

    def _end_failed(self) -> tuple[tuple[RequestRef, MembershipReply], ...]:
        """Void what a turn did before it raised: the groups are reloaded from the journal (`Ledger.go_back`).

        Members keep ids, generations and assignments; whoever has a request open then is told to come again (15).
        Without a journal, and soon after another reload, the turn is tidied up instead: what it had decided until it
        raised counts, its answers are given (and returned), and lost questions are asked again.
        """
        self.failures += 1
        self._ledger.supervised.count(TURN)
        now_ms = self._clock.now_ms()
        if self._ledger.is_going_back:
            return ()
        if now_ms >= self._reloads_again_ms and self._ledger.go_back():
            self._reloads_again_ms = now_ms + RELOAD_PAUSE_MS
            return ()
        result = self._tidy_up()
        self._release(result)
        return result.replies

    def _tidy_up(self) -> TurnResult:
        try:
            return self._owner.recover(self._clock.now_ms())
        except Exception:
            LOG.exception("EB-GROUP-005: the failed turn could not be tidied up; restart the bridge if groups stall")
            return TurnResult(())
