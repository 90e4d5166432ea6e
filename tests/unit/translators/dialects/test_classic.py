"""What a JoinGroup knows of its own bytes."""

from dataclasses import replace

import pytest

from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import MalformedBlob, Subscription, encode_subscription
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName

WANTED = Subscription(version=0, topics=(TopicName("orders"),))
RANGE, ROUNDROBIN = (Protocol(name, encode_subscription(WANTED)) for name in ("range", "roundrobin"))
TORN = Protocol("sticky", b"\0\1\0")


def request(*protocols: Protocol) -> JoinGroup:
    """A newcomer's JoinGroup."""
    return JoinGroup(
        group_id=GroupId("g"),
        member_id=NO_MEMBER_ID,
        instance_id=None,
        protocol_type="consumer",
        protocols=protocols,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=45_000,
    )


def test_equal_bytes_are_read_once() -> None:
    """Whichever protocol they stand under, and however often it is asked."""
    joining = request(RANGE, ROUNDROBIN)
    found = [joining.subscription(each) for each in (*joining.protocols, *joining.protocols)]
    assert found[0] == WANTED
    assert {id(each) for each in found} == {id(found[0])}


def test_torn_bytes_are_refused_at_each_question() -> None:
    """With what is wrong, and where."""
    joining = request(TORN)
    texts = []
    for _ in range(2):
        with pytest.raises(MalformedBlob, match="topics") as raised:
            joining.subscription(TORN)
        texts.append(str(raised.value))
    assert texts[0] == texts[1]


def test_what_was_read_makes_no_difference() -> None:
    """Two requests are equal when they say the same, read or not; another request knows nothing of it."""
    read, unread = request(RANGE), request(RANGE)
    read.subscription(RANGE)
    assert (read == unread, hash(read) == hash(unread), repr(read) == repr(unread)) == (True, True, True)
    assert replace(read, protocols=(TORN,)) == request(TORN)
