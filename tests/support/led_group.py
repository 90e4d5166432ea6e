"""Classic consumers whose group may be run by their own leader or translated, driven by hand."""

from collections.abc import Sequence

from tests.support.owned_group import GROUP, TOPIC, ClassicClient, OwnedGroup
from translators.dialects.classic import (
    JoinedMember,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer_protocol import decode_assignment, decode_subscription, encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition

FORM_MS = 1_000
"""Longer than the initial delay of any group that these clients form."""

_LOST = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class LedClient(ClassicClient):
    """A classic client that computes for everybody when it is named leader."""

    syncing: RequestRef | None = None

    @property
    def leads(self) -> bool:
        """Whether the answer to JoinGroup names this client leader."""
        assert self.parked is not None
        reply = self.group.answer(self.parked, JoinGroupReply)
        return reply.leader == reply.member_id

    def take_join(self) -> None:
        """Take the answer to JoinGroup and send SyncGroup."""
        assert self.parked is not None
        reply = self.group.answer(self.parked, JoinGroupReply)
        assert reply.error is ErrorCode.NONE, reply
        self.member_id, self.generation, self.parked = reply.member_id, reply.generation, None
        shares = _share(reply.members, self.group, is_cooperative=self.is_cooperative)
        (self.syncing,) = self.group.send(
            SyncGroup(
                group_id=GROUP,
                generation=self.generation,
                member_id=self.member_id,
                instance_id=self.instance_id,
                protocol_type="consumer",
                protocol_name=self.assignor,
                assignments=tuple(MemberAssignment(one, encode_assignment(share)) for one, share in shares.items()),
                names_protocol=True,
            )
        )

    def take_sync(self) -> frozenset[TopicPartition]:
        """Take the answer to SyncGroup."""
        assert self.syncing is not None
        synced = self.group.answer(self.syncing, SyncGroupReply)
        assert synced.error is ErrorCode.NONE, synced
        self.syncing, self.owned = None, decode_assignment(synced.assignment).partitions
        return self.owned

    def leave(self) -> None:
        """Say goodbye; whatever was waited for has no meaning any more."""
        self.group.send(
            LeaveGroup(group_id=GROUP, members=(LeavingMember(member_id=self.member_id, instance_id=self.instance_id),))
        )
        self.owned = frozenset()

    def move_to(self, group: OwnedGroup) -> None:
        """Go on with another owner of the same group; whatever was asked is asked anew."""
        self.group = group
        if self.parked is not None or self.syncing is not None:
            self.parked = self.syncing = None
            self.begin_join()

    def go_on(self) -> None:
        """Do the next thing that a client at work does: take an answer, beat, or join again."""
        if self.syncing is not None:
            self._try_sync()
        elif self.parked is not None:
            self._try_join()
        else:
            code = self.beat()
            if code in _LOST:
                self._lose(code)
            if code is not ErrorCode.NONE:
                self.begin_join()

    def _try_join(self) -> None:
        assert self.parked is not None
        reply = self.group.replies.get(self.parked)
        if isinstance(reply, JoinGroupReply) and reply.error is ErrorCode.NONE:
            self.take_join()
        elif isinstance(reply, JoinGroupReply):
            self._lose(reply.error)
            self.begin_join()

    def _try_sync(self) -> None:
        assert self.syncing is not None
        reply = self.group.replies.get(self.syncing)
        if reply is None:
            return
        assert isinstance(reply, SyncGroupReply)
        if reply.error is ErrorCode.NONE:
            before = self.owned
            if self.is_cooperative and before - self.take_sync():
                self.begin_join()
            elif self.syncing is not None:
                self.take_sync()
            return
        self.syncing = None
        self._lose(reply.error)
        self.begin_join()

    def _lose(self, code: ErrorCode) -> None:
        """Forget what the group does not know any more."""
        if code in _LOST:
            self.owned = frozenset()
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = MemberId("")

    def end_join(self) -> frozenset[TopicPartition]:
        """Take the answers to JoinGroup and SyncGroup, and rejoin as cooperative clients do that lose something."""
        before = self.owned
        self.take_join()
        self.take_sync()
        if self.is_cooperative and before - self.owned:
            self.begin_join()
            return self.end_join()
        return self.owned


def form(group: OwnedGroup, clients: Sequence[LedClient]) -> None:
    """Let everybody join at once; the leader deals the partitions out in turn."""
    for client in clients:
        client.begin_join()
    group.wait(FORM_MS)
    for client in clients:
        client.take_join()
    for client in clients:
        client.take_sync()


Shares = dict[MemberId, frozenset[TopicPartition]]


def _share(members: Sequence[JoinedMember], group: OwnedGroup, *, is_cooperative: bool) -> Shares:
    """Deal the partitions out in turn; or as cooperative clients do, who get nothing that another still has."""
    count = next(topic.partition_count for topic in group.owner.shard.topics.values())
    everything = [TopicPartition(TOPIC, index) for index in range(count)]
    if not (is_cooperative and members):
        places = enumerate(members)
        return {one.member_id: frozenset(everything[place :: len(members)]) for place, one in places}
    return _share_gently(members, everything)


def _share_gently(members: Sequence[JoinedMember], everything: Sequence[TopicPartition]) -> Shares:
    quota = -(-len(everything) // max(1, len(members)))
    owned = {one.member_id: sorted(decode_subscription(one.metadata).owned or ()) for one in members}
    shares = {member_id: set(theirs[:quota]) for member_id, theirs in owned.items()}
    taken = {partition for theirs in owned.values() for partition in theirs}
    for partition in everything:
        if partition not in taken:
            min(shares.items(), key=lambda share: (len(share[1]), share[0]))[1].add(partition)
    return {member_id: frozenset(share) for member_id, share in shares.items()}
