"""Finding the connection of a reply."""

from bridge.migration.route import Road, Router
from bridge.net.reply_routes import ReplyRoutes
from bridge.session.client_session import ClientSession, Rules
from bridge.session.contracts import NoAccess
from bridge.session.counters import Counters
from bridge.session.limits import Limits
from bridge.session.outbox import Slot
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Reply
from tests.support.proxy import SeenGroups
from translators.dialects.classic import HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import RequestRef, Via

FINE = HeartbeatReply(ErrorCode.NONE)


class Somebody:
    """A client as its broker knows it."""

    principal = "somebody"


class Line(NoAccess):
    """A connection that fills its slots."""

    def __init__(self) -> None:
        self.rights = Somebody()
        self.session = ClientSession(Rules(limits=Limits(), router=Router(())), 4, "host", SeenGroups())

    def deliver(self, slot: Slot, road: Road, reply: Reply) -> None:
        """Fill the slot."""
        self.session.outbox.fill(slot, self.session.encode(slot, reply))


def test_reply_finds_its_slot_once() -> None:
    """A second reply, one to nobody and one to a connection that is gone are dropped and counted."""
    counters, line = Counters(), Line()
    board = ReplyRoutes(counters)
    board.add(4, line)
    ahead = line.session.outbox.reserve(ApiKey.HEARTBEAT, 3, 8)
    slot = line.session.outbox.reserve(ApiKey.HEARTBEAT, 3, 9)
    board.deliver(slot.ref, FINE)
    assert slot.answer is not None
    assert (ahead.answer, counters.late_replies) == (None, 0)
    board.deliver(slot.ref, FINE)
    board.deliver(RequestRef(0, 5, 0), FINE)
    board.remove(4)
    board.deliver(ahead.ref, FINE)
    assert (ahead.answer, counters.late_replies) == (None, 3)


def test_connection_is_found_by_node_and_number() -> None:
    """What another node has is not here; a reply to it is handed on, or counted while nobody takes it."""
    counters, line = Counters(), Line()
    board = ReplyRoutes(counters, node=2)
    board.add(4, line)
    assert board.access(Via(2, 4)) is line
    assert isinstance(board.access(Via(1, 4)), NoAccess)
    assert isinstance(board.access(Via(2, 5)), NoAccess)
    assert [board.principal_of(via) for via in (Via(2, 4), Via(1, 4), Via(2, 5))] == ["somebody", None, None]
    board.deliver(RequestRef(1, 4, 0), FINE)
    assert counters.late_replies == 1
    handed: list[tuple[RequestRef, Reply, Road]] = []
    board.deliver_elsewhere = lambda ref, reply, road: handed.append((ref, reply, road))
    board.deliver(RequestRef(1, 4, 0), FINE, Road.UPSTREAM)
    assert handed == [(RequestRef(1, 4, 0), FINE, Road.UPSTREAM)]
