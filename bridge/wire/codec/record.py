"""The fields of one decoded message or struct, with access by type."""

from collections.abc import Mapping, Sequence
from typing import cast

Fields = Mapping[str, object]
"""What is to be written: names in snake case; every field of the version must be there, others are ignored."""


class Record(dict[str, object]):
    """What was read: every field of the schema by its name in snake case; those that a version lacks have defaults."""

    __slots__ = ()

    def number(self, name: str) -> int:
        """An integer of any size."""
        value = self[name]
        assert isinstance(value, int)
        return value

    def flag(self, name: str) -> bool:
        """A boolean."""
        value = self[name]
        assert isinstance(value, bool)
        return value

    def text(self, name: str) -> str:
        """A string that isn't null."""
        value = self[name]
        assert isinstance(value, str)
        return value

    def nullable_text(self, name: str) -> str | None:
        """A string or None."""
        value = self[name]
        assert value is None or isinstance(value, str)
        return value

    def blob(self, name: str) -> bytes:
        """Bytes that aren't null, also the 16 of a uuid."""
        value = self[name]
        assert isinstance(value, bytes)
        return value

    def record(self, name: str) -> "Record":
        """A struct that isn't null."""
        value = self[name]
        assert isinstance(value, Record)
        return value

    def nullable_record(self, name: str) -> "Record | None":
        """A struct or None."""
        value = self[name]
        assert value is None or isinstance(value, Record)
        return value

    def records(self, name: str) -> Sequence["Record"]:
        """An array of structs; a null one counts as empty."""
        return cast("Sequence[Record]", self[name] or ())

    def texts(self, name: str) -> Sequence[str]:
        """An array of strings; a null one counts as empty."""
        return cast("Sequence[str]", self[name] or ())

    def numbers(self, name: str) -> Sequence[int]:
        """An array of integers; a null one counts as empty."""
        return cast("Sequence[int]", self[name] or ())

    def is_null(self, name: str) -> bool:
        """Whether the field was sent as null."""
        return self[name] is None
