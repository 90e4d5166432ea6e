"""The census: all groups with what they are made of, where each could go, what stands in its way, what it gains.

It is put together of what was asked and heard elsewhere, and must not ask anybody itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.migration.abilities import BrokerAbilities
from bridge.migration.gains import Gain, gains_of
from bridge.migration.observed import ObservedGroup
from bridge.migration.observing import (
    NOTHING_HEARD,
    HeardGroup,
    observe_classic,
    observe_consumer,
    observe_heard,
    observe_listed,
)
from bridge.migration.readiness import assess_all
from bridge.migration.reasons import Assessment
from bridge.migration.route import Road
from translators.dialects.admin import DescribedGroup, ListedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicPartition
from translators.dialects.offsets import FetchedGroup

MOVED = (Road.EMBEDDED, Road.UPSTREAM)
"""What these groups were to gain they have."""
GROUPS_MAX = 10_000
"""How many groups a census holds; further ones are counted and left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What coordinators told: lists, descriptions, committed offsets, where partitions end."""

    listed: Sequence[ListedGroup] = ()
    classic: Mapping[GroupId, DescribedGroup] = field(default_factory=dict)
    consumer: Mapping[GroupId, DescribedConsumerGroup] = field(default_factory=dict)
    offsets: Mapping[GroupId, FetchedGroup] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCensus:
    """One group; `committed` counts partitions with a committed offset, `lag` is the sum of what they are behind, both
    None where nobody told.
    """

    group: ObservedGroup
    committed: int | None = None
    lag: int | None = None
    assessments: tuple[Assessment, ...] = ()
    gains: tuple[Gain, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """All groups by id; `unseen` says in sentences what could not be looked at, and why."""

    groups: tuple[GroupCensus, ...]
    abilities: BrokerAbilities
    unseen: tuple[str, ...] = ()


def take_census(
    told: Told, heard: Mapping[GroupId, HeardGroup], abilities: BrokerAbilities, unseen: Iterable[str] = ()
) -> Census:
    """Put together what was told and heard: every group of either, each once."""
    groups = {one.group_id: _observe(one, told, heard.get(one.group_id, NOTHING_HEARD)) for one in told.listed}
    groups |= {name: observe_heard(name, one) for name, one in heard.items() if name not in groups}
    names = sorted(groups)
    faults = [*unseen]
    if len(names) > GROUPS_MAX:
        faults.append(
            f"EB-CENSUS-004: {counted(len(names), 'group is', 'groups are')} more than the {GROUPS_MAX:,} of a census:"
            " the first are here"
        )
    return Census(
        groups=tuple(_count(groups[name], told, abilities) for name in names[:GROUPS_MAX]),
        abilities=abilities,
        unseen=tuple(faults),
    )


def committed_partitions(offsets: Iterable[FetchedGroup]) -> set[TopicPartition]:
    """The partitions of which some group has a committed offset."""
    return {partition for group in offsets for partition in _committed(group)}


def _observe(listed: ListedGroup, told: Told, heard: HeardGroup) -> ObservedGroup:
    name = listed.group_id
    if heard.road is Road.EMBEDDED:
        # Its broker knows nothing but its offsets, and calls it empty.
        return observe_heard(name, heard)
    if name in told.consumer:
        return observe_consumer(listed, told.consumer[name], heard)
    if name in told.classic:
        return observe_classic(listed, told.classic[name], heard)
    return observe_listed(listed, heard)


def _count(group: ObservedGroup, told: Told, abilities: BrokerAbilities) -> GroupCensus:
    fetched = told.offsets.get(group.group_id)
    committed = None if fetched is None or fetched.error is not ErrorCode.NONE else _committed(fetched)
    return GroupCensus(
        group=group,
        committed=None if committed is None else len(committed),
        lag=None if committed is None else _lag(committed, told.ends),
        assessments=assess_all(group, abilities),
        gains=gains_of(group) if group.is_of_consumers and group.road not in MOVED else (),
    )


def _committed(fetched: FetchedGroup) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, partition.partition): partition.offset
        for topic in fetched.topics
        for partition in topic.partitions
        if partition.error is ErrorCode.NONE and partition.offset >= 0
    }


def _lag(committed: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int | None:
    """How far a group is behind in all; None if the end of one of its partitions is not known."""
    if any(partition not in ends for partition in committed):
        return None
    return sum(max(0, ends[partition] - offset) for partition, offset in committed.items())
