"""Reasons to close a connection."""

import re

from bridge.session.close_reasons import CloseReason


def test_every_reason_has_a_code_of_its_own_and_a_sentence() -> None:
    """Errors carry a stable code to search for (house rule)."""
    codes = [reason.code for reason in CloseReason]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"EB-NET-\d{3}", code) for code in codes)
    assert all(len(reason.sentence) > 20 for reason in CloseReason)
