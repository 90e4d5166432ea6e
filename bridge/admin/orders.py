"""The pages of the admin API that change something: who may call them, how an order is read, what answers it; one of
them has the configuration read again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.contracts import Commands, Conversion, Reloading, Removal
from bridge.admin.documents import (
    NAME_CHARS_SHOWN,
    conversion_document,
    error_document,
    removal_document,
    show,
    unknown_group,
)
from bridge.admin.strangers import Page, certified_of, is_local, refuse_stranger
from bridge.admin.tokens import Role, Tokens
from translators.dialects.counts import read_count

JSON = "application/json"
KINDS = ("consumer", "classic")
ORDER_BYTES_MAX = 1_048_576
NAME_BYTES_MAX = 32_767
"""The most that a string of Kafka's protocol holds."""
_UNREADABLE = "EB-ADMIN-009"
"""The order is no JSON object, is longer than 1 MiB, or has a value that is not wanted; the sentence says which."""
_STRANGER = (
    "orders are taken from this machine, by a loopback address, or with a token or a certificate; run the command "
    "where the bridge runs, or give the token of admin.token.path with --admin-token-path FILE"
)
_READER = "the token that came is to read with; orders need that of admin.token.path"
_CERTIFIED_READER = (
    "the certificate of %r is to read with; orders need a line of admin.tls.clients.path that says `order` for it, or "
    "a token for orders"
)

Order = Mapping[str, object]


class OrderRefused(Exception):
    """An order that can't be read; the text says what was seen and what is wanted."""


class Orders:
    """A page for programs that mean it.

    Who brings a token needs one for orders. Without one only whose certificate is for orders, or a loopback peer that
    names a loopback host may give orders, also where the listener can be reached from elsewhere, and no web page of
    another place (Origin): a browser shows certificates by itself. All need a body that says it is JSON, which a web
    page of a stranger can't send (CORS).
    """

    def __init__(self, page: Page, tokens: Tokens) -> None:
        self._page = page
        self._tokens = tokens

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        refusal = await self._refusal(request)
        if refusal is not None:
            return refusal
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            return await show(error_document("EB-ADMIN-008", f"orders are {JSON}; say so in content-type"), 415)
        try:
            return await self._page(request)
        except OrderRefused as problem:
            return await show(error_document(_UNREADABLE, str(problem)), 400)

    async def _refusal(self, request: Request) -> Response | None:
        """What somebody is told who may not give orders."""
        authorization = request.headers.get("authorization", "")
        if authorization and self._tokens.has_any():
            role = self._tokens.role(authorization)
            if role is None:
                return await refuse_stranger(request, self._tokens)
            if role is Role.ORDER:
                return None
            self._tokens.refused += 1
            return await show(error_document("EB-ADMIN-017", _READER), 403)
        certified = certified_of(request)
        if certified.role is not Role.ORDER and not is_local(request):
            self._tokens.refused += 1
            if certified.role is Role.READ:
                sentence = _CERTIFIED_READER % certified.subject[:NAME_CHARS_SHOWN]
                return await show(error_document("EB-ADMIN-017", sentence), 403)
            return await show(error_document("EB-ADMIN-007", _STRANGER), 403)
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() != f"{request.url.scheme}://{request.url.netloc}".lower():
            sentence = f"a browser sent this for a page of {origin[:NAME_CHARS_SHOWN]!r}; orders are given by commands"
            return await show(error_document("EB-ADMIN-018", sentence), 403)
        return None


class RemovalPage:
    """Members leave, as an operator orders it."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        removal = read_removal(await read_order(request))
        result = await self._commands.remove_members(removal)
        return await unknown_group(removal.group) if result is None else await show(removal_document(result))


class ConversionPage:
    """A group becomes another kind of group, as an operator orders it."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def __call__(self, request: Request) -> Response:
        """Answer one request; a conversion that is not possible is an answer too, with its reason."""
        conversion = read_conversion(await read_order(request))
        result = await self._commands.convert(conversion)
        return await unknown_group(conversion.group) if result is None else await show(conversion_document(result))


async def read_order(request: Request) -> Order:
    """The JSON object in a request's body; raises OrderRefused."""
    length = request.headers.get("content-length", "")
    # Somebody who does not say how much comes is not listened to.
    if read_count(length, ORDER_BYTES_MAX) is None:
        raise OrderRefused(f"the order is longer than {ORDER_BYTES_MAX} bytes, or does not say how long it is")
    body = await request.body()
    try:
        order: object = json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise OrderRefused(f"the order is no JSON: {problem}") from None
    if not isinstance(order, dict):
        raise OrderRefused("the order is no JSON object")
    return order


def read_removal(order: Order) -> Removal:
    """`{"group": …, "member_ids": […], "instance_ids": […]}` or `{"group": …, "all": true}`; raises OrderRefused."""
    removal = Removal(
        group=read_name(order, "group"),
        member_ids=read_names(order, "member_ids"),
        instance_ids=read_names(order, "instance_ids"),
        is_all=read_flag(order, "all"),
    )
    if removal.is_all == bool(removal.member_ids or removal.instance_ids):
        raise OrderRefused("either members are named, by member_ids or instance_ids, or all is true")
    return removal


def read_conversion(order: Order) -> Conversion:
    """`{"group": …, "to": "consumer"|"classic", "dry_run": …}`; raises OrderRefused."""
    to = read_text(order, "to")
    if to not in KINDS:
        raise OrderRefused(f"'to' has to be {' or '.join(KINDS)}, and is {to!r:.100}")
    return Conversion(group=read_name(order, "group"), to=to, is_dry_run=read_flag(order, "dry_run"))


def read_text(order: Order, key: str) -> str:
    """A text that has to be there; raises OrderRefused."""
    value = order.get(key)
    if isinstance(value, str):
        return value
    raise OrderRefused(f"{key!r} has to be a text, and is {value!r:.100}")


def read_name(order: Order, key: str) -> str:
    """A text that has to be there and may go to a broker; raises OrderRefused."""
    return check_name(key, read_text(order, key))


def check_name(what: str, name: str) -> str:
    """The name itself, if it can be one in Kafka's protocol; raises OrderRefused."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise OrderRefused(f"{what!r} has to be Unicode, and is {name!r:.100}") from None
    if not size:
        raise OrderRefused(f"{what!r} is empty, which no broker takes for a name: say which one is meant")
    if size > NAME_BYTES_MAX:
        raise OrderRefused(f"{what!r} has {size} bytes, and may have {NAME_BYTES_MAX}: {name!r:.100}")
    return name


def read_flag(order: Order, key: str) -> bool:
    """True or false, false where nothing is said; raises OrderRefused."""
    value = order.get(key, False)
    if isinstance(value, bool):
        return value
    raise OrderRefused(f"{key!r} has to be true or false, and is {value!r:.100}")


def read_names(order: Order, key: str) -> tuple[str, ...]:
    """A list of names, empty where nothing is said; raises OrderRefused."""
    value = order.get(key, [])
    if isinstance(value, list) and all(isinstance(item, str) and item for item in value):
        return tuple(check_name(key, name) for name in value)
    raise OrderRefused(f"{key!r} has to be a list of texts, none of them empty, and is {value!r:.100}")


class ReloadPage:
    """The configuration is read again, or only judged; 400 with every reason if it can't be used."""

    def __init__(self, reloading: Reloading | None) -> None:
        self._reloading = reloading

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        order = await read_order(request)
        is_dry_run, log_level = (
            read_flag(order, "dry_run"),
            read_text(order, "log_level") if "log_level" in order else "",
        )
        if self._reloading is None:
            sentence = "this bridge has no configuration that can be read again; ask a bridge that `serve` runs"
            return await show(error_document("EB-ADMIN-014", sentence), 501)
        reload = await self._reloading.reload(is_dry_run=is_dry_run, log_level=log_level)
        if reload.error:
            sentence = f"the configuration can't be used, nothing has changed: {reload.error}"
            return await show(error_document("EB-ADMIN-015", sentence), 400)
        document = asdict(reload)
        del document["error"]
        return await show(document)
