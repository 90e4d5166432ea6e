"""Asks a running bridge through its admin API, and says in a sentence why there is no answer."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import quote

import httpx

from bridge.admin.addresses import PORT_MAX
from bridge.admin.bridge_option import TOKEN, CannotAsk, tls_context, tls_fault, url_of

TIMEOUT_S, ORDER_TIMEOUT_S = 10.0, 60.0
"""How long an answer is waited for; an order may have to ask brokers first."""
SURVEY_TIMEOUT_S = 60.0
"""For what asks brokers: each may take its time, and one that is gone has to be waited for."""
IDLE_S = 2.5
"""A connection that was not used for so long is replaced, and not asked by: the bridge closes it behind five seconds
(`web_server.IDLE_TIMEOUT_S`), and might do so just as it is asked.
"""
OK, NOT_READY = 200, 503
"""Statuses whose answers are what was asked for."""


_KEPT: ContextVar[dict[str, httpx.Client] | None] = ContextVar("connections that are kept", default=None)
"""By the URL of their bridge; None where nobody asks again."""


class NoAnswer(Exception):
    """There is no answer to show; the text has a code, what happened, the likely cause and the next step."""


class NobodyThere(NoAnswer):
    """No bridge listens at the address."""


class Unanswered(NoAnswer):
    """Somebody took the question, and said nothing in time."""


@contextmanager
def kept_connection() -> Iterator[None]:
    """Within it a bridge is asked by one connection: to whoever looks twice a second, in TLS above all, each look cost
    a handshake, and a descriptor of the bridge's for as long as its end took.
    """
    kept: dict[str, httpx.Client] = {}
    before = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(before)
        for client in kept.values():
            client.close()


def ask_groups(admin: str) -> bytes:
    """The JSON of all groups; `admin` is HOST:PORT or a URL. Raises NoAnswer."""
    return _ask(admin, "/groups")


def ask_group(admin: str, name: str) -> bytes:
    """The JSON of one group; raises NoAnswer, also for a group that the bridge does not coordinate."""
    return _ask(admin, group_path(name))


def ask_readiness(admin: str) -> bytes:
    """The JSON of whether clients may come, and why not where they may not; raises NoAnswer."""
    answer = _send("GET", admin, "/readyz")
    if answer.status_code in {OK, NOT_READY}:
        return answer.content
    raise NoAnswer(_refusal(admin, answer))


def ask_moves(admin: str) -> bytes:
    """The JSON of all moves; raises NoAnswer."""
    return _ask(admin, "/moves")


def ask_move(admin: str, name: str) -> bytes:
    """The JSON of a group's move; raises NoAnswer, also for a group of which none is remembered."""
    return _ask(admin, "/moves?group=" + quote(name, safe=""))


def ask_plans(admin: str) -> bytes:
    """The JSON of all plans; raises NoAnswer."""
    return _ask(admin, "/plans")


def ask_plan(admin: str, name: str) -> bytes:
    """The JSON of one plan; raises NoAnswer, also for one that there is not."""
    return _ask(admin, plan_path(name))


def plan_path(name: str) -> str:
    """The path of a plan's page."""
    return "/plans/" + quote(name, safe="").replace(".", "%2E")


def group_path(name: str) -> str:
    """The path of a group's page."""
    # Dots too: a group may be called `..`, which HTTP libraries take for the folder above.
    return "/groups/" + quote(name, safe="").replace(".", "%2E")


def ask_census(admin: str) -> bytes:
    """The JSON of the census; raises NoAnswer."""
    return _call("GET", admin, "/census", timeout_s=SURVEY_TIMEOUT_S)


def ask_doctor(admin: str) -> bytes:
    """The JSON of the doctor's findings; raises NoAnswer."""
    return _call("GET", admin, "/doctor", timeout_s=SURVEY_TIMEOUT_S)


def give_order(admin: str, path: str, order: Mapping[str, object]) -> bytes:
    """The JSON that answers an order; raises NoAnswer, also for a refused one."""
    return _call("POST", admin, path, json.dumps(order).encode())


def withdraw(admin: str, path: str) -> bytes:
    """The JSON that answers when what goes on there is to end; raises NoAnswer, also if nothing does."""
    return _call("DELETE", admin, path, b"{}")


def parse(answer: bytes, admin: str) -> Mapping[str, object]:
    """The answer as a mapping; raises NoAnswer for anything else."""
    try:
        document: object = httpx.Response(200, content=answer).json()
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return document
    raise NoAnswer(_unintelligible(admin, "what is no JSON object"))


def base_url(admin: str) -> str:
    """The URL of an address; raises NoAnswer for what is none."""
    try:
        url = url_of(admin)
        parsed = httpx.URL(url)
    except CannotAsk as problem:
        raise NoAnswer(str(problem)) from None
    except httpx.InvalidURL as problem:
        raise NoAnswer(_no_url(admin, str(problem))) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host or (parsed.port or 0) > PORT_MAX:
        raise NoAnswer(_no_url(admin, "no host, a port beyond 65535, or another scheme than http and https"))
    return url.rstrip("/")


def _ask(admin: str, path: str) -> bytes:
    return _call("GET", admin, path)


def _call(method: str, admin: str, path: str, order: bytes | None = None, timeout_s: float | None = None) -> bytes:
    answer = _send(method, admin, path, order, timeout_s)
    if answer.status_code == OK:
        return answer.content
    raise NoAnswer(_refusal(admin, answer))


def _send(
    method: str, admin: str, path: str, order: bytes | None = None, timeout_s: float | None = None
) -> httpx.Response:
    base = base_url(admin)
    headers = {} if order is None else {"content-type": "application/json"}
    token = TOKEN.get()
    if token:
        headers["authorization"] = f"Bearer {token}"
    patience_s = timeout_s or (TIMEOUT_S if order is None else ORDER_TIMEOUT_S)
    try:
        with _connected(base) as client:
            return client.request(method, base + path, content=order, headers=headers, timeout=patience_s)
    except CannotAsk as problem:
        raise NoAnswer(str(problem)) from None
    except httpx.InvalidURL as problem:
        raise NoAnswer(
            f"EB-ADMIN-026: a name of {len(path)} characters can't be asked for ({problem}); Kafka takes none above"
            " 32,767 bytes: shorten it"
        ) from None
    except (httpx.ReadTimeout, httpx.WriteTimeout):
        ordered = "; what was ordered may be done all the same" if method != "GET" else ""
        raise Unanswered(
            f"EB-ADMIN-028: {admin} took the question and did not answer within {patience_s:g} s{ordered}; the bridge, "
            "or a broker that it asks for this, is busy or hangs: see its log and `epochbridge status`, and ask again"
        ) from None
    except (httpx.TransportError, UnicodeError) as problem:
        # UnicodeError for a host that no resolver is asked for: two dots in a row, a word of more than 63 signs.
        fault = tls_fault(admin, problem)
        if fault:
            raise NoAnswer(fault) from None
        seen = str(problem) or type(problem).__name__
        raise NobodyThere(
            f"EB-ADMIN-011: no bridge answers at {admin} ({seen}); it may not run, or "
            "listen elsewhere: check `epochbridge serve` and its admin.listen, and give its address with --admin"
        ) from None


@contextmanager
def _connected(base: str) -> Iterator[httpx.Client]:
    """By whom a bridge is asked. One who failed is not kept: the bridge may have another certificate by now, and files
    of authorities be others. Raises CannotAsk.
    """
    kept = _KEPT.get()
    client = None if kept is None else kept.pop(base, None)
    if client is None:
        # A plain address needs no authorities, which take a while to be read.
        verify = tls_context() if base.lower().startswith("https:") else False
        # The environment's proxies are not for loopback.
        client = httpx.Client(verify=verify, trust_env=False, limits=httpx.Limits(keepalive_expiry=IDLE_S))
    is_kept = False
    try:
        yield client
        # Several may ask at once, in threads: one connection is kept of theirs.
        if kept is not None and base not in kept:
            kept[base], is_kept = client, True
    finally:
        if not is_kept:
            client.close()


def _refusal(admin: str, answer: httpx.Response) -> str:
    try:
        document = parse(answer.content, admin)
    except NoAnswer:
        return _unintelligible(admin, f"HTTP status {answer.status_code}")
    if "code" in document and "error" in document:
        return f"{document['code']}: {document['error']}"
    return _unintelligible(admin, f"HTTP status {answer.status_code}")


def _unintelligible(admin: str, seen: str) -> str:
    return (
        f"EB-ADMIN-012: {admin} answered {seen}; something else than a bridge may listen there: "
        "check the address given with --admin"
    )


def _no_url(admin: str, why: str) -> str:
    return f"EB-ADMIN-013: {admin!r} is no address of an admin API ({why}); give HOST:PORT, http://HOST:PORT or https://HOST:PORT"
