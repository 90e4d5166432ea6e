"""Reasons to close a connection."""

import re

from bridge.session.close_reasons import ORDINARY, CloseReason

STEP = re.compile(
    r"[;:,] (?:or )?(?:add|ask|check|connect|give|have|if genuine raise|let|log|mend|please report|raise|see|set|take|"
    r"use)\b|; the client (?:will connect|connects)\b"
)


def test_every_reason_has_a_code_of_its_own_and_a_sentence() -> None:
    """Errors carry a stable code to search for (house rule)."""
    codes = [reason.code for reason in CloseReason]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"EB-NET-\d{3}", code) for code in codes)
    assert all(len(reason.sentence) > 20 for reason in CloseReason)


def test_every_reason_that_is_warned_of_has_a_next_step() -> None:
    """Ten had none: who read at night that a request can't be read knew no more than that."""
    assert [reason.code for reason in CloseReason if reason not in ORDINARY and not STEP.search(reason.sentence)] == []
