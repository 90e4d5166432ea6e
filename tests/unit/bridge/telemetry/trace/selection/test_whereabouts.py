"""Asking a bridge where its events are."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bridge.telemetry.trace.selection import NothingToShow, find_folder


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """Something at a port of loopback that gives this answer to whoever asks for `/events`; its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/events" else 404)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the name is http.server's
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_bridge_names_its_folder() -> None:
    """As the admin API tells."""
    with answering(json.dumps({"path": "/var/events"}).encode()) as admin:
        assert find_folder(admin) == Path("/var/events")


def test_bridge_without_event_log_is_told() -> None:
    """The next step is to start it with one."""
    with answering(b'{"path":""}') as admin, pytest.raises(NothingToShow, match=r"EB-TRACE-006.*--events DIR"):
        find_folder(admin)


def test_no_bridge_is_told() -> None:
    """Nobody there, no JSON, or no address."""
    with answering(b"hello") as admin, pytest.raises(NothingToShow, match="EB-TRACE-005"):
        find_folder(admin)
    with pytest.raises(NothingToShow, match="EB-TRACE-005"):
        find_folder(admin)
    with pytest.raises(NothingToShow, match="EB-TRACE-005"):
        find_folder("file:///etc/passwd")
