"""Moves as rows, also from answers that lack something."""

import pytest

from bridge.admin.move_rows import goes_on, moment, move_lines, move_rows, moving_rows


def test_answer_without_anything_has_rows_all_the_same() -> None:
    """An older or newer bridge may leave keys out."""
    assert move_rows({"moves": [{}]}) == [("-", "-", "-", "-", "0/0", "-", "-")]
    assert move_rows({}) == []
    assert moving_rows({"members": [{"member_id": "m"}, 3]}) == [("m", "-", "-", "-", "-")]
    assert move_lines({}) == ["group -: - -> -, -: -"]


def test_who_stays_or_is_gone_does_not_count() -> None:
    """Of two who are to move one has."""
    members = [{"stage": stage} for stage in ("moved", "waiting", "stays", "gone")]
    assert move_rows({"moves": [{"members": members}]})[0][4] == "1/2"


@pytest.mark.parametrize(("stage", "expected"), [("preparing", True), ("moving", True), ("done", False), (None, False)])
def test_end_of_a_move(stage: str | None, expected: bool) -> None:
    """What has no stage can't be waited for."""
    assert goes_on({"stage": stage}) is expected


@pytest.mark.parametrize(("at_ms", "expected"), [(0, "1970-01-01 00:00:00Z"), (None, "-"), ("soon", "-")])
def test_times_are_written_in_utc(at_ms: object, expected: str) -> None:
    """And what is none is a dash."""
    assert moment(at_ms) == expected
