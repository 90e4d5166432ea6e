"""Answers leave in the order of their requests."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.session.outbox import Outbox
from bridge.wire.apis import ApiKey
from translators.dialects.ids import RequestRef


@given(st.permutations(range(8)))
def test_answers_leave_in_request_order_however_they_are_filled(order: list[int]) -> None:
    """The law of the outbox: what leaves is a prefix of the requests, whatever order answers were finished in."""
    outbox, sent = Outbox(0, 1), list[bytes]()
    slots = [outbox.reserve(ApiKey.HEARTBEAT, 3, number) for number in range(8)]
    for number in order:
        outbox.fill(slots[number], b"%d" % number)
        sent += outbox.take_ready()
        assert sent == [b"%d" % n for n in range(len(sent))]
    assert (len(sent), len(outbox), outbox.bytes_held) == (8, 0, 0)


def test_streamed_answer_bars_those_behind_it() -> None:
    """Finished answers wait for a streamed one ahead of them."""
    outbox = Outbox(0, 1)
    streamed = outbox.reserve_stream(ApiKey.FETCH, 11, 1)
    outbox.fill(outbox.reserve(ApiKey.HEARTBEAT, 3, 2), b"late")
    assert outbox.head is streamed
    assert not outbox.head_is_ready
    assert outbox.take_ready() == []
    assert outbox.end_stream() is streamed
    assert outbox.take_ready() == [b"late"]
    assert outbox.head is None


def test_slot_is_found_by_its_ref_until_it_has_left() -> None:
    """A RequestRef is a plain value that leads back to its slot."""
    outbox = Outbox(3, 7)
    assert outbox.find(RequestRef(3, 7, 0)) is None
    first, second = outbox.reserve(11, 5, 10), outbox.reserve(12, 3, 11)
    assert (first.ref, second.ref) == (RequestRef(3, 7, 0), RequestRef(3, 7, 1))
    outbox.fill(first, b"x")
    outbox.take_ready()
    assert outbox.find(first.ref) is None
    assert outbox.find(second.ref) is second
    assert outbox.find(RequestRef(3, 7, 2)) is None


def test_slot_holds_the_broker_until_it_is_answered() -> None:
    """Later requests stay away from the broker while an earlier one may still ask it."""
    outbox = Outbox(0, 1)
    slot = outbox.reserve(ApiKey.OFFSET_COMMIT, 7, 1)
    states = [outbox.holds_upstream]
    outbox.hold_upstream(slot)
    states.append(outbox.holds_upstream)
    outbox.fill(slot, b"done")
    states.append(outbox.holds_upstream)
    outbox.release_upstream(slot)
    assert [*states, outbox.holds_upstream] == [False, True, False, False]
