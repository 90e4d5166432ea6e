"""What can be wrong with a configuration, as values that tell a person what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class FaultCode(StrEnum):
    """Stable codes of configuration faults."""

    UNREADABLE = "EB-CONFIG-001"
    """The file is not there, may not be read, or is no UTF-8."""
    NOT_YAML = "EB-CONFIG-002"
    """The file is no YAML, or no list of keys with values; the line is named."""
    UNKNOWN_KEY = "EB-CONFIG-003"
    """No key is called so; the nearest one is named."""
    WRONG_KIND = "EB-CONFIG-004"
    """The value is of another kind than the key takes: no number, no address, no file that can be read."""
    OUT_OF_BOUNDS = "EB-CONFIG-005"
    """The value is less or more than the key takes, or none of its choices."""
    WRONG_RULE = "EB-CONFIG-006"
    """A rule says not at all or in two ways which groups it means, lacks a road, or has a key that is not per group."""
    CONTRADICTION = "EB-CONFIG-007"
    """Two keys exclude each other, as a least value above the greatest."""
    MISSING = "EB-CONFIG-008"
    """A key that has no default is not given."""
    NEEDS_RESTART = "EB-CONFIG-009"
    """The value differs from the one that the bridge runs with, and can't be changed while it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong: where, what was seen, what is allowed; `line` 0 means not in a file."""

    code: FaultCode
    source: str
    key: str
    seen: str
    allowed: str
    line: int = 0

    def __str__(self) -> str:
        """One line for a person."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        key = f" {self.key}:" if self.key else ""
        return f"{place}:{key} {self.seen}; allowed: {self.allowed} [{self.code}]"


class ConfigError(Exception):
    """The configuration can't be used; the operator has to mend it. Carries every fault found, not only the first."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)
