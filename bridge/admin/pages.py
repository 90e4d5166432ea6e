"""The pages of the admin API: which path shows what, and what a wrong request is told."""

from collections.abc import Callable
from http import HTTPStatus

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bridge.admin.addresses import is_loopback
from bridge.admin.census_page import CensusPage
from bridge.admin.contracts import AdminSources
from bridge.admin.doctor_page import DoctorPage
from bridge.admin.documents import (
    JSON,
    NAME_CHARS_SHOWN,
    Document,
    encode,
    error_document,
    group_document,
    groups_document,
    readiness_document,
    show,
    unknown_group,
)
from bridge.admin.move_pages import MoveEndPage, MovePage, MovesPage
from bridge.admin.orders import ConversionPage, Orders, ReloadPage, RemovalPage
from bridge.admin.plan_pages import PlanPage, PlansPage, PlanStartPage, PlanWordPage
from bridge.admin.strangers import Page, TokenOnly, named_host

PAGES = (
    "/livez, /readyz, /groups, /groups/NAME, /moves, /plans, /plans/NAME, /census, /doctor, /events and /metrics; by "
    "POST /config, /convert, /remove-members, /plans, /plans/NAME and /groups/NAME/move, which DELETE ends"
)


def make_application(sources: AdminSources, *, only_local: bool) -> Starlette:
    """The ASGI application; with `only_local` it answers only requests that name a loopback host, else only
    those with a token, but for what probes and collectors ask.

    A web page that a browser on this machine shows may resolve its own name to loopback (DNS rebinding); its requests
    still carry that name.
    """
    plans = None if sources.open_plans is None else sources.open_plans()
    pages: dict[str, Page] = {
        "/livez": show_life,
        "/readyz": Readiness(sources),
        "/groups": GroupList(sources),
        "/groups/{name:path}": GroupPage(sources),
        "/moves": MovesPage(sources.moves),
        "/plans": PlansPage(plans),
        "/plans/{name}": PlanPage(plans),
        "/census": CensusPage(sources.surveys),
        "/doctor": DoctorPage(sources.surveys),
        "/events": EventsPage(sources),
        "/metrics": MetricsPage(sources),
    }
    guarded = {path: _guard(path, page, sources, only_local=only_local) for path, page in pages.items()}
    orders: dict[str, Page] = {
        "/remove-members": RemovalPage(sources.commands),
        "/convert": ConversionPage(sources.commands),
        "/groups/{name:path}/move": MovePage(sources.moves),
        "/config": ReloadPage(sources.reloading),
        "/plans": PlanStartPage(plans),
        "/plans/{name}": PlanWordPage(plans),
    }
    ends: dict[str, Page] = {"/groups/{name:path}/move": MoveEndPage(sources.moves)}
    routes = [Route(path, _as_function(page), methods=["GET"]) for path, page in guarded.items()]
    routes += [
        Route(path, _as_function(Orders(page, sources.tokens)), methods=["POST"]) for path, page in orders.items()
    ]
    routes += [
        Route(path, _as_function(Orders(page, sources.tokens)), methods=["DELETE"]) for path, page in ends.items()
    ]
    return Starlette(
        routes=routes,
        exception_handlers={HTTPException: _refuse},
    )


OPEN_TO_ALL = frozenset({"/livez", "/readyz", "/metrics"})
"""What probes and collectors ask without a token, as of other proxies."""


def _guard(path: str, page: Page, sources: AdminSources, *, only_local: bool) -> Page:
    guarded = page if path in OPEN_TO_ALL else TokenOnly(page, sources.tokens)
    return LocalOnly(guarded) if only_local else guarded


async def show_life(_request: Request) -> Response:
    """200 while the process can answer at all."""
    return await show({"alive": True})


class Readiness:
    """200 when clients may come, 503 with the reasons when they should not; either with what troubles some."""

    def __init__(self, sources: AdminSources) -> None:
        self._sources = sources

    async def __call__(self, _request: Request) -> Response:
        """Answer one request."""
        snapshots = self._sources.snapshots
        reasons = snapshots.readiness()
        # Troubles leave it at 200: whoever takes the bridge out for them cuts off clients that are served well, and
        # no other bridge has these groups' journal.
        return await show(readiness_document(reasons, snapshots.troubles()), 503 if reasons else 200)


class GroupList:
    """Every group that the bridge coordinates."""

    def __init__(self, sources: AdminSources) -> None:
        self._sources = sources

    async def __call__(self, _request: Request) -> Response:
        """Answer one request."""
        groups = self._sources.snapshots.groups()
        return await _show_later(lambda: groups_document(groups))


class GroupPage:
    """One group with its members, 404 with a sentence if there is none."""

    def __init__(self, sources: AdminSources) -> None:
        self._sources = sources

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        name = str(request.path_params["name"])
        group = self._sources.snapshots.group(name)
        if group is None:
            return await unknown_group(name)
        return await _show_later(lambda: group_document(group))


class EventsPage:
    """Where the event log is, for those who read it on this machine."""

    def __init__(self, sources: AdminSources) -> None:
        self._sources = sources

    async def __call__(self, _request: Request) -> Response:
        """Answer one request."""
        return await show({"path": self._sources.events_path})


class MetricsPage:
    """Figures for a machine to collect."""

    def __init__(self, sources: AdminSources) -> None:
        self._sources = sources

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        text, media_type = self._sources.metrics.render(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": media_type})


class LocalOnly:
    """A page for those who call the bridge by a loopback name or address."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        host = named_host(request)
        if is_loopback(host):
            return await self._page(request)
        sentence = (
            f"the request names host {host[:NAME_CHARS_SHOWN]!r}, but this listener is for localhost only; ask it by "
            "localhost or 127.0.0.1, or set admin.listen to an address that others reach, with a token or certificates"
        )
        return await show(error_document("EB-ADMIN-006", sentence), 403)


def _as_function(page: Page) -> Page:
    async def show(request: Request) -> Response:
        return await page(request)

    return show


async def _refuse(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        wrong = (
            f"{request.method} is not answered here; what shows takes GET, what orders takes POST, "
            "what ends takes DELETE"
        )
        return await show(error_document("EB-ADMIN-005", wrong), status)
    return await show(error_document("EB-ADMIN-005", f"there is no such page; there are {PAGES}"), status)


async def _show_later(make: Callable[[], Document]) -> Response:
    # Ten thousand members are megabytes of JSON: written in a thread, while connections go on being served.
    return Response(await trio.to_thread.run_sync(lambda: encode(make())), media_type=JSON)
