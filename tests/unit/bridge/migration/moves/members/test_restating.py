"""A member's own words, with what its client has as owned."""

import pytest

from bridge.migration.moves.members import restate
from translators.dialects.classic import Protocol
from translators.dialects.consumer_protocol import (
    MalformedBlob,
    Subscription,
    decode_subscription,
    encode_subscription,
)
from translators.dialects.ids import TopicName, TopicPartition

FOO = TopicName("foo")
OWNED = frozenset({TopicPartition(FOO, 1)})


def said(version: int, **fields: str | bytes) -> Protocol:
    """A protocol as a client offers it."""
    user_data, rack_id = fields.get("user_data"), fields.get("rack_id")
    assert user_data is None or isinstance(user_data, bytes)
    assert rack_id is None or isinstance(rack_id, str)
    owned = frozenset[TopicPartition]() if version else None
    subscription = Subscription(
        version=version, topics=(FOO,), user_data=user_data, rack_id=rack_id, owned=owned, generation=3
    )
    return Protocol("range", encode_subscription(subscription))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_old_subscription_is_raised_to_say_what_it_owns_and_since_when(version: int) -> None:
    """An eager client of version 0 can't say what it has."""
    (restated,) = restate((said(version, user_data=b"sticky"),), OWNED, 7)
    assert restated.name == "range"
    assert decode_subscription(restated.metadata) == Subscription(
        version=2, topics=(FOO,), owned=OWNED, generation=7, user_data=b"sticky"
    )


def test_rack_stays() -> None:
    """Version 3 keeps its rack."""
    (restated,) = restate((said(3, rack_id="a"),), OWNED, 7)
    assert decode_subscription(restated.metadata) == Subscription(
        version=3, topics=(FOO,), owned=OWNED, generation=7, rack_id="a"
    )


def test_every_protocol_is_restated() -> None:
    """The broker chooses one; none of them may say otherwise."""
    restated = restate((said(1), Protocol("sticky", said(0).metadata)), OWNED, 7)
    assert [one.name for one in restated] == ["range", "sticky"]
    assert {decode_subscription(one.metadata).owned for one in restated} == {OWNED}


def test_unreadable_subscription_is_refused() -> None:
    """Whose bytes are unknown is not rewritten."""
    with pytest.raises(MalformedBlob):
        restate((Protocol("range", b"\x00"),), OWNED, 7)
