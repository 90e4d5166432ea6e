"""What a JoinGroup knows of its own bytes.

What a JoinGroup's blobs claim, in every form that clients in the field write (clients.md).
"""

import struct
from dataclasses import replace

import pytest

from translators.dialects.classic import NO_CLAIM, Claim, JoinGroup, Protocol, read_claim
from translators.dialects.consumer_protocol import MalformedBlob, Subscription, encode_subscription
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName, TopicPartition

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


def test_what_is_read_ahead_is_known_and_counted() -> None:
    """The longest list of one protocol counts, be it what a client has or what its assignor remembers; torn bytes name
    nothing, and bytes that another assignor alone understands are left to it.
    """
    owned = frozenset(TopicPartition(TopicName("orders"), number) for number in range(3))
    had = struct.pack(">ihs5i", 1, 1, b"t", 4, 0, 1, 2, 3)
    owning = Protocol("range", encode_subscription(replace(WANTED, version=1, owned=owned)))
    sticky, other = (Protocol(name, encode_subscription(replace(WANTED, user_data=had))) for name in ("sticky", "acme"))
    assert [request(one).read_ahead() for one in (RANGE, owning, sticky, other, TORN)] == [1, 4, 4, 1, 0]
    joining = request(TORN, owning, sticky)
    assert not any(map(joining.has_read, joining.protocols))
    assert joining.read_ahead() == 4
    assert all(map(joining.has_read, joining.protocols))
    before = joining.recalled(had)
    assert joining.recalled(bytes(bytearray(had))) is before
    joining.forget()
    assert joining.recalled(had) == before
    assert joining.recalled(had) is not before
    assert not any(map(joining.has_read, joining.protocols))
    assert joining.read_ahead() == 4


ORDERS = TopicName("orders")
TWO = frozenset({TopicPartition(ORDERS, 0), TopicPartition(ORDERS, 2)})
ONE = frozenset({TopicPartition(ORDERS, 1)})
ARRAY_OF_TWO = struct.pack(">ih6siii", 1, 6, b"orders", 2, 0, 2)
ARRAY_OF_ONE = struct.pack(">ih6sii", 1, 6, b"orders", 1, 1)
SEVEN = struct.pack(">i", 7)


def protocol(
    name: str, user_data: bytes | None = None, owned: frozenset[TopicPartition] | None = None, generation: int = -1
) -> Protocol:
    """A protocol whose subscription has the version that can say all that."""
    version = 0 if owned is None else 1 if generation == -1 else 2
    subscription = Subscription(
        version=version, topics=(ORDERS,), owned=owned, generation=generation, user_data=user_data
    )
    return Protocol(name, encode_subscription(subscription))


def claimed_by(*protocols: Protocol) -> Claim:
    """What a newcomer claims that offers these protocols."""
    request = JoinGroup(
        group_id=GroupId("g"),
        member_id=NO_MEMBER_ID,
        instance_id=None,
        protocol_type="consumer",
        protocols=protocols,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=45_000,
    )
    return read_claim(request)


@pytest.mark.parametrize(
    ("user_data", "claim"),
    [
        (ARRAY_OF_TWO + SEVEN, Claim(TWO, 7)),
        (ARRAY_OF_TWO, Claim(TWO, -1)),
        (b"\0\1" + ARRAY_OF_TWO + SEVEN, Claim(TWO, 7)),
        (b"\0\0" + ARRAY_OF_TWO, Claim(TWO, -1)),
        (ARRAY_OF_TWO + b"\xff\xff\xff\xff", Claim(TWO, -1)),
        (b"", NO_CLAIM),
        (b"nonsense", NO_CLAIM),
        (None, NO_CLAIM),
    ],
    ids=["v1", "v0", "kafka-python v1", "kafka-python v0", "aiokafka", "empty", "unreadable", "null"],
)
def test_sticky_user_data_claims_what_it_remembers(user_data: bytes | None, claim: Claim) -> None:
    """KIP-341: v1 is tried first, then v0, which has no generation; what is neither claims nothing."""
    assert claimed_by(protocol("sticky", user_data)) == claim


def test_owned_list_claims_with_its_generation() -> None:
    """KIP-792: from version 2 on the subscription tells the generation itself."""
    assert claimed_by(protocol("cooperative-sticky", None, TWO, 9)) == Claim(TWO, 9)
    assert claimed_by(protocol("cooperative-sticky", None, TWO)) == Claim(TWO, -1)


def test_owned_list_takes_the_generation_from_user_data() -> None:
    """Java's cooperative-sticky before version 2 writes four bytes of generation and nothing else."""
    assert claimed_by(protocol("cooperative-sticky", SEVEN, TWO)) == Claim(TWO, 7)


def test_owned_list_beats_what_is_only_remembered() -> None:
    """It is what the client has now."""
    assert claimed_by(protocol("cooperative-sticky", ARRAY_OF_ONE + SEVEN, TWO)) == Claim(TWO, 7)


def test_newest_memory_of_several_assignors_counts() -> None:
    """Each remembers only its own assignments; of equally old ones the first is the preferred one."""
    old, new = protocol("sticky", ARRAY_OF_TWO), protocol("cooperative-sticky", ARRAY_OF_ONE + SEVEN)
    assert claimed_by(old, new) == Claim(ONE, 7)
    assert claimed_by(old, protocol("cooperative-sticky", ARRAY_OF_ONE)) == Claim(TWO, -1)


def test_user_data_of_other_assignors_is_not_read() -> None:
    """Their bytes mean something else."""
    assert claimed_by(protocol("range", ARRAY_OF_TWO + SEVEN)) == NO_CLAIM


def test_subscription_that_can_not_be_read_claims_nothing() -> None:
    """A hint is never worth refusing a member for."""
    assert claimed_by(Protocol("sticky", b"\0"), protocol("sticky", ARRAY_OF_ONE)) == Claim(ONE, -1)
