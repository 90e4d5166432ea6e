"""The admin API's answer about a group, real HTTP included. It must not know the bridge's own code."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bridge.demo.rows import MemberView, ask_views, parse_views

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


class Answering(BaseHTTPRequestHandler):
    """Knows one group."""

    def do_GET(self) -> None:
        known = self.path == "/groups/a%2Fb"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(json.dumps({"members": [ROW]}).encode() if known else b"{}")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""


@pytest.fixture
def admin() -> Iterator[str]:
    """The address of a server that knows one group."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


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
