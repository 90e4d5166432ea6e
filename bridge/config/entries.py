"""What a configuration file says: its keys with the values as written and their lines."""

from collections.abc import Mapping
from dataclasses import dataclass

Scalar = int | bool | str | float | None
Written = Scalar | tuple[Scalar, ...]


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
