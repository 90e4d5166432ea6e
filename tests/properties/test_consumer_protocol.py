"""Laws of the consumer protocol blobs: reading undoes writing, and nothing but MalformedBlob comes out of bad bytes."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from translators.dialects.consumer_protocol import (
    Assignment,
    MalformedBlob,
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from translators.dialects.ids import TopicName, TopicPartition

int32 = st.integers(-(2**31), 2**31 - 1)
topic_names = st.text(max_size=12).map(TopicName)
partitions = st.frozensets(st.builds(TopicPartition, topic_names, int32), max_size=12)
user_data = st.none() | st.binary(max_size=20)


@st.composite
def subscriptions(draw: st.DrawFn) -> Subscription:
    """Any subscription that a reader can give."""
    version = draw(st.integers(0, 3))
    return Subscription(
        version=version,
        topics=tuple(draw(st.lists(topic_names, max_size=6))),
        owned=draw(partitions) if version >= 1 else None,
        generation=draw(int32) if version >= 2 else -1,
        rack_id=draw(st.none() | st.text(min_size=1, max_size=8)) if version >= 3 else None,
        user_data=draw(user_data),
    )


@given(subscriptions(), st.binary(max_size=6))
def test_subscription_reads_as_written(subscription: Subscription, behind: bytes) -> None:
    """Reading undoes writing, whatever a complete version 3 is followed by."""
    blob = encode_subscription(subscription)
    assert decode_subscription(blob) == subscription
    if subscription.version == 3:
        assert decode_subscription(blob + behind) == subscription


@given(subscriptions(), st.data())
def test_subscription_cut_short_degrades_or_is_malformed(subscription: Subscription, data: st.DataObject) -> None:
    """A cut blob never gives other topics, and never partitions that were not there."""
    blob = encode_subscription(subscription)
    cut = blob[: data.draw(st.integers(0, len(blob) - 1))]
    with suppress(MalformedBlob):
        found = decode_subscription(cut)
        assert found.topics == subscription.topics
        assert found.owned in (None, subscription.owned)


@given(partitions, st.integers(0, 3), st.binary(max_size=6))
def test_assignment_reads_as_written(assigned: frozenset[TopicPartition], version: int, behind: bytes) -> None:
    """Reading undoes writing, with anything behind, and nothing is ever written as zero bytes."""
    blob = encode_assignment(assigned, version)
    assert len(blob) >= 10
    assert decode_assignment(blob + behind) == Assignment(version=version, partitions=assigned)


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_malformed(blob: bytes) -> None:
    """No other exception, whatever the bytes."""
    with suppress(MalformedBlob):
        decode_subscription(blob)
    with suppress(MalformedBlob):
        decode_assignment(blob)
    decode_sticky_user_data(blob)
