"""What reaches the owner of groups from outside, as values, and the order in which one turn takes it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from bridge.log_lines import EMBEDDED, LogFields
from bridge.wire.codec.registry import group_ids
from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef
from translators.dialects.messages import GroupRequest
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

MembershipRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | ConsumerGroupHeartbeat
"""The requests by which members come, live and go."""
_NOBODY = ClientIdentity(client_id="", client_host="")

OrderT = TypeVar("OrderT")
"""What a coordinator is told to do that no client asked for."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request of a client, with where its answer goes and who the client says it is."""

    ref: RequestRef
    client: ClientIdentity
    request: MembershipRequest


def seats_named(request: MembershipRequest) -> Iterator[tuple[GroupId, str]]:
    """The member ids and instance ids by which a request names members, with their group; none for a newcomer."""
    entries = request.members if isinstance(request, LeaveGroup) else (request,)
    for entry in entries:
        if entry.member_id:
            yield request.group_id, f"member {entry.member_id}"
        if entry.instance_id is not None:
            yield request.group_id, f"instance {entry.instance_id}"


def in_turn(arrivals: Iterable[Arrival | OrderT]) -> list[Arrival | OrderT]:
    """The order of one turn: heartbeats last, so that they don't cut the joins before them into several targets.

    What concerns one member stays in the order it came.
    """
    taken = list(arrivals)
    beats = [arrival for arrival in taken if _is_beat(arrival)]
    if not beats or len(beats) == len(taken):
        return taken
    named = {
        seat
        for arrival in taken
        if isinstance(arrival, Arrival) and not _is_beat(arrival)
        for seat in seats_named(arrival.request)
    }
    late = {id(beat) for beat in beats if isinstance(beat, Arrival) and named.isdisjoint(seats_named(beat.request))}
    first = [arrival for arrival in taken if id(arrival) not in late]
    return first + [arrival for arrival in taken if id(arrival) in late]


def _is_beat(arrival: object) -> bool:
    return isinstance(arrival, Arrival) and isinstance(arrival.request, Heartbeat)


def request_fields(request: GroupRequest, client: ClientIdentity = _NOBODY, road: str = EMBEDDED) -> LogFields:
    """What a line about a request says of its group and member, as far as the request names one of each."""
    named = group_ids(request)
    fields = LogFields(road=road, client_id=client.client_id, client_host=client.client_host)
    if len(named) == 1:
        fields["group_id"] = named[0]
    match request:
        case JoinGroup():
            fields |= LogFields(member_id=request.member_id, instance_id=request.instance_id)
        case SyncGroup() | Heartbeat() | OffsetCommit() | TxnOffsetCommit():
            fields |= LogFields(member_id=request.member_id, generation=request.generation)
        case ConsumerGroupHeartbeat():
            fields |= LogFields(
                member_id=request.member_id, instance_id=request.instance_id, member_epoch=request.member_epoch
            )
        case _:
            # Other requests name several members, or none: no line is about one of them.
            pass
    return fields
