"""Where the event log is that a command reads: in a folder that is named, or where a running bridge says that it is."""

import json
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, build_opener

import click

from bridge.admin.bridge_option import (
    TOKEN,
    CannotAsk,
    Given,
    Outcome,
    access_options,
    address_option,
    tls_context,
    tls_fault,
    url_of,
)
from bridge.telemetry.trace.selection import NothingToShow

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 65_536


class _NoRedirect(HTTPRedirectHandler):
    """The token is for the place that was named alone."""

    def redirect_request(self, *_: object) -> None:
        """A redirect is not followed: the token would go along."""


def find_folder(admin: str) -> Path:
    """The folder that the bridge at this URL or HOST:PORT writes events to; raises NothingToShow."""
    try:
        url = url_of(admin)
        is_tls = url.lower().startswith("https:")
        ways = (HTTPSHandler(context=tls_context()),) if is_tls else ()
    except CannotAsk as problem:
        raise NothingToShow(str(problem)) from None
    if not url.startswith(("http://", "https://")):
        raise NothingToShow(f"EB-TRACE-005: {admin!r} is no address of an admin API; give HOST:PORT or an http URL")
    token = TOKEN.get()
    try:
        # The environment's proxies are not for loopback.
        opener = build_opener(ProxyHandler({}), _NoRedirect(), *ways)
        opener.addheaders = [("authorization", f"Bearer {token}")] if token else []
        with opener.open(url.rstrip("/") + "/events", timeout=TIMEOUT_S) as answer:
            document: object = json.loads(answer.read(ANSWER_BYTES_MAX))
    except (OSError, ValueError, RecursionError, HTTPException) as problem:
        fault = tls_fault(admin, problem)
        raise NothingToShow(
            fault
            or f"EB-TRACE-005: no bridge at {admin} says where its event log is ({problem}); name the folder with "
            "--events, the bridge's admin address with --admin, or its token with --admin-token-path"
        ) from None
    path = document.get("path") if isinstance(document, dict) else None
    if isinstance(path, str) and path:
        return Path(path)
    raise NothingToShow(
        f"EB-TRACE-006: the bridge at {admin} writes no event files; start it with `epochbridge serve --events DIR`"
    )


_events_option = click.option(
    "--events",
    metavar="DIR",
    type=click.Path(path_type=Path),
    envvar="EPOCHBRIDGE_EVENTS_PATH",
    help="Folder of the event log; by default the one that the running bridge writes to.",
)
_address_option = address_option("Admin API of the bridge, asked for its event log when --events is not given.")


def log_options(command: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """Which event log is read, by folder or by the bridge that writes it, and how that is asked."""
    return _events_option(_address_option(access_options()(command)))
