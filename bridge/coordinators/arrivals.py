"""What reaches the owner of groups from outside, as values.

It must not know who sends them or what becomes of them.
"""

from dataclasses import dataclass

from translators.dialects.classic import Heartbeat, JoinGroup, LeaveGroup, SyncGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, RequestRef

MembershipRequest = JoinGroup | SyncGroup | Heartbeat | LeaveGroup | ConsumerGroupHeartbeat
"""The requests by which members come, live and go."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request of a client, with where its answer goes and who the client says it is."""

    ref: RequestRef
    client: ClientIdentity
    request: MembershipRequest
