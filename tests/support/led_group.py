"""Classic consumers whose group may be run by their own leader or translated, driven by hand.

It must not know sockets or brokers.
"""

from collections.abc import Sequence

from tests.support.owned_group import GROUP, TOPIC, ClassicClient, OwnedGroup
from translators.dialects.classic import JoinGroupReply, MemberAssignment, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import decode_assignment, encode_assignment
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition

FORM_MS = 1_000
"""Longer than the initial delay of any group that these clients form."""


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
        shares = _share([member.member_id for member in reply.members], self.group)
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


def _share(member_ids: Sequence[str], group: OwnedGroup) -> dict[MemberId, frozenset[TopicPartition]]:
    count = next(topic.partition_count for topic in group.owner.shard.topics.values())
    return {
        MemberId(one): frozenset(TopicPartition(TOPIC, index) for index in range(place, count, len(member_ids)))
        for place, one in enumerate(member_ids)
    }
