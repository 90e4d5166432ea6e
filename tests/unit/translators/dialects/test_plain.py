"""Values in plain form: what was written comes back, and anything else is named."""

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
