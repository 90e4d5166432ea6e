"""What can be wrong with a configuration, as values that tell a person what to do.

It must not know how a file is read or what a key means.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class FaultCode(StrEnum):
    """Stable codes of configuration faults."""

    UNREADABLE = "EB-CONFIG-001"
    NOT_YAML = "EB-CONFIG-002"
    UNKNOWN_KEY = "EB-CONFIG-003"
    WRONG_KIND = "EB-CONFIG-004"
    OUT_OF_BOUNDS = "EB-CONFIG-005"
    WRONG_RULE = "EB-CONFIG-006"
    CONTRADICTION = "EB-CONFIG-007"
    MISSING = "EB-CONFIG-008"


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
