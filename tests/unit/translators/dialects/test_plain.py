"""Values in plain form: what was written comes back, and anything else is named.

Written records of several versions: older ones are lifted, newer ones refused, everything else named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from json import dumps, loads

import pytest

from translators.dialects.classic import Protocol
from translators.dialects.ids import ClientIdentity, Topic, TopicId, TopicIdPartition, TopicName, TopicPartition
from translators.dialects.plain import (
    BYTES,
    FLAG,
    ID_PARTITIONS,
    IDENTITY,
    NUMBER,
    NUMBERED_ID_PARTITIONS,
    NUMBERED_PARTITIONS,
    PARTITIONS,
    PROTOCOL,
    TEXT,
    TEXTS,
    TOPIC,
    TOPIC_ID,
    Form,
    MalformedPlain,
    NewerRecord,
    Row,
    Table,
    UnreadableRecord,
    members_of,
    optional,
    pair,
    row_of,
    structure,
)

ID = TopicId(bytes(range(16)))
FOO, BAR = TopicName("foo"), TopicName("bar")


class Colour(IntEnum):
    """An enumeration."""

    RED = 3


VALUES: list[tuple[Form, object]] = [
    (TEXT, "grüße\n\ud800"),
    (NUMBER, -1),
    (FLAG, True),
    (BYTES, bytes(range(256))),
    (TOPIC_ID, ID),
    (TEXTS, frozenset({"b", "a"})),
    (PARTITIONS, frozenset({TopicPartition(FOO, 1), TopicPartition(FOO, 0), TopicPartition(BAR, 7)})),
    (PARTITIONS, frozenset()),
    (ID_PARTITIONS, frozenset({TopicIdPartition(ID, 1), TopicIdPartition(ID, 0)})),
    (NUMBERED_PARTITIONS, {TopicPartition(FOO, 1): 5, TopicPartition(FOO, 0): 4}),
    (NUMBERED_ID_PARTITIONS, {TopicIdPartition(ID, 3): 9}),
    (IDENTITY, ClientIdentity(client_id="c", client_host="/h", software_name="s", software_version="1")),
    (TOPIC, Topic(ID, FOO, 3)),
    (row_of(PROTOCOL), (Protocol("range", b"\0\1"), Protocol("sticky", b""))),
    (pair(TEXT, TEXT), ("a", "")),
    (optional(TEXT), None),
    (optional(TEXT), ""),
    (members_of(Colour), Colour.RED),
]


@pytest.mark.parametrize(("form", "value"), VALUES)
def test_value_comes_back_through_json(form: Form, value: object) -> None:
    """from_plain(to_plain(value)) == value, of the same type."""
    back = form.from_plain(loads(dumps(form.to_plain(value))))
    assert back == value
    assert type(back) is type(value)


def test_partitions_are_written_by_topic_in_order() -> None:
    """Equal sets have equal plain forms, whatever order they were made in."""
    assert PARTITIONS.to_plain({TopicPartition(FOO, 1), TopicPartition(BAR, 2), TopicPartition(FOO, 0)}) == [
        ["bar", 2],
        ["foo", 0, 1],
    ]
    assert NUMBERED_PARTITIONS.to_plain({TopicPartition(FOO, 1): 5, TopicPartition(FOO, 0): 4}) == [["foo", 0, 4, 1, 5]]


@pytest.mark.parametrize(
    ("form", "plain", "complaint"),
    [
        (TEXT, 1, "a text expected, 1 seen"),
        (NUMBER, True, "a whole number expected, True seen"),
        (NUMBER, "1", "a whole number expected, '1' seen"),
        (FLAG, 0, "true or false expected, 0 seen"),
        (BYTES, "a", "base64 expected"),
        (BYTES, "ü", "base64 expected"),
        (TOPIC_ID, "zz", "hexadecimal digits expected"),
        (TEXTS, "ab", "a list expected, 'ab' seen"),
        (PARTITIONS, [[]], "a text expected, None seen"),
        (NUMBERED_PARTITIONS, [["foo", 1]], "pairs expected after topic 'foo', 1 numbers seen"),
        (TOPIC, ["00"], r"3 fields expected \(topic_id, name, partition_count\), 1 seen"),
        (members_of(Colour), 4, "no Colour: 4"),
        (structure(Topic, topic_id=TOPIC_ID), None, "a list expected, None seen"),
    ],
)
def test_other_value_is_named(form: Form, plain: object, complaint: str) -> None:
    """Nothing is guessed: what does not fit its place is refused with what was seen."""
    with pytest.raises(MalformedPlain, match=complaint):
        form.from_plain(plain)


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
