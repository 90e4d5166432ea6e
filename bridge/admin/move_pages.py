"""The pages of the admin API by which groups move between roads: order or try a move, look at it, end it."""

from starlette.requests import Request
from starlette.responses import Response

from bridge.admin.contracts import Moves
from bridge.admin.documents import NAME_CHARS_SHOWN, error_document, move_document, moves_document, show
from bridge.admin.orders import Order, OrderRefused, check_name, read_flag, read_names, read_order, read_text
from bridge.migration.orders import MoveOrder
from bridge.migration.route import ROADS_OF_RULES, Road
from translators.dialects.ids import GroupId, MemberId

ROADS = tuple(road.value for road in ROADS_OF_RULES)
_UNABLE = "this bridge can't move groups: it runs without what makes the moves; ask a bridge that `serve` runs"


class MovePage:
    """A group is moved, or it is told what would become of it; a refusal is an answer too, with its obstacles."""

    def __init__(self, moves: Moves | None) -> None:
        self._moves = moves

    async def __call__(self, request: Request) -> Response:
        """Answer one request."""
        written = await read_order(request)
        order = read_move(str(request.path_params["name"]), written)
        if self._moves is None:
            return await _unable()
        await self._moves.prepare()
        if read_flag(written, "dry_run"):
            return await show(move_document(await self._moves.check(order)))
        return await show(move_document(self._moves.start(order)))


class MoveEndPage:
    """A move ends where it is."""

    def __init__(self, moves: Moves | None) -> None:
        self._moves = moves

    async def __call__(self, request: Request) -> Response:
        """Answer one request; 404 if no move of that group goes on."""
        if self._moves is None:
            return await _unable()
        name = str(request.path_params["name"])
        progress = self._moves.stop(GroupId(name))
        return await _no_move(name, "goes on") if progress is None else await show(move_document(progress))


class MovesPage:
    """All moves that are remembered, or with `?group=NAME` the one of that group."""

    def __init__(self, moves: Moves | None) -> None:
        self._moves = moves

    async def __call__(self, request: Request) -> Response:
        """Answer one request; 404 if there is no move of the group that is named."""
        if self._moves is None:
            return await _unable()
        name = request.query_params.get("group")
        if name is None:
            return await show(moves_document(self._moves.all()))
        progress = self._moves.progress(GroupId(name))
        return await _no_move(name, "is remembered") if progress is None else await show(move_document(progress))


def read_move(name: str, order: Order) -> MoveOrder:
    """`{"to": ROAD, "members": [ID, …], "allow_rebalance": …}` for the group of that name; raises OrderRefused."""
    to = read_text(order, "to")
    if to not in ROADS:
        raise OrderRefused(f"'to' has to be {' or '.join(ROADS)}, and is {to!r:.100}")
    members = tuple(dict.fromkeys(map(MemberId, read_names(order, "members"))))
    return MoveOrder(
        GroupId(check_name("group", name)), Road(to), members, allow_rebalance=read_flag(order, "allow_rebalance")
    )


async def _no_move(name: str, what: str) -> Response:
    sentence = f"no move of group {name[:NAME_CHARS_SHOWN]!r} {what}; `epochbridge moves` lists those there are"
    return await show(error_document("EB-MOVE-301", sentence), 404)


async def _unable() -> Response:
    return await show(error_document("EB-MOVE-302", _UNABLE), 501)
