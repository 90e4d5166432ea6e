"""Keys of the JSON are a promise: they are written out here."""

import json
from dataclasses import replace

from bridge.admin.contracts import RemovalResult, RemovedSeat
from bridge.admin.documents import (
    conversion_document,
    encode,
    error_document,
    group_document,
    groups_document,
    readiness_document,
    removal_document,
)
from tests.support.admin_views import ORDERS, converted

SUMMARY = {
    "group_id": "orders-billing",
    "road": "embedded",
    "type": "consumer",
    "state": "Reconciling",
    "group_epoch": 12,
    "assignment_epoch": 12,
    "assignor": "uniform",
    "member_count": 2,
    "reason": None,
    "not_convertible": None,
}
MEMBERS = [
    {
        "member_id": "m-1",
        "instance_id": "seat-1",
        "client_id": "billing-1",
        "client_host": "127.0.0.1",
        "library": "apache-kafka-java",
        "library_version": "4.3.1",
        "protocol": "classic",
        "state": "Stable",
        "generation": 5,
        "member_epoch": 12,
        "assigned": [{"topic": "orders", "partitions": [0, 1, 2, 5]}],
        "target": [{"topic": "orders", "partitions": [0, 1, 2]}],
        "pending_revocation": [{"topic": "orders", "partitions": [5]}],
    },
    {
        "member_id": "m-2",
        "instance_id": None,
        "client_id": "billing-2",
        "client_host": "127.0.0.1",
        "library": "",
        "library_version": "",
        "protocol": "consumer",
        "state": "Stable",
        "generation": None,
        "member_epoch": 12,
        "assigned": [],
        "target": [{"topic": "orders", "partitions": [5]}, {"topic": "refunds", "partitions": [0]}],
        "pending_revocation": [],
    },
]


def test_group_is_its_summary_and_its_members_in_order() -> None:
    """By client id, whatever the order of the snapshot."""
    assert json.loads(encode(group_document(ORDERS))) == {
        **SUMMARY,
        "members": MEMBERS,
    }


def test_groups_are_listed_by_id() -> None:
    """Two calls can be compared."""
    other = replace(ORDERS.summary, group_id="a", reason="a member commits past the bridge")
    listed = json.loads(encode(groups_document([ORDERS.summary, other])))
    assert listed == {
        "groups": [{**SUMMARY, "group_id": "a", "reason": "a member commits past the bridge"}, SUMMARY],
    }


def test_readiness_names_its_reasons() -> None:
    """Ready means: no reason against it."""
    assert readiness_document(()) == {"ready": True, "reasons": [], "troubles": []}
    assert readiness_document(["draining"]) == {"ready": False, "reasons": ["draining"], "troubles": []}
    assert readiness_document((), ["full"]) == {"ready": True, "reasons": [], "troubles": ["full"]}


def test_error_has_code_and_sentence() -> None:
    """One form for every refusal."""
    assert error_document("EB-ADMIN-004", "no") == {"code": "EB-ADMIN-004", "error": "no"}


def test_text_that_is_no_unicode_is_still_encoded() -> None:
    """A lone surrogate in a client's id does not end the answer."""
    assert encode({"client_id": "a\ud800"}) == b'{"client_id":"a?"}\n'


def test_removal_has_a_line_for_every_seat() -> None:
    """The whole and its parts have errors of their own."""
    seat = RemovedSeat(member_id="m", instance_id="s", error="FENCED_INSTANCE_ID")
    assert json.loads(encode(removal_document(RemovalResult(error="", seats=(seat,))))) == {
        "error": "",
        "seats": [{"member_id": "m", "instance_id": "s", "error": "FENCED_INSTANCE_ID"}],
    }


def test_conversion_names_members_in_order() -> None:
    """By client id, as the group's own page does."""
    document = conversion_document(converted(is_dry_run=True))
    assert list(document) == ["group", "to", "is_dry_run", "error", "members"]
    assert json.loads(encode(document))["members"][0] == {
        "member_id": "m-2",
        "instance_id": None,
        "client_id": "a",
        "protocol": "classic",
        "is_disturbed": False,
        "loses": [{"topic": "orders", "partitions": [5]}],
        "gains": [],
    }
