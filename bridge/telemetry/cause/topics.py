"""Whether topics that a group reads have changed, as the bridge was told or as members' partitions show."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from bridge.telemetry.cause.context import METADATA_AGE_US, SHORTLY_BEFORE_US, Context
from bridge.telemetry.schema.facts import (
    Event,
    MemberInputs,
    MemberRejoined,
    MemberRevived,
    MemberSubscribed,
    MemberTold,
    PartitionsAssigned,
    PartitionsReleased,
    PartitionsTold,
    RebalanceBegan,
    TargetComputed,
    TopicsChanged,
    TopicsSeen,
)
from bridge.telemetry.schema.terms import Carrier, News, Road

Events = Sequence[Event]
NAMING = PartitionsAssigned | PartitionsReleased | PartitionsTold


def find_topics(context: Context, candidates: Events) -> tuple[Event, ...]:
    """The changes with whoever noticed them, only the topics that matter in them; none if topics are not the cause.

    A classic group waits for a member to notice: by joining again, or by naming a topic that was not there before.
    """
    movers = find_movers(context, candidates)
    subscribed = [event for event in candidates if isinstance(event.fact, MemberSubscribed)]
    found: dict[str, Event] = {}
    # The bridge itself may hear of it a little later than the member that looks most often.
    for event in dict.fromkeys((*_lately(context), *candidates, *context.later)):
        if isinstance(event.fact, TopicsChanged):
            for evidence in _noticed(context, event, (*movers, *subscribed)):
                found[evidence.stamp.event_id] = evidence
    if found or not context.is_barrier:
        return tuple(found.values()) or _find_unheard_of(context)
    return () if subscribed else _find_growth(context, movers)


def _lately(context: Context) -> Iterator[Event]:
    """Changes that another member's rebalance may have dealt with: each looks for itself, when its metadata is old."""
    since_us = context.begin_us - METADATA_AGE_US
    for event in context.past:
        is_own = event.stamp.boot == context.opening.stamp.boot
        if isinstance(event.fact, TopicsChanged) and is_own and event.stamp.mono_us >= since_us:
            yield event


def find_movers(context: Context, candidates: Events) -> tuple[Event, ...]:
    """Members of a classic group that joined again before anybody was called."""
    return tuple(
        event
        for event in candidates
        if isinstance(event.fact, MemberRejoined) and event.stamp.mono_us <= context.begin_us
    )


def _noticed(context: Context, change: Event, noticing: Events) -> tuple[Event, ...]:
    """The change, cut to what matters, and those who noticed it."""
    named = {event.stamp.event_id: names for event in noticing if (names := _names_it(context, change, event.fact))}
    wanted = _wanted(context, change)
    if named:
        topics = wanted.union(*named.values())
        return (_cut(change, topics), *(event for event in noticing if event.stamp.event_id in named))
    if not wanted:
        return ()
    if _is_dealt_with(context, change):
        return ()
    if context.is_barrier:
        return (_cut(change, wanted), *noticing) if noticing else ()
    return (_cut(change, wanted),) if change.stamp.mono_us >= context.begin_us - context.reach_us else ()


def _is_dealt_with(context: Context, change: Event) -> bool:
    """Whether the group has rebalanced since, and so has given out what there is."""
    run = (event for event in context.past if event.stamp.boot == change.stamp.boot)
    return any(isinstance(event.fact, RebalanceBegan) and event.stamp.number > change.stamp.number for event in run)


def _names_it(context: Context, change: Event, fact: object) -> frozenset[str]:
    """Topics of the change that a member names now, and did not name before they were there: it has a pattern."""
    if not isinstance(fact, MemberSubscribed) or not isinstance(change.fact, TopicsChanged):
        return frozenset()
    before = [inputs for inputs in _told_before(context, change) if inputs.member_id == fact.member_id]
    return frozenset(change.fact.topics) & (set(fact.topics) - set(before[-1].topics)) if before else frozenset()


def _wanted(context: Context, change: Event) -> frozenset[str]:
    """Topics of the change that members wanted when it happened, as far as is known what they want."""
    assert isinstance(change.fact, TopicsChanged), "asked of such changes only"
    topics = frozenset(change.fact.topics)
    latest = tuple({inputs.member_id: inputs for inputs in _told_before(context, change)}.values())
    if not latest:
        latest = tuple(event.fact for event in context.own if isinstance(event.fact, MemberInputs))
    if not latest:
        return topics
    named = {topic for inputs in latest for topic in inputs.topics}
    return topics & (named | _handed_out(context, frozenset(one.member_id for one in latest if not one.pattern)))


def _told_before(context: Context, change: Event) -> Iterator[MemberInputs]:
    for event in (*context.past, *context.own):
        is_before = event.stamp.boot != change.stamp.boot or event.stamp.number < change.stamp.number
        if is_before and isinstance(event.fact, MemberInputs):
            yield event.fact


def _handed_out(context: Context, naming: frozenset[str]) -> frozenset[str]:
    """Topics of the partitions that came or went in this rebalance, without those of members that name their topics.

    The others have a pattern, or said what they want before anything that is remembered.
    """
    facts = [fact for event in context.own if isinstance(fact := event.fact, NAMING) and fact.member_id not in naming]
    return frozenset(name.rpartition("-")[0] for fact in facts for name in fact.partitions)


def _cut(change: Event, topics: Iterable[str]) -> Event:
    """The change without topics that don't matter; its id stays."""
    fact = change.fact
    assert isinstance(fact, TopicsChanged), "asked of such changes only"
    kept = [pair for pair in zip(fact.topics, fact.partition_counts, strict=False) if pair[0] in set(topics)]
    cut = replace(fact, topics=tuple(name for name, _ in kept), partition_counts=tuple(count for _, count in kept))
    return replace(change, fact=cut)


def _find_growth(context: Context, movers: Events) -> tuple[Event, ...]:
    """Members joined again for nothing else, and another number of partitions is given out than before."""
    if not movers:
        return ()
    run = (event for event in (*context.past, *context.own) if event.stamp.boot == context.opening.stamp.boot)
    known = [event for event in run if isinstance(event.fact, TargetComputed)]
    first = next((place for place, event in enumerate(known) if event in context.own), len(known))
    targets = known[: first + 1]
    if any(isinstance(event.fact, MemberRevived) for event in context.past):
        # The first target that is heard of in a run may be one in which a cooperative leader withheld something.
        targets = targets[1:]
    for former, target in reversed([*pairwise(targets)]):
        if target.stamp.mono_us < context.begin_us - SHORTLY_BEFORE_US:
            break
        if _count(former) < _count(target) and not _is_withheld(context, former, target):
            return (former, target, *movers)
    return ()


def _is_withheld(context: Context, former: Event, target: Event) -> bool:
    """Whether a cooperative leader gave out less at first, because something was being given up."""
    numbers = range(former.stamp.number, target.stamp.number)
    return any(_withholds(event) and event.stamp.number in numbers for event in (*context.past, *context.own))


def _find_unheard_of(context: Context) -> tuple[Event, ...]:
    """On road `pass` nobody tells the bridge when a topic grows; but members are given partitions beyond its end."""
    known: dict[str, tuple[int, Event]] = {}
    for event in context.past:
        if isinstance(event.fact, (TopicsSeen, TopicsChanged)):
            pairs = zip(event.fact.topics, event.fact.partition_counts, strict=False)
            known |= {name: (count, event) for name, count in pairs}
    counts: dict[str, int] = {}
    for event in context.own:
        if isinstance(event.fact, PartitionsAssigned):
            for topic, _, index in (name.rpartition("-") for name in event.fact.partitions):
                counts[topic] = max(counts.get(topic, 0), int(index) + 1)
    grown = {topic: count for topic, count in counts.items() if 0 <= known.get(topic, (count,))[0] < count}
    if context.fact.road is Road.EMBEDDED or not grown:
        return ()
    seen = known[next(iter(grown))][1]
    return (replace(seen, fact=TopicsChanged(topics=tuple(grown), partition_counts=tuple(grown.values()))),)


def _withholds(event: Event) -> bool:
    """Whether a member was told to give something up by the answer that gave it the rest."""
    fact = event.fact
    return isinstance(fact, MemberTold) and fact.news is News.REVOKE and fact.carrier is Carrier.SYNC_GROUP


def _count(event: Event) -> int:
    return event.fact.partition_count if isinstance(event.fact, TargetComputed) else 0
