"""Whether a Produce request is answered, for every version, in parts and wrong."""

import pytest
from kafka.protocol.producer.produce import ProduceRequest

from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch import expects_answer
from bridge.wire.frames import read_request_header
from tests.support.oracle_frames import request_bytes

TRANSACTIONAL_IDS = [None, "", "tx", "t" * 127, "t" * 200]


def _body(version: int, acks: int, transactional_id: str | None) -> bytes:
    message = ProduceRequest(
        version=version, transactional_id=transactional_id, acks=acks, timeout_ms=1000, topic_data=[]
    )
    frame = request_bytes(message)
    header = read_request_header(frame)
    assert header is not None
    return frame[header.body_offset :]


@pytest.mark.parametrize("version", range(3, 14))
def test_acks_zero_alone_has_no_answer(version: int) -> None:
    """Acks -1 and 1 are answered, 0 is not, behind any transactional id."""
    for transactional_id in TRANSACTIONAL_IDS:
        for acks in (-1, 0, 1):
            assert expects_answer(version, _body(version, acks, transactional_id)) is (acks != 0)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_before_transactions_acks_come_first(version: int) -> None:
    """Versions 0 to 2 have no transactional id."""
    assert expects_answer(version, b"\x00\x00") is False
    assert expects_answer(version, b"\x00\x01\x00") is True
    assert expects_answer(version, b"\x00") is None


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_prefix_asks_for_more_and_never_for_too_much(version: int) -> None:
    """Timeout and records are not waited for."""
    for transactional_id in TRANSACTIONAL_IDS:
        body = _body(version, 0, transactional_id)
        # Behind acks come the timeout (4), an empty array (4 or 1) and the tags (0 or 1).
        needed = len(body) - (6 if version >= 9 else 8)
        for end in range(len(body) + 1):
            assert expects_answer(version, body[:end]) is (False if end >= needed else None)


def test_impossible_transactional_id_is_refused() -> None:
    """A negative length, or one longer than any string."""
    with pytest.raises(MalformedFrame, match="length -2 is negative"):
        expects_answer(3, b"\xff\xfe\x00\x00")
    with pytest.raises(MalformedFrame, match="longer than") as refused:
        expects_answer(9, b"\xff\xff\xff\x01\x00\x00")
    assert (refused.value.field, refused.value.offset) == ("transactional_id", 0)
