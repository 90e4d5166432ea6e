"""A group's record, read from its event log as it grows, beside its play: what is new, and what all of it came to."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from bridge.telemetry.event_log.codec import decode_line
from bridge.telemetry.event_log.files import event_files, whole_lines
from bridge.telemetry.schema.facts import Event
from bridge.whatif.comparison import OF_GROUPS, OF_NO_GROUP, Became, Comparison, became_words, compare
from bridge.whatif.configuration import Configuration
from bridge.whatif.measures import Measured, summed

EVENTS_MAX = 200_000
"""Most events that are kept, the newest: of what is older nothing is told any more. Ten members that rebalance every
minute make some 6,000 an hour.
"""


@dataclass(slots=True)
class Tail:
    """A log being followed: the events that a play of the group is made of, and where each file was read to."""

    folder: Path
    group_id: str
    events: deque[Event] = field(default_factory=lambda: deque[Event](maxlen=EVENTS_MAX))
    _places: dict[Path, int] = field(default_factory=dict)

    def read(self) -> int:
        """Take what was written since the last call; gives how many events of the group that were. Raises OSError.

        A file that the bridge has deleted since the folder was looked at has nothing more to say.
        """
        files = event_files(self.folder)
        self._places = {path: self._places.get(path, 0) for path in files}
        found = 0
        for path in files:
            with suppress(FileNotFoundError):
                for event in self._read_on(path):
                    self.events.append(event)
                    found += event.fact.kind in OF_GROUPS
        return found

    def _read_on(self, path: Path) -> Iterator[Event]:
        # Most lines are of other groups, or of kinds that say nothing here, and decoding is what takes time.
        group = b'"group_id":' + orjson.dumps(self.group_id)
        with path.open("rb") as file:
            file.seek(self._places[path])
            for line in whole_lines(file):
                self._places[path] = file.tell()
                event = decode_line(line) if line is not None and (group in line or _of_no_group(line)) else None
                if isinstance(event, Event) and self._counts(event):
                    yield event

    def _counts(self, event: Event) -> bool:
        kind = event.fact.kind
        return kind in OF_NO_GROUP or (kind in OF_GROUPS and getattr(event.fact, "group_id", "") == self.group_id)


def _of_no_group(line: bytes) -> bool:
    return any(b'"kind":"' + kind.encode() + b'"' in line for kind in OF_NO_GROUP)


SETTLED_US = 15_000_000
"""How long after its end a rebalance is told: what belongs to it, such as the first Fetch of a partition, is in the log
by then, and what it would have been is played to its end.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What the rebalances of one side came to; times in microseconds, sums."""

    rebalances: int
    duration_us: int
    told: int
    disturbed: int
    stalls: int
    stall_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldRebalance:
    """A rebalance with what it would have been: `name` is its id, or that of the first that only the play has."""

    name: str
    began_us: int
    cause: str
    words: str
    recorded: Side
    predicted: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One comparison: what was not told before, all of it, and why nothing could be played ("" if it could).

    `open` counts the rebalances that are too young to be told; of those that `unanswered` names the play has no answer.
    """

    new: tuple[ToldRebalance, ...]
    open: int
    recorded: Side
    predicted: Side
    reason: str
    unanswered: tuple[str, ...] = ()


@dataclass(slots=True)
class Shadow:
    """One group played under a configuration, whose rebalances are told once each."""

    group_id: str
    configuration: Configuration
    _told: set[str] = field(default_factory=set)

    def look(self, events: Sequence[Event], until_us: int | None = None) -> Look:
        """Compare what the log has by now; what ended by `until_us`, since 1970, is told; None for all."""
        found = compare(self.group_id, events, self.configuration)
        rows = sorted((_told(one) for one in found.rows if _is_over(one, until_us)), key=lambda told: told.began_us)
        new = tuple(told for told in rows if told.name not in self._told)
        self._told |= {told.name for told in new}
        return Look(
            new=new,
            open=len(found.rows) - len(rows),
            recorded=_side(tuple(_recorded(found))),
            predicted=_side(tuple(_predicted(found))),
            reason=found.reason,
            unanswered=found.unanswered,
        )


def _is_over(one: Became, until_us: int | None) -> bool:
    if until_us is None:
        return True
    if one.recorded is not None:
        # The clock of a record without an end stands at its beginning.
        return one.recorded.duration_us > 0 and one.recorded.began_us + one.recorded.duration_us <= until_us
    return all(measured.began_us + measured.duration_us <= until_us for measured in one.predicted)


def _told(one: Became) -> ToldRebalance:
    recorded = () if one.recorded is None else (one.recorded,)
    both = (*recorded, *one.predicted)
    return ToldRebalance(
        name=next(measured.rebalance_id for measured in both),
        began_us=min(measured.began_us for measured in both),
        cause=next((measured.cause for measured in both if measured.cause), ""),
        words=became_words(one),
        recorded=_side(recorded),
        predicted=_side(one.predicted),
    )


def _recorded(found: Comparison) -> Iterator[Measured]:
    yield from (one.recorded for one in found.rows if one.recorded is not None)
    if found.loose_recorded is not None:
        yield found.loose_recorded


def _predicted(found: Comparison) -> Iterator[Measured]:
    for one in found.rows:
        yield from one.predicted
    if found.loose_predicted is not None:
        yield found.loose_predicted


def _side(measured: Sequence[Measured]) -> Side:
    total = summed(measured)
    return Side(
        rebalances=sum(1 for one in measured if one.rebalance_id),
        duration_us=total.duration_us,
        told=total.told,
        disturbed=total.disturbed,
        stalls=total.stalls,
        stall_us=total.stall_us,
    )
