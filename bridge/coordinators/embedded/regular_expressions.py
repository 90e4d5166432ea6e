"""RE2 patterns of subscriptions and the topics that they match; the only door to google-re2."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import re2

from bridge.coordinators.catalog import Catalog
from bridge.engine.commands import ResolveRegularExpression
from bridge.migration.patterns import PatternUnreadable
from translators.dialects.ids import TopicName

PATTERN_CHARACTERS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a pattern matches, or why it can't be read."""

    topics: frozenset[TopicName]
    error: str | None = None


def resolve(pattern: str, names: Iterable[TopicName]) -> Resolution:
    """The topics whose whole name matches `pattern` (K2.4 in 11.4), internal ones too, as in Kafka."""
    try:
        matches = read_regex(pattern)
    except PatternUnreadable as problem:
        return Resolution(frozenset(), str(problem))
    return Resolution(frozenset(filter(matches, names)))


def read_regex(pattern: str) -> Callable[[str], bool]:
    """What says whether a whole name matches; raises PatternUnreadable for what Kafka could not read either."""
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        raise PatternUnreadable(f"the pattern has {len(pattern)} characters, at most {PATTERN_CHARACTERS_MAX}")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as problem:
        raise PatternUnreadable(_reason(problem)) from None
    fault = _find_fault_of_kafkas(pattern)
    if fault is not None:
        raise PatternUnreadable(fault)
    return lambda name: compiled.fullmatch(name) is not None


_TOKENS = re2.compile(r"\\Q(?s:.*?)(?:\\E|\z)|\\(?s:.)|\[\^?\]?(?:\[:\^?\w+:\]|\\(?s:.)|[^\]\\])*\]|\(\?P?<([^>=!]+)>")
"""A quotation, an escape, a class of characters or the beginning of a named group, whose name is group 1."""
_NAME = re2.compile(r"[0-9A-Za-z_]+")
_ANY_BYTE = r"\C"


def _find_fault_of_kafkas(pattern: str) -> str | None:
    """What RE2 for Java, which Kafka has, refuses and RE2 itself does not; `pattern` is one that RE2 can read."""
    seen: set[str] = set()
    for token in _TOKENS.finditer(pattern):
        name = token.group(1)
        if token.group() == _ANY_BYTE:
            return f"invalid escape sequence: `{_ANY_BYTE}`"
        if name is None:
            continue
        if name in seen:
            return f"duplicate capture group name: `{name}`"
        if _NAME.fullmatch(name) is None:
            return f"invalid named capture: `{name}`"
        seen.add(name)
    return None


def _reason(problem: Exception) -> str:
    text = problem.args[0] if problem.args else problem
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


PATTERNS_MAX = 10_000
"""How many different patterns are kept up to date; further ones are answered as unreadable."""


class Patterns:
    """Every pattern that was ever asked for, up to a limit; then those that `is_used` denies make room."""

    def __init__(self, catalog: Catalog, is_used: Callable[[str], bool], patterns_max: int = PATTERNS_MAX) -> None:
        self._catalog = catalog
        self._is_used = is_used
        self._patterns_max = patterns_max
        self._known: set[str] = set()

    def resolve_new(self, pattern: str | None) -> list[ResolveRegularExpression]:
        """What the engine has to be told before a heartbeat with this pattern: nothing if it knows."""
        if not pattern or pattern in self._known:
            return []
        if len(self._known) >= self._patterns_max:
            self._known = {known for known in self._known if self._is_used(known)}
        if len(self._known) >= self._patterns_max:
            reason = f"the bridge keeps {self._patterns_max} patterns at most"
            return [ResolveRegularExpression(pattern, frozenset(), reason)]
        self._known.add(pattern)
        return [self._resolve(pattern)]

    def remember(self, patterns: Iterable[str]) -> None:
        """The engine knows these already, from before a restart."""
        self._known.update(patterns)

    def resolve_again(self) -> list[ResolveRegularExpression]:
        """What every known pattern matches now."""
        return [self._resolve(pattern) for pattern in sorted(self._known)]

    def _resolve(self, pattern: str) -> ResolveRegularExpression:
        found = resolve(pattern, self._catalog.names())
        return ResolveRegularExpression(pattern, found.topics, found.error)
