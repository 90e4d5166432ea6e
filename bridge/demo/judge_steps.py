"""Which members each step of the story disturbed, how often members rebalanced, and which seats were rolled.
It must not know records or commits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bridge.demo.events import Assigned, Started
from bridge.demo.judge_evidence import ClientLog, Step
from bridge.demo.judge_ownership import owned_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A member that lived through a step with the same assignment before and after, yet had `callbacks` taking away."""

    who: str
    step: str
    callbacks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """A seat whose next process speaks another protocol or is another library or assignor."""

    seat: str
    before: str
    after: str


def disturbances_in(logs: Iterable[ClientLog], steps: Sequence[Step]) -> tuple[Disturbance, ...]:
    """Per step, the members that were made to stop for nothing."""
    return tuple(found for log in logs for step in steps if (found := _disturbance(log, step)) is not None)


def _disturbance(log: ClientLog, step: Step) -> Disturbance | None:
    if not log.alive_throughout(step.began_ns, step.ended_ns):
        return None
    if owned_at(log, step.began_ns) != owned_at(log, step.ended_ns):
        return None
    callbacks = sum(
        not isinstance(event, Assigned) and step.began_ns < event.at_ns <= step.ended_ns for event in log.rebalances()
    )
    return Disturbance(who=log.who, step=step.name, callbacks=callbacks) if callbacks else None


def rebalances_in(log: ClientLog) -> int:
    """How often this member rebalanced: a revoked or lost callback and the assigned one after it are one rebalance."""
    count = 0
    open_rebalance = False
    for event in log.rebalances():
        count += not open_rebalance
        open_rebalance = not isinstance(event, Assigned)
    return count


def rolls_in(logs: Iterable[ClientLog]) -> tuple[Roll, ...]:
    """Every change of a seat to a process of another kind that got as far as an assignment, in order of start."""
    seats: dict[str, list[str]] = {}
    for log in sorted(logs, key=lambda one: one.number):
        started = log.started
        if started is not None and any(isinstance(event, Assigned) for event in log.events):
            seats.setdefault(log.seat, []).append(kind_of(started))
    return tuple(
        Roll(seat=seat, before=before, after=after)
        for seat, kinds in seats.items()
        for before, after in pairwise(kinds)
        if before != after
    )


def kind_of(started: Started) -> str:
    """Library, protocol and assignor in one phrase."""
    return " ".join(part for part in (started.library, started.protocol.value, started.assignor) if part)
