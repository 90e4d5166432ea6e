"""What is read of requests is what decisions depend on, and nothing that is somebody's secret."""

from dataclasses import replace

import pytest

from bridge.telemetry.following.joins import (
    NO_PARTITIONS,
    TOLD_BYTES_MAX,
    Inputs,
    UserDataForm,
    read_assignment,
    read_client,
    read_join,
    read_report,
)
from tests.support.owned_group import CLIENT
from tests.support.passing_words import SECRET, join, named, report
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.ids import GroupId, MemberId, TopicName


def test_join_is_read_without_user_data() -> None:
    """Topics, assignors, timeouts, what it owns."""
    inputs = read_join(join("a", "cooperative-sticky", owned=(1,)), CLIENT)
    assert inputs == Inputs(
        client_id=CLIENT.client_id,
        client_host=CLIENT.client_host,
        topics=("t",),
        assignors=("cooperative-sticky",),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        owned=named(1),
        user_data=UserDataForm.OPAQUE,
    )
    assert SECRET.decode() not in repr(inputs)


def test_join_of_another_kind_of_client_has_names_and_timeouts_only() -> None:
    """What Connect workers say is their own business, and broken blobs are no reason to stop."""
    other = read_join(replace(join("a"), protocol_type="connect"), CLIENT)
    broken = read_join(replace(join("a"), protocols=(replace(join("a").protocols[0], metadata=b"\xff"),)), CLIENT)
    assert [(one.topics, one.owned, one.assignors) for one in (other, broken)] == [((), None, ("range",))] * 2


def test_heartbeat_leaves_out_what_was_said_before() -> None:
    """KIP-848: null means unchanged, an empty pattern takes the subscription back."""
    first = read_report(report("a", 0), CLIENT, Inputs(), NO_PARTITIONS)
    assert (first.topics, first.owned) == (("t",), None)
    second = read_report(report("a", 1, owned=(0,), topics=None), CLIENT, replace(first, pattern="o.*"), named(0))
    assert (second.topics, second.pattern, second.owned) == (("t",), "o.*", named(0))
    assert read_report(replace(report("a", 1), subscribed_topic_regex=""), CLIENT, second, named()).pattern is None


def test_assignment_is_read_or_not() -> None:
    """Bytes of other protocols are none."""
    assert read_assignment(encode_assignment(named(0, 2))) == named(0, 2)
    assert read_assignment(b"\xff\xff") is None


def test_lists_that_would_keep_everybody_waiting_are_not_told() -> None:
    """In a megabyte are 260,000 partitions. What was read before, where nobody waited, costs nothing any more."""
    longest = (TOLD_BYTES_MAX - len(encode_assignment(named(0)))) // 4
    assert read_assignment(encode_assignment(named(*range(longest + 1)))) == named(*range(longest + 1))
    assert read_assignment(encode_assignment(named(*range(longest + 2)))) is None
    long = join("a", owned=tuple(range(longest + 2)))
    unread = read_join(long, CLIENT)
    assert (unread.topics, unread.owned, unread.user_data) == ((), None, UserDataForm.UNKNOWN)
    assert not long.has_read(long.protocols[0])
    long.read_ahead()
    assert (told := read_join(long, CLIENT).owned) is not None
    assert len(told) == longest + 2
    data = encode_subscription(Subscription(version=0, topics=(TopicName("t"),), user_data=bytes(TOLD_BYTES_MAX + 1)))
    kept = replace(long, protocols=(Protocol("sticky", data),))
    kept.read_ahead()
    assert (read_join(kept, CLIENT).topics, read_join(kept, CLIENT).user_data) == (("t",), UserDataForm.UNKNOWN)


def test_connection_says_who_speaks() -> None:
    """All that is known of a member that was there before."""
    assert read_client(CLIENT) == Inputs(client_id=CLIENT.client_id, client_host=CLIENT.client_host)


@pytest.mark.parametrize(
    ("user_data", "form"),
    [(None, UserDataForm.NONE), (b"", UserDataForm.NONE), (bytes(4), UserDataForm.STICKY), (b"x", UserDataForm.OPAQUE)],
)
def test_user_data_is_told_by_its_form_alone(user_data: bytes | None, form: UserDataForm) -> None:
    """Four bytes are a generation, as Java's cooperative-sticky sends it."""
    blob = encode_subscription(Subscription(version=0, topics=(TopicName("t"),), user_data=user_data))
    assert read_join(_join("range", blob), CLIENT).user_data is form


@pytest.mark.parametrize(
    ("assignor", "data", "form"),
    [
        ("sticky", bytes(4), UserDataForm.STICKY),
        ("sticky", b"", UserDataForm.NONE),
        ("range", b"x", UserDataForm.OPAQUE),
    ],
)
def test_form_of_user_data_lasts_as_long_as_the_assignors(assignor: str, data: bytes, form: UserDataForm) -> None:
    """A member that has none any more, or other assignors, is read anew; so is one that had none before."""
    before = read_join(_join("sticky", _blob(bytes(4))), CLIENT)
    assert read_join(_join(assignor, _blob(data)), CLIENT, before).user_data is form
    nothing = read_join(_join("sticky", _blob(b"")), CLIENT)
    assert read_join(_join("sticky", _blob(bytes(4))), CLIENT, nothing).user_data is UserDataForm.STICKY


def _blob(user_data: bytes) -> bytes:
    return encode_subscription(Subscription(version=0, topics=(TopicName("t"),), user_data=user_data))


def _join(assignor: str, blob: bytes) -> JoinGroup:
    return JoinGroup(
        group_id=GroupId("g"),
        member_id=MemberId("m"),
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol(assignor, blob),),
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
    )
