"""The subscription and assignment blobs, byte by byte, with the defects that clients in the field send."""

import struct

import pytest
from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData
from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from translators.dialects.consumer_protocol import (
    Assignment,
    MalformedBlob,
    StickyUserData,
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    version_of,
)
from translators.dialects.ids import TopicName, TopicPartition

ORDERS, BILLS = TopicName("orders"), TopicName("bills")
OWNED = frozenset({TopicPartition(ORDERS, 0), TopicPartition(ORDERS, 2), TopicPartition(BILLS, 1)})
TOPICS = b"\0\0\0\1\0\6orders"
NULL = b"\xff\xff\xff\xff"
NO_USER_DATA = b"\0\0\0\0"
OWNS_ORDERS_2 = b"\0\0\0\1\0\6orders\0\0\0\1\0\0\0\2"


def label(version: int) -> bytes:
    """The two bytes that every blob begins with."""
    return struct.pack(">h", version)


def test_subscription_of_each_version_reads_as_written() -> None:
    """Versions 0 to 3 add owned partitions, generation and rack (ConsumerProtocolSubscription)."""
    subscriptions = [
        Subscription(version=0, topics=(ORDERS, BILLS), user_data=b"x"),
        Subscription(version=1, topics=(ORDERS,), owned=OWNED),
        Subscription(version=2, topics=(), owned=frozenset(), generation=7, user_data=b""),
        Subscription(version=3, topics=(ORDERS,), owned=OWNED, generation=-1, rack_id="r1"),
        Subscription(version=3, topics=(ORDERS,), owned=OWNED, generation=9, rack_id=None),
    ]
    assert [decode_subscription(encode_subscription(each)) for each in subscriptions] == subscriptions


@pytest.mark.parametrize("version", [1, 2, 3])
def test_subscription_without_owned_partitions_reads_as_version_0(version: int) -> None:
    """@platformatic/kafka and kafka-go say version 1 and stop after the user data (clients.md)."""
    blob = label(version) + TOPICS + NO_USER_DATA
    assert decode_subscription(blob) == Subscription(version=0, topics=(ORDERS,), owned=None, user_data=b"")


def test_subscription_without_user_data_reads_with_none() -> None:
    """What is missing at the end degrades."""
    assert decode_subscription(label(1) + TOPICS) == Subscription(version=0, topics=(ORDERS,))


def test_subscription_without_generation_reads_as_version_1() -> None:
    """Three bytes are no generation."""
    blob = label(3) + TOPICS + NULL + OWNS_ORDERS_2 + b"\0\0\1"
    owned = frozenset({TopicPartition(ORDERS, 2)})
    assert decode_subscription(blob) == Subscription(version=1, topics=(ORDERS,), owned=owned)


def test_subscription_without_rack_reads_as_version_2() -> None:
    """One byte is no rack."""
    blob = label(3) + TOPICS + NULL + OWNS_ORDERS_2 + b"\0\0\0\5\0"
    owned = frozenset({TopicPartition(ORDERS, 2)})
    assert decode_subscription(blob) == Subscription(version=2, topics=(ORDERS,), owned=owned, generation=5)


def test_subscription_with_empty_rack_has_no_rack() -> None:
    """librdkafka sends "" where none is set."""
    blob = label(3) + TOPICS + NO_USER_DATA + NO_USER_DATA + NULL + b"\0\0"
    assert decode_subscription(blob) == Subscription(
        version=3, topics=(ORDERS,), owned=frozenset(), rack_id=None, user_data=b""
    )


@pytest.mark.parametrize("version", [4, 32767])
def test_subscription_of_newer_version_reads_as_version_3(version: int) -> None:
    """Newer versions may only append."""
    blob = label(version) + TOPICS + NULL + OWNS_ORDERS_2 + b"\0\0\0\5\0\1r" + b"something new"
    owned = frozenset({TopicPartition(ORDERS, 2)})
    assert decode_subscription(blob) == Subscription(
        version=3, topics=(ORDERS,), owned=owned, generation=5, rack_id="r"
    )


def test_subscription_of_version_0_with_bytes_behind_ignores_them() -> None:
    """Owned partitions count only under a version that has them."""
    blob = label(0) + TOPICS + NULL + OWNS_ORDERS_2
    assert decode_subscription(blob) == Subscription(version=0, topics=(ORDERS,))


def test_subscription_with_null_owned_partitions_has_none() -> None:
    """A null list was not sent."""
    assert decode_subscription(label(1) + TOPICS + NULL + NULL).owned is None


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\0",
        label(-1) + TOPICS + NULL,
        label(0) + TOPICS[:-1],
        label(0) + NULL,
        label(0) + b"\x7f\xff\xff\xff",
        label(0) + b"\0\0\0\1\0\2\xff\xfe",
        label(0) + b"\0\0\0\1\xff\xff",
        label(0) + b"\0\0\0\1\xff\xfe" + bytes(8),
        label(0) + TOPICS + b"\0\0\0\3ab",
        label(0) + TOPICS + b"\xff\xff\xff\xfeab",
        label(1) + TOPICS + NULL + OWNS_ORDERS_2[:-1],
        label(1) + TOPICS + NULL + b"\0",
        label(1) + TOPICS + NULL + b"\x7f\xff\xff\xff",
        label(1) + TOPICS + NULL + b"\0\0\0\1\0\6orders\x7f\xff\xff\xff\0\0\0\2",
        label(3) + TOPICS + NULL + OWNS_ORDERS_2 + b"\0\0\0\5\0\2r",
    ],
)
def test_subscription_that_lies_is_malformed(blob: bytes) -> None:
    """A negative version or a field that begins and does not end is an error."""
    with pytest.raises(MalformedBlob):
        decode_subscription(blob)


def test_malformed_subscription_names_field_and_position() -> None:
    """The reason is fit for a log line."""
    with pytest.raises(MalformedBlob, match=r"^topics before byte 6 counts 9 elements, 3 bytes are left$"):
        decode_subscription(label(0) + b"\0\0\0\x09abc")


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_subscription_of_kafka_python_reads_alike(version: int) -> None:
    """Another implementation writes what we read, and reads what we write."""
    theirs = ConsumerProtocolSubscription(
        topics=["orders"],
        user_data=b"u",
        owned_partitions=[ConsumerProtocolSubscription.TopicPartition("bills", [1])] if version else [],
        generation_id=4 if version >= 2 else -1,
        rack_id="r" if version >= 3 else None,
        version=version,
    ).encode()
    ours = Subscription(
        version=version,
        topics=(ORDERS,),
        owned=frozenset({TopicPartition(BILLS, 1)}) if version else None,
        generation=4 if version >= 2 else -1,
        rack_id="r" if version >= 3 else None,
        user_data=b"u",
    )
    assert decode_subscription(theirs) == ours
    assert encode_subscription(ours) == bytes(theirs)


def test_assignment_of_no_bytes_is_empty() -> None:
    """librdkafka and others write none; reading them is harmless, writing them is not."""
    assert decode_assignment(b"") == Assignment(version=0, partitions=frozenset())


def test_empty_assignment_is_the_ten_byte_envelope() -> None:
    """Zero bytes are fatal in Java, kafka-python and aiokafka (clients.md)."""
    assert encode_assignment(frozenset()) == b"\0\0\0\0\0\0\xff\xff\xff\xff"


def test_version_of_a_blob_is_one_that_there_is() -> None:
    """What is newer counts as the newest, what is none as the first (K4.22)."""
    blobs = {b"": 0, b"\0": 0, b"\xff\xff": 0, b"\0\1": 1, b"\0\3abc": 3, b"\0\4": 3}
    assert {blob: version_of(blob) for blob in blobs} == blobs


def test_assignment_is_written_sorted() -> None:
    """Equal assignments are equal bytes."""
    assert encode_assignment(OWNED) == (
        b"\0\0\0\0\0\2\0\5bills\0\0\0\1\0\0\0\1\0\6orders\0\0\0\2\0\0\0\0\0\0\0\2\xff\xff\xff\xff"
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_assignment_of_kafka_python_reads_alike(version: int) -> None:
    """All versions have the same fields."""
    topic = ConsumerProtocolAssignment.TopicPartition
    theirs = ConsumerProtocolAssignment(
        assigned_partitions=[topic("bills", [1]), topic("orders", [0, 2])], user_data=None, version=version
    ).encode()
    assert decode_assignment(theirs) == Assignment(version=version, partitions=OWNED)
    assert encode_assignment(OWNED, version) == bytes(theirs)


def test_assignment_with_trailing_bytes_or_newer_version_reads() -> None:
    """As leniently as the subscription."""
    blob = label(7) + OWNS_ORDERS_2 + b"\0\0\0\1u" + b"later"
    assert decode_assignment(blob) == Assignment(
        version=3, partitions=frozenset({TopicPartition(ORDERS, 2)}), user_data=b"u"
    )


def test_assignment_without_user_data_reads() -> None:
    """What is missing at the end degrades."""
    assert decode_assignment(label(0) + NO_USER_DATA) == Assignment(version=0, partitions=frozenset())


@pytest.mark.parametrize(
    "blob", [b"\0", label(-2) + NO_USER_DATA, label(0), label(0) + OWNS_ORDERS_2[:-2], label(0) + NULL]
)
def test_assignment_that_lies_is_malformed(blob: bytes) -> None:
    """A negative version or a field that begins and does not end is an error."""
    with pytest.raises(MalformedBlob):
        decode_assignment(blob)


PREVIOUS = frozenset({TopicPartition(ORDERS, 2)})


@pytest.mark.parametrize(
    ("blob", "expected"),
    [
        (OWNS_ORDERS_2 + b"\0\0\0\x0c", StickyUserData(PREVIOUS, 12)),
        (OWNS_ORDERS_2 + NULL, StickyUserData(PREVIOUS, -1)),
        (OWNS_ORDERS_2, StickyUserData(PREVIOUS)),
        (label(1) + OWNS_ORDERS_2 + b"\0\0\0\x0c", StickyUserData(PREVIOUS, 12)),
        (label(0) + OWNS_ORDERS_2, StickyUserData(PREVIOUS)),
        (b"\0\0\0\x07", StickyUserData(frozenset(), 7)),
        (NULL, StickyUserData(frozenset(), -1)),
        (bytes(8), StickyUserData(frozenset(), 0)),
        (b"", None),
        (b"\0", None),
        (b"anything else", None),
        (OWNS_ORDERS_2 + b"\0", None),
    ],
)
def test_sticky_user_data_reads_in_the_form_that_fits(blob: bytes, expected: StickyUserData | None) -> None:
    """KIP-341 first, then KIP-54, then kafka-python's prefixed forms; Java's cooperative blob is a generation."""
    assert decode_sticky_user_data(blob) == expected


def test_sticky_user_data_of_kafka_python_reads() -> None:
    """Its two stray version bytes are tolerated (clients.md)."""
    blob = bytes(StickyAssignorUserData([("orders", [2])], 12).encode())
    assert decode_sticky_user_data(blob) == StickyUserData(PREVIOUS, 12)
