"""What is kept in memory of an event once it is on its way to the log: less of what a client says at length.

The log has it whole. A client may name as many topics and partitions as a megabyte holds, come and go, and say
something else each time: 256 such events of one group were a gigabyte, and whoever explains its rebalances kept them.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from bridge.telemetry.schema.facts import (
    CommitPassed,
    Event,
    Fact,
    MemberFact,
    MemberInputs,
    MemberLeft,
    Names,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
)
from translators.dialects.kept_names import NAME_CHARS_MAX, kept_name

LIST_CHARS_MAX = 65_536
"""So much of a list is kept: 2,000 topics, or partitions that a member says it has."""
PARTITIONS_CHARS_MAX = 262_144
"""The same of partitions that a member has, gets or commits: 6,000."""
_OF_PARTITIONS = (PartitionsAssigned, PartitionsTold, PartitionsReleased, PartitionsFetched, CommitPassed)
TEXTS_MAX = 64
"""How many assignors of one member are kept."""


def chars_of(fact: Fact) -> int:
    """How much a member says of itself, or of partitions, 0 for any other fact; O(what it says)."""
    if isinstance(fact, _OF_PARTITIONS):
        return sum(map(len, fact.partitions))
    if not isinstance(fact, MemberInputs):
        return 0
    texts = (fact.member_id, fact.client_id, fact.pattern or "", fact.rack_id or "", *fact.assignors)
    return sum(map(len, texts)) + sum(map(len, fact.topics)) + sum(map(len, fact.owned or ()))


def lean(event: Event) -> Event | None:
    """The event as it is kept; None for one of a member with a name as nobody gives: nothing is kept of those."""
    fact = event.fact
    if not isinstance(fact, MemberFact):
        return event
    if len(fact.member_id) > NAME_CHARS_MAX or len(fact.instance_id or "") > NAME_CHARS_MAX:
        return None
    if isinstance(fact, MemberLeft) and len(fact.reason) > NAME_CHARS_MAX:
        return replace(event, fact=replace(fact, reason=kept_name(fact.reason)))
    if isinstance(fact, _OF_PARTITIONS) and chars_of(fact) > PARTITIONS_CHARS_MAX:
        return replace(event, fact=replace(fact, partitions=_beginning(fact.partitions, PARTITIONS_CHARS_MAX)))
    if not isinstance(fact, MemberInputs) or chars_of(fact) <= LIST_CHARS_MAX:
        return event
    shorter = replace(
        fact,
        client_id=kept_name(fact.client_id),
        topics=_beginning(fact.topics),
        pattern=None if fact.pattern is None else kept_name(fact.pattern),
        assignors=tuple(map(kept_name, fact.assignors[:TEXTS_MAX])),
        rack_id=None if fact.rack_id is None else kept_name(fact.rack_id),
        owned=None if fact.owned is None else _beginning(fact.owned),
    )
    return replace(event, fact=shorter)


def says_little(*, member_id: str, topics: Collection[str], owned: Collection[object] | None) -> bool:
    """Whether a member that is gone may be kept in mind with what it said, for explanations to come."""
    lengths = sum(map(len, topics)) + len(owned or ())
    return len(member_id) <= NAME_CHARS_MAX and lengths <= LIST_CHARS_MAX


def _beginning(names: Sequence[str], chars_max: int = LIST_CHARS_MAX) -> Names:
    """As many as may be kept, and what tells two lists from each other that begin alike."""
    left = chars_max
    for place, name in enumerate(names):
        left -= len(name)
        if left < 0:
            return (*names[:place], f"… {len(names)} {hash(tuple(names)):x}")
    return tuple(names)
