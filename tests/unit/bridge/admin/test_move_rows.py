"""Moves as rows, also from answers that lack something."""

import pytest

from bridge.admin.move_rows import goes_on, moment, move_lines, move_rows, moving_rows


def test_answer_without_anything_has_rows_all_the_same() -> None:
    """An older or newer bridge may leave keys out."""
    assert move_rows({"moves": [{}]}) == [("-", "-", "-", "-", "0/0", "-", "-")]
    assert move_rows({}) == []
    assert moving_rows({"members": [{"member_id": "m"}, 3]}) == [("m", "-", "-", "-", "-")]
    assert move_lines({}) == ["group -: - -> -, -: -"]


def test_what_a_client_sees_is_nothing_where_it_has_moved_or_would_be() -> None:
    """A dry run of which that column was left out told nobody what each client will see."""
    members = [{"stage": stage} for stage in ("moved", "waiting", "moving")] + [{"stage": "stays", "detail": "why"}]
    seen = {
        stage: [row[4] for row in moving_rows({"stage": stage, "members": members})] for stage in ("done", "moving")
    }
    assert seen == {"done": ["nothing", "nothing", "-", "why"], "moving": ["nothing", "-", "-", "why"]}


def test_refusal_is_listed_with_its_reasons() -> None:
    """Nothing else shows them once the order was given."""
    obstacle = {"code": "EB-MOVE-103", "sentence": "g has no members"}
    for stage, verdict in (("refused", "no; EB-MOVE-103: g has no members"), ("done", "no")):
        move = {"stage": stage, "verdict": "no", "obstacles": [obstacle]}
        assert move_rows({"moves": [move]})[0][6] == verdict
    assert move_lines({"stage": "preparing"}) == ["group -: - -> -, preparing: it is looked whether it can be made"]


def test_order_that_is_only_tried_is_not_said_to_be_done() -> None:
    """Who reads `done` takes it for made; a refusal is one either way."""
    assert move_lines({"stage": "done", "verdict": "it can be"}, is_tried=True) == [
        "group -: - -> -, not moved: it can be"
    ]
    assert move_lines({"stage": "refused"}, is_tried=True) == ["group -: - -> -, refused: -"]


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
