"""A record beside its play: what each rebalance became, and what of the record could not be played."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.schema.facts import Event
from bridge.whatif.configuration import Configuration
from bridge.whatif.history import Unknown, read_history
from bridge.whatif.links import link
from bridge.whatif.measures import Measured, measure
from bridge.whatif.play import Prediction, predict
from bridge.whatif.timed_events import TimedEvent, on_one_timeline


@dataclass(frozen=True, slots=True)
class Became:
    """A rebalance of the record, None for none, and what it became in the play."""

    recorded: Measured | None
    predicted: tuple[Measured, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One group: every rebalance of either side once; `reason` says why nothing was played, "" if it was.

    `loose_recorded` and `loose_predicted` are stalls and work outside of any rebalance; `set_aside` counts rebalances
    of the record that could not be played.
    """

    rows: tuple[Became, ...] = ()
    loose_recorded: Measured | None = None
    loose_predicted: Measured | None = None
    set_aside: int = 0
    reason: str = ""


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
    )


def _moments(prediction: Prediction) -> list[TimedEvent]:
    return [moment for moment in on_one_timeline(prediction.events) if moment.group_id]


def _side(moments: Sequence[TimedEvent]) -> _Side:
    return _Side({one.rebalance_id: one for one in measure(moments)})


def _known(side: _Side, names: Sequence[str]) -> Iterator[Measured]:
    return (side.by_id[name] for name in names if name)
