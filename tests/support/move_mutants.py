"""Deliberate bugs in the moves of live groups, as a yardstick for the laws that hold while they are made."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from bridge.coordinators import admission
from bridge.coordinators.mapped import seats
from bridge.coordinators.moving import adopt, giveback
from bridge.coordinators.moving.giveback import GiveBackMove
from bridge.coordinators.moving.held_requests import HeldRequests, HeldT
from bridge.coordinators.moving.places import FACTS, Places
from bridge.coordinators.moving.proof import ProofOfRest
from bridge.coordinators.moving.takeover import TakeOverMove
from bridge.coordinators.moving.unfinished import UnfinishedMove
from bridge.coordinators.upstream import commits
from bridge.coordinators.upstream.commits import Flights
from bridge.migration.moves import members, takeover
from bridge.migration.moves.members import ClassicMember
from bridge.migration.moves.takeover import Stage
from bridge.migration.orders import Obstacle
from translators.dialects.admin import DescribedGroup
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.coordinator import Refused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import LEAVE_EPOCH, GroupId, MemberId, TopicPartition

Patch = pytest.MonkeyPatch


def lose_mappings(patch: Patch) -> None:
    """Who is mapped is forgotten by a restart."""
    restore = Places.restore

    def forget(self: Places, facts: Mapping[str, str]) -> Iterator[UnfinishedMove]:
        yield from list(restore(self, facts))
        for name in facts:
            group_id = GroupId(name.removeprefix(FACTS))
            for member_id in tuple(self._mapped.seats_of(group_id)):
                self._mapped.take_out(group_id, member_id)

    patch.setattr(Places, "restore", forget)


def keep_the_generation_in_the_blob(patch: Patch) -> None:
    """A mapped member's subscription names the generation that its client knows."""
    patch.setattr(seats, "with_generation", lambda blob, _known, _given: blob)


def take_less_for_a_call(patch: Patch) -> None:
    """Who gets less at epoch 0 goes on as if it had been told so."""

    def granted(
        state: takeover.TakeOver, member_id: MemberId, epoch: int, assigned: frozenset[TopicPartition] | None
    ) -> takeover._Step:
        member = replace(state.members[member_id], stage=Stage.TAKEN)
        return takeover._Step(takeover._put(state, member_id, member), (takeover.Take(member_id, epoch, assigned),))

    patch.setattr(takeover, "_granted", granted)


def let_strangers_in(patch: Patch) -> None:
    """A group is adopted though it has members that come by another way: nobody waits for them, nobody counts them."""
    gather, find = ProofOfRest.gather, adopt.find_difference

    async def forget_the_silent(self: ProofOfRest) -> Obstacle | None:
        await gather(self)
        self.members = {one: member for one, member in self.members.items() if one in self.heard}
        return self.stopped

    compare = adopt.AdoptMove._compare

    async def of_the_heard(self: adopt.AdoptMove[HeldT]) -> Obstacle | None:
        self._members = self._proof.members
        return await compare(self)

    def overlook(
        group_id: GroupId,
        described: DescribedGroup | DescribedConsumerGroup,
        expected: Mapping[MemberId, frozenset[TopicPartition]],
    ) -> Obstacle | None:
        if isinstance(described, DescribedGroup):
            known = tuple(one for one in described.members if one.member_id in expected)
            described = replace(described, members=known)
        return find(group_id, described, expected)

    patch.setattr(ProofOfRest, "gather", forget_the_silent)
    patch.setattr(adopt.AdoptMove, "_compare", of_the_heard)
    patch.setattr(adopt, "find_difference", overlook)


def overtake_a_played_join(patch: Patch) -> None:
    """Requests of a client go on while its JoinGroup is played."""
    patch.setattr(GiveBackMove, "_is_held", lambda *_: False)


def forward_commits_of_lost_partitions(patch: Patch) -> None:
    """What a member commits goes to the broker under its epoch, whatever it has by then."""
    patch.setattr(admission, "admit_commit", lambda *_: ErrorCode.NONE)
    patch.setattr(commits, "committed_partitions", lambda *_: frozenset[TopicPartition]())


def let_go_while_committing(patch: Patch) -> None:
    """A partition is told to be free while a commit on it is on its way."""
    patch.setattr(Flights, "hold_back", lambda *_: False)


def give_back_without_owned(patch: Patch) -> None:
    """The JoinGroup in a member's place says what its client said, who owned nothing as it joined."""

    def rejoining(member: ClassicMember, group_id: GroupId, generation: int) -> JoinGroup:
        return replace(members.rejoining(member, group_id, generation), protocols=member.protocols)

    patch.setattr(giveback, "rejoining", rejoining)


def leave_the_scout_behind(patch: Patch) -> None:
    """The move is over without a farewell of its scout."""
    ask = TakeOverMove._ask_scout

    def ask_only_in(self: TakeOverMove, by: MemberId, epoch: int) -> None:
        if epoch == LEAVE_EPOCH:
            self._happen(takeover.ScoutAnswered(Refused(ErrorCode.UNKNOWN_MEMBER_ID)))
        else:
            ask(self, by, epoch)

    patch.setattr(TakeOverMove, "_ask_scout", ask_only_in)


def hold_without_bound(patch: Patch) -> None:
    """What waits for the end of a move of a whole group is never excused."""
    patch.setattr(HeldRequests, "excuse", lambda *_: None)
