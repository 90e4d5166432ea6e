"""The verdict on a run, from the clients' own event logs and nothing else; also whom each step disturbed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from bridge.demo.events import Assigned, Consumed, Partition, Started
from bridge.demo.judge_evidence import ClientLog, Evidence, Step
from bridge.demo.judge_ownership import Overlap, Stall, overlaps_in, owned_at, ownerships_of, stalls_in
from bridge.demo.judge_records import CommitMismatch, commit_mismatches, count_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A member that had `callbacks` for nothing: what it has was taken, and it has the same before and after the step.

    Of a step that promised none, every callback counts.
    """

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


def noticed_in(logs: Iterable[ClientLog], steps: Sequence[Step]) -> tuple[Disturbance, ...]:
    """Who had any callback at all in a step that promised none, whatever came of it."""
    promised = [step for step in steps if step.is_unnoticed]
    counted = ((log, step, _callbacks(log, step)) for log in logs for step in promised)
    return tuple(Disturbance(who=log.who, step=step.name, callbacks=count) for log, step, count in counted if count)


def _callbacks(log: ClientLog, step: Step) -> int:
    return sum(step.began_ns < event.at_ns <= step.ended_ns for event in log.rebalances())


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the clients saw. Members are named `seat#number`, the number counting client processes in start order.

    `rebalances` counts, over all members, a taking callback together with the assigned one that follows it as one.
    `protocols_seen` holds the group protocols of members that owned something. `quiet_steps` are those that nobody was
    to notice, `noticed` is who did.
    """

    records_produced: int
    records_lost: int
    records_duplicated: int
    double_ownership: tuple[Overlap, ...]
    rebalances: int
    rolls: tuple[Roll, ...]
    disturbances: tuple[Disturbance, ...]
    longest_stall: Stall | None
    protocols_seen: tuple[str, ...]
    commit_mismatches: tuple[CommitMismatch, ...]
    silent_clients: tuple[str, ...]
    quiet_steps: tuple[str, ...] = ()
    noticed: tuple[Disturbance, ...] = ()

    @property
    def members_rolled(self) -> int:
        """Seats that were rolled at least once."""
        return len({roll.seat for roll in self.rolls})

    @property
    def members_disturbed(self) -> tuple[str, ...]:
        """Members disturbed in at least one step, sorted."""
        return tuple(sorted({disturbance.who for disturbance in self.disturbances}))

    @property
    def max_stall_ms(self) -> float:
        """The longest time a partition was owned by nobody."""
        return 0.0 if self.longest_stall is None else self.longest_stall.length_ms

    @property
    def committed_equals_processed(self) -> bool:
        """Whether every commit, and the last one of every partition, equals what was processed."""
        return not self.commit_mismatches

    @property
    def ok(self) -> bool:
        """Nothing lost, nothing owned twice, no silent client, nobody called by what was not to be noticed; a run in
        which nothing was produced proves nothing.
        """
        wrong = self.records_lost or self.double_ownership or self.silent_clients or self.noticed
        return not wrong and self.records_produced > 0


def judge(evidence: Evidence) -> Verdict:
    """Weigh the evidence; the same evidence gives the same verdict."""
    members = evidence.members
    until_ns = evidence.measured_until_ns
    horizon_ns = max([until_ns, *(event.at_ns for log in members for event in log.events)])
    ownerships = [ownership for log in members for ownership in ownerships_of(log, horizon_ns)]
    consumed = (event for log in members for event in log.events if isinstance(event, Consumed))
    records = count_records(evidence.produced(), consumed)
    return Verdict(
        records_produced=records.produced,
        records_lost=records.lost,
        records_duplicated=records.duplicated,
        double_ownership=overlaps_in(ownerships),
        rebalances=sum(map(rebalances_in, members)),
        rolls=rolls_in(members),
        disturbances=disturbances_in(members, evidence.steps),
        longest_stall=max(stalls_in(ownerships, until_ns), key=_length_and_place, default=None),
        protocols_seen=tuple(sorted({protocol for log in members if (protocol := _protocol_of_owner(log))})),
        commit_mismatches=commit_mismatches(members, evidence.offsets),
        silent_clients=tuple(log.who for log in (*evidence.producers, *members) if log.started is None),
        quiet_steps=tuple(step.name for step in evidence.steps if step.is_unnoticed),
        noticed=noticed_in(members, evidence.steps),
    )


def _length_and_place(stall: Stall) -> tuple[float, Partition]:
    return stall.length_ms, stall.partition


def _protocol_of_owner(log: ClientLog) -> str | None:
    owned_something = any(isinstance(event, Assigned) and event.partitions for event in log.events)
    return log.started.protocol.value if log.started is not None and owned_something else None
