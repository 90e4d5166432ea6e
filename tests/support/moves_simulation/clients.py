"""Clients of a group that a broker coordinates, too: classic ones lead, and all go on from the last commit."""

from collections.abc import Iterable, Mapping

from tests.support.simulation.actor import Actor, Outside, Partitions, Role
from tests.support.simulation.classic_actor import ClassicActor
from tests.support.simulation.cluster import Topics
from tests.support.simulation.native_actor import NativeActor
from tests.support.simulation.oracle import InvariantBroken
from translators.dialects.classic import JoinedMember, JoinGroupReply, MemberAssignment
from translators.dialects.consumer_protocol import decode_subscription, encode_assignment
from translators.dialects.ids import MemberId, TopicPartition

Offsets = Mapping[TopicPartition, int]


class LeadingActor(ClassicActor):
    """A classic client that leads if it is told to; `offsets` are those that the broker has."""

    def __init__(self, role: Role, outside: Outside, topics: Topics, offsets: Offsets) -> None:
        super().__init__(role, outside)
        self._all_topics = topics
        self._offsets = offsets

    def take(self, partitions: Iterable[TopicPartition]) -> None:
        """See `Actor`."""
        taken = frozenset(partitions)
        self._positions.update({one: self._offsets.get(one, 0) for one in taken})
        super().take(taken)

    def _accept(self, reply: JoinGroupReply) -> None:
        """A broker names a leader, and begins anew with the generations of a group that it has never heard of."""
        if reply.generation < 1:
            raise InvariantBroken("a generation is at least 1", f"{self.role.name} got {reply}")
        self.member_id, self.generation = reply.member_id, reply.generation
        self._handed.clear()
        self.outside.oracle.admit(self.role.number)
        self._left_in_round -= 1
        if self._left_in_round:
            self._join()
            return
        shares: dict[MemberId, Partitions] = {}
        if reply.leader == self.member_id:
            shares = share_out(reply.members, self._all_topics, reply.protocol_name or "")
        dealt = tuple(MemberAssignment(one, encode_assignment(share)) for one, share in shares.items())
        self.send(self.membership.sync(reply, dealt), self._then(self._synced))


class FollowingActor(NativeActor):
    """A KIP-848 client; `offsets` are those that the broker has."""

    def __init__(self, role: Role, outside: Outside, topics: Topics, offsets: Offsets) -> None:
        super().__init__(role, outside, topics)
        self._offsets = offsets

    def take(self, partitions: Iterable[TopicPartition]) -> None:
        """See `Actor`."""
        taken = frozenset(partitions)
        self._positions.update({one: self._offsets.get(one, 0) for one in taken})
        super().take(taken)


def make_actor(role: Role, outside: Outside, topics: Topics, offsets: Offsets) -> Actor:
    """The client process of a role."""
    if role.profile.is_native:
        return FollowingActor(role, outside, topics, offsets)
    return LeadingActor(role, outside, topics, offsets)


def share_out(members: tuple[JoinedMember, ...], topics: Topics, protocol_name: str) -> dict[MemberId, Partitions]:
    """What a leader deals: ranges, or in turn; of the cooperative each keeps what it may, and what moves is left out
    until it was given up.
    """
    wanted = {one.member_id: decode_subscription(one.metadata) for one in members}
    everything = sorted(topics.partitions(topic for wants in wanted.values() for topic in wants.topics))
    ids = sorted(wanted)
    if protocol_name == "range":
        named = sorted(members, key=lambda one: (one.instance_id is None, one.instance_id or "", one.member_id))
        least, more = divmod(len(everything), len(named))
        ends = [least * number + min(number, more) for number in range(len(named) + 1)]
        return {one.member_id: frozenset(everything[ends[at] : ends[at + 1]]) for at, one in enumerate(named)}
    if protocol_name != "cooperative-sticky":
        return {one: frozenset(everything[number :: len(ids)]) for number, one in enumerate(ids)}
    # Of two who say that they have a partition the one of the later generation has it.
    said: dict[TopicPartition, tuple[int, MemberId]] = {}
    for one in ids:
        for partition in wanted[one].owned or ():
            said[partition] = max(said.get(partition, (-2, one)), (wanted[one].generation, one))
    share: dict[MemberId, list[TopicPartition]] = {one: [] for one in ids}
    for partition in everything:
        if partition in said:
            share[said[partition][1]].append(partition)
    for partition in everything:
        if partition not in said:
            share[min(ids, key=lambda one: (len(share[one]), one))].append(partition)
    while max(map(len, share.values())) - min(map(len, share.values())) > 1:
        richest = max(ids, key=lambda one: (len(share[one]), one))
        poorest = min(ids, key=lambda one: (len(share[one]), one))
        share[poorest].append(share[richest].pop())
    return {
        one: frozenset(partition for partition in dealt if said.get(partition, (0, one))[1] == one)
        for one, dealt in share.items()
    }
