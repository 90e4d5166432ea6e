"""Rows from the JSON that the API really gives."""

import json
from dataclasses import asdict, replace

import pytest

from bridge.admin.documents import encode, group_document, groups_document
from bridge.admin.rows import (
    GROUP_COLUMNS,
    MEMBER_COLUMNS,
    cell,
    converted_rows,
    group_lines,
    group_rows,
    mappings,
    member_rows,
    partitions_text,
    seat_rows,
)
from tests.support.admin_views import ORDERS

GROUP: dict[str, object] = json.loads(encode(group_document(ORDERS)))


def test_group_has_one_row() -> None:
    """A cell for each column, `-` for what is not there."""
    rows = group_rows(json.loads(encode(groups_document([ORDERS.summary]))))
    assert rows == [("orders-billing", "embedded", "consumer", "Reconciling", "12", "uniform", "2", "-")]
    assert len(rows[0]) == len(GROUP_COLUMNS)


def test_reason_column_says_why_a_classic_group_stays_one() -> None:
    """A consumer group with KIP-848 members is one on purpose."""
    stuck = replace(ORDERS.summary, type="classic", not_convertible="assignor 'acme'")
    listed = [stuck, replace(stuck, type="consumer"), replace(stuck, reason="bypassed")]
    rows = group_rows({"groups": [json.loads(encode(asdict(one))) for one in listed]})
    assert [row[-1] for row in rows] == ["can't be converted: assignor 'acme'", "-", "bypassed"]


def test_member_has_one_row() -> None:
    """Library with version, generation -> epoch, partitions as ranges."""
    rows = member_rows(GROUP)
    assert rows[0][:5] == ("m-1", "seat-1", "billing-1", "127.0.0.1", "apache-kafka-java 4.3.1")
    assert rows[0][5:] == ("classic", "Stable", "5 -> 12", "orders: 0-2,5", "orders: 0-2", "orders: 5")
    assert rows[1][4:8] == ("-", "consumer", "Stable", "- -> 12")
    assert rows[1][8:] == ("-", "orders: 5; refunds: 0", "-")
    assert len(rows[0]) == len(MEMBER_COLUMNS)


def test_reason_is_a_line_only_if_there_is_one() -> None:
    """A group that is served has nothing to explain."""
    assert group_lines(GROUP) == [
        "group orders-billing: road embedded, type consumer, state Reconciling",
        "group epoch 12, assignment epoch 12, assignor uniform",
    ]
    assert group_lines({**GROUP, "reason": "bypassed"})[2:] == ["reason: bypassed"]
    assert group_lines({**GROUP, "not_convertible": "assignor 'acme'"})[2:] == ["can't be converted: assignor 'acme'"]


@pytest.mark.parametrize(
    ("partitions", "text"),
    [([], ""), ([3], "3"), ([0, 1], "0-1"), ([0, 1, 2, 4, 6, 7], "0-2,4,6-7"), ([9, 8], "8-9")],
)
def test_partitions_are_shown_as_ranges(partitions: list[int], text: str) -> None:
    """A hundred partitions in a row are two numbers."""
    assert partitions_text([{"topic": "t", "partitions": partitions}]) == f"t: {text}"


def test_seats_are_removed_or_say_why_not() -> None:
    """An empty error is success."""
    seats = [{"member_id": "m", "instance_id": None, "error": ""}, {"instance_id": "s", "error": "UNKNOWN_MEMBER_ID"}]
    assert seat_rows({"seats": seats}) == [("m", "-", "removed"), ("-", "s", "UNKNOWN_MEMBER_ID")]


def test_members_of_a_conversion_notice_something_or_nothing() -> None:
    """In words that operators use."""
    members = [{"member_id": "m", "is_disturbed": True, "gains": [{"topic": "t", "partitions": [1]}]}, {}]
    assert converted_rows({"members": members}) == [
        ("m", "-", "-", "-", "joins again", "-", "t: 1"),
        ("-", "-", "-", "-", "nothing", "-", "-"),
    ]


@pytest.mark.parametrize("answer", [{}, {"groups": 3, "members": "x"}, {"groups": [1], "members": [None]}])
def test_other_shapes_have_no_rows(answer: dict[str, object]) -> None:
    """Another version of the bridge may say other things."""
    assert (group_rows(answer), member_rows(answer)) == ([], [])


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), ("", "-"), (0, "0"), (False, "False"), ("a", "a")])
def test_only_what_is_not_there_is_a_dash(value: object, shown: str) -> None:
    """A lag of 0 is a lag."""
    assert cell(value) == shown


def test_answers_of_other_releases_may_have_anything_in_a_place() -> None:
    """What is no list of objects has none."""
    assert mappings([{"a": 1}, "b", None]) == [{"a": 1}]
    assert mappings({"a": 1}) == mappings(None) == []
