"""How long things take in the shell around the engine.

It must not know who waits, nor what for.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """Durations of the shell around the engine, in milliseconds."""

    topics_refresh_ms: int = 5_000
    commit_drain_ms: int = 5_000
    recommit_ms: int = 86_400_000
    retention_check_ms: int = 600_000
