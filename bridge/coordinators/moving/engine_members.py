"""The members of a group of the engine's as moves see them: at rest with what each has, or why they can't be moved."""

from collections.abc import Mapping

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.embedded.handover import Handover
from bridge.engine.outcome import NotConverted, Unready
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import Obstacle
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId

REST_S = 15.0
"""How long a group may take to come to rest."""
LOOK_S = 0.1
"""How often it is looked whether it has."""


async def find_in_engine(
    group_id: GroupId, embedded: EmbeddedGroups
) -> Mapping[MemberId, ClassicMember] | tuple[Obstacle, ...]:
    """The members of a group here, once they are at rest; or why they can't be released."""
    what = ""
    with trio.move_on_after(REST_S):
        while True:
            found = embedded.read_handover(group_id)
            if isinstance(found, Handover):
                return {seat.member_id: member_of(seat) for seat in found.seats}
            if isinstance(found, NotConverted):
                return (unconvertible(found),)
            what = found.what
            await trio.sleep(LOOK_S)
    return (restless(group_id, what),)


def member_of(seat: ClassicSeat) -> ClassicMember:
    """A member of the engine's as both sides of a move need it."""
    return ClassicMember(
        member_id=seat.member_id,
        instance_id=seat.instance_id,
        client=seat.identity,
        protocols=seat.protocols,
        protocol_name=next((one.name for one in seat.protocols), ""),
        session_timeout_ms=seat.session_timeout_ms,
        rebalance_timeout_ms=seat.rebalance_timeout_ms,
        generation=seat.generation,
        using=seat.using,
    )


def unconvertible(found: NotConverted) -> Obstacle:
    """Why the engine can't hand a group over."""
    if found.reason is Unready.CONSUMER_MEMBERS:
        return Obstacle(
            "EB-MOVE-143",
            found.text,
            "restart them with group.protocol=classic, move the group, and restart them at the broker with"
            " group.protocol=consumer; until then the group stays with the bridge",
        )
    return Obstacle("EB-MOVE-233", found.text, "the group stays with the bridge until that has changed")


def restless(group_id: GroupId, what: str) -> Obstacle:
    """Somebody was in the middle of something for too long."""
    return Obstacle(
        "EB-MOVE-234", f"{quote(group_id)} did not come to rest: {what}", "order the move again when it has"
    )
