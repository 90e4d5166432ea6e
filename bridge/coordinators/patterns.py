"""The patterns that members subscribed with: resolved when they are new, and again whenever topics change.

It must not know RE2 itself, or which member uses a pattern.
"""

from collections.abc import Callable, Iterable

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.regular_expressions import resolve
from bridge.engine.commands import ResolveRegularExpression

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
