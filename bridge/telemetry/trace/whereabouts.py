"""Where the event log is that a command reads: in a folder that is named, or where a running bridge says that it is."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from http.client import HTTPException
from pathlib import Path
from typing import ParamSpec, TypeVar
from urllib.request import HTTPRedirectHandler, ProxyHandler, build_opener

import click

from bridge.telemetry.trace.selection import NothingToShow

ADMIN_DEFAULT = "http://127.0.0.1:9190"
TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 65_536
TOKEN: ContextVar[str] = ContextVar("token of the admin API", default="")
"""What the command was given to show; empty: nothing."""


class _NoRedirect(HTTPRedirectHandler):
    """The token is for the place that was named alone."""

    def redirect_request(self, *_: object) -> None:
        """To nowhere."""


def find_folder(admin: str) -> Path:
    """The folder that the bridge at this URL or HOST:PORT writes events to; raises NothingToShow."""
    url = admin if "://" in admin else f"http://{admin}"
    if not url.startswith(("http://", "https://")):
        raise NothingToShow(f"EB-TRACE-005: {admin!r} is no address of an admin API; give HOST:PORT or an http URL")
    token = TOKEN.get()
    try:
        # The environment's proxies are not for loopback.
        opener = build_opener(ProxyHandler({}), _NoRedirect())
        opener.addheaders = [("authorization", f"Bearer {token}")] if token else []
        with opener.open(url.rstrip("/") + "/events", timeout=TIMEOUT_S) as answer:
            document: object = json.loads(answer.read(ANSWER_BYTES_MAX))
    except (OSError, ValueError, RecursionError, HTTPException) as problem:
        raise NothingToShow(
            f"EB-TRACE-005: no bridge at {admin} says where its event log is ({problem}); name the folder with "
            "--events, the bridge's admin address with --admin, or its token with --admin-token-path"
        ) from None
    path = document.get("path") if isinstance(document, dict) else None
    if isinstance(path, str) and path:
        return Path(path)
    raise NothingToShow(
        f"EB-TRACE-006: the bridge at {admin} writes no event files; start it with `epochbridge serve --events DIR`"
    )


def _bring_token(_context: click.Context, _parameter: click.Parameter, path: str) -> None:
    why: str | None = None
    token = ""
    try:
        token = Path(path).read_text(encoding="ascii").strip() if path else ""
    except (OSError, UnicodeDecodeError) as problem:
        # A decoding error would quote the token.
        why = problem.strerror if isinstance(problem, OSError) else "it is no ASCII"
    if not token.isprintable() or " " in token:
        why = "it holds more than one word"
    if why is not None:
        raise click.ClickException(
            f"EB-TRACE-008: the token for the admin API can't be read from {path}: {why}; name the file that "
            "admin.token.path or admin.token.read.path of the bridge names, or a copy, with --admin-token-path"
        )
    TOKEN.set(token)


_events_option = click.option(
    "--events",
    metavar="DIR",
    type=click.Path(path_type=Path),
    envvar="EPOCHBRIDGE_EVENTS_PATH",
    help="Folder of the event log; by default the one that the running bridge writes to.",
)
_address_option = click.option(
    "--admin",
    metavar="URL",
    default=ADMIN_DEFAULT,
    show_default=True,
    envvar="EPOCHBRIDGE_ADMIN",
    help="Admin API of the bridge, asked for its event log when --events is not given.",
)
_token_option = click.option(
    "--admin-token-path",
    metavar="FILE",
    default="",
    expose_value=False,
    callback=_bring_token,
    envvar="EPOCHBRIDGE_ADMIN_TOKEN_FILE",
    help="File that holds the token for it, where it is asked from elsewhere.",
)
Given = ParamSpec("Given")
Outcome = TypeVar("Outcome")


def log_options(command: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """Which event log is read, by folder or by the bridge that writes it, and with which token that is asked."""
    return _events_option(_address_option(_token_option(command)))
