"""Frames of `watch`, from what the admin API says."""

import json

from bridge.admin.documents import encode, group_document, groups_document
from bridge.admin.watch_command import Frame, group_frame, groups_frame, lost_frame, phase_of
from tests.support.admin_views import ORDERS

GROUP = {"group_epoch": 12}


def test_group_shown_with_phases() -> None:
    """One gives up orders-5, the other waits for it."""
    frame = group_frame(json.loads(encode(group_document(ORDERS))))
    assert frame.lines[-1] == "1 awaiting-release, 1 revoking"
    assert [row[4:] for row in frame.rows] == [
        ("revoking", "5 -> 12", "orders: 0-2,5", "orders-5", "-"),
        ("awaiting-release", "- -> 12", "-", "-", "orders-5, refunds-0"),
    ]


def test_groups_shown_as_list() -> None:
    """And in words if there is none."""
    assert groups_frame(json.loads(encode(groups_document([ORDERS.summary])))).lines == ("1 group",)
    assert groups_frame({"groups": []}).lines == ("The bridge coordinates no group yet.",)


def test_phase_follows_state_of_classic_member() -> None:
    """Its machine knows."""
    assert phase_of({"state": "PreparingRebalance"}, GROUP) == "joining"
    assert phase_of({"state": "CompletingRebalance"}, GROUP) == "syncing"


def test_member_behind_the_group_is_to_hear_of_it() -> None:
    """Its next heartbeat brings the epoch; one without an epoch is just stable."""
    assert phase_of({"state": "Stable", "member_epoch": 11}, GROUP) == "stable (to hear of epoch 12)"
    assert phase_of({"state": "Stable", "member_epoch": 12}, GROUP) == "stable"
    assert phase_of({"state": "Stable", "member_epoch": None}, GROUP) == "stable"


def test_lost_bridge_leaves_the_last_picture() -> None:
    """The reason stands above it, once."""
    last = Frame(("a",), ("M",), (("1",),))
    lost = lost_frame("no answer", last)
    assert lost == Frame(("no answer", "a"), ("M",), (("1",),))
    assert lost_frame("no answer", lost) == lost
