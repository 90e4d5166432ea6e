"""What a JoinGroup says about its client.

The decision tables for member ids and instance ids (K1.44, K4.5-4.9, K4.20, K4.40).
"""

from dataclasses import replace

import pytest

from tests.support.classic_members import INSTANCE, MEMBER, NOBODY, TOPIC, A, join_request, parts, profile
from translators.classic_member.profile import (
    JoinIdentity,
    Known,
    Newcomer,
    Successor,
    check_protocols,
    identify_join,
    identify_leaver,
    identify_request,
    is_eager,
    read_profile,
    read_subscription,
)
from translators.dialects.classic import Protocol
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import InstanceId, MemberId


@pytest.mark.parametrize(
    ("names", "owned", "eager"),
    [
        (("range",), None, True),
        (("range",), parts(), True),
        (("range", "cooperative-sticky"), parts(), True),
        (("range",), parts(A), False),
        (("cooperative-sticky",), None, False),
        (("cooperative-sticky",), parts(), False),
    ],
)
def test_eager_is_decided_by_what_is_sent(names: tuple[str, ...], owned: frozenset[object] | None, eager: bool) -> None:
    """Eager only if nothing is listed as owned and not all protocols are cooperative (decision 6)."""
    listed = None if owned is None else parts(*([A] if owned else []))
    assert profile(*names, owned=listed).is_eager is eager
    assert is_eager(join_request(*names).protocols, listed) is eager


def test_first_known_protocol_speaks() -> None:
    """The protocol name is the first of its own that we know (clients.md, 2)."""
    read = profile("custom", "roundrobin", "range")
    assert (read.protocol_name, read.topics) == ("roundrobin", frozenset({TOPIC}))


def test_former_protocol_is_kept_while_offered() -> None:
    """The name is stable over the session, also when the list grows in front of it."""
    kept = read_profile(join_request("roundrobin", "range"), "range")
    changed = read_profile(join_request("roundrobin", "range"), "sticky")
    assert not isinstance(kept, Refusal)
    assert not isinstance(changed, Refusal)
    assert (kept.protocol_name, changed.protocol_name) == ("range", "roundrobin")


def test_subscription_alone_is_that_of_the_profile() -> None:
    """Who needs no more is told the same, and refused for the same reason."""
    asked = join_request("custom", "roundrobin", "range")
    read = read_subscription(asked)
    assert not isinstance(read, Refusal)
    assert read == ("roundrobin", asked.subscription(asked.protocols[1]))
    assert read_subscription(join_request("faust")) == read_profile(join_request("faust"))


def test_missing_rebalance_timeout_is_the_session_timeout() -> None:
    """An absent timeout (-1) is bounded by the session (K1.7)."""
    read = read_profile(replace(join_request(), rebalance_timeout_ms=-1))
    assert not isinstance(read, Refusal)
    assert read.rebalance_timeout_ms == read.session_timeout_ms


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (replace(join_request(), protocol_type="connect"), "protocol type 'connect' is not 'consumer'"),
        (join_request("faust"), "of the protocols offered ('faust') none has a server-side equivalent"),
        (replace(join_request(), protocols=()), "of the protocols offered (none) none has a server-side equivalent"),
    ],
)
def test_untranslatable_client_is_refused(request_: object, reason: str) -> None:
    """What has no server-side equivalent does not become a member (clients.md, 8)."""
    assert isinstance(request_, type(join_request()))
    assert read_profile(request_) == Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, reason)


def test_rack_is_that_of_the_subscription_and_none_if_it_is_empty() -> None:
    """KIP-881: version 3 of the subscription names it; librdkafka writes an empty one where there is none."""
    start = encode_subscription(Subscription(version=1, topics=(TOPIC,), owned=parts()))[2:]
    for said, expected in ((b"\xff\xff", None), (b"\x00\x00", None), (b"\x00\x06rack-1", "rack-1")):
        blob = b"\x00\x03" + start + (-1).to_bytes(4, signed=True) + said
        read = read_profile(replace(join_request(), protocols=(Protocol("range", blob),)))
        assert not isinstance(read, Refusal)
        assert read.rack_id == expected


def test_unreadable_subscription_is_refused() -> None:
    """Bytes that are no subscription stop here; the protocol as such was fine (K4.10)."""
    request = replace(join_request(), protocols=(Protocol("range", b"\x00"),))
    read = read_profile(request)
    assert isinstance(read, Refusal)
    assert read.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert check_protocols(request) is None


def test_blob_version_is_that_of_the_subscription() -> None:
    """Up to 3, which is what newer ones are read as (K4.22)."""
    named = {0: 0, 1: 1, 3: 3, 9: 3}
    for version, expected in named.items():
        blob = version.to_bytes(2, "big") + bytes(8)
        read = read_profile(replace(join_request(), protocols=(Protocol("range", blob),)))
        assert not isinstance(read, Refusal)
        assert read.blob_version == expected


OTHER = MemberId("member-2")
NO_SEAT = Refusal(ErrorCode.UNKNOWN_MEMBER_ID, "instance id 'seat-1' has no member")
TAKEN = Refusal(ErrorCode.FENCED_INSTANCE_ID, "instance id 'seat-1' belongs to member 'member-2', not 'member-1'")


@pytest.mark.parametrize(
    ("member_id", "instance_id", "holder", "identity"),
    [
        (NOBODY, None, None, Newcomer()),
        (MEMBER, None, None, Known(MEMBER)),
        (NOBODY, INSTANCE, None, Newcomer()),
        (NOBODY, INSTANCE, OTHER, Successor(OTHER)),
        (MEMBER, INSTANCE, None, NO_SEAT),
        (MEMBER, INSTANCE, MEMBER, Known(MEMBER)),
        (MEMBER, INSTANCE, OTHER, TAKEN),
    ],
)
def test_join_concerns(
    member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None, identity: JoinIdentity
) -> None:
    """Row by row of K1.44, with K4.7 for ids that nobody has."""
    assert identify_join(member_id, instance_id, holder) == identity


@pytest.mark.parametrize(
    ("member_id", "instance_id", "holder", "identity"),
    [
        (MEMBER, None, None, MEMBER),
        (MEMBER, INSTANCE, MEMBER, MEMBER),
        (MEMBER, INSTANCE, None, NO_SEAT),
        (MEMBER, INSTANCE, OTHER, TAKEN),
    ],
)
def test_request_concerns(
    member_id: MemberId, instance_id: InstanceId | None, holder: MemberId | None, identity: MemberId | Refusal
) -> None:
    """A wrong instance id is refused before anything else (K1.24)."""
    assert identify_request(member_id, instance_id, holder) == identity
    assert identify_leaver(member_id, instance_id, holder) == identity


def test_leaver_may_be_named_by_its_seat() -> None:
    """An admin removes a static member by instance id alone (K1.59)."""
    assert identify_leaver(NOBODY, INSTANCE, OTHER) == OTHER
    assert identify_leaver(NOBODY, INSTANCE, None) == NO_SEAT
