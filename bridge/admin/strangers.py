"""What a request to the admin API without the right token is told; refusals are counted, tokens never shown."""

import logging
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.addresses import is_loopback
from bridge.admin.certificates import PLACE, Certified
from bridge.admin.documents import NAME_CHARS_SHOWN, error_document, show
from bridge.admin.tokens import Tokens

LOG = logging.getLogger("epochbridge.admin")
Page = Callable[[Request], Awaitable[Response]]


PASSED_ON = frozenset({"forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"})
"""What proxies and sidecars on this machine add: they ask by loopback for whoever asked them."""


def named_host(request: Request) -> str:
    """The host that a request names; empty where Starlette can't read it, which takes the listener's own instead."""
    return (request.url.hostname or "") if request.url.netloc == request.headers.get("host", "") else ""


def is_local(request: Request) -> bool:
    """Whether a program on this machine asks by a loopback name: the name of a foreign page would stay in it."""
    peer = "" if request.client is None else request.client.host
    is_passed_on = not PASSED_ON.isdisjoint(request.headers.keys())
    return is_loopback(peer) and is_loopback(named_host(request)) and not is_passed_on


def certified_of(request: Request) -> Certified:
    """Whose certificate the connection of a request showed."""
    found: object = request.scope.get(PLACE)
    return found if isinstance(found, Certified) else Certified()


class TokenOnly:
    """A page for those who bring a token or a certificate, whichever role it is for, and for this machine's own
    programs.
    """

    def __init__(self, page: Page, tokens: Tokens) -> None:
        self._page = page
        self._tokens = tokens

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        is_certified = certified_of(request).role is not None
        if is_certified or is_local(request) or self._tokens.role(request.headers.get("authorization", "")) is not None:
            return await self._page(request)
        return await refuse_stranger(request, self._tokens)


async def refuse_stranger(request: Request, tokens: Tokens) -> Response:
    """401, counted, and told to the log less and less often."""
    tokens.refused += 1
    if tokens.refused & (tokens.refused - 1) == 0:
        peer = "" if request.client is None else request.client.host
        told = "EB-ADMIN-016: %d requests without a right token so far, the last one from %s"
        LOG.warning(told, tokens.refused, peer, extra={"code": "EB-ADMIN-016"})
    wanted = (
        "give the one of admin.token.path, or of admin.token.read.path to read, with --admin-token-path FILE or as "
        "`authorization: Bearer TOKEN`"
        if tokens.has_any()
        else "this bridge has none: set admin.token.path, or ask from its own machine with admin.listen on loopback"
    )
    subject = certified_of(request).subject
    if subject:
        wanted = f"no line of admin.tls.clients.path means the certificate of {subject[:NAME_CHARS_SHOWN]!r}; {wanted}"
    refusal = await show(
        error_document("EB-ADMIN-016", f"this needs a token, and none or a wrong one came; {wanted}"), 401
    )
    refusal.headers["www-authenticate"] = "Bearer"
    return refusal
