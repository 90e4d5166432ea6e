"""Events of a log become rebalances, whatever the log lacks: beginnings, ends, or the run that went on.

Monotonic times are compared within one run of the bridge only.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from bridge.telemetry.cause.context import context_of, is_end_of, keep_past
from bridge.telemetry.cause.explain import explain
from bridge.telemetry.cause.waits import Span, pair_spans
from bridge.telemetry.rebalances.rebalance import UNKNOWN_COUNT, MemberStory, Rebalance, Stretch
from bridge.telemetry.schema.disturbance import is_disturbed, without
from bridge.telemetry.schema.facts import (
    UNKNOWN_EPOCH,
    CommitPassed,
    Event,
    GroupFact,
    MemberAdvanced,
    MemberFact,
    MemberInputs,
    MemberJoined,
    MemberLeft,
    MemberSubscribed,
    MemberTold,
    PartitionsAssigned,
    PartitionsFetched,
    PartitionsReleased,
    PartitionsTold,
    RebalanceBegan,
    RebalanceEnded,
    RebalanceExplained,
    TargetComputed,
)
from bridge.telemetry.schema.terms import Cause, Departure, Phase


@dataclass(slots=True, kw_only=True)
class _MemberDraft:
    """What has been read so far; `before` and `after` say of each partition that came or went whether it was there."""

    before: dict[str, bool] = field(default_factory=dict)
    after: dict[str, bool] = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    assigned: list[str] = field(default_factory=list)
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
    assert isinstance(first, MemberFact), "they are about a member"
    draft = _MemberDraft()
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
        is_disturbed=is_disturbed(draft.released, draft.assigned, is_gone=draft.departure is not None),
        departure=draft.departure,
        told_us=draft.told_us,
        first_fetch_us=draft.first_fetch_us,
        first_commit_us=draft.first_commit_us,
        commit_on_revoke_us=draft.commit_on_revoke_us,
    )


def _read(draft: _MemberDraft, event: Event, at_us: int) -> None:
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
        case PartitionsTold():
            _note_partitions(draft, fact.partitions, is_gain=False)
        case PartitionsReleased():
            draft.released += fact.partitions
            _note_partitions(draft, fact.partitions, is_gain=False)
        case PartitionsAssigned():
            _note_assigned(draft, fact)
        case PartitionsFetched():
            draft.first_fetch_us = at_us if draft.first_fetch_us is None else draft.first_fetch_us
        case CommitPassed():
            _note_commit(draft, at_us, is_on_revoke=fact.is_on_revoke)
        case _:
            pass


def _note_assigned(draft: _MemberDraft, fact: PartitionsAssigned) -> None:
    if fact.is_again:
        draft.released = without(draft.released, fact.partitions)
    else:
        draft.assigned += fact.partitions
    _note_partitions(draft, fact.partitions, is_gain=True)


def _note_partitions(draft: _MemberDraft, partitions: Iterable[str], *, is_gain: bool) -> None:
    for name in partitions:
        draft.before.setdefault(name, not is_gain)
        draft.after[name] = is_gain


def _note_commit(draft: _MemberDraft, at_us: int, *, is_on_revoke: bool) -> None:
    if is_on_revoke:
        draft.commit_on_revoke_us = at_us if draft.commit_on_revoke_us is None else draft.commit_on_revoke_us
    elif draft.first_commit_us is None:
        draft.first_commit_us = at_us


CAUSES = MemberJoined | MemberLeft | MemberSubscribed
OWED = MemberTold | PartitionsAssigned | PartitionsFetched | CommitPassed
PAST_MAX = 512


@dataclass(slots=True, kw_only=True)
class _Draft:
    """The events of one rebalance: `own` carry its id or were told while it was under way."""

    rebalance_id: str
    past: tuple[Event, ...]
    own: list[Event] = field(default_factory=list)
    is_open: bool = True


def assemble(events: Iterable[Event]) -> list[Rebalance]:
    """The rebalances of every group, in the order in which they began on the wall clock.

    `events` are in the order of the log. A rebalance that another run of the bridge left open stays open.
    """
    introduced: dict[str, MemberInputs] = {}
    groups: dict[tuple[str, str], _Group] = {}
    everywhere: list[Event] = []
    for event in events:
        fact = event.fact
        group_id = getattr(fact, "group_id", "")
        if isinstance(fact, MemberAdvanced):
            continue
        if isinstance(fact, MemberInputs):
            introduced[fact.member_id] = fact
        if not group_id:
            everywhere.append(event)
            continue
        key = (group_id, event.stamp.boot)
        if _end_elsewhere(event, groups):
            continue
        group = groups.get(key)
        if group is None:
            group = groups[key] = _Group(past=_inherited(groups, group_id))
        group.add(event, everywhere)
    found = [_finish(draft, introduced) for group in groups.values() for draft in group.drafts.values()]
    return _link(sorted(found, key=lambda rebalance: (rebalance.began_wall_us, rebalance.rebalance_id)))


def _end_elsewhere(event: Event, groups: dict[tuple[str, str], "_Group"]) -> bool:
    """Let a rebalance end that another run of the bridge left open; says whether the event was about such a one."""
    fact = event.fact
    if not isinstance(fact, (RebalanceEnded, RebalanceExplained)):
        return False
    for (group_id, boot), group in groups.items():
        draft = group.drafts.get(fact.rebalance_id)
        if draft is not None and group_id == fact.group_id and boot != event.stamp.boot:
            draft.own.append(event)
            return True
    return False


def _inherited(groups: dict[tuple[str, str], "_Group"], group_id: str) -> list[Event]:
    """What runs before this one knew of the group last."""
    past = [event for (name, _), group in groups.items() if name == group_id for event in group.past]
    return past[-PAST_MAX:]


@dataclass(slots=True, kw_only=True)
class _Group:
    """One group in one run: what was told last, and its rebalances by id."""

    past: list[Event]
    drafts: dict[str, _Draft] = field(default_factory=dict)
    current: _Draft | None = None

    def add(self, event: Event, everywhere: Sequence[Event]) -> None:
        """Take an event where it belongs."""
        fact = event.fact
        rebalance_id = fact.rebalance_id if isinstance(fact, GroupFact) else ""
        if rebalance_id and rebalance_id not in self.drafts:
            self._open(rebalance_id, everywhere)
        named = self.drafts.get(rebalance_id)
        for draft in {id(one): one for one in (named, self.current) if one is not None}.values():
            draft.own.append(event)
        self.past.append(event)
        if isinstance(fact, RebalanceEnded) and self.current is named:
            self.current = None
        if len(self.past) > PAST_MAX:
            self.past = keep_past(self.past)

    def _open(self, rebalance_id: str, everywhere: Sequence[Event]) -> None:
        self.current = _Draft(rebalance_id=rebalance_id, past=(*everywhere[-PAST_MAX:], *self.past))
        self.drafts[rebalance_id] = self.current


def _finish(draft: _Draft, introduced: dict[str, MemberInputs]) -> Rebalance:
    own = draft.own
    opening = next((event for event in own if isinstance(event.fact, RebalanceBegan)), own[0])
    began = opening.fact
    assert isinstance(began, GroupFact), "whatever is of a rebalance is of a group"
    ending = next((event for event in own if is_end_of(event, draft.rebalance_id)), None)
    begin_us = opening.stamp.mono_us
    boot = opening.stamp.boot
    is_ended_here = ending is not None and ending.stamp.boot == boot
    last = ending if is_ended_here else max((e for e in own if e.stamp.boot == boot), key=lambda e: e.stamp.mono_us)
    end_us = begin_us if last is None else last.stamp.mono_us
    target = next((event.fact for event in reversed(own) if isinstance(event.fact, TargetComputed)), None)
    explained = _explanation(draft, introduced)
    return Rebalance(
        rebalance_id=draft.rebalance_id,
        group_id=began.group_id,
        road=began.road,
        epoch=explained.group_epoch,
        boot=opening.stamp.boot,
        began_wall_us=opening.stamp.wall_us,
        duration_us=max(0, end_us - begin_us),
        outcome=ending.fact.outcome if ending is not None and isinstance(ending.fact, RebalanceEnded) else None,
        supersedes=began.supersedes if isinstance(began, RebalanceBegan) else "",
        superseded_by="",
        explained=explained,
        assignor="" if target is None else target.assignor,
        moved=UNKNOWN_COUNT if target is None else target.moved,
        forced_minimum=UNKNOWN_COUNT if target is None else target.forced_minimum,
        member_count=UNKNOWN_COUNT if target is None else target.member_count,
        partition_count=UNKNOWN_COUNT if target is None else target.partition_count,
        members=_members(draft, introduced, begin_us, max(begin_us, end_us)),
    )


def _explanation(draft: _Draft, introduced: dict[str, MemberInputs]) -> RebalanceExplained:
    """What the bridge said when the rebalance ended; where it said nothing or did not know, what the log shows."""
    said = next((event.fact for event in draft.own if _explains(event, draft.rebalance_id)), None)
    if isinstance(said, RebalanceExplained) and said.cause is not Cause.UNKNOWN:
        return said
    known = [event for event in draft.own if not isinstance(event.fact, RebalanceExplained)]
    ending = next((place for place, event in enumerate(known) if is_end_of(event, draft.rebalance_id)), len(known))
    under_way = known[: ending + 1]
    shown = explain((*draft.past, *under_way), introduced.get)
    if shown is not None and shown.rebalance_id == draft.rebalance_id:
        return shown
    return said if isinstance(said, RebalanceExplained) else _unexplained(draft)


def _explains(event: Event, rebalance_id: str) -> bool:
    return isinstance(event.fact, RebalanceExplained) and event.fact.rebalance_id == rebalance_id


def _unexplained(draft: _Draft) -> RebalanceExplained:
    """The log holds neither beginning nor end of it."""
    fact = draft.own[0].fact
    assert isinstance(fact, GroupFact), "whatever is of a rebalance is of a group"
    return RebalanceExplained(
        group_id=fact.group_id,
        road=fact.road,
        rebalance_id=draft.rebalance_id,
        group_epoch=fact.group_epoch,
        cause=Cause.UNKNOWN,
        caused_by=(),
        evidence=(),
        sentence=f"{fact.group_id} rebalanced; the log holds neither the beginning nor the end of it",
    )


def _members(draft: _Draft, introduced: dict[str, MemberInputs], begin_us: int, end_us: int) -> tuple[MemberStory, ...]:
    """Stories of all members that have a fact in it, or caused it, in the order in which they were busy."""
    boot = draft.own[0].stamp.boot
    past = [event for event in draft.past if event.stamp.boot == boot]
    context = context_of((*past, *draft.own))
    leading = () if context is None else tuple(event for event in context.at_first if isinstance(event.fact, CAUSES))
    number = draft.own[0].stamp.number
    facts: dict[str, list[Event]] = {}
    for event in (*(event for event in leading if event.stamp.number < number), *_part_of_it(draft)):
        if isinstance(event.fact, MemberFact):
            facts.setdefault(event.fact.member_id, []).append(event)
    spans: dict[str, list[Span]] = {}
    for span in pair_spans((*past, *draft.own), begin_us, end_us):
        if _touches(span, draft.rebalance_id, begin_us, end_us):
            spans.setdefault(span.member_id, []).append(span)
    stories = [
        tell_member(told, spans.get(member_id, ()), introduced.get(member_id), begin_us)
        for member_id, told in facts.items()
    ]
    gone = _gone_before_target(draft, leading)
    told = (replace(story, is_counted=story.member_id not in gone) for story in stories)
    return tuple(sorted(told, key=_first_busy_us))


def _gone_before_target(draft: _Draft, leading: Iterable[Event]) -> set[str]:
    """Members that were away already when partitions were shared out, or whose departure made the rebalance."""
    events = (*leading, *draft.own)
    shared = max((event.stamp.number for event in draft.own if isinstance(event.fact, TargetComputed)), default=None)
    return {
        event.fact.member_id
        for event in events
        if isinstance(event.fact, MemberLeft) and (shared is None or event.stamp.number < shared)
    }


def _part_of_it(draft: _Draft) -> Iterator[Event]:
    """Its events; after its end only what is still owed: news, Fetches and commits. Leaves are the next one's."""
    has_ended = False
    for event in draft.own:
        if not has_ended or isinstance(event.fact, OWED):
            yield event
        has_ended = has_ended or is_end_of(event, draft.rebalance_id)


def _touches(span: Span, rebalance_id: str, begin_us: int, end_us: int) -> bool:
    """Whether a phase is part of the rebalance: it began in it, or another one that was under way went on in it."""
    if span.phase is Phase.STABLE:
        return False
    if span.rebalance_id == rebalance_id:
        return True
    return span.phase is not Phase.FETCHING and span.begin_us < end_us and span.end_us > begin_us


def _first_busy_us(story: MemberStory) -> tuple[int, str]:
    return min((stretch.begin_us for stretch in story.stretches), default=story.told_us or 0), story.member_id


def _link(rebalances: Sequence[Rebalance]) -> list[Rebalance]:
    """Say of each which one cut it short."""
    successors = {rebalance.supersedes: rebalance.rebalance_id for rebalance in rebalances if rebalance.supersedes}
    return [replace(one, superseded_by=successors.get(one.rebalance_id, "")) for one in rebalances]
