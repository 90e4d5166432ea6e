"""Pieces that wait."""

import pytest

from bridge.migration.route import Road
from bridge.session.client_session import Decision, Relayed, Submitted
from bridge.session.close_reasons import CloseReason
from bridge.session.left_over import LeftOver, Waiting, left_over_of
from bridge.session.outbox import Slot
from bridge.session.requests import Head, Rejected, Rest
from bridge.wire.apis import ApiKey
from bridge.wire.frames import RequestHeader
from translators.dialects.classic import Heartbeat
from translators.dialects.ids import GroupId, MemberId, RequestRef


def test_shared_bytes_are_copied_and_own_ones_are_not() -> None:
    """The receive buffer is everybody's: what waits must not change with it."""
    buffer = bytearray(b"requestrest")
    view = memoryview(buffer)
    waiting = Waiting(Rest(view[:7], 0), None, came_ns=5)
    kept, own = left_over_of(waiting, view[7:], is_shared=True), left_over_of(waiting, view[7:], is_shared=False)
    buffer[:] = bytes(len(buffer))
    assert kept == LeftOver(Waiting(Rest(memoryview(b"request"), 0), None, 5), memoryview(b"rest"))
    assert bytes(own.rest) == bytes(4)


def test_rejected_piece_has_no_bytes_to_copy() -> None:
    """It carries its decision."""
    rejected = Rejected(CloseReason.MALFORMED_REQUEST, "seen")
    found = left_over_of(Waiting(rejected, rejected), memoryview(b"rest"), is_shared=True)
    assert found.waiting == Waiting(rejected, rejected)
    assert found.bytes_held == 4


SLOT = Slot(RequestRef(0, 1, 1), ApiKey.HEARTBEAT, 4, 1)
HEARTBEAT = Heartbeat(group_id=GroupId("g"), generation=1, member_id=MemberId("m"), instance_id=None)


@pytest.mark.parametrize(
    ("decision", "held_bytes"),
    [(None, 11), (Relayed(None), 11), (Submitted(SLOT, Road.EMBEDDED, HEARTBEAT), 4)],
)
def test_request_counts_until_what_was_read_of_it_does(decision: Decision | None, held_bytes: int) -> None:
    """Whole requests that waited to be read, or for their broker, were counted by nobody."""
    header = RequestHeader(7, ApiKey.HEARTBEAT, 4, 1, "client", 7)
    waiting = Waiting(Head(header, b"request", 0), decision)
    assert left_over_of(waiting, memoryview(b"rest"), is_shared=True).bytes_held == held_bytes
    assert left_over_of(None, memoryview(b"rest"), is_shared=True).bytes_held == 4
