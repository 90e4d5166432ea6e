"""A configuration file as entries that remember their lines.

It must not know YAML, nor which keys there are or what they mean.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from bridge.config_faults import ConfigError, Fault, FaultCode

Scalar = int | bool | str | float | None
Written = Scalar | tuple[Scalar, ...]
RULES = "groups"
FILE_BYTES_MAX = 1_048_576


@dataclass(frozen=True, slots=True)
class Entry:
    """One key as it was written: its value and its line."""

    value: Written
    line: int


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file's entries and its group rules, each a mapping of entries with the line it starts at."""

    source: str
    entries: Mapping[str, Entry]
    rules: tuple[tuple[int, Mapping[str, Entry]], ...]


def read_file(path: Path) -> WrittenFile:
    """Read one YAML file; raises ConfigError when it can't be read or is no mapping of keys."""
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(FILE_BYTES_MAX + 1)
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, f"can't be read ({problem})", "a readable UTF-8 file") from None
    if len(text) > FILE_BYTES_MAX:
        raise _unreadable(path, f"longer than {FILE_BYTES_MAX} characters", "a configuration file")
    # Who starts without a file need not wait for the library.
    read_text: Callable[[str, str], WrittenFile] = import_module("bridge.config_yaml").read_text
    return read_text(text, str(path))


def _unreadable(path: Path, seen: str, allowed: str) -> ConfigError:
    fault = Fault(code=FaultCode.UNREADABLE, source=str(path), key="", seen=seen, allowed=allowed, line=0)
    return ConfigError([fault])
