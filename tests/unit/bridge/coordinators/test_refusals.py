"""One line per reason and minute."""

import pytest

from bridge.coordinators.refusals import Refusals
from bridge.telling import REPEAT_MS
from tests.support.owned_group import GROUP
from translators.dialects.errors import ErrorCode, Refusal

REASON = Refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "custom assignor")


def test_same_refusal_is_counted_always_and_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    """Refused clients come back every few moments."""
    told = Refusals()
    for now_ms in (0, 1, REPEAT_MS - 1, REPEAT_MS):
        told.note(GROUP, "c", REASON, now_ms)
    assert told.count == 4
    line = "EB-GROUP-001: group 'g' refused client 'c' with INCONSISTENT_GROUP_PROTOCOL: custom assignor"
    assert [record.getMessage() for record in caplog.records] == [
        line,
        f"{line} (and 2 times more since this was last said)",
    ]


def test_memory_of_what_was_told_is_bounded() -> None:
    """Reasons may carry anything."""
    told = Refusals(remembered_max=2)
    for number in range(5):
        told.note(GROUP, "c", Refusal(ErrorCode.INVALID_GROUP_ID, str(number)), 0)
    assert len(told._teller) == 2
