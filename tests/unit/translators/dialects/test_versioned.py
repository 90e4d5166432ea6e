"""Written records of several versions: older ones are lifted, newer ones refused, everything else named."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from translators.dialects.plain import NUMBER, TEXT, structure
from translators.dialects.versioned import NewerRecord, Row, Table, UnreadableRecord


@dataclass(frozen=True, slots=True)
class Seat:
    """A record in its third version: version 1 had a name only, version 2 called the row a letter."""

    name: str
    row: int


def add_letter(fields: Sequence[object]) -> Sequence[object]:
    """Version 2: everybody sat in row a."""
    return [*fields, "a"]


def number_rows(fields: Sequence[object]) -> Sequence[object]:
    """Version 3: rows have numbers."""
    name, letter = fields
    return [name, "abc".index(str(letter))]


SEAT = Row(tag="seat", record=Seat, form=structure(Seat, name=TEXT, row=NUMBER), lifts=(add_letter, number_rows))
TABLE = Table((SEAT,))


def test_record_is_written_with_tag_and_version() -> None:
    """The bytes say what they are."""
    assert TABLE.encode(Seat("x", 2)) == b'["seat",3,["x",2]]'
    assert TABLE.decode(b'["seat",3,["x",2]]') == Seat("x", 2)


@pytest.mark.parametrize("data", [b'["seat",1,["x"]]', b'["seat",2,["x","a"]]', b'["seat",3,["x",0]]'])
def test_older_version_is_lifted_step_by_step(data: bytes) -> None:
    """A journal of an older release is read by every later one."""
    assert TABLE.decode(data) == Seat("x", 0)


@pytest.mark.parametrize("data", [b'["seat",4,["x",0,1]]', b'["chair",1,["x"]]'])
def test_newer_record_is_refused(data: bytes) -> None:
    """A downgrade says what to do, and guesses nothing."""
    with pytest.raises(NewerRecord, match="a newer release wrote it"):
        TABLE.decode(data)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xff", "not JSON"),
        (b"[", "not JSON"),
        (b"{}", "not a list of tag, version and fields"),
        (b'["seat",0,[]]', "not a list of tag, version and fields"),
        (b'["seat",3,["x"]]', "2 fields expected"),
        (b'["seat",2,["x","z"]]', "substring not found"),
        (b'["seat",2,["x"]]', "not enough values"),
    ],
)
def test_bad_bytes_are_named(data: bytes, complaint: str) -> None:
    """The error shows the bytes and what is wrong with them."""
    with pytest.raises(UnreadableRecord, match=complaint):
        TABLE.decode(data)


def test_tag_belongs_to_one_kind() -> None:
    """Two rows of one tag would make journals unreadable."""
    with pytest.raises(ValueError, match="has two rows"):
        Table((SEAT, SEAT))


def test_kind_without_row_is_not_known() -> None:
    """What a table lacks can be asked, so that a test can tell."""
    assert (TABLE.knows(Seat), TABLE.knows(Row)) == (True, False)


def test_tag_or_type_with_two_rows_is_a_mistake_of_the_table() -> None:
    """Found when the table is made, not when a record is read; of an iterator, too."""
    other = Row(tag="chair", record=Seat, form=SEAT.form)
    same = Row(tag="seat", record=int, form=SEAT.form)
    for rows in ((SEAT, other), (SEAT, same), (SEAT, SEAT)):
        with pytest.raises(ValueError, match="a tag or a type has two rows"):
            Table(iter(rows))
