"""Events of groups in which anything may follow anything, as rows of `events`: what no bridge would write, and more.

Only what tables may rely on holds: a rebalance begins once, by a name of its own. It must not know what a table is.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bridge.telemetry.schema.facts import (
    MemberJoined,
    MemberLeft,
    MemberRejoined,
    MemberTold,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
    PhaseBegan,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Cause, Departure, News, Outcome, Phase, Protocol, Road

Row = dict[str, object]
COLUMNS = (
    "event_id string, boot string, number long, wall_us long, mono_us long, kind string, group_id string, road string, "
    "rebalance_id string, group_epoch long, member_id string, instance_id string, protocol string, "
    "partitions array<string>, idle_us long, is_again boolean, news string, phase string, waits_on array<string>, "
    "supersedes string, outcome string, cause string, moved long, departure string, library_version string, "
    "date date, batch long"
)
STEP_US = 600_000
START_US = 20_410 * 86_400_000_000 - 1_200 * STEP_US
"""Before a midnight."""
MEMBERS, PARTITIONS = ("anna", "ben", "cleo"), ("t-0", "t-1", "t-2")
ON_PARTITIONS = (PartitionsTold.kind, PartitionsReleased.kind, PartitionsAssigned.kind, PartitionsFetched.kind)
KINDS = (
    *ON_PARTITIONS * 3,
    *(PhaseBegan.kind, PhaseEnded.kind) * 2,
    *(RebalanceBegan.kind, RebalanceEnded.kind) * 4,
    *(RebalanceExplained.kind, TargetComputed.kind, MemberTold.kind),
    *(MemberJoined.kind, MemberRejoined.kind, MemberLeft.kind),
)


@dataclass(slots=True)
class WildGroup:
    """One group; its road is that of all its life."""

    group_id: str
    draw: random.Random
    begun: list[str] = field(default_factory=list)

    def row(self, boot: str, number: int, wall_us: int, batch: int) -> Row:
        """The next event."""
        draw, kind = self.draw, self.draw.choice(KINDS)
        former = self.begun[-1] if self.begun and draw.random() < 0.5 else ""
        if kind == RebalanceBegan.kind:
            self.begun.append(f"{self.group_id}@{boot}-{number}")
        return {
            "event_id": f"{boot}-{number}",
            "boot": boot,
            "number": number,
            "wall_us": wall_us,
            "mono_us": number * STEP_US,
            "kind": kind,
            "group_id": self.group_id,
            "road": Road.PASSING.value if self.group_id.endswith("p") else Road.EMBEDDED.value,
            "rebalance_id": self.begun[-1] if kind == RebalanceBegan.kind else self._named(),
            "group_epoch": number,
            "member_id": draw.choice(MEMBERS),
            "instance_id": draw.choice([None, None, "static"]),
            "protocol": draw.choice([Protocol.CLASSIC.value, Protocol.CONSUMER.value]),
            "date": datetime.fromtimestamp(wall_us / 1e6, UTC).date(),
            "batch": batch,
            **self._more(kind, former),
        }

    def _named(self) -> str:
        """The last one, most of the time; now and then an old one, one that never begins, or none."""
        if self.draw.random() < 0.01:
            return f"{self.group_id}-unknown"
        if self.draw.random() < 0.01:
            return self.draw.choice(self.begun or [""])
        return self.draw.choice([*self.begun[-2:], *self.begun[-1:] * 3, ""])

    def _more(self, kind: str, former: str) -> Mapping[str, object]:
        draw = self.draw
        match kind:
            case PartitionsTold.kind | PartitionsReleased.kind | PartitionsAssigned.kind | PartitionsFetched.kind:
                named = draw.sample(PARTITIONS, draw.randrange(1, 4))
                is_again = kind == PartitionsAssigned.kind and draw.random() < 0.1
                return {"partitions": named, "idle_us": draw.choice([None, 0, 5_000]), "is_again": is_again}
            case PhaseBegan.kind | PhaseEnded.kind:
                waits_on = draw.sample(MEMBERS, draw.randrange(2))
                return {"phase": draw.choice([Phase.JOINING.value, Phase.SYNCING.value]), "waits_on": waits_on}
            case RebalanceBegan.kind:
                return {"supersedes": former}
            case RebalanceEnded.kind:
                return {"outcome": draw.choice([Outcome.COMPLETED.value, Outcome.SUPERSEDED.value])}
            case RebalanceExplained.kind:
                return {"cause": draw.choice([*Cause]).value}
            case TargetComputed.kind:
                return {"moved": draw.randrange(4)}
            case MemberTold.kind:
                return {"news": draw.choice([*News]).value}
            case MemberLeft.kind:
                return {"departure": draw.choice([*Departure]).value}
            case _:
                return {"library_version": draw.choice("123")}


def wild_batches(seed: int, groups: int, batches: int, events: int, roads: str = "ep") -> Iterator[list[Row]]:
    """So many events a batch, in order; the bridge is another one from the middle on, and some groups come later. Roads
    go by their first letters.
    """
    draw = random.Random(seed)
    wild = [WildGroup(f"g{place}-{draw.choice('ep')}", random.Random(f"{seed} {place}")) for place in range(groups)]
    number = 0
    for batch in range(batches):
        boot = "b1" if batch * 2 < batches else "b2"
        living = [one for place, one in enumerate(wild) if place % batches <= batch or place % 2]
        spoken = draw.sample(living, max(1, len(living) * 3 // 4))
        rows: list[Row] = []
        for _ in range(events):
            number += 1
            rows.append(draw.choice(spoken).row(boot, number, START_US + number * STEP_US, batch))
        yield rows


def some_late(batches: list[list[Row]], seed: int, count: int) -> None:
    """Let some events come with the batch behind theirs."""
    draw = random.Random(seed)
    for place in range(len(batches) - 1):
        for row in draw.sample(batches[place], count):
            batches[place].remove(row)
            batches[place + 1].append({**row, "batch": place + 1})
