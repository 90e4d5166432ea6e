"""Which rebalance of the record became which of the play: both go back to the same input."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from bridge.telemetry.cause.context import METADATA_AGE_US
from bridge.telemetry.schema.terms import Cause
from bridge.whatif.inputs import History, Input, Recorded, TopicsBecame
from bridge.whatif.play import Prediction

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
