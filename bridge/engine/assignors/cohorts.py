"""Members grouped by what they subscribe to, and the groups that compete for the same topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bridge.engine.assignors.interface import AssignmentSpec, MemberSubscription
from bridge.engine.assignors.ladder import Seat, seat_of
from translators.dialects.ids import MemberId, TopicId


@dataclass(frozen=True, slots=True)
class Cohort:
    """Members that subscribe to the same topics. Topics are sorted and have partitions; members are in seat order."""

    topics: tuple[TopicId, ...]
    members: tuple[MemberId, ...]


Component = tuple[Cohort, ...]
"""Cohorts linked by common topics: what happens in one component concerns no other."""


def seat(member: MemberSubscription) -> Seat:
    """Sort key of a member: static ones first by instance id, which keeps a restart's seat, then dynamic (K9.2)."""
    return seat_of(member.member_id, member.instance_id)


def seated(members: Mapping[MemberId, MemberSubscription]) -> tuple[MemberId, ...]:
    """All members in seat order."""
    return tuple(member.member_id for member in sorted(members.values(), key=seat))


def form_cohorts(spec: AssignmentSpec) -> tuple[Cohort, ...]:
    """Group the members of `spec` by the topics they want that have partitions, in order of first seat."""
    wanted: dict[frozenset[TopicId], list[MemberId]] = {}
    for member_id in seated(spec.members):
        wanted.setdefault(spec.members[member_id].topics, []).append(member_id)
    merged: dict[tuple[TopicId, ...], list[list[MemberId]]] = {}
    for topics, members in wanted.items():
        existing = tuple(sorted(topic for topic in topics if spec.partition_counts.get(topic, 0) > 0))
        merged.setdefault(existing, []).append(members)
    return tuple(Cohort(topics, _in_seat_order(spec, groups)) for topics, groups in merged.items())


def _in_seat_order(spec: AssignmentSpec, groups: Sequence[list[MemberId]]) -> tuple[MemberId, ...]:
    if len(groups) == 1:
        return tuple(groups[0])
    return seated({member_id: spec.members[member_id] for group in groups for member_id in group})


def link_components(cohorts: Sequence[Cohort]) -> tuple[Component, ...]:
    """Split cohorts into components that share no topic; a cohort without topics is a component of its own."""
    parent = list(range(len(cohorts)))
    first: dict[TopicId, int] = {}
    for number, cohort in enumerate(cohorts):
        for topic in cohort.topics:
            parent[_root(parent, first.setdefault(topic, number))] = _root(parent, number)
    components: dict[int, list[Cohort]] = {}
    for number, cohort in enumerate(cohorts):
        components.setdefault(_root(parent, number), []).append(cohort)
    return tuple(tuple(component) for component in components.values())


def _root(parent: list[int], number: int) -> int:
    while parent[number] != number:
        parent[number] = parent[parent[number]]
        number = parent[number]
    return number
