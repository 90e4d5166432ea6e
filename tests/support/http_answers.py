"""A server over HTTP in a thread, for callers that block: it gives what a test has it answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

POLL_S = 0.01
"""How often it looks whether it is to end: the standard library's half second would be waited for in each test."""


class Answers(BaseHTTPRequestHandler):
    """What is answered (`do_GET` and its like), without a line on standard error for each request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the name is http.server's
        """Say nothing."""


@contextmanager
def serving(answers: type[Answers]) -> Iterator[str]:
    """The address of a server at a port of loopback that answers so until the block ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), answers) as server:
        thread = Thread(target=server.serve_forever, args=(POLL_S,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
