"""What a client gains by a move, in numbers: what others' coming and going costs it today, and what it costs then.

The figures of today are measurements of Apache Kafka 4.3.1 (`docs/reference/what-a-change-costs.md`), for 10, 50 and
200 members; a group gets those of the size next to its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bridge.migration.observed import ObservedGroup, Rebalancing

SIZES = (10, 50, 200)


@dataclass(frozen=True, slots=True)
class Measured:
    """What Kafka costs groups of one kind: for one more member, and for a whole roll to the consumer protocol.

    `stopped_partition_s` are seconds in which partitions had no owner, summed over all; `roll_joins` are JoinGroups of
    each member while all others are restarted with the consumer protocol. Both by size of the group.
    """

    joins: int
    stopped_partition_s: Mapping[int, float]
    roll_joins: Mapping[int, float]


MEASURED: Mapping[Rebalancing, Measured] = {
    Rebalancing.EAGER: Measured(1, {10: 9.0, 50: 52.0, 200: 212.0}, {10: 9.0, 50: 11.5, 200: 26.1}),
    Rebalancing.COOPERATIVE: Measured(2, {10: 1.5, 50: 1.5, 200: 1.6}, {10: 10.7, 50: 13.2, 200: 24.2}),
    Rebalancing.INCREMENTAL: Measured(0, {10: 0.6, 50: 0.7, 200: 0.75}, {10: 0.0, 50: 0.0, 200: 0.0}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a member of one kind is spared by a move, to either road; both figures, today and then.

    `joins` is how often it has to join when another member comes or goes and its own partitions stay; `roll_joins` the
    same over a whole roll of the group to the consumer protocol. `stopped_partition_s` is the group's, for one more
    member. `measured_members` is the size of the group that was measured.
    """

    rebalancing: Rebalancing
    member_count: int
    measured_members: int
    joins: tuple[float, float]
    roll_joins: tuple[float, float]
    stopped_partition_s: tuple[float, float]


def gains_of(group: ObservedGroup) -> tuple[Gain, ...]:
    """One gain for each kind of members that a group has and of which something was measured."""
    size = min(SIZES, key=lambda one: abs(one - len(group.members)))
    native = MEASURED[Rebalancing.INCREMENTAL]
    counts = {kind: sum(member.rebalancing is kind for member in group.members) for kind in MEASURED}
    return tuple(
        Gain(
            rebalancing=kind,
            member_count=counts[kind],
            measured_members=size,
            joins=(measured.joins, native.joins),
            roll_joins=(measured.roll_joins[size], native.roll_joins[size]),
            stopped_partition_s=(measured.stopped_partition_s[size], native.stopped_partition_s[size]),
        )
        for kind, measured in MEASURED.items()
        if counts[kind]
    )
