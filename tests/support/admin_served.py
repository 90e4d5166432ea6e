"""Servers in a thread, for callers that block: the admin API itself, and something that is none."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import trio

from bridge.admin.contracts import AdminSources, Moves, Surveys
from bridge.admin.server import serve_admin
from tests.support.admin_views import ObedientCommands, StillSnapshots, still_sources
from tests.support.http_answers import Answers, serving


@contextmanager
def admin_api(
    snapshots: StillSnapshots | None = None,
    commands: ObedientCommands | None = None,
    moves: Moves | None = None,
    surveys: Surveys | None = None,
    sources: AdminSources | None = None,
) -> Iterator[str]:
    """The address of an admin API over snapshots that stand still, or over `sources`."""
    served = sources or still_sources(snapshots, commands, moves, surveys)
    ready = threading.Event()
    bound: list[str] = []
    stops: list[tuple[trio.lowlevel.TrioToken, trio.CancelScope]] = []

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            bound.append(await nursery.start(serve_admin, "127.0.0.1:0", served))
            stops.append((trio.lowlevel.current_trio_token(), nursery.cancel_scope))
            ready.set()

    thread = threading.Thread(target=trio.run, args=(run,))
    thread.start()
    assert ready.wait(20)
    try:
        yield bound[0]
    finally:
        token, scope = stops[0]
        trio.from_thread.run_sync(scope.cancel, trio_token=token)
        thread.join(20)


@contextmanager
def something_else(status: int, body: bytes) -> Iterator[str]:
    """The address of a server that answers everything with this."""

    class Answer(Answers):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Answer) as address:
        yield address
