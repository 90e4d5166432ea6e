"""Pieces that wait."""

from bridge.session.close_reasons import CloseReason
from bridge.session.left_over import LeftOver, Waiting, left_over_of
from bridge.session.requests import Rejected, Rest


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
