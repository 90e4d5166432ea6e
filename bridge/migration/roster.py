"""What classic members that pass through have said of themselves: kept so that they can be moved without joining again.

It hears requests only, never answers: those are streamed past, and a leader's may be large.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from translators.dialects.classic import JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, GroupId, MemberId, Via

ROSTER_BYTES_MAX = 67_108_864
"""What the subscriptions of all members may take; beyond it the members heard of longest ago are forgotten."""
JOINING_PER_CONNECTION_MAX = 16
"""Groups for which one connection may have joined and not synced; further ones push the first out."""
JOINING_BYTES_MAX = 33_554_432
"""What those JoinGroups may take, of all connections together: whoever joins need not be let in for that. Beyond it the
oldest are forgotten: 16 of a megabyte on each of 10,000 connections were 160 GB.
"""
_MEMBER_BYTES = 400
"""What a member takes beside its subscriptions, about."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A member's last JoinGroup, whose it was and by which connection it came, and the generation it synced in."""

    request: JoinGroup
    client: ClientIdentity
    via: Via
    generation: int | None = None


class Roster:
    """Members by group, and on each connection the JoinGroups whose SyncGroup is still to come, one a group."""

    def __init__(self, bytes_max: int = ROSTER_BYTES_MAX) -> None:
        self._members: OrderedDict[tuple[GroupId, MemberId], Spoken] = OrderedDict()
        self._by_group: dict[GroupId, dict[MemberId, Spoken]] = {}
        self._joining: dict[Via, dict[GroupId, Spoken]] = {}
        self._bytes = self._joining_bytes = 0
        self._bytes_max = bytes_max

    def members_of(self, group_id: GroupId) -> Mapping[MemberId, Spoken]:
        """Those of a group whose SyncGroup was heard."""
        return self._by_group.get(group_id, {})

    def is_joining(self, member_id: MemberId, group_id: GroupId) -> bool:
        """Whether a member's JoinGroup was heard, and its SyncGroup is still to come: what it has now is not what it
        will have. Costs the connections in the middle of that, which are few.
        """
        return any(
            said.request.member_id == member_id
            for joining in self._joining.values()
            if (said := joining.get(group_id)) is not None
        )

    def hears(self, via: Via, client: ClientIdentity, request: object) -> None:
        """Whatever goes to the broker in its client's words; most of it says nothing of a member."""
        match request:
            case JoinGroup(protocol_type=protocol_type) if protocol_type == CONSUMER:
                self.joins(via, client, request)
            case SyncGroup():
                self.syncs(via, client, request)
            case LeaveGroup(members=members):
                for one in members:
                    self.leaves(request.group_id, one.member_id)
            case _:
                pass

    def is_newcomer(self, via: Via, group_id: GroupId, member_id: MemberId) -> bool:
        """Whether who joins by this connection is no member yet: it has no id, or got its id for a JoinGroup without
        one that was the last word of the connection in this group. Of a member that nobody heard join nothing is known
        here, as after a restart of the bridge, but it has an id.
        """
        said = self._joining.get(via, {}).get(group_id)
        return member_id == NO_MEMBER_ID or (said is not None and said.request.member_id == NO_MEMBER_ID)

    def joins(self, via: Via, client: ClientIdentity, request: JoinGroup) -> None:
        """A JoinGroup goes to the broker; one without a member id belongs to whoever syncs on its connection next."""
        self._take(via, request.group_id)
        said = Spoken(request, client, via)
        joining = self._joining.setdefault(via, {})
        joining[request.group_id] = said
        self._joining_bytes += _bytes_of(request.member_id, said)
        if len(joining) > JOINING_PER_CONNECTION_MAX:
            self._take(via, next(iter(joining)))
        while self._joining_bytes > JOINING_BYTES_MAX:
            oldest = next(iter(self._joining))
            self._take(oldest, next(iter(self._joining[oldest])))

    def syncs(self, via: Via, client: ClientIdentity, request: SyncGroup) -> None:
        """A SyncGroup goes to the broker: its member joined with what was said before on the same connection."""
        joining = self._joining.get(via, {})
        said = joining.get(request.group_id)
        if said is None or said.request.member_id not in (NO_MEMBER_ID, request.member_id):
            return
        self._take(via, request.group_id)
        self._keep(request.member_id, Spoken(said.request, client, via, request.generation))

    def leaves(self, group_id: GroupId, member_id: MemberId) -> None:
        """A member says farewell."""
        self._forget((group_id, member_id))

    def disconnected(self, via: Via) -> None:
        """A connection is gone; its members may come by another."""
        for group_id in tuple(self._joining.get(via, ())):
            self._take(via, group_id)

    def _take(self, via: Via, group_id: GroupId) -> None:
        """Nobody waits for the SyncGroup behind this connection's last JoinGroup of a group any more."""
        joining = self._joining.get(via, {})
        said = joining.pop(group_id, None)
        if said is not None:
            self._joining_bytes -= _bytes_of(said.request.member_id, said)
            if not joining:
                del self._joining[via]

    def _keep(self, member_id: MemberId, said: Spoken) -> None:
        key = (said.request.group_id, member_id)
        self._forget(key)
        self._members[key] = said
        self._by_group.setdefault(said.request.group_id, {})[member_id] = said
        self._bytes += _bytes_of(member_id, said)
        while self._bytes > self._bytes_max and len(self._members) > 1:
            self._forget(next(iter(self._members)))

    def _forget(self, key: tuple[GroupId, MemberId]) -> None:
        said = self._members.pop(key, None)
        if said is None:
            return
        self._bytes -= _bytes_of(key[1], said)
        members = self._by_group[key[0]]
        del members[key[1]]
        if not members:
            del self._by_group[key[0]]


def _bytes_of(member_id: MemberId, said: Spoken) -> int:
    """What is kept of a member: each name may have 32 kB."""
    request = said.request
    names = (member_id, request.group_id, request.member_id, request.instance_id or "", said.client.client_id)
    return (
        _MEMBER_BYTES
        + sum(map(len, names))
        + len(said.request.reason)
        + sum(len(one.name) + len(one.metadata) for one in said.request.protocols)
    )
