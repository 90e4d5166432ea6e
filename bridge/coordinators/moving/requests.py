"""Requests of a group that is being moved: whose they are, and the ways on which they go once that is settled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from bridge.coordinators.mapped.groups import MappedEars
from bridge.migration.roster import Roster
from bridge.migration.route import Road, Router, find_obstacle, has_joined
from bridge.session.contracts import Access, Groups
from bridge.wire.codec.registry import error_reply
from translators.dialects.admin import DeleteGroups, DescribeGroups, ListGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, JoinGroupReply, LeaveGroup, SyncGroup
from translators.dialects.configs import AlterConfigs, DescribeConfigs, IncrementalAlterConfigs, ListConfigResources
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, NO_MEMBER_ID, ClientIdentity, GroupId, MemberId, RequestRef, Via
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import OffsetCommit, OffsetDelete, OffsetFetch, TxnOffsetCommit

OfMember = Heartbeat | SyncGroup | JoinGroup | LeaveGroup | OffsetCommit | TxnOffsetCommit | OffsetFetch
"""What classic members ask; everything else of a group that brokers coordinate is the broker's to answer."""


@dataclass(frozen=True, slots=True)
class Held:
    """A request as it came, and when (monotonic milliseconds)."""

    ref: RequestRef
    client: ClientIdentity
    via: Via
    request: GroupRequest
    at_ms: int


def classic_member_of(request: GroupRequest) -> MemberId | None:
    """The classic member that a request names; "" for a newcomer, None where no member of this protocol asks.

    A LeaveGroup of several is an admin's.
    """
    match request:
        case Heartbeat() | SyncGroup() | JoinGroup() | OffsetCommit() | TxnOffsetCommit():
            return request.member_id
        case LeaveGroup(members=members):
            return members[0].member_id if len(members) == 1 else None
        case OffsetFetch(groups=groups):
            return groups[0].member_id or NO_MEMBER_ID
        case (
            ConsumerGroupHeartbeat()
            | ConsumerGroupDescribe()
            | DescribeGroups()
            | ListGroups()
            | DeleteGroups()
            | OffsetDelete()
            | DescribeConfigs()
            | IncrementalAlterConfigs()
            | AlterConfigs()
            | ListConfigResources()
        ):
            return None
        case _:
            assert_never(request)


def joins_natively(request: GroupRequest) -> bool:
    """Whether a KIP-848 client asks to be a member: for the first of them a broker makes a consumer group of a classic
    one, and deals what others have.
    """
    return isinstance(request, ConsumerGroupHeartbeat) and request.member_epoch == JOIN_EPOCH


def is_farewell(request: GroupRequest) -> bool:
    """Whether somebody leaves: its client says so once, and may close its connection behind it."""
    return isinstance(request, LeaveGroup)


def generation_of(request: GroupRequest) -> int | None:
    """The generation that a member says it is in; None where it says none."""
    match request:
        case Heartbeat() | SyncGroup() | OffsetCommit() | TxnOffsetCommit():
            return request.generation if request.generation >= 0 else None
        case _:
            return None


def _nothing(reply: GroupReply) -> None:
    """Nobody else hears of it."""


def _unsaid(request: GroupRequest) -> GroupReply:
    return error_reply(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


class Ways:
    """Where a held request can go: to the broker as it is, to whoever serves a road, or back with an answer."""

    def __init__(
        self,
        router: Router,
        access: Access,
        deliver: Callable[[RequestRef, GroupReply], None],
        roads: Mapping[Road, Groups],
        roster: Roster,
    ) -> None:
        self.router = router
        self.roster = roster
        self.access = access
        self.deliver = deliver
        self.ears: Callable[[], MappedEars | None] = lambda: None
        """Who follows members that pass: what waited for a move goes to their broker without a session's passing it."""
        self._roads = roads

    def to_broker(
        self,
        held: Held,
        take: Callable[[GroupReply], None] | None = None,
        then: Callable[[GroupReply], None] = _nothing,
        is_hidden: Callable[[GroupReply], bool] = lambda _: False,
    ) -> None:
        """Let it go as it came, by its own connection; what a member says of itself on this way is heard, too.

        `take` gets the answer in its client's place, `then` behind it, also one that `is_hidden` from its client since
        it is asked for anew: who follows the member hears then that nothing was said.

        A LeaveGroup of several, which an admin says, names them as their clients do: the mapped ones of them their
        broker knows by other ids, and answered that they are no members (25).
        """
        if isinstance(held.request, LeaveGroup) and len(held.request.members) > 1:
            self.roster.hears(held.via, held.client, held.request)
            self._roads[Road.MAPPED].submit(held.ref, held.client, held.via, held.request)
            return

        # What `take` gets its client may never see: it is asked again.
        ears = self.ears() if take is None else None

        def heard(reply: GroupReply | None) -> None:
            answer = error_reply(held.request, ErrorCode.COORDINATOR_NOT_AVAILABLE) if reply is None else reply
            hides = is_hidden(answer)
            if ears is not None:
                ears.mapped_answered(held.ref, _unsaid(held.request) if hides else answer)
            if not hides:
                (take or partial(self.deliver, held.ref))(answer)
            then(answer)

        self.roster.hears(held.via, held.client, held.request)
        if ears is not None:
            ears.mapped_asked(held.ref, held.client, held.request)
        self.access(held.via).ask(held.ref, held.request, heard)
        if isinstance(held.request, JoinGroup):
            held.request.forget()

    def by_road(self, held: Held, road: Road) -> None:
        """Hand it to whoever serves the road: what no classic member asks, and who can't be translated, to the broker,
        as if it had come on that road.
        """
        is_at_broker = road is Road.UPSTREAM or road is Road.MAPPED
        if road is Road.PASS or (is_at_broker and not isinstance(held.request, OfMember)):
            self.to_broker(held)
        elif road is Road.UPSTREAM and isinstance(held.request, JoinGroup) and find_obstacle(held.request) is not None:
            group_id, member_id = held.request.group_id, held.request.member_id
            is_new = bool(member_id) and self.router.let_pass(group_id, member_id)
            self.to_broker(held, then=partial(self._hear_joined, group_id, member_id) if is_new else _nothing)
        else:
            self._roads[road].submit(held.ref, held.client, held.via, held.request)

    def _hear_joined(self, group_id: GroupId, member_id: MemberId, reply: GroupReply) -> None:
        if not isinstance(reply, JoinGroupReply) or not has_joined(reply):
            self.router.denied(group_id, member_id)

    def send_on(self, held: Held) -> None:
        """Have its client look for the coordinator, which this broker is no more."""
        self.deliver(held.ref, error_reply(held.request, ErrorCode.NOT_COORDINATOR))

    def excuse(self, held: Held) -> None:
        """Answer what has waited too long: its member lives, and what it wanted done can be wanted again."""
        match held.request:
            case Heartbeat():
                self.deliver(held.ref, HeartbeatReply(ErrorCode.NONE))
            case SyncGroup():
                # Of a coordinator that is loading a Java client expects no such answer to SyncGroup, and gives up.
                self.deliver(held.ref, error_reply(held.request, ErrorCode.REBALANCE_IN_PROGRESS))
            case _:
                self.deliver(held.ref, error_reply(held.request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
