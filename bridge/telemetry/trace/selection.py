"""Finds the rebalances of one group that somebody asked for, and the log that they are in."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
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
from bridge.telemetry.event_log.codec import Rejected
from bridge.telemetry.event_log.files import event_files, read_log
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import Event

# ---------------------------------------------------------------------------------------- selection
# Finds the rebalances of one group that somebody asked for, in a log or in that of a running bridge.

GROUPS_NAMED_MAX = 10
UNITS_US = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
DURATION = re.compile(r"(\d+)\s*(ms|s|m|h|d)")


class NothingToShow(Exception):
    """The log does not hold what was asked for; the text has a code, what was seen and the next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which rebalances: one by its id, those of the log's last `since_us`, or, if neither is given, the last one."""

    group_id: str
    rebalance_id: str = ""
    since_us: int | None = None


@dataclass(slots=True)
class Aside:
    """Lines of a log that are no events: how many, and what is wrong with the first."""

    count: int = 0
    first: str = ""

    def note(self, rejected: Rejected) -> None:
        """One more."""
        self.count += 1
        self.first = self.first or f"{rejected.flaw.value}: {rejected.reason}"

    def words(self) -> str:
        """How many and why, "" for none."""
        are = "line is no event" if self.count == 1 else "lines are no events, the first"
        return f"{self.count:,} {are} ({self.first})" if self.count else ""


def parse_duration(text: str) -> int:
    """Microseconds of `90s`, `15m`, `1h` or `2d`; raises ValueError."""
    found = DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no duration such as 90s, 15m, 1h or 2d")
    return int(found[1]) * UNITS_US[found[2]]


def find_rebalances(folder: Path, wanted: Wanted, aside: Aside | None = None) -> list[Rebalance]:
    """Those that were asked for, oldest first; raises NothingToShow. Lines that are no events are noted in `aside`."""
    groups: dict[str, None] = {}
    aside = Aside() if aside is None else aside
    try:
        if not event_files(folder):
            raise NothingToShow(
                f"EB-TRACE-001: {folder} holds no event log (events-*.jsonl); name the folder that "
                "`epochbridge serve --events DIR` writes to with --events"
            )
        rebalances = assemble(_of_group(_events(folder, aside), wanted.group_id, groups))
    except OSError as problem:
        raise NothingToShow(
            f"EB-TRACE-001: the event log {folder} can't be read: {problem.strerror or problem}; name the folder that "
            "`epochbridge serve --events DIR` writes to with --events"
        ) from problem
    if wanted.group_id not in groups:
        raise NothingToShow("; ".join(filter(None, (_no_group(folder, wanted.group_id, list(groups)), aside.words()))))
    return choose(rebalances, wanted)


def choose(rebalances: Sequence[Rebalance], wanted: Wanted) -> list[Rebalance]:
    """Those of a group's rebalances that were asked for; raises NothingToShow if there is none."""
    if wanted.rebalance_id:
        chosen = [one for one in rebalances if one.rebalance_id == wanted.rebalance_id]
    elif wanted.since_us is not None:
        last_us = max((one.ended_wall_us for one in rebalances), default=0)
        chosen = [one for one in rebalances if one.ended_wall_us >= last_us - wanted.since_us]
    else:
        chosen = list(rebalances[-1:])
    if chosen:
        return chosen
    known = ", ".join(one.rebalance_id for one in rebalances[-3:]) or "none"
    asked = f"{wanted.rebalance_id!r}" if wanted.rebalance_id else "that time"
    raise NothingToShow(
        f"EB-TRACE-003: the log holds no rebalance of {wanted.group_id!r} for {asked}; its last ones are: {known}"
    )


def _events(folder: Path, aside: Aside) -> Iterator[Event]:
    for found in read_log(folder):
        if isinstance(found, Event):
            yield found
        else:
            aside.note(found)


def _of_group(events: Iterator[Event], group_id: str, groups: dict[str, None]) -> Iterator[Event]:
    """The events of one group and those of none; notes the groups that there are."""
    for event in events:
        owner = getattr(event.fact, "group_id", "")
        if owner:
            groups[owner] = None
        if owner in ("", group_id):
            yield event


def _no_group(folder: Path, group_id: str, groups: Sequence[str]) -> str:
    named = ", ".join(sorted(groups)[:GROUPS_NAMED_MAX]) or "none"
    more = f" and {len(groups) - GROUPS_NAMED_MAX} more" if len(groups) > GROUPS_NAMED_MAX else ""
    return f"EB-TRACE-002: the event log {folder} holds nothing of group {group_id!r}; its groups are: {named}{more}"


# -------------------------------------------------------------------------------------- whereabouts
# Where the event log is that a command reads: in a folder that is named, or where a running bridge says that it is.

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
        if isinstance(problem, HTTPError):
            # It is the answer as well, and holds its connection.
            problem.close()
        # The library wraps what happened in its own words; an answer with a status is what happened.
        seen = problem if isinstance(problem, HTTPError) or not isinstance(problem, URLError) else problem.reason
        raise NothingToShow(
            fault
            or f"EB-TRACE-005: no bridge at {admin} says where its event log is ({seen}); name the folder with "
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
    type=click.Path(path_type=Path, readable=False),
    envvar="EPOCHBRIDGE_EVENTS_PATH",
    help="Folder of the event log; by default the one that the running bridge writes to.",
)
_address_option = address_option("Admin API of the bridge, asked for its event log when --events is not given.")


def log_options(command: Callable[Given, Outcome]) -> Callable[Given, Outcome]:
    """Which event log is read, by folder or by the bridge that writes it, and how that is asked."""
    return _events_option(_address_option(access_options()(command)))
