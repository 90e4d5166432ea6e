"""Standing still for too long."""

from bridge.migration.route import Router
from bridge.net.standstill import Standstill
from bridge.session.broker_answers import Expected
from bridge.session.client_session import ClientSession, Rules
from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.wire.apis import ApiKey
from tests.support.proxy import SeenGroups

LIMITS = Limits(idle_max_ms=1_000, frame_time_max_ms=100)


def stays() -> bool:
    """The client is there."""
    return False


def session() -> ClientSession:
    """A fresh session."""
    return ClientSession(Rules(limits=LIMITS, router=Router(())), 1, "host", SeenGroups())


def test_idle_is_no_traffic_and_nothing_due() -> None:
    """At the limit, not before; traffic starts it anew; an open answer forbids it."""
    one, still = session(), Standstill(0)
    assert [still.look(one, 1, at, stays) for at in (0, 999)] == [None, None]
    assert [still.look(one, 2, at, stays) for at in (1_000, 1_999, 2_000)] == [None, None, CloseReason.IDLE]
    one.outbox.reserve(ApiKey.HEARTBEAT, 3, 1)
    assert still.look(one, 2, 9_000, stays) is None


def test_half_a_request_must_become_whole_in_time() -> None:
    """However many bytes trickle in: traffic doesn't help a slow request."""
    one, still = session(), Standstill(0)
    one.requests.cut(memoryview(b"\x00\x00"), 0)
    assert [still.look(one, at, at, stays) for at in (0, 50, 99, 100)] == [None, None, None, CloseReason.SLOW_REQUEST]


def test_client_that_went_while_a_request_waited_is_closed_in_time() -> None:
    """Nobody reads from it, so nobody hears its end; one that is read from, or comes back to life, stays."""
    limits = Limits(idle_max_ms=60_000, frame_time_max_ms=60_000, upstream_wait_max_ms=100)
    one = ClientSession(Rules(limits=limits, router=Router(())), 1, "host", SeenGroups())
    still = Standstill(0)
    assert [still.look(one, 1, at, lambda: True) for at in (0, 50, 1_000)] == [None] * 3
    one.outbox.reserve(ApiKey.HEARTBEAT, 3, 1)
    assert [still.look(one, 1, at, lambda: True) for at in (1_001, 1_100)] == [None] * 2
    assert still.look(one, 1, 1_101, lambda: False) is None
    assert [still.look(one, 1, at, lambda: True) for at in (1_102, 1_201)] == [None] * 2
    assert still.look(one, 2, 1_202, lambda: True) is None
    assert [still.look(one, 2, at, lambda: True) for at in (1_203, 1_302, 1_303)] == [
        None,
        None,
        CloseReason.CLIENT_GONE,
    ]


def test_client_that_takes_nothing_of_its_answers_is_idle() -> None:
    """An answer that is open forbids it, one that lies there does not; to take some of it starts the time anew."""
    one, still = session(), Standstill(0)
    one.outbox.reserve(ApiKey.HEARTBEAT, 3, 1)
    assert [still.look(one, 1, at, stays, 500) for at in (0, 999)] == [None, None]
    assert [still.look(one, 1, at, stays, 499) for at in (1_000, 1_999, 2_000)] == [None, None, CloseReason.IDLE]
    assert [still.look(one, 1, at, stays, 0) for at in (2_001, 9_000)] == [None, None]


def test_frame_that_has_begun_and_does_not_go_on_is_idle() -> None:
    """Bytes that the kernel moves lie nowhere here, in either direction."""
    for is_answer in (False, True):
        one, still = session(), Standstill(0)
        slot = one.outbox.reserve_stream(ApiKey.PRODUCE, 9, 1)
        if is_answer:
            one.answers.expect(Expected(1, slot))
            assert one.answers.cut(memoryview((100).to_bytes(4) + (1).to_bytes(4)), 0)
        else:
            start = (100).to_bytes(4) + b"\x00\x03\x00\x01" + (1).to_bytes(4) + b"\xff\xff"
            assert one.requests.cut(memoryview(start), 0)
        assert [still.look(one, 1, at, stays) for at in (0, 999, 1_000)] == [None, None, CloseReason.IDLE]
