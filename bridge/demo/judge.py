"""The verdict on a run, from the clients' own event logs and nothing else.
It must not know how the clients were run, and it reads no clock.
"""

from dataclasses import dataclass

from bridge.demo.events import Assigned, Consumed, Partition
from bridge.demo.judge_evidence import ClientLog, Evidence
from bridge.demo.judge_ownership import Overlap, Stall, overlaps_in, stalls_in, stretches_of
from bridge.demo.judge_records import CommitMismatch, commit_mismatches, count_records
from bridge.demo.judge_steps import Disturbance, Roll, disturbances_in, rebalances_in, rolls_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the clients saw. Members are named `seat#number`, the number counting client processes in start order.

    `rebalances` counts, over all members, a taking callback together with the assigned one that follows it as one.
    `protocols_seen` holds the group protocols of members that owned something.
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
        """Nothing lost, nothing owned twice, no silent client; a run in which nothing was produced proves nothing."""
        return not (self.records_lost or self.double_ownership or self.silent_clients) and self.records_produced > 0


def judge(evidence: Evidence) -> Verdict:
    """Weigh the evidence; the same evidence gives the same verdict."""
    members = evidence.members
    until_ns = evidence.measured_until_ns
    horizon_ns = max([until_ns, *(event.at_ns for log in members for event in log.events)])
    stretches = [stretch for log in members for stretch in stretches_of(log, horizon_ns)]
    consumed = (event for log in members for event in log.events if isinstance(event, Consumed))
    records = count_records(evidence.produced(), consumed)
    return Verdict(
        records_produced=records.produced,
        records_lost=records.lost,
        records_duplicated=records.duplicated,
        double_ownership=overlaps_in(stretches),
        rebalances=sum(map(rebalances_in, members)),
        rolls=rolls_in(members),
        disturbances=disturbances_in(members, evidence.steps),
        longest_stall=max(stalls_in(stretches, until_ns), key=_length_and_place, default=None),
        protocols_seen=tuple(sorted({protocol for log in members if (protocol := _protocol_of_owner(log))})),
        commit_mismatches=commit_mismatches(members, evidence.offsets),
        silent_clients=tuple(log.who for log in (*evidence.producers, *members) if log.started is None),
    )


def _length_and_place(stall: Stall) -> tuple[float, Partition]:
    return stall.length_ms, stall.partition


def _protocol_of_owner(log: ClientLog) -> str | None:
    owned_something = any(isinstance(event, Assigned) and event.partitions for event in log.events)
    return log.started.protocol.value if log.started is not None and owned_something else None
