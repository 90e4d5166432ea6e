"""One line per reason and minute."""

import pytest

from bridge.coordinators.refusals import Refusals, in_words
from bridge.log_lines import NAMED_MAX, REPEAT_MS
from tests.support.owned_group import GROUP
from translators.dialects.classic import HeartbeatReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId

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


def test_patterns_that_can_not_be_read_have_one_line_in_all(caplog: pytest.LogCaptureFixture) -> None:
    """A client may come with another each time."""
    told = Refusals()
    for pattern in ("(", "[", "{"):
        told.note(GROUP, "c", Refusal(ErrorCode.INVALID_REGULAR_EXPRESSION, f"`{pattern}` can't be read"), 0)
    assert len(caplog.records) == 1


def test_groups_that_somebody_makes_up_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Each may be refused for the same."""
    told = Refusals()
    for number in range(2_000):
        told.note(GroupId(f"group-{number}"), "c", REASON, 0)
    assert (told.count, len(caplog.records)) == (2_000, NAMED_MAX)


def test_memory_of_what_was_told_is_bounded() -> None:
    """Reasons may carry anything."""
    told = Refusals(remembered_max=2)
    for number in range(5):
        told.note(GROUP, "c", Refusal(ErrorCode.INVALID_GROUP_ID, str(number)), 0)
    assert len(told._log) == 2


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.GROUP_ID_NOT_FOUND, "why"),
        (ErrorCode.UNSUPPORTED_VERSION, "why"),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, None),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None),
    ],
)
def test_client_that_ends_is_told_why(code: ErrorCode, words: str | None) -> None:
    """What passes is a code; a classic client's answers have no place for words."""
    told = in_words(ConsumerGroupHeartbeatReply(error=code), Refusal(code, "why"))
    assert told == ConsumerGroupHeartbeatReply(error=code, error_message=words)
    assert in_words(HeartbeatReply(error=code), Refusal(code, "why")) == HeartbeatReply(error=code)
