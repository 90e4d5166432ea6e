"""The admin API's answer about a group, real HTTP included. It must not know the bridge's own code."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bridge.demo.rows import MemberView, ask_progress, ask_roads, ask_views, parse_roads, parse_views, unmoved_views
from tests.support.http_answers import Answers, serving

ROW = {
    "member_id": "x",
    "client_id": "member-1",
    "protocol": "classic",
    "state": "Stable",
    "generation": 3,
    "member_epoch": 7,
    "assigned": [["t", 0]],
}
VIEW = MemberView(client_id="member-1", protocol="classic", state="Stable", generation=3, member_epoch=7)


MOVE = {
    "from": "pass",
    "to": "upstream",
    "stage": "moving",
    "members": [
        {"client_id": "member-1", "stage": "moved"},
        {"client_id": "member-2", "stage": "moving"},
        {"client_id": "member-3", "stage": "waiting"},
        {"client_id": "member-4", "stage": "gone"},
    ],
}


class Answering(Answers):
    """Knows one group."""

    def do_GET(self) -> None:
        known = {"/groups/a%2Fb": {"members": [ROW]}, "/moves?group=a%2Fb": MOVE}.get(self.path)
        self.send_response(404 if known is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(known or {}).encode())


@pytest.fixture
def admin() -> Iterator[str]:
    """The address of a server that knows one group."""
    with serving(Answering) as address:
        yield address


def test_members_are_found_by_client_and_protocol() -> None:
    """A native member has an epoch and no generation."""
    native = {**ROW, "protocol": "consumer", "generation": None}
    views = parse_views(json.dumps({"members": [ROW, native]}))
    assert views == {
        ("member-1", "classic"): VIEW,
        ("member-1", "consumer"): MemberView(
            client_id="member-1", protocol="consumer", state="Stable", generation=None, member_epoch=7
        ),
    }


def test_road_of_a_member_stands_in_place_of_its_state() -> None:
    """Where it was moved to, where it still is, or that it is between the two."""
    states = {name: view.state for (name, protocol), view in parse_roads(json.dumps(MOVE)).items()}
    assert states == {"member-1": "upstream", "member-2": "moving", "member-3": "pass", "member-4": "-"}
    assert {protocol for _, protocol in parse_roads(json.dumps(MOVE))} == {"classic"}


def test_whom_no_move_has_touched_passes_or_has_the_brokers_address() -> None:
    """By the protocol that its client speaks."""
    states = {key: view.state for key, view in unmoved_views(["a", "b"]).items()}
    passing, direct = {(seat, "classic"): "pass" for seat in "ab"}, {(seat, "consumer"): "direct" for seat in "ab"}
    assert states == passing | direct


def test_roads_are_asked_of_the_last_move(admin: str) -> None:
    """With what else is known; nothing for a group that was never moved, and nothing while nobody answers."""
    roads = parse_roads(json.dumps(MOVE))
    assert ask_roads(admin, "a/b") == {**roads, ("member-1", "classic"): replace(VIEW, state="upstream")}
    assert ask_roads(admin, "other") == {}
    assert ask_roads("127.0.0.1:1", "a/b") == {}


def test_progress_of_a_move_is_told_in_a_few_words(admin: str) -> None:
    """And nothing of a group that was never moved."""
    assert ask_progress(admin, "a/b") == "moving, 1 of 4 members moved"
    assert ask_progress(admin, "other") == ""


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"members": 3}', '{"members": [3]}', "<html>"])
def test_answer_that_is_no_group_has_no_members(text: str) -> None:
    """The table does without."""
    assert parse_views(text) == {}


def test_group_is_asked_for_by_its_quoted_name(admin: str) -> None:
    """Group ids may hold slashes; an unknown group has no members."""
    assert ask_views(admin, "a/b") == {("member-1", "classic"): VIEW}
    assert ask_views(admin, "other") == {}


def test_absent_admin_api_has_no_members() -> None:
    """Nothing listens on port 1."""
    assert ask_views("127.0.0.1:1", "g") == {}
