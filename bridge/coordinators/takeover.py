"""Members that get a machine in the middle of their life, and those whose machine is let go for a classic group."""

from collections.abc import Iterable, Iterator

from bridge.coordinators.machines import Machines
from translators.classic_member.converting import (
    ConvertedMember,
    Returner,
    begin_completing,
    begin_stable,
    last_join,
    take_leave,
)
from translators.classic_member.events import DeadlinePassed, Event, JoinReceived, SyncReceived
from translators.classic_member.profile import Offer, Profile, profile_of
from translators.classic_member.states import Seat, parked_join
from translators.dialects.classic import JoinGroup, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.coordinator import ClassicSeat, TakenOver
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    NO_MEMBER_ID,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    RequestRef,
    Via,
    via_of,
)

Feed = tuple[MemberRef, Event]
"""Something that is to happen to a member."""
HeldJoin = tuple[RequestRef, Via, ClientIdentity, JoinGroup]
"""A JoinGroup that a machine has not answered, by where and from whom it came."""


class Seats:
    """What a coordinator may see of members that have a machine (`ports.Members`)."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines

    def holder_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """Who sits on a static seat, None if nobody with a machine does."""
        return self._machines.seat_of(group_id, instance_id)

    def is_settled(self, member: MemberRef, now_ms: int) -> bool:
        """Whether its client has exactly what the coordinator granted, and nobody waits for an answer."""
        returner = self._returner(member, now_ms)
        return returner is not None and returner.is_settled

    def seat(self, member: MemberRef, now_ms: int) -> ClassicSeat | None:
        """What a classic group would go on with; None for one that is no member any more as far as it knows."""
        returner = self._returner(member, now_ms)
        if returner is None:
            return None
        profile = returner.membership.profile
        return ClassicSeat(
            member_id=member.member_id,
            instance_id=returner.membership.seat.instance_id,
            identity=self._machines.client_of(member),
            session_timeout_ms=profile.session_timeout_ms,
            rebalance_timeout_ms=profile.rebalance_timeout_ms,
            protocols=profile.protocols,
            generation=returner.generation,
            using=returner.using,
            session_deadline_ms=returner.session_deadline_ms,
        )

    def _returner(self, member: MemberRef, now_ms: int) -> Returner | None:
        state = self._machines.get(member)
        return None if state is None else take_leave(state, now_ms)


class Takeovers:
    """Members on their way to a machine, or away from one."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self.late: list[Feed] = []
        """What waits until machines and coordinator are at rest."""
        self._profiles: dict[Offer, Profile] = {}

    def clear(self) -> None:
        """Forget what was under way: the state it belongs to is gone."""
        self.late.clear()

    def abandon_syncs(self) -> list[tuple[RequestRef, SyncGroupReply]]:
        """Give up the SyncGroups that a failed turn left waiting; their answers, upon which clients join again."""
        late = [event for _, event in self.take_late()]
        refused = SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS)
        return [(event.ref, refused) for event in late if isinstance(event, SyncReceived)]

    def take_late(self) -> list[Feed]:
        """What was to wait until machines and coordinator are at rest."""
        late, self.late = self.late, []
        return late

    def begin(self, members: Iterable[TakenOver], now_ms: int) -> Iterator[Feed]:
        """Put a machine in the place of every member; gives what happens to each at once.

        Whoever waits for the answer to a SyncGroup gets it when machines and coordinator are at rest (`take_late`), so
        that it is the assignment of the new group. Who works hears of news at its next heartbeat, as ever.
        """
        self._profiles.clear()
        for taken in members:
            if taken.is_new:
                yield from self._begin_newcomer(taken)
            else:
                yield from self._begin_member(taken, now_ms)

    def release(self, group_id: GroupId) -> Iterator[tuple[MemberRef, HeldJoin | None]]:
        """Let go of a group's machines; gives their members, with the JoinGroups that they held, for the classic group
        to answer.
        """
        for key, state, (client, via) in self._machines.drop_group(group_id):
            joining = parked_join(state)
            held = None if joining is None else (joining.parked.ref, via, client, last_join(joining.membership))
            yield key, held

    def _begin_member(self, taken: TakenOver, now_ms: int) -> Iterator[Feed]:
        key = taken.member
        converted = self._converted(taken, now_ms)
        self._machines.meet(key, taken.client, _via(taken))
        if taken.joining is not None:
            self._machines.begin(key, begin_stable(converted, now_ms))
            yield key, JoinReceived(taken.joining, _join(taken), key.member_id)
            return
        if taken.is_completing:
            sync_deadline_ms = now_ms + converted.profile.rebalance_timeout_ms
            self._machines.begin(key, begin_completing(converted, sync_deadline_ms, now_ms))
            yield key, DeadlinePassed()
        else:
            self._machines.begin(key, begin_stable(converted, now_ms))
        if taken.syncing is not None:
            self.late.append((key, SyncReceived(taken.syncing, _sync(taken))))

    def _begin_newcomer(self, taken: TakenOver) -> Iterator[Feed]:
        """Let the JoinGroup that waits be the first of this member: its client may not know its id yet."""
        if taken.joining is None:
            return
        key = taken.member
        self._machines.drop(key)
        self._machines.meet(key, taken.client, _via(taken))
        yield key, JoinReceived(taken.joining, _join(taken), key.member_id)

    def _converted(self, taken: TakenOver, now_ms: int) -> ConvertedMember:
        # A session goes on as it was; one that did not run, because a request was parked, begins.
        deadline_ms = taken.session_deadline_ms
        return ConvertedMember(
            seat=Seat(
                group_id=taken.member.group_id,
                member_id=taken.member.member_id,
                instance_id=taken.instance_id,
                limits=self._machines.limits,
            ),
            profile=self._profile(taken),
            generation=taken.generation,
            epoch=taken.epoch,
            handed=taken.handed,
            using=taken.using,
            session_deadline_ms=now_ms + taken.session_timeout_ms if deadline_ms is None else deadline_ms,
        )

    def _profile(self, taken: TakenOver) -> Profile:
        """Thousands of members say the same, and then have one profile."""
        offer = Offer(
            protocols=taken.protocols,
            session_timeout_ms=taken.session_timeout_ms,
            rebalance_timeout_ms=taken.rebalance_timeout_ms,
        )
        known = self._profiles.get(offer)
        if known is None or known.protocol_name != taken.protocol_name:
            known = self._profiles[offer] = profile_of(offer, taken.protocol_name, taken.wants)
        return known


def _via(taken: TakenOver) -> Via:
    ref = taken.joining or taken.syncing
    return taken.via if ref is None else via_of(ref)


def _join(taken: TakenOver) -> JoinGroup:
    """The JoinGroup that a classic group knows of a member; a new one may never have been told its id."""
    return JoinGroup(
        group_id=taken.member.group_id,
        member_id=NO_MEMBER_ID if taken.is_new else taken.member.member_id,
        instance_id=taken.instance_id,
        protocol_type=CONSUMER,
        protocols=taken.protocols,
        session_timeout_ms=taken.session_timeout_ms,
        rebalance_timeout_ms=taken.rebalance_timeout_ms,
        needs_member_id=False,
    )


def _sync(taken: TakenOver) -> SyncGroup:
    return SyncGroup(
        group_id=taken.member.group_id,
        generation=taken.generation,
        member_id=taken.member.member_id,
        instance_id=taken.instance_id,
    )
