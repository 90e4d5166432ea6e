"""The story of one member in one rebalance, put together from its events.

It must not know other members, nor why the rebalance happened.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.cause.spans import Span
from bridge.telemetry.rebalances.stories import MemberStory, Stretch
from bridge.telemetry.schema.facts import (
    UNKNOWN_EPOCH,
    CommitPassed,
    MemberFact,
    MemberInputs,
    MemberJoined,
    MemberLeft,
    MemberTold,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
)
from bridge.telemetry.schema.stamps import Event
from bridge.telemetry.schema.terms import Departure


@dataclass(slots=True, kw_only=True)
class _Draft:
    """What has been read so far; `before` and `after` say of each partition that came or went whether it was there."""

    before: dict[str, bool] = field(default_factory=dict)
    after: dict[str, bool] = field(default_factory=dict)
    departure: Departure | None = None
    is_newcomer: bool = False
    told_us: int | None = None
    first_fetch_us: int | None = None
    first_commit_us: int | None = None
    commit_on_revoke_us: int | None = None
    member_epoch: int = UNKNOWN_EPOCH
    generation: int = UNKNOWN_EPOCH


def tell_member(
    facts: Sequence[Event], spans: Sequence[Span], inputs: MemberInputs | None, origin_us: int
) -> MemberStory:
    """The story of the member that all these are about; `facts` are not empty and in the order they were told.

    A partition that is given back to the one that released it has neither been gained nor lost, however often.
    """
    first = facts[0].fact
    assert isinstance(first, MemberFact)
    draft = _Draft()
    for event in facts:
        _read(draft, event, event.stamp.mono_us - origin_us)
    gained = tuple(name for name, has in draft.after.items() if has and not draft.before[name])
    lost = tuple(name for name, has in draft.after.items() if not has and draft.before[name])
    return MemberStory(
        member_id=first.member_id,
        instance_id=first.instance_id,
        protocol=first.protocol,
        client_id="" if inputs is None else inputs.client_id,
        client_host="" if inputs is None else inputs.client_host,
        library="" if inputs is None else inputs.library,
        library_version="" if inputs is None else inputs.library_version,
        member_epoch=draft.member_epoch,
        generation=draft.generation,
        stretches=tuple(sorted((Stretch.of(span, origin_us) for span in spans), key=lambda one: one.begin_us)),
        gained=gained,
        lost=lost,
        is_newcomer=draft.is_newcomer,
        is_disturbed=any(draft.before.values()) and not (draft.is_newcomer or gained or lost),
        departure=draft.departure,
        told_us=draft.told_us,
        first_fetch_us=draft.first_fetch_us,
        first_commit_us=draft.first_commit_us,
        commit_on_revoke_us=draft.commit_on_revoke_us,
    )


def _read(draft: _Draft, event: Event, at_us: int) -> None:
    fact = event.fact
    if isinstance(fact, MemberFact):
        draft.member_epoch = max(draft.member_epoch, fact.member_epoch)
        draft.generation = max(draft.generation, fact.generation)
    match fact:
        case MemberJoined():
            draft.is_newcomer = True
        case MemberLeft():
            draft.departure = fact.departure
        case MemberTold():
            draft.told_us = at_us if draft.told_us is None else draft.told_us
        case PartitionsTold() | PartitionsReleased():
            _note_partitions(draft, fact.partitions, is_gain=False)
        case PartitionsAssigned():
            _note_partitions(draft, fact.partitions, is_gain=True)
        case PartitionsFetched():
            draft.first_fetch_us = at_us if draft.first_fetch_us is None else draft.first_fetch_us
        case CommitPassed():
            _note_commit(draft, at_us, is_on_revoke=fact.is_on_revoke)
        case _:
            pass


def _note_partitions(draft: _Draft, partitions: Iterable[str], *, is_gain: bool) -> None:
    for name in partitions:
        draft.before.setdefault(name, not is_gain)
        draft.after[name] = is_gain


def _note_commit(draft: _Draft, at_us: int, *, is_on_revoke: bool) -> None:
    if is_on_revoke:
        draft.commit_on_revoke_us = at_us if draft.commit_on_revoke_us is None else draft.commit_on_revoke_us
    elif draft.first_commit_us is None:
        draft.first_commit_us = at_us
