"""The best balance that subscriptions allow and the fewest moves to it, by textbook means: an oracle for assignors.

It must not know how any assignor computes; it places single partitions by shortest augmenting paths, slowly.
"""

from collections.abc import Mapping

from bridge.engine.assignors.interface import AssignmentSpec
from translators.dialects.ids import MemberId, TopicIdPartition

Partition = TopicIdPartition


def forced_minimum(spec: AssignmentSpec, owner: Mapping[Partition, MemberId]) -> tuple[int, int]:
    """The least possible sum of squared loads of any assignment, and the least number of moves among such ones.

    A move gives a partition that has an `owner` to another member. A partition comes in at the end of a chain of
    partitions that make way for each other, whose cost is least; a square's growth is the price of one more partition.
    """
    wanted = sorted({topic for member in spec.members.values() for topic in member.topics})
    partitions = [Partition(topic, number) for topic in wanted for number in range(spec.partition_counts.get(topic, 0))]
    squares_price = len(partitions) + 1
    given: dict[Partition, MemberId] = {}
    for partition in partitions:
        _place(partition, spec, owner, given, squares_price)
    loads = [sum(name == member_id for name in given.values()) for member_id in spec.members]
    moves = sum(partition in owner and owner[partition] != name for partition, name in given.items())
    return sum(load * load for load in loads), moves


def _place(
    partition: Partition,
    spec: AssignmentSpec,
    owner: Mapping[Partition, MemberId],
    given: dict[Partition, MemberId],
    squares_price: int,
) -> None:
    costs: dict[MemberId, int] = {}
    reached_by: dict[MemberId, Partition] = {}
    waiting: list[tuple[Partition, int]] = [(partition, 0)]
    while waiting:
        asking, cost = waiting.pop(0)
        for name, member in spec.members.items():
            if asking.topic_id not in member.topics or given.get(asking) == name:
                continue
            there = cost + _move(asking, name, owner)
            if there < costs.get(name, there + 1):
                costs[name], reached_by[name] = there, asking
                waiting.extend((held, there - _move(held, name, owner)) for held, who in given.items() if who == name)
    loads = {name: sum(who == name for who in given.values()) for name in costs}
    gaining = min(costs, key=lambda name: costs[name] + squares_price * (2 * loads[name] + 1))
    while True:
        asking = reached_by[gaining]
        before = given.get(asking)
        given[asking] = gaining
        if before is None:
            return
        gaining = before


def _move(partition: Partition, name: MemberId, owner: Mapping[Partition, MemberId]) -> int:
    return int(partition in owner and owner[partition] != name)
