"""How long things take in the shell around the engine, and how much of the journal anybody may hold.

It must not know who waits, nor what for.
"""

from dataclasses import dataclass

from bridge.coordinators.embedded.shares import ShareLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """Durations of the shell around the engine, in milliseconds; without `shares` nobody's part is limited."""

    topics_refresh_ms: int = 5_000
    commit_drain_ms: int = 5_000
    recommit_ms: int = 86_400_000
    retention_check_ms: int = 600_000
    shares: ShareLimits | None = None
