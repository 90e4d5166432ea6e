"""What a client was handed out, since which generation each partition is its own, and when the generation moves."""

from collections.abc import Mapping
from dataclasses import dataclass

from translators.dialects.ids import TopicPartition

Partitions = frozenset[TopicPartition]
NO_PARTITIONS: Partitions = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """The hand-out of one generation.

    `handed` is the assignment of the generation. `since` has every partition the client may be using with the first
    generation of its unbroken ownership: all of `handed`, and what a cooperative client has yet to let go. `released`
    was let go while the generation was current. The coordinator holds every key of `since` for this member, whatever
    its target says.
    """

    generation: int
    handed: Partitions
    since: Mapping[TopicPartition, int]
    released: Partitions = NO_PARTITIONS


@dataclass(frozen=True, slots=True)
class Vacant:
    """Nothing is handed out: a newcomer (0), or a fenced member whose generations up to this one are used up."""

    last_generation: int = 0


def usable(tenure: Tenure | Vacant) -> Partitions:
    """Give what the client may be using."""
    return NO_PARTITIONS if isinstance(tenure, Vacant) else frozenset(tenure.since)


def generation_of(tenure: Tenure | Vacant) -> int:
    """Give the last generation the client was told, 0 for none."""
    return tenure.last_generation if isinstance(tenure, Vacant) else tenure.generation


def still_releasing(tenure: Tenure) -> bool:
    """Tell whether the client has yet to let go of partitions that its assignment lacks."""
    return len(tenure.since) > len(tenure.handed)


def prune(tenure: Tenure | Vacant, kept: Partitions) -> Tenure | Vacant:
    """Let go of all but `kept`: ownership of the rest is broken, commits for it end here (decision 3)."""
    if isinstance(tenure, Vacant) or tenure.since.keys() <= kept:
        return tenure
    return Tenure(
        generation=tenure.generation,
        handed=tenure.handed,
        since={partition: first for partition, first in tenure.since.items() if partition in kept},
        released=tenure.released | (tenure.since.keys() - kept),
    )


def hand_over(
    tenure: Tenure | Vacant, assignment: Partitions, using: Partitions, *, is_resubscribing: bool = False
) -> Tenure:
    """Make the next hand-out of `assignment` to a client that itself holds `using` of what it had.

    The generation moves exactly if the assignment differs from the last one, or ownership of a part of it was broken
    in between, or the client wants other topics (`is_resubscribing`): its new assignment may not be known yet, and what
    it was handed in the old generation stays as it was (K1.36).
    """
    if isinstance(tenure, Tenure) and not is_resubscribing and _stands(tenure, assignment):
        return amend(tenure, assignment, using)
    generation = generation_of(tenure) + 1
    since = {} if isinstance(tenure, Vacant) else tenure.since
    return Tenure(generation=generation, handed=assignment, since=_inherit(since, assignment, using, generation))


def amend(tenure: Tenure, assignment: Partitions, using: Partitions) -> Tenure:
    """Change the hand-out within its generation: allowed as long as the client has not been given the assignment."""
    since = _inherit(tenure.since, assignment, using, tenure.generation)
    released = (tenure.released | (tenure.since.keys() - since.keys())) - since.keys()
    return Tenure(generation=tenure.generation, handed=assignment, since=since, released=released)


def overtake(tenure: Tenure, assignment: Partitions, using: Partitions) -> Tenure:
    """Make the next hand-out without a join: what its generation was given before lacks something now."""
    generation = tenure.generation + 1
    return Tenure(generation=generation, handed=assignment, since=_inherit(tenure.since, assignment, using, generation))


def _stands(tenure: Tenure, assignment: Partitions) -> bool:
    return tenure.handed == assignment and assignment <= tenure.since.keys()


def _inherit(
    since: Mapping[TopicPartition, int], assignment: Partitions, using: Partitions, generation: int
) -> dict[TopicPartition, int]:
    kept = {
        partition: first for partition, first in since.items() if partition in using and partition not in assignment
    }
    return {partition: since.get(partition, generation) for partition in assignment} | kept
