"""When a move has done harm: what a group's figures may come to, against its own past and against groups not moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, auto

HOUR_MS = 3_600_000
TOLERANCE_PERCENT = 150
PERCENT = 100


class Measure(StrEnum):
    """What is measured of a group; all but the lag are counted for an hour."""

    REBALANCES = "rebalances.per.hour"
    """Rebalances that began."""
    DISTURBED = "members.disturbed.per.hour"
    """Members that were told to stop something that they went on with afterwards."""
    STALL = "stall.seconds.per.hour"
    """Seconds in which members stood still, all members together."""
    FAILED_COMMITS = "failed.commits.per.hour"
    """Commits that were answered with an error."""
    LOST = "members.lost.per.hour"
    """Members that went without saying so: dead, timed out, fenced."""
    ERRORS = "errors.per.hour"
    """Members told that they are none, or that another has their place."""
    LAG = "lag.growth"
    """Records by which the group fell behind in the time looked at; by the bridge's own reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was counted of a group since counting began, at a moment (milliseconds since 1970).

    `lag` is how many records it was behind at that moment, None where that is not known. Counting may begin anew.
    """

    at_ms: int
    rebalances: int = 0
    disturbed: int = 0
    stall_ms: int = 0
    failed_commits: int = 0
    lost: int = 0
    errors: int = 0
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a group was looked at: its figures at the beginning and at the end."""

    before: Figures
    after: Figures


@dataclass(frozen=True, slots=True)
class Limit:
    """What a figure may come to whatever it was before, in the unit of its measure."""

    measure: Measure
    most: int


DEFAULT_LIMITS = (
    Limit(Measure.REBALANCES, 2),
    Limit(Measure.DISTURBED, 2),
    Limit(Measure.STALL, 30),
    Limit(Measure.FAILED_COMMITS, 0),
    Limit(Measure.LOST, 1),
    Limit(Measure.ERRORS, 0),
)


class Undecided(StrEnum):
    """What becomes of a stage that has been watched to its end while the judge has not seen enough."""

    PROMOTE = auto()
    """It goes by its other conditions."""
    WAIT = auto()
    """It is watched on until the judge is certain, as long as there is somebody to compare with."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Members that were moved must not wait longer in rebalances than others at the same time.

    `level_percent` bounds how often a stage that does no harm is found harmful, and the other way round; members that
    were moved may be the slower ones in so many percent of cases more than half (`effect_percent`).
    """

    level_percent: int = 5
    effect_percent: int = 10
    undecided: Undecided = Undecided.PROMOTE


@dataclass(frozen=True, slots=True)
class Conditions:
    """Limits, how many percent of its own past, or of what groups not moved show, a figure may come to, and whether
    the judge of canaries is asked.
    """

    limits: tuple[Limit, ...] = DEFAULT_LIMITS
    tolerance_percent: int = TOLERANCE_PERCENT
    judge: Judge | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """One figure as it was judged; `history` and `others` are None where there is nothing to compare with.

    `most` is what it might come to: the limit, or more where its past or the others explain more.
    """

    measure: Measure
    value: float
    limit: int
    history: float | None
    others: float | None
    most: float

    @property
    def is_broken(self) -> bool:
        """Whether it came to more."""
        return self.value > self.most

    def __str__(self) -> str:
        """For people: the figure, what it may be, and what that is compared with."""
        compared = {"before": self.history, "others": self.others}
        told = "".join(f", {name} {value:g}" for name, value in compared.items() if value is not None)
        return f"{self.measure.value} {self.value:g} (at most {self.most:g}{told})"


def judge(
    conditions: Conditions, watched: Span, history: Span | None = None, others: Sequence[Span] = ()
) -> tuple[Reading, ...]:
    """A reading for each condition that can be judged, in their order.

    `others` are the same time in groups that were not moved: what they show on average concerns everybody, such as a
    topic that grew or a broker that restarted, and is no fault of the move.
    """
    now = _rates(watched)
    past = {} if history is None else _rates(history)
    elsewhere = _mean([_rates(span) for span in others])
    readings = []
    for limit in conditions.limits:
        value = now.get(limit.measure)
        if value is None:
            continue
        compared = (past.get(limit.measure), elsewhere.get(limit.measure))
        explained = [rate * conditions.tolerance_percent / PERCENT for rate in compared if rate is not None]
        readings.append(Reading(limit.measure, value, limit.most, *compared, most=max(limit.most, *explained, 0)))
    return tuple(readings)


def _rates(span: Span) -> Mapping[Measure, float]:
    """The figures of a span; less than an hour counts as one: a single event makes no rate."""
    before, after = span.before, span.after
    hours = max(1.0, (after.at_ms - before.at_ms) / HOUR_MS)
    rates = {
        Measure.REBALANCES: _grown(before.rebalances, after.rebalances) / hours,
        Measure.DISTURBED: _grown(before.disturbed, after.disturbed) / hours,
        Measure.STALL: _grown(before.stall_ms, after.stall_ms) / 1000 / hours,
        Measure.FAILED_COMMITS: _grown(before.failed_commits, after.failed_commits) / hours,
        Measure.LOST: _grown(before.lost, after.lost) / hours,
        Measure.ERRORS: _grown(before.errors, after.errors) / hours,
    }
    if before.lag is not None and after.lag is not None:
        rates[Measure.LAG] = float(max(0, after.lag - before.lag))
    return rates


def _grown(before: int, after: int) -> int:
    """By how much; a counter that is less than it was began anew."""
    return after - before if after >= before else after


def _mean(rates: Sequence[Mapping[Measure, float]]) -> Mapping[Measure, float]:
    found = {measure: [each[measure] for each in rates if measure in each] for measure in Measure}
    return {measure: sum(values) / len(values) for measure, values in found.items() if values}
