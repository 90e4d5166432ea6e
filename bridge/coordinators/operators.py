"""What an operator may have done to a group: members removed, as their own requests would have it done.

It must not know how an operator is heard, nor how anything is shown.
"""

from collections.abc import Collection
from dataclasses import dataclass

from bridge.coordinators.embedded import EmbeddedGroups
from bridge.engine.queries import group_type
from bridge.engine.state import Shard
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import Request
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, GroupId, InstanceId, MemberId, RequestRef

OPERATOR = ClientIdentity(client_id="epochbridge-operator", client_host="")
REASON = "removed by an operator"


@dataclass(frozen=True, slots=True)
class NoWay:
    """The way to the broker of somebody who came by no connection: there is none (`session.contracts.Via`)."""

    connection: int = -1
    broker_id: int | None = None

    def highest_version(self, api_key: int) -> int | None:
        """See `session.contracts.Via`."""
        del api_key
        return None

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `session.contracts.Via`."""
        del ref, request, version
        on_answer(None)


class Operators:
    """Carries out what operators want; every method answers when it is done and durable."""

    def __init__(self, groups: EmbeddedGroups) -> None:
        self._groups = groups

    async def remove_members(
        self, group_id: GroupId, member_ids: Collection[MemberId], instance_ids: Collection[InstanceId]
    ) -> LeaveGroupReply | None:
        """Let members leave by their ids or by their seats (KIP-345); None if there is no such group.

        A client that still runs hears that it is no member any more, and joins again.
        """
        entries = [LeavingMember(member_id=member_id, reason=REASON) for member_id in member_ids]
        entries += [LeavingMember(member_id=NO_MEMBER_ID, instance_id=name, reason=REASON) for name in instance_ids]
        return await self._remove(group_id, tuple(entries))

    async def remove_all_members(self, group_id: GroupId) -> LeaveGroupReply | None:
        """Let everybody leave who is in the group at this moment; None if there is no such group."""
        return await self._remove(group_id, everybody(self._groups.owner.shard, group_id))

    async def _remove(self, group_id: GroupId, entries: tuple[LeavingMember, ...]) -> LeaveGroupReply | None:
        if group_type(self._groups.owner.shard, group_id) is None:
            return None
        request = LeaveGroup(group_id=group_id, members=entries)
        reply = await self._groups.own.ask(lambda ref: self._groups.submit(ref, OPERATOR, NoWay(), request))
        assert isinstance(reply, LeaveGroupReply), reply
        return reply


def everybody(shard: Shard, group_id: GroupId) -> tuple[LeavingMember, ...]:
    """Every seat of a group by its member id, also that of a static member that is away for a moment."""
    classic, consumer = shard.classic_groups.get(group_id), shard.groups.get(group_id)
    seats: list[tuple[MemberId, InstanceId | None]] = []
    if classic is not None:
        seats = [(member.member_id, member.instance_id) for member in classic.members.values()]
    elif consumer is not None:
        seats = [(member_id, member.subscription.instance_id) for member_id, member in consumer.members.items()]
    return tuple(
        LeavingMember(member_id=member_id, instance_id=instance_id, reason=REASON) for member_id, instance_id in seats
    )
