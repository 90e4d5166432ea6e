"""The patterns that members subscribed with: resolved when they are new, and again whenever topics change.

It must not know RE2 itself, or which member uses a pattern.
"""

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.regular_expressions import resolve
from bridge.engine.commands import ResolveRegularExpression

PATTERNS_MAX = 10_000
"""How many different patterns are kept up to date; further ones are answered as unreadable."""


class Patterns:
    """Every pattern that was ever asked for, up to a limit."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: set[str] = set()

    def resolve_new(self, pattern: str | None) -> list[ResolveRegularExpression]:
        """What the engine has to be told before a heartbeat with this pattern: nothing if it knows."""
        if not pattern or pattern in self._known:
            return []
        if len(self._known) >= PATTERNS_MAX:
            reason = f"the bridge keeps {PATTERNS_MAX} patterns at most"
            return [ResolveRegularExpression(pattern, frozenset(), reason)]
        self._known.add(pattern)
        return [self._resolve(pattern)]

    def resolve_again(self) -> list[ResolveRegularExpression]:
        """What every known pattern matches now."""
        return [self._resolve(pattern) for pattern in sorted(self._known)]

    def _resolve(self, pattern: str) -> ResolveRegularExpression:
        found = resolve(pattern, self._catalog.names())
        return ResolveRegularExpression(pattern, found.topics, found.error)
