"""A move that the last life of the bridge began, and its members of whom the two journals tell different things: one
knows seats and one machines, each is written by itself, and a death may be between them.
"""

from dataclasses import dataclass

from bridge.coordinators.moving.surroundings import Around
from bridge.migration.moves.members import ClassicMember
from bridge.migration.route import Road
from translators.dialects.ids import GroupId, MemberId, MemberRef


@dataclass(frozen=True, slots=True)
class UnfinishedMove:
    """A move that the last life of the bridge began: from where and where to, of which members only (() for all), and
    what is known of those that may be between two roads.
    """

    group_id: GroupId
    origin: Road
    destination: Road
    only: tuple[MemberId, ...]
    members: tuple[ClassicMember, ...]
    allow_rebalance: bool = False


def is_of_classic_members(move: UnfinishedMove) -> bool:
    """Whether it began with members that their broker certainly had as classic ones: a reseat, or an adoption."""
    return move.origin is Road.MAPPED or (move.origin is Road.PASS and move.destination is Road.EMBEDDED)


def settle_seats(around: Around, move: UnfinishedMove) -> None:
    """A member with a seat and a machine has been taken over, which its group's place tells only once the move is over;
    or it was asked to come back, which is found out by asking again. In both cases its machine knows its seat by name.
    """
    if is_of_classic_members(move):
        return
    for member_id in tuple(around.mapped.seats_of(move.group_id)):
        if around.upstream.translates(move.group_id, member_id):
            seat = around.mapped.take_out(move.group_id, member_id)
            if seat is not None:
                around.upstream.names.put(MemberRef(move.group_id, member_id), seat.seat_id)


def end_machines(around: Around, move: UnfinishedMove) -> None:
    """Machines of members that were given back before their move began: asked on by them as consumer members they would
    be none of the broker's, and their clients be told so. To be called once machines can be ended.
    """
    if not is_of_classic_members(move):
        return
    for member in move.members:
        if around.upstream.translates(move.group_id, member.member_id):
            around.upstream.let_go(MemberRef(move.group_id, member.member_id))
