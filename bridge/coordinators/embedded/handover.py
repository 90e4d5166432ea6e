"""What another coordinator needs to know of a group to go on with it: every member's seat, while all is at rest."""

from dataclasses import dataclass

from bridge.engine.commands import GroupType
from bridge.engine.convert.readiness import find_departure_fault, find_seats_fault
from bridge.engine.model import Phase, metadata_of
from bridge.engine.outcome import NotConverted, Unready
from bridge.engine.queries import STABLE, group_state
from bridge.engine.state import ClassicGroup, Group, Shard, session_key
from bridge.migration.moves.members import has_yet_to_let_go
from bridge.ports import Members
from translators.dialects.consumer_protocol import CONSUMER, MalformedBlob, decode_assignment
from translators.dialects.coordinator import ClassicSeat
from translators.dialects.counts import counted
from translators.dialects.errors import quote
from translators.dialects.ids import GroupId, MemberId, MemberRef


@dataclass(frozen=True, slots=True)
class Handover:
    """All members of a group; `leader` is None where nobody leads them, and all seats offer a common protocol."""

    seats: tuple[ClassicSeat, ...]
    leader: MemberId | None = None


@dataclass(frozen=True, slots=True)
class Restless:
    """Something goes on in the group that has to come to its end first; what it is, for people."""

    what: str


def read_handover(shard: Shard, members: Members, group_id: GroupId, now_ms: int) -> Handover | Restless | NotConverted:
    """Every member's seat; or what has to be waited for, or why the group can't be handed over to a broker at all.

    A broker knows nothing of the bridge's machines: members of the consumer protocol have no seat in a classic group.
    """
    if shard.group_flights.get(group_id):
        return Restless("commits are on their way to the broker")
    classic = shard.classic_groups.get(group_id)
    if classic is not None:
        return _read_classic(shard, classic)
    fault = find_departure_fault(shard, group_id)
    if fault is not None:
        return fault
    return _read_consumers(members, shard.groups[group_id], now_ms)


def _read_consumers(members: Members, group: Group, now_ms: int) -> Handover | Restless | NotConverted:
    keys = [MemberRef(group.group_id, member_id) for member_id in group.members]
    unsettled = [key for key in keys if not members.is_settled(key, now_ms)]
    if keys and (unsettled or group_state(group) != STABLE):
        whose = f" ({quote(unsettled[0].member_id)} among them)" if unsettled else ""
        return Restless(f"{counted(len(unsettled), 'member does', 'members do')} not have yet what was dealt{whose}")
    found = (members.seat(key, now_ms) for key in keys)
    seats = tuple(seat for seat in found if seat is not None)
    return find_seats_fault(group, seats) or Handover(seats)


def _read_classic(shard: Shard, group: ClassicGroup) -> Handover | Restless | NotConverted:
    if group.phase not in (Phase.STABLE, Phase.EMPTY) or group.syncing or group.joining:
        return Restless(f"the group is in a rebalance ({group.phase})")
    if group.members and group.roster.protocol_type != CONSUMER:
        text = f"protocol type {quote(group.roster.protocol_type)!r} is not {CONSUMER!r}: its shares are unknown"
        return NotConverted(group.group_id, GroupType.CLASSIC, Unready.FOREIGN_PROTOCOL_TYPE, text)
    try:
        seats = tuple(_seat(shard, group, member_id) for member_id in group.members)
    except MalformedBlob as malformed:
        text = f"an assignment can't be read: {quote(malformed)}"
        return NotConverted(group.group_id, GroupType.CLASSIC, Unready.MALFORMED_ASSIGNMENT, text)
    by = group.roster.protocol_name
    for seat in seats:
        if has_yet_to_let_go(metadata_of(group.members[seat.member_id].protocols, by), seat.using):
            return Restless(f"{quote(seat.member_id)} has not joined since it was dealt less than it had")
    return Handover(seats, group.roster.leader)


def _seat(shard: Shard, group: ClassicGroup, member_id: MemberId) -> ClassicSeat:
    member = group.members[member_id]
    due_ms = shard.deadlines.due.get(session_key(group.group_id, member_id))
    return ClassicSeat(
        member_id=member_id,
        instance_id=member.instance_id,
        identity=member.identity,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=member.protocols,
        generation=group.generation_of(member_id),
        using=decode_assignment(member.assignment).partitions,
        session_deadline_ms=0 if due_ms is None else due_ms,
    )
