"""Asks a running bridge where it writes its event log.

It must not know what is in the log.
"""

import json
from http.client import HTTPException
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from bridge.telemetry.trace.selection import NothingToShow

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 65_536


def find_folder(admin: str) -> Path:
    """The folder that the bridge at this URL or HOST:PORT writes events to; raises NothingToShow."""
    url = admin if "://" in admin else f"http://{admin}"
    if not url.startswith(("http://", "https://")):
        raise NothingToShow(f"EB-TRACE-005: {admin!r} is no address of an admin API; give HOST:PORT or an http URL")
    try:
        # The environment's proxies are not for loopback.
        with build_opener(ProxyHandler({})).open(url.rstrip("/") + "/events", timeout=TIMEOUT_S) as answer:
            document: object = json.loads(answer.read(ANSWER_BYTES_MAX))
    except (OSError, ValueError, RecursionError, HTTPException) as problem:
        raise NothingToShow(
            f"EB-TRACE-005: no bridge at {admin} says where its event log is ({problem}); name the folder with "
            "--events, or the bridge's admin address with --admin"
        ) from None
    path = document.get("path") if isinstance(document, dict) else None
    if isinstance(path, str) and path:
        return Path(path)
    raise NothingToShow(
        f"EB-TRACE-006: the bridge at {admin} writes no event files; start it with `epochbridge serve --events DIR`"
    )
