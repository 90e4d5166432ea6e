"""Plans as rows, also from answers that lack something."""

from bridge.admin.plan_command import part_rows, plan_lines, plan_rows
from bridge.admin.plan_pages import plan_document
from tests.support.obedient_plans import planned


def test_plan_is_told_in_lines_and_rows() -> None:
    """How far it is, its stages, its last verdicts; a row for each group."""
    document = plan_document(planned(6))
    assert plan_rows({"plans": [document]}) == [
        ("pay.1", "upstream", "watching", "1/2", "2/3", "1970-01-01 00:17:48Z", "-")
    ]
    lines = plan_lines(document)
    assert lines[:3] == [
        "plan pay.1: to upstream, watching until 1970-01-01 00:17:48Z, stage 1 of 2, groups moved: 2/3",
        "stage 1: groups: 2, 100% of their members, watched for 60000 ms",
        "stage 2: groups: 3, 100% of their members, watched for 0 ms",
    ]
    assert lines[-1] == "1970-01-01 00:16:48Z told: stage 1: 2 of 2 groups moved"
    assert [row[1:4] for row in part_rows(document)] == [
        ("moved", "100%", "pass"),
        ("moved", "100%", "pass"),
        ("waiting", "0%", "-"),
    ]


def test_answer_without_anything_has_rows_all_the_same() -> None:
    """An older or newer bridge may leave keys out."""
    assert plan_rows({"plans": [{}, 3]}) == [("-", "-", "-", "-/0", "0/0", "-", "-")]
    assert part_rows({}) == []
    assert plan_lines({"reason": "x"}) == ["plan -: to -, -, stage - of 0, groups moved: 0/0", "held: x"]
