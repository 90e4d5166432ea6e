"""A record beside its play: what each rebalance became, known by the input that both go back to, and what of the record
could not be played.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.cause.context import METADATA_AGE_US
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.facts import Event
from bridge.telemetry.schema.terms import Cause
from bridge.whatif.configuration import Configuration
from bridge.whatif.freezes import behind_freezes
from bridge.whatif.history import Unknown, read_history
from bridge.whatif.inputs import History, Input, Recorded, TopicsBecame
from bridge.whatif.measures import Measured, measure, summed
from bridge.whatif.play import Prediction, plays_classic, predict
from bridge.whatif.timed_events import TimedEvent, on_one_timeline
from translators.dialects.counts import counted

OF_NO_GROUP = (facts.TopicsSeen.kind, facts.TopicsChanged.kind)
OF_GROUPS = tuple(
    fact.kind
    for fact in (
        facts.GroupCreated,
        facts.GroupRevived,
        facts.GroupConverted,
        facts.RebalanceBegan,
        facts.RebalanceEnded,
        facts.RebalanceExplained,
        facts.MemberJoined,
        facts.MemberRevived,
        facts.MemberRejoined,
        facts.MemberSubscribed,
        facts.MemberLeft,
        facts.MemberTold,
        facts.PhaseBegan,
        facts.PhaseEnded,
        facts.PartitionsTold,
        facts.PartitionsReleased,
        facts.PartitionsAssigned,
        facts.PartitionsFetched,
    )
)
"""What a play is made of, and by what both sides are measured."""
SECOND_US = 1_000_000
OF_TOPICS = frozenset((Cause.TOPICS_CHANGED, Cause.LEADER_REJOINED))
SOON_US = 60_000_000
"""A rebalance that begins later after an input than this, and names it nowhere, has nothing to do with it."""


@dataclass(frozen=True, slots=True)
class Link:
    """A rebalance of the record and one of the play; "" stands for none on either side."""

    recorded_id: str
    predicted_id: str


def link(history: History, prediction: Prediction) -> tuple[Link, ...]:
    """Every rebalance of either side, at least once: those of the record in order, then those only of the play."""
    homes = _homes(history)
    became: dict[str, list[str]] = {one.rebalance_id: [] for one in history.recorded}
    new: list[Link] = []
    for trigger in prediction.triggers:
        recorded_id = homes.get(trigger.event_id)
        if recorded_id is not None:
            became[recorded_id].append(trigger.rebalance_id)
        elif trigger.event_id:
            new.append(Link("", trigger.rebalance_id))
    kept = [Link(key, predicted) for key, found in became.items() for predicted in (found or [""])]
    return (*kept, *new)


def _homes(history: History) -> Mapping[str, str]:
    """The rebalance of the record that each input led to, by event id: the one whose explanation names it, else the
    one it names itself, else the next one.
    """
    named = {event_id: one.rebalance_id for one in reversed(history.recorded) for event_id in one.evidence}
    known = {one.rebalance_id for one in history.recorded}
    in_order = sorted(history.recorded, key=lambda one: one.began_us)
    homes: dict[str, str] = {}
    for one in history.inputs:
        home = named.get(one.event_id) or (one.rebalance_id if one.rebalance_id in known else None)
        home = home or _next(in_order, one)
        if home is not None:
            homes[one.event_id] = home
    return homes


def _next(in_order: list[Recorded], one: Input) -> str | None:
    """The next rebalance; of changed topics the nearest that says so, for a leader may see them before the bridge."""
    patience_us = METADATA_AGE_US if isinstance(one, TopicsBecame) else SOON_US
    if isinstance(one, TopicsBecame):
        about = [each for each in in_order if each.cause in OF_TOPICS]
        near = [each for each in about if -SOON_US <= each.began_us - one.at_us <= patience_us]
        if near:
            return min(near, key=lambda each: abs(each.began_us - one.at_us)).rebalance_id
    place = bisect_left(in_order, one.at_us, key=lambda recorded: recorded.began_us)
    if place == len(in_order) or in_order[place].began_us > one.at_us + patience_us:
        return None
    return in_order[place].rebalance_id


@dataclass(frozen=True, slots=True)
class Became:
    """A rebalance of the record, None for none, and what it became in the play."""

    recorded: Measured | None
    predicted: tuple[Measured, ...] = ()


def became_words(one: Became) -> str:
    """One sentence without its end: not happened, became so many, would have come besides, or belongs to none."""
    after = summed(one.predicted)
    count = sum(1 for measured in one.predicted if measured.rebalance_id)
    if one.recorded is None:
        return f"would have happened besides: {_told(after)}" if count else f"outside of rebalances {_told(after)}"
    before = _told(one.recorded)
    if not one.recorded.rebalance_id:
        return f"outside of rebalances {_told(after)} instead of {before}"
    if not count:
        return f"would not have happened; it was {before}"
    return f"would have been {'one' if count == 1 else count} of {_told(after)}, instead of {before}"


def _told(measured: Measured) -> str:
    disturbed, stalls = measured.disturbed, measured.stalls
    words = [f"{measured.duration_us / SECOND_US:.1f} s"]
    words.append(f"{counted(disturbed, 'member')} disturbed" if disturbed else "nobody disturbed")
    if stalls:
        words.append(f"{counted(stalls, 'partition')} still for {measured.stall_us / SECOND_US:.1f} s")
    else:
        words.append("no partition still")
    return ", ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One group: every rebalance of either side once; `reason` says why nothing was played, "" if it was.

    `loose_recorded` and `loose_predicted` are stalls and work outside of any rebalance; `set_aside` counts rebalances
    of the record that could not be played, `unanswered` names those of which the play says nothing to go by.
    """

    rows: tuple[Became, ...] = ()
    loose_recorded: Measured | None = None
    loose_predicted: Measured | None = None
    set_aside: int = 0
    reason: str = ""
    unanswered: tuple[str, ...] = ()


@dataclass(slots=True)
class _Side:
    by_id: dict[str, Measured] = field(default_factory=dict)

    @property
    def loose(self) -> Measured | None:
        """What belongs to no rebalance."""
        return self.by_id.get("")


def compare(group_id: str, events: Sequence[Event], configuration: Configuration) -> Comparison:
    """Play one group's events under a configuration, and put both sides beside each other."""
    history = read_history(group_id, events)
    if isinstance(history, Unknown):
        return Comparison(set_aside=history.rebalances, reason=history.reason)
    prediction = predict(history, configuration)
    of_group = [moment for moment in on_one_timeline(events) if moment.group_id and moment.at_us >= history.begins_us]
    recorded, predicted = _side(of_group), _side(_moments(prediction))
    links: dict[str, list[str]] = {}
    new: list[Became] = []
    for one in link(history, prediction):
        if not one.recorded_id:
            new.append(Became(None, tuple(_known(predicted, [one.predicted_id]))))
        else:
            links.setdefault(one.recorded_id, []).append(one.predicted_id)
    rows = [Became(recorded.by_id[name], tuple(_known(predicted, found))) for name, found in links.items()]
    return Comparison(
        rows=(*rows, *new),
        loose_recorded=recorded.loose,
        loose_predicted=predicted.loose,
        set_aside=history.set_aside,
        unanswered=_unanswered(history, is_classic=plays_classic(history, configuration)),
    )


def _unanswered(history: History, *, is_classic: bool) -> tuple[str, ...]:
    """The rebalances that somebody may have made who was only frozen, where the play does not know of that."""
    homes = _homes(history)
    found = {homes[one] for one in behind_freezes(history, is_classic=is_classic) if one in homes}
    return tuple(one.rebalance_id for one in history.recorded if one.rebalance_id in found)


def _moments(prediction: Prediction) -> list[TimedEvent]:
    return [moment for moment in on_one_timeline(prediction.events) if moment.group_id]


def _side(moments: Sequence[TimedEvent]) -> _Side:
    return _Side({one.rebalance_id: one for one in measure(moments)})


def _known(side: _Side, names: Sequence[str]) -> Iterator[Measured]:
    return (side.by_id[name] for name in names if name)
