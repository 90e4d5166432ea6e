"""What can be wrong with a configuration, as values that tell a person what to do."""

from collections.abc import Mapping, Sequence
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
    REMOVED = "EB-CONFIG-010"
    """There was such a key and is no more; the sentence says what came in its place."""


NEXT_STEPS: Mapping[FaultCode, str] = {
    FaultCode.UNREADABLE: "check the path, and that this user may read it",
    FaultCode.NOT_YAML: "look at that line and the one before: a colon, a quote or spaces may be too many or missing",
    FaultCode.UNKNOWN_KEY: "look for it in docs/reference/configuration.md, or take it out",
    FaultCode.WRONG_KIND: "write what is allowed, or take the key out to use its default",
    FaultCode.OUT_OF_BOUNDS: "write what is allowed, or take the key out to use its default",
    FaultCode.WRONG_RULE: "write a rule as `- match: NAMES` with `road: ROAD` in the line below",
    FaultCode.CONTRADICTION: "change one of the two",
    FaultCode.MISSING: "add the key",
    FaultCode.REMOVED: "take it out",
    FaultCode.NEEDS_RESTART: "start the bridge again to have it, or put the former value back",
}
"""What to do where the place that found the fault knows no better."""
OF_FILES = "mend that file, or name another one"
"""The same for what is wrong with a file that a key names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong: where, what was seen, what is allowed, and `hint`: the likely cause and the next step.

    `line` 0 means not in a file.
    """

    code: FaultCode
    source: str
    key: str
    seen: str
    allowed: str
    line: int = 0
    hint: str = ""

    def __str__(self) -> str:
        """One line for a person."""
        place = f"{self.source}:{self.line}" if self.line else self.source
        key = f" {self.key}:" if self.key else ""
        is_of_a_file = self.code is FaultCode.WRONG_KIND and self.key.endswith(".path")
        step = self.hint or (OF_FILES if is_of_a_file else NEXT_STEPS[self.code])
        return f"{place}:{key} {self.seen}; allowed: {self.allowed}; {step} [{self.code}]"


class ConfigError(Exception):
    """The configuration can't be used; the operator has to mend it. Carries every fault found, not only the first."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


CONFIGURATION = "configuration"
"""The source of what is judged when all has been read: a value may be from a file, a variable or the command line."""


def fault_of(key: str, seen: str, allowed: str, code: FaultCode = FaultCode.WRONG_KIND, hint: str = "") -> Fault:
    """What is wrong with the value of a key, wherever that was given."""
    return Fault(code=code, source=CONFIGURATION, key=key, seen=seen, allowed=allowed, hint=hint)


def error_of(key: str, seen: str, allowed: str, code: FaultCode = FaultCode.WRONG_KIND, hint: str = "") -> ConfigError:
    """The same as all that is to be said."""
    return ConfigError([fault_of(key, seen, allowed, code, hint)])
