"""One frozen configuration, parsed once from YAML, the environment and the command line."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path

from bridge.config.causes import (
    ENVIRONMENT_PREFIX,
    REMOVED_KEYS,
    cause_of_choice,
    cause_of_kind,
    cause_of_name,
    cause_of_variable,
    is_of_kubernetes,
    variable_of,
)
from bridge.config.entries import Entry, Written, WrittenFile
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.fields import Key, Origin, Value
from bridge.config.kafka_keys import ASSIGNOR_CLASSES, GROUP_NAMES
from bridge.config.keys import KEYS, Settings
from bridge.config.secrets import without_login
from bridge.migration.patterns import PatternForm
from bridge.migration.route import ROADS_OF_RULES, Road

COMMAND_LINE = "command line"
ENVIRONMENT = "environment"
ROADS = tuple(road.value for road in ROADS_OF_RULES)


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Groups whose id matches `match` begin on `road`, with these settings instead of the general ones.

    `form` says how `match` is written; `client_id` (a glob) and `principal` are empty where anybody is meant. `line` is
    where the rule begins in its file, 0 if in none.
    """

    match: str
    road: Road
    overrides: tuple[tuple[str, Value], ...] = ()
    form: PatternForm = PatternForm.GLOB
    client_id: str = ""
    principal: str = ""
    line: int = field(default=0, compare=False)

    def settings(self, general: Settings) -> Settings:
        """The general settings with this rule's own ones in their place."""
        return replace(general, **dict(self.overrides))  # type: ignore[arg-type]  # fields and kinds were checked by name


@dataclass(frozen=True, slots=True)
class Config:
    """Everything an operator can say; the first rule that matches a group wins, none means pass.

    `places` says of each key that was given by whom, and in which line of `source`, the file, 0 where in none.
    """

    settings: Settings = Settings()
    rules: tuple[GroupRule, ...] = ()
    source: str = field(default="", compare=False)
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict, compare=False)

    def placed(self, fault: Fault) -> Fault:
        """A fault with where its key was given, which those who judge values alone do not know."""
        if fault.line:
            return replace(fault, source=self.source or fault.source)
        source, line = self.places.get(fault.key, (fault.source, 0))
        return replace(fault, source=source, line=line)

    def numbers(self) -> dict[str, float]:
        """Every number that is set, by its key."""
        every = ((field.metadata["name"], getattr(self.settings, field.name)) for field in fields(self.settings))
        return {name: value for name, value in every if isinstance(value, int | float) and not isinstance(value, bool)}


def load(
    file: Path | WrittenFile | None,
    environment: Mapping[str, str],
    assignments: Sequence[str] = (),
    rules: Sequence[GroupRule] = (),
) -> Config:
    """Read the file, unless it has been read, and put environment and `KEY=VALUE` assignments over it.

    Raises ConfigError with all faults.
    A key is given in the environment as `EPOCHBRIDGE_` and its name in capitals with `_` for dots and hyphens.
    """
    written = WrittenFile(COMMAND_LINE, {}, ()) if file is None else _read(file) if isinstance(file, Path) else file
    faults: list[Fault] = []
    values: dict[str, Value] = {}
    places: dict[str, tuple[str, int]] = {}
    for source, entries in (
        (written.source, written.entries),
        (ENVIRONMENT, _from_environment(environment, faults)),
        (COMMAND_LINE, _from_assignments(assignments, faults)),
    ):
        for name, entry in entries.items():
            _take(name, entry, source, values, faults)
            # What stands in the file counts for nothing where a variable does, and its line would send people there.
            is_variable = source == ENVIRONMENT and name in KEYS
            places[name] = (f"{ENVIRONMENT}: {variable_of(KEYS[name])}" if is_variable else source, entry.line)
    settings = replace(Settings(), **values)  # type: ignore[arg-type]  # fields and kinds were checked by name
    all_rules = (*rules, *(_read_rule(line, rule, written.source, faults) for line, rule in written.rules))
    general = tuple(_contradictions(settings, written))
    faults += general
    for (line, _), rule in zip(written.rules, all_rules[len(rules) :], strict=True):
        own = (fault for fault in _contradictions(rule.settings(settings), written) if fault not in general)
        faults += [replace(fault, line=line) for fault in own]
    if faults:
        raise ConfigError(list(dict.fromkeys(faults)))
    return Config(settings, all_rules, written.source, places)


def _read(path: Path) -> WrittenFile:
    # Who starts without a file need not wait for the library that reads YAML.
    read_file: Callable[[Path], WrittenFile] = import_module("bridge.config.yaml_file").read_file
    return read_file(path)


OTHER_VARIABLES = frozenset(
    f"{ENVIRONMENT_PREFIX}{name}"
    for name in (
        *("ADMIN", "ADMIN_CA_FILE", "ADMIN_CERTIFICATE_FILE", "ADMIN_KEY_FILE", "ADMIN_TOKEN_FILE"),
        *("LOG_FORMAT", "LOG_LEVEL"),
    )
)
"""Variables that commands read as the value of an option."""
TESTS_PREFIX = f"{ENVIRONMENT_PREFIX}TEST_"
"""Variables of the project's own tests begin so."""


def _from_environment(environment: Mapping[str, str], faults: list[Fault]) -> dict[str, Entry]:
    variables = {variable_of(key): key for key in KEYS.values()}
    known = {*variables, *OTHER_VARIABLES}
    removed = {ENVIRONMENT_PREFIX + re.sub("[.-]", "_", name).upper(): name for name in REMOVED_KEYS}
    for name, text in environment.items():
        if name in removed:
            fault = _fault(FaultCode.REMOVED, ENVIRONMENT, name, "there is no such key any more", "no such variable")
            faults.append(replace(fault, hint=REMOVED_KEYS[removed[name]]))
            continue
        is_ours = name.upper().startswith(ENVIRONMENT_PREFIX) and not name.startswith(TESTS_PREFIX)
        if is_ours and name not in known and not is_of_kubernetes(name, text):
            fault = _fault(FaultCode.UNKNOWN_KEY, ENVIRONMENT, name, "no such variable", "EPOCHBRIDGE_ and a key")
            faults.append(replace(fault, hint=cause_of_variable(name, known, ENVIRONMENT_PREFIX)))
    # Blanks come along from files of variables, and mean nothing, as in assignments.
    return {variables[name].name: Entry(text.strip(), 0) for name, text in environment.items() if name in variables}


def _from_assignments(assignments: Sequence[str], faults: list[Fault]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if equals:
            entries[name.strip()] = Entry(text.strip(), 0)
        else:
            faults.append(_fault(FaultCode.WRONG_KIND, COMMAND_LINE, assignment, "no `=` in it", "KEY=VALUE"))
    return entries


def _take(name: str, entry: Entry, source: str, values: dict[str, Value], faults: list[Fault]) -> None:
    key = KEYS.get(name)
    if name in REMOVED_KEYS:
        fault = _fault(FaultCode.REMOVED, source, name, "there is no such key any more", "the keys of the reference")
        faults.append(replace(fault, line=entry.line, hint=REMOVED_KEYS[name]))
        return
    if key is None:
        fault = _fault(FaultCode.UNKNOWN_KEY, source, name, "no such key", "the keys of the reference")
        faults.append(replace(fault, line=entry.line, hint=cause_of_name(name, KEYS)))
        return
    value = _convert(key, entry.value)
    if value is None:
        seen = f"{_quoted(key, entry.value)} is of another kind"
        fault = _fault(FaultCode.WRONG_KIND, source, name, seen, allowed(key))
        faults.append(replace(fault, line=entry.line, hint=cause_of_kind(key, entry.value)))
    elif not _is_within(key, value):
        seen = f"{_quoted(key, entry.value)} is {'none of the choices' if key.choices else 'out of bounds'}"
        fault = _fault(FaultCode.OUT_OF_BOUNDS, source, name, seen, allowed(key))
        faults.append(replace(fault, line=entry.line, hint=cause_of_choice(key.choices, str(entry.value))))
    else:
        values[key.field_name] = value


def _convert(key: Key, written: Written) -> Value | None:
    if isinstance(key.default, bool):
        return _convert_bool(written)
    if isinstance(key.default, int):
        return _convert_int(written)
    if isinstance(key.default, tuple):
        entries = written if isinstance(written, tuple) else str(written).split(",")
        # A list's entry may itself name several, as Kafka's clients take them; a header's value may hold a comma.
        is_whole = key.is_secret and isinstance(written, tuple)
        items = entries if is_whole else [part for entry in entries for part in str(entry).split(",")]
        written_names = (str(item).strip() for item in items)
        return tuple(ASSIGNOR_CLASSES.get(name, name) for name in written_names if name)
    if isinstance(written, bool):
        return "off" if not written else None
    return _choice(key, str(written)) if isinstance(written, str | int) else None


def _quoted(key: Key, written: Written) -> str:
    """What was written, for a fault: without what may be a secret."""
    return "what is written" if key.is_secret else repr(without_login(str(written)))


def _choice(key: Key, text: str) -> str:
    """The choice that is meant: for Kafka's own keys case does not matter, as in Kafka."""
    if key.origin is not Origin.KAFKA:
        return text
    return next((choice for choice in key.choices if choice == text.lower()), text)


def _convert_bool(written: Written) -> bool | None:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    return words.get(str(written).lower())


def _convert_int(written: Written) -> int | None:
    if isinstance(written, bool):
        return None
    try:
        if isinstance(written, str) and not written.isascii():
            return None
        return int(written) if isinstance(written, int | str) else None
    except ValueError:
        return None


def _is_within(key: Key, value: Value) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return (key.minimum is None or value >= key.minimum) and (key.maximum is None or value <= key.maximum)
    return not key.choices or value in key.choices


def allowed(key: Key) -> str:
    """What a key takes, for people."""
    if key.choices:
        return " or ".join(f"`{choice}`" for choice in key.choices)
    if isinstance(key.default, bool):
        return "true or false"
    if isinstance(key.default, int):
        return f"a whole number from {key.minimum} to {key.maximum}"
    return "a list of words" if isinstance(key.default, tuple) else "a word"


_FORMS = {"match": PatternForm.GLOB, "group": PatternForm.EXACT, "regex": PatternForm.REGEX}
"""How a rule names its groups."""
_CLIENTS = ("client.id", "principal")
"""How a rule names the client that joins first."""


_MISSING_ROAD = "say where these groups go, as in `road: pass`"
_RULE_KEYS = (
    *("road", *_FORMS, *_CLIENTS, *GROUP_NAMES),
    *(key.name for key in KEYS.values() if key.per_group),
)
"""All that a rule may say."""


def _read_rule(line: int, rule: Mapping[str, Entry], source: str, faults: list[Fault]) -> GroupRule:
    road, road_line = astuple(rule.get("road", Entry("", line)))
    if road not in ROADS:
        seen = f"road is {road!r}" if "road" in rule else "no road is given"
        fault = _fault(FaultCode.WRONG_RULE, source, "road", seen, " or ".join(ROADS))
        hint = cause_of_choice(ROADS, str(road)) or _MISSING_ROAD
        faults.append(replace(fault, line=road_line, hint=hint))
    match, form = _read_names(line, rule, source, faults)
    client_id, principal = (_read_client(key, rule, source, faults) for key in _CLIENTS)
    values: dict[str, Value] = {}
    for written_name, entry in rule.items():
        if written_name in ("road", *_FORMS, *_CLIENTS):
            continue
        name = GROUP_NAMES.get(written_name, written_name)
        if client_id or principal:
            seen, wanted = "a setting of groups in a rule of clients", "settings in rules of groups alone"
        elif name in KEYS and not KEYS[name].per_group:
            seen, wanted = "not a setting of single groups", "keys marked per group"
        elif name not in KEYS:
            fault = _fault(FaultCode.UNKNOWN_KEY, source, name, "no such key of a rule", "the keys of the reference")
            faults.append(replace(fault, line=entry.line, hint=cause_of_name(name, _RULE_KEYS)))
            continue
        else:
            _take(name, entry, source, values, faults)
            continue
        faults.append(replace(_fault(FaultCode.WRONG_RULE, source, name, seen, wanted), line=entry.line))
    chosen = Road(road) if road in ROADS else Road.PASS
    return GroupRule(match, chosen, tuple(values.items()), form, client_id, principal, line)


def _read_names(line: int, rule: Mapping[str, Entry], source: str, faults: list[Fault]) -> tuple[str, PatternForm]:
    """The groups of a rule and how they are written; a rule that names only clients means all groups."""
    written = [key for key in _FORMS if key in rule]
    if not written and any(key in rule for key in _CLIENTS):
        return "*", PatternForm.GLOB
    key = written[0] if written else "match"
    match, match_line = astuple(rule.get(key, Entry("", line)))
    if len(written) > 1:
        seen = " and ".join(f"`{one}`" for one in written)
        fault = _fault(FaultCode.WRONG_RULE, source, key, seen, "one of `match`, `group` and `regex`")
        faults.append(replace(fault, line=line))
    elif not isinstance(match, str) or not match:
        wanted = {"match": "a glob for group ids", "group": "a group id", "regex": "an RE2 expression for group ids"}
        seen = f"{key} is {match!r}" if key in rule else "no `match`, `group` or `regex` is given"
        fault = _fault(FaultCode.WRONG_RULE, source, key, seen, wanted[key])
        hint = "say which groups the rule means, as in `match: orders-*`"
        if isinstance(match, bool | int | float):
            hint = "YAML takes it for a number or a truth value: put quotes around a group id of that kind"
        faults.append(replace(fault, line=match_line, hint=hint))
    return str(match), _FORMS[key]


def _read_client(key: str, rule: Mapping[str, Entry], source: str, faults: list[Fault]) -> str:
    entry = rule.get(key)
    if entry is None:
        return ""
    if not isinstance(entry.value, str) or not entry.value:
        wanted = {"client.id": "a glob for client ids", "principal": "the name that a client logs in with"}
        fault = _fault(FaultCode.WRONG_RULE, source, key, f"{key} is {entry.value!r}", wanted[key])
        faults.append(replace(fault, line=entry.line))
    return str(entry.value)


_ORDERED = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"),
    ("group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"),
)
"""Pairs of keys of which the first must not be greater than the second, as in Kafka's own validation."""


_ASSIGNORS = "group.consumer.assignors"


def _contradictions(settings: Settings, written: WrittenFile) -> Iterator[Fault]:
    for low, high in _ORDERED:
        yield from _check_order(settings, written, low, high, strictly=False)
    yield from _check_order(
        settings, written, "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms", strictly=True
    )
    if not settings.group_consumer_assignors:
        seen = "no assignor"
        yield _fault(FaultCode.CONTRADICTION, written.source, _ASSIGNORS, seen, "at least one name")
    twice = sorted(name for name, count in Counter(settings.group_consumer_assignors).items() if count > 1)
    if twice:
        # Kafka's lists of distinct values are refused the same.
        line = written.entries[_ASSIGNORS].line if _ASSIGNORS in written.entries else 0
        fault = _fault(FaultCode.CONTRADICTION, written.source, _ASSIGNORS, f"{twice[0]!r} twice", "each name once")
        yield replace(fault, line=line, hint=f"write {twice[0]!r} once: the first of the list is the default")


def _check_order(settings: Settings, written: WrittenFile, low: str, high: str, *, strictly: bool) -> Iterator[Fault]:
    low_value = int(getattr(settings, KEYS[low].field_name))
    high_value = int(getattr(settings, KEYS[high].field_name))
    if low_value < high_value or (low_value == high_value and not strictly):
        return
    line = max((written.entries[key].line for key in (low, high) if key in written.entries), default=0)
    # Whoever wrote one of the two has never seen the other.
    is_low_default, is_high_default = (
        getattr(settings, KEYS[key].field_name) == KEYS[key].default for key in (low, high)
    )
    bound = "less than" if strictly else "at most", "more than" if strictly else "at least"
    if is_low_default and not is_high_default:
        key, value, than, other, other_value, default = high, high_value, bound[1], low, low_value, True
    else:
        key, value, than, other, other_value, default = low, low_value, bound[0], high, high_value, is_high_default
    seen = f"{value}, but `{other}` is {other_value}{' by default' if default else ''}"
    fault = _fault(FaultCode.CONTRADICTION, written.source, key, seen, f"{than} `{other}`")
    yield replace(fault, line=line, hint=f"write {than} {other_value}, or set `{other}`, too")


def _fault(code: FaultCode, source: str, key: str, seen: str, allowed_: str) -> Fault:
    return Fault(code=code, source=source, key=key, seen=seen, allowed=allowed_)
