"""A member as moves need it: its JoinGroup, the generation inside its bytes, and its form in the journal."""

import json
import struct
from dataclasses import replace

import pytest

from bridge.migration.moves.members import (
    ClassicMember,
    from_json,
    rejoining,
    taken_over,
    to_json,
    with_generation,
    with_owned,
)
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import (
    MalformedBlob,
    StickyUserData,
    Subscription,
    decode_sticky_user_data,
    decode_subscription,
    encode_subscription,
)
from translators.dialects.ids import NOWHERE, InstanceId, MemberId, MemberRef, TopicPartition

USING = frozenset({TopicPartition(TOPIC, 1)})
MEMORY = b"\0\0\0\x01" + b"\0\x01t" + b"\0\0\0\x01" + b"\0\0\0\x01"
"""What a sticky assignor remembers: partition 1 of topic t."""


def remembered(generation: int) -> bytes:
    """The same with the generation that it is of (KIP-341)."""
    return MEMORY + struct.pack(">i", generation)


def said(version: int, generation: int = -1, user_data: bytes | None = None) -> Subscription:
    """A client's subscription; its owned partitions are other ones than it uses."""
    owned = frozenset({TopicPartition(TOPIC, 0)}) if version else None
    return Subscription(version=version, topics=(TOPIC,), owned=owned, generation=generation, user_data=user_data)


def member(*protocols: Protocol) -> ClassicMember:
    """A static member with these protocols, of which the first is in use."""
    return ClassicMember(
        member_id=MemberId("m"),
        instance_id=InstanceId("i"),
        client=CLIENT,
        protocols=protocols,
        protocol_name=protocols[0].name if protocols else "range",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        generation=3,
        using=USING,
    )


def test_member_that_is_taken_over_has_what_it_was_handed_and_its_whole_session() -> None:
    """Its client works on and notices nothing; one whose words can't be read has no machine made of it."""
    known = replace(member(Protocol("range", encode_subscription(said(1)))), epoch=7)
    taken = taken_over(known, GROUP, 1_000, NOWHERE)
    assert (taken.member, taken.wants) == (MemberRef(GROUP, known.member_id), said(1))
    assert (taken.handed, taken.using, taken.generation, taken.epoch) == (USING, USING, 3, 7)
    assert (taken.session_deadline_ms, taken.is_completing, taken.joining, taken.syncing) == (11_000, False, None, None)
    with pytest.raises(MalformedBlob):
        taken_over(member(), GROUP, 1_000, NOWHERE)


def test_member_joins_again_by_its_own_words_with_what_it_uses() -> None:
    """Every subscription says so, whatever the assignor; the generation is the broker's."""
    asked = rejoining(
        member(
            Protocol("range", encode_subscription(said(0))),
            Protocol("cooperative-sticky", encode_subscription(said(2, 3))),
        ),
        GROUP,
        8,
    )
    assert asked == JoinGroup(
        group_id=GROUP,
        member_id=MemberId("m"),
        instance_id=InstanceId("i"),
        protocol_type="consumer",
        protocols=(
            Protocol("range", encode_subscription(replace(said(1), owned=USING))),
            Protocol("cooperative-sticky", encode_subscription(replace(said(2, 8), owned=USING))),
        ),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        skips_assignment=True,
    )


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, None),
        (b"", b""),
        (b"no sticky memory", b"no sticky memory"),
        (MEMORY, MEMORY),
        (remembered(2), remembered(2)),
        (remembered(3), remembered(8)),
        (b"\0\0" + remembered(3), b"\0\0" + remembered(8)),
        (struct.pack(">i", 3), struct.pack(">i", 8)),
        (struct.pack(">i", 2), struct.pack(">i", 2)),
    ],
    ids=["none", "empty", "other", "KIP-54", "older", "KIP-341", "kafka-python", "cooperative", "older-cooperative"],
)
def test_generation_inside_sticky_user_data_is_mapped(data: bytes | None, told: bytes | None) -> None:
    """In every form that `decode_sticky_user_data` knows, where it is the one that its client has now."""
    blob = encode_subscription(said(1, user_data=data))
    assert decode_subscription(with_generation(blob, 3, 8)).user_data == told
    assert decode_subscription(with_owned(blob, USING, 3, 8)) == replace(said(1, user_data=told), owned=USING)
    if data and told:
        before, after = decode_sticky_user_data(data), decode_sticky_user_data(told)
        assert (before is None) == (after is None)
        if isinstance(before, StickyUserData) and after is not None:
            assert after.partitions == before.partitions


def test_generation_of_a_subscription_is_mapped() -> None:
    """From version 2 on, where it is the one that its client has; else the very bytes stay."""
    assert with_generation(encode_subscription(said(2, 3)), 3, 8) == encode_subscription(said(2, 8))
    for other in (said(0), said(1), said(2), said(2, 2), said(3, 4)):
        blob = encode_subscription(other) + b"more"
        assert with_generation(blob, 3, 8) is blob


def test_nobody_says_a_generation_that_is_none() -> None:
    """A client that knows no generation has none to be mapped."""
    blob = encode_subscription(said(2, -1, struct.pack(">i", -1)))
    assert with_generation(blob, -1, 8) is blob


def test_unreadable_bytes_are_refused() -> None:
    """They refuse the move."""
    with pytest.raises(MalformedBlob):
        with_generation(b"\0", 3, 8)
    with pytest.raises(MalformedBlob):
        with_owned(b"\0", USING, 3, 8)
    with pytest.raises(MalformedBlob):
        rejoining(member(Protocol("range", b"")), GROUP, 8)


def test_subscription_is_the_one_of_its_protocol() -> None:
    """A member without it has none."""
    own = member(Protocol("range", encode_subscription(said(1))), Protocol("sticky", b"\0"))
    assert own.subscription() == said(1)
    with pytest.raises(MalformedBlob):
        replace(own, protocol_name="sticky").subscription()
    with pytest.raises(MalformedBlob, match="not among those"):
        replace(own, protocol_name="roundrobin").subscription()


def test_journal_gives_members_back() -> None:
    """Through JSON, with every field."""
    members = [member(Protocol("range", b"\0\xff"), Protocol("sticky", b"")), replace(member(), instance_id=None)]
    assert from_json(json.loads(json.dumps(to_json(members)))) == members
