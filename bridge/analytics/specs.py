"""What the command line asks a job for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSpec:
    """A stream into `out`, from `bootstrap` and `topic` or from the folder `events`; times in seconds."""

    out: str
    bootstrap: str | None = None
    topic: str | None = None
    events: str | None = None
    is_once: bool = False
    refresh_s: int = 60
    settled_s: int = 3_900
    batch_lines: int = 1_000_000
    batch_files: int = 16
    jars: Sequence[str] = ()
    on_gap: str = "fail"
    kafka_config: str | None = None
    upkeep_s: int = 3_600
    spared_hours: int = 168
    end_within_s: int = 60
    keep_days: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareSpec:
    """A comparison of what two SQL conditions choose from the tables below `out`; see `samples.Choice`."""

    out: str
    control: str
    treatment: str
    measure: str
    alpha: float
    margin: float
    pairs_min: int
    unit: str = "rebalance"
    tail_margin: float = 0.05
    pair_within_s: float = 3_600.0
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySpec:
    """A replay of the log at `events`; `settings` are KEY=VALUE pairs of the groups, `group` None means all."""

    events: str
    group: str | None = None
    protocol: str | None = None
    assignor: str | None = None
    settings: Sequence[str] = ()
    json: str | None = None
    out: str | None = None
