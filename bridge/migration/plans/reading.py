"""A plan as an operator writes it, read with every mistake named."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from bridge.migration.patterns import Pattern, PatternForm, PatternUnreadable, ReadRegex, make_matcher
from bridge.migration.plans.conditions import (
    DEFAULT_LIMITS,
    TOLERANCE_PERCENT,
    Conditions,
    Judge,
    Limit,
    Measure,
    Undecided,
)
from bridge.migration.plans.values import WHOLE, Plan, PlanStage, Reaction
from bridge.migration.route import ROADS_OF_RULES, Road
from translators.dialects.counts import read_count

NOT_A_PLAN = "EB-PLAN-001"
"""The file is no YAML, or no list of keys with values."""
UNKNOWN_KEY = "EB-PLAN-002"
"""No key of a plan is called so; those that there are, and one that is spelt alike, are named."""
MISSING = "EB-PLAN-003"
"""A plan has to say its name, where groups go (`to`), and which (`groups`)."""
WRONG_VALUE = "EB-PLAN-004"
"""The value is of another kind than the key takes, or out of its bounds."""
WRONG_PATTERN = "EB-PLAN-005"
"""Which groups are meant is not said, said in two ways, or an expression that RE2 can't read."""
STAGES_SHRINK = "EB-PLAN-006"
"""A stage has fewer groups or members than the one before it: stages only grow, and a return is an order of its own."""
NO_SHARE = "EB-PLAN-007"
"""Only on road upstream a road is a member's own: elsewhere groups move as a whole."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GROUPS_MAX, STAGES_MAX, PATTERNS_MAX = 1_000, 20, 1_000
WATCH_MAX_MS = 30 * 24 * 3_600_000
KEYS = (
    *("plan", "to", "groups", "except", "stages", "observe.ms", "conditions", "tolerance.percent"),
    *("on.broken", "groups.max", "allow.rebalance", "judge"),
)
JUDGE_KEYS = ("of", "level.percent", "effect.percent", "undecided")
WAITS = "waits"
"""What there is to judge: how long members wait in rebalances."""
LEVEL_MAX, EFFECT_MAX = 20, 40
_STAGE_KEYS = ("groups", "members", "watch.ms")
_FORMS = {"match": PatternForm.GLOB, "group": PatternForm.EXACT, "regex": PatternForm.REGEX}


@dataclass(frozen=True, slots=True)
class PlanFault:
    """One mistake in a plan: a stable code, the key, what was seen and what is wanted."""

    code: str
    key: str
    seen: str
    wanted: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.key}: {self.seen}; wanted: {self.wanted} [{self.code}]"


@dataclass(slots=True)
class _Reader:
    """Reads one mapping, and keeps every fault that it meets."""

    written: Mapping[object, object]
    path: str
    faults: list[PlanFault]

    def fault(self, code: str, key: str, seen: str, wanted: str) -> None:
        self.faults.append(PlanFault(code, f"{self.path}{key}", seen, wanted))

    def check_keys(self, known: tuple[str, ...]) -> None:
        for key in self.written:
            if key not in known:
                near = get_close_matches(str(key), known, n=1)
                perhaps = f" (perhaps `{near[0]}`)" if near else ""
                self.fault(UNKNOWN_KEY, f"{key!s:.100}", "no such key", f"{', '.join(known)}{perhaps}")

    def number(self, key: str, default: int, least: int, most: int) -> int:
        value = self.written.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        self.fault(WRONG_VALUE, key, f"{value!r:.80}", f"a whole number from {least} to {most}")
        return default

    def percent(self, key: str, default: int) -> int:
        value = self.written.get(key, default)
        share = None if isinstance(value, bool) else read_count(str(value).removesuffix("%").strip(), WHOLE)
        if share:
            return share
        self.fault(WRONG_VALUE, key, f"{value!r:.80}", "a share from 1% to 100%")
        return default

    def flag(self, key: str) -> bool:
        value = self.written.get(key, False)
        if isinstance(value, bool):
            return value
        self.fault(WRONG_VALUE, key, f"{value!r:.80}", "true or false")
        return False

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        value = self.written.get(key, default)
        if isinstance(value, str) and value in choices:
            return value
        self.fault(WRONG_VALUE, key, f"{value!r:.80}", " or ".join(choices))
        return default


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan as it was read: without faults it is what was meant."""

    plan: Plan
    faults: tuple[PlanFault, ...] = field(default=())


_NO_PLAN = Plan(name="unnamed", destination=Road.PASS, groups=())


def read_plan(written: object, read_regex: ReadRegex) -> ReadPlan:
    """Read what a file says: a mapping of keys to values, as YAML or JSON give it."""
    faults: list[PlanFault] = []
    if not isinstance(written, Mapping):
        wanted = "one `key: value` a line, beginning with `plan:`"
        return ReadPlan(
            _NO_PLAN, (PlanFault(NOT_A_PLAN, "plan", "nothing" if written is None else f"{written!r:.80}", wanted),)
        )
    reader = _Reader(written, "", faults)
    reader.check_keys(KEYS)
    for key in ("plan", "to", "groups"):
        if key not in written:
            reader.fault(MISSING, key, "nothing is said", "a value: it has no default")
    name = written.get("plan", "unnamed")
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        reader.fault(WRONG_VALUE, "plan", f"{name!r:.120}", "a name of up to 100 letters, digits and . _ -")
        name = "unnamed"
    roads = tuple(road.value for road in ROADS_OF_RULES)
    destination = Road(reader.choice("to", roads, Road.PASS.value) if "to" in written else Road.PASS)
    plan = Plan(
        name=name,
        destination=destination,
        groups=tuple(_patterns(reader, "groups", read_regex)),
        exceptions=tuple(_patterns(reader, "except", read_regex)),
        stages=_stages(reader, destination),
        observe_ms=reader.number("observe.ms", 0, 0, WATCH_MAX_MS),
        conditions=_conditions(reader),
        reaction=Reaction(reader.choice("on.broken", tuple(Reaction), Reaction.HOLD.value)),
        groups_max=reader.number("groups.max", 1, 1, GROUPS_MAX),
        allow_rebalance=reader.flag("allow.rebalance"),
    )
    return ReadPlan(plan, tuple(faults))


def names_group(plan: Plan, read_regex: ReadRegex) -> Callable[[str], bool]:
    """What says whether a plan means a group; raises PatternUnreadable."""
    meant = [make_matcher(pattern, read_regex) for pattern in plan.groups]
    left_out = [make_matcher(pattern, read_regex) for pattern in plan.exceptions]
    return lambda name: any(one(name) for one in meant) and not any(one(name) for one in left_out)


def _patterns(reader: _Reader, key: str, read_regex: ReadRegex) -> Iterator[Pattern]:
    value = reader.written.get(key, ())
    entries = value if isinstance(value, list) else [value] if isinstance(value, str | Mapping) else []
    is_wanted = key in reader.written
    if is_wanted and not 1 <= len(entries) <= PATTERNS_MAX:
        reader.fault(
            WRONG_VALUE, key, f"{value!r:.80}", f"a list of 1 to {PATTERNS_MAX} globs, or `group:` or `regex:`"
        )
    for number, entry in enumerate(entries[:PATTERNS_MAX]):
        pattern = _pattern(entry)
        if pattern is None:
            wanted = "a glob, or one of `match: GLOB`, `group: ID`, `regex: RE2`"
            reader.fault(WRONG_PATTERN, f"{key}[{number}]", f"{entry!r:.80}", wanted)
            continue
        try:
            make_matcher(pattern, read_regex)
        except PatternUnreadable as problem:
            reader.fault(WRONG_PATTERN, f"{key}[{number}]", f"{pattern.text!r:.80}: {problem}", "an RE2 expression")
            continue
        yield pattern


def _pattern(entry: object) -> Pattern | None:
    if isinstance(entry, str):
        return Pattern(entry) if entry else None
    if not isinstance(entry, Mapping) or len(entry) != 1:
        return None
    ((form, text),) = entry.items()
    if form not in _FORMS or not isinstance(text, str) or not text:
        return None
    return Pattern(text, _FORMS[form])


def _stages(reader: _Reader, destination: Road) -> tuple[PlanStage, ...]:
    value = reader.written.get("stages", [{}])
    if not isinstance(value, list) or not 1 <= len(value) <= STAGES_MAX:
        reader.fault(WRONG_VALUE, "stages", f"{value!r:.80}", f"a list of 1 to {STAGES_MAX} stages")
        return (PlanStage(groups_percent=WHOLE),)
    stages: list[PlanStage] = []
    for number, entry in enumerate(value):
        path = f"stages[{number}]"
        if not isinstance(entry, Mapping):
            reader.fault(WRONG_VALUE, path, f"{entry!r:.80}", "`groups: 10%` and what belongs to it")
            continue
        inner = _Reader(entry, f"{path}.", reader.faults)
        inner.check_keys(_STAGE_KEYS)
        stage = PlanStage(
            groups_percent=inner.percent("groups", WHOLE),
            members_percent=inner.percent("members", WHOLE),
            watch_ms=inner.number("watch.ms", 0, 0, WATCH_MAX_MS),
        )
        last = stages[-1] if stages else stage
        if stage.groups_percent < last.groups_percent or stage.members_percent < last.members_percent:
            shares = f"{stage.groups_percent}% of groups, {stage.members_percent}% of members"
            inner.fault(STAGES_SHRINK, "groups", shares, "at least what the stage before it has")
        if stage.members_percent < WHOLE and destination is Road.EMBEDDED:
            inner.fault(NO_SHARE, "members", f"{stage.members_percent}%", "100% on road embedded")
        stages.append(stage)
    return tuple(stages) or (PlanStage(groups_percent=WHOLE),)


def _conditions(reader: _Reader) -> Conditions:
    tolerance, judge = reader.number("tolerance.percent", TOLERANCE_PERCENT, WHOLE, 10_000), _judge(reader)
    value = reader.written.get("conditions", {})
    if not isinstance(value, Mapping):
        reader.fault(WRONG_VALUE, "conditions", f"{value!r:.80}", "`MEASURE: NUMBER` lines")
        return Conditions(tolerance_percent=tolerance, judge=judge)
    inner = _Reader(value, "conditions.", reader.faults)
    inner.check_keys(tuple(Measure))
    limits = {limit.measure: limit.most for limit in DEFAULT_LIMITS}
    for measure in Measure:
        if measure.value in value and value[measure.value] is False:
            limits.pop(measure, None)
        elif measure.value in value:
            limits[measure] = inner.number(measure.value, 0, 0, 2**53)
    kept = tuple(Limit(measure, limits[measure]) for measure in Measure if measure in limits)
    return Conditions(kept, tolerance, judge)


def _judge(reader: _Reader) -> Judge | None:
    """`judge: waits`, or `of: waits` with how sure it has to be."""
    value = reader.written.get("judge")
    if value is None:
        return None
    written: Mapping[object, object] = value if isinstance(value, Mapping) else {"of": value}
    inner = _Reader(written, "judge.", reader.faults)
    inner.check_keys(JUDGE_KEYS)
    inner.choice("of", (WAITS,), WAITS)
    return Judge(
        level_percent=inner.number("level.percent", Judge().level_percent, 1, LEVEL_MAX),
        effect_percent=inner.number("effect.percent", Judge().effect_percent, 1, EFFECT_MAX),
        undecided=Undecided(inner.choice("undecided", tuple(Undecided), Undecided.PROMOTE.value)),
    )
