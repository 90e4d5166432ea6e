"""The machines' part when a group changes its kind: begun for the members of a classic group, and asked for what they
know when it becomes one again.

It must not know how the engine converts, nor who carries out what a machine asks for.
"""

from collections.abc import Iterator

from bridge.coordinators.machines import Machines
from bridge.engine.commands import BecomeClassic, ClassicJoin, ClassicSeat, GroupType, Speaks
from bridge.engine.outcome import DowngradeDue, GroupUpgraded, NotConverted, TranslatedSeat, Unready
from bridge.engine.queries import STABLE, group_state
from bridge.engine.state import Group, Shard
from translators.classic_member.converting import Settler, begin_completing, begin_stable, last_join, take_leave
from translators.classic_member.events import DeadlinePassed, Event, JoinReceived, SyncReceived
from translators.classic_member.profile import Offer, Profile, profile_of
from translators.classic_member.states import PreparingRebalance, Seat
from translators.dialects.classic import JoinGroup, JoinGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberRef, RequestRef

Feed = tuple[MemberRef, Event]
"""Something that is to happen to a member."""


_TURN_FAILED = "a turn of the bridge failed; see its log, and try again"


class Conversions:
    """Groups on their way from one kind to the other."""

    def __init__(self, shard: Shard, machines: Machines) -> None:
        self._shard = shard
        self._machines = machines
        self._late: list[Feed] = []
        self._refused: list[tuple[RequestRef, JoinGroupReply | SyncGroupReply]] = []
        self._due: dict[GroupId, DowngradeDue] = {}
        self._profiles: dict[Offer, Profile] = {}
        self._unsettled: dict[GroupId, MemberRef] = {}

    def clear(self) -> None:
        """Forget what was under way: the state it belongs to is gone."""
        self._late.clear()
        self._refused.clear()
        self._due.clear()
        self._unsettled.clear()

    def abandon_orders(self) -> list[tuple[RequestRef, NotConverted]]:
        """Give up the operators' orders that a failed turn left undone; their answers."""
        ordered = [due for due in self._due.values() if isinstance(due.ref, RequestRef)]
        self._due.clear()
        return [
            (_client(due.ref), NotConverted(due.group_id, GroupType.CLASSIC, Unready.UNSEATED_MEMBER, _TURN_FAILED))
            for due in ordered
        ]

    def abandon_syncs(self) -> list[tuple[RequestRef, SyncGroupReply]]:
        """Give up the SyncGroups that a failed turn left waiting; their answers, upon which clients join again."""
        late = [event for _, event in self.take_late()]
        refused = SyncGroupReply(error=ErrorCode.REBALANCE_IN_PROGRESS)
        return [(event.ref, refused) for event in late if isinstance(event, SyncReceived)]

    # ------------------------------------------------------------------ up

    def begin(self, notice: GroupUpgraded, now_ms: int) -> Iterator[Feed]:
        """Put a machine in the place of every member; gives what happens to each at once.

        Whoever waits for the answer to a SyncGroup gets it when machines and engine are at rest (`take_late`), so that
        it is the assignment of the new group. Who works hears of news at its next heartbeat, as ever.
        """
        self._due.pop(notice.group_id, None)
        for seat in notice.seats:
            yield from self._begin_member(notice, seat, now_ms)
        self._profiles.clear()
        for seat in notice.newcomers:
            yield from self._begin_newcomer(notice.group_id, seat)

    def take_late(self) -> list[Feed]:
        """What was to wait until machines and engine are at rest."""
        late, self._late = self._late, []
        return late

    def take_refused(self) -> list[tuple[RequestRef, JoinGroupReply | SyncGroupReply]]:
        """The answers to requests that nobody can be a member by any more."""
        refused, self._refused = self._refused, []
        return refused

    def _begin_member(self, notice: GroupUpgraded, seat: TranslatedSeat, now_ms: int) -> Iterator[Feed]:
        key = MemberRef(notice.group_id, seat.member.member_id)
        if self._speaks_for_itself(key):
            self._send_back(seat)
            return
        settler = self._settler(notice, seat, now_ms)
        self._machines.meet(key, seat.member.identity)
        if seat.joining is not None:
            self._machines.begin(key, begin_stable(settler, now_ms))
            yield key, JoinReceived(_client(seat.joining), _join(notice.group_id, seat), key.member_id)
            return
        if seat.is_completing:
            sync_deadline_ms = now_ms + settler.profile.rebalance_timeout_ms
            self._machines.begin(key, begin_completing(settler, sync_deadline_ms, now_ms))
            yield key, DeadlinePassed()
        else:
            self._machines.begin(key, begin_stable(settler, now_ms))
        if seat.syncing is not None:
            self._late.append((key, SyncReceived(_client(seat.syncing), _sync(notice.group_id, seat))))

    def _speaks_for_itself(self, key: MemberRef) -> bool:
        """Whether it was this member's own KIP-848 heartbeat, under its own id, that converted the group (K3.17)."""
        group = self._shard.groups.get(key.group_id)
        member = None if group is None else group.members.get(key.member_id)
        return member is not None and member.subscription.speaks is Speaks.CONSUMER

    def _send_back(self, seat: TranslatedSeat) -> None:
        """Answer what a member left parked that is no classic one any more."""
        called = ErrorCode.REBALANCE_IN_PROGRESS
        if seat.joining is not None:
            self._refused.append((_client(seat.joining), JoinGroupReply(error=called, member_id=seat.member.member_id)))
        if seat.syncing is not None:
            self._refused.append((_client(seat.syncing), SyncGroupReply(error=called)))

    def _begin_newcomer(self, group_id: GroupId, seat: TranslatedSeat) -> Iterator[Feed]:
        """Let the JoinGroup that waits be the first of this member: its client may not know its id yet."""
        key = MemberRef(group_id, seat.member.member_id)
        if seat.joining is None:
            return
        if self._has_lost_its_seat(key, seat):
            reply = JoinGroupReply(error=ErrorCode.FENCED_INSTANCE_ID, member_id=key.member_id)
            self._refused.append((_client(seat.joining), reply))
            return
        self._machines.drop(key)
        self._machines.meet(key, seat.member.identity)
        yield key, JoinReceived(_client(seat.joining), _join(group_id, seat, is_anonymous=True), key.member_id)

    def _has_lost_its_seat(self, key: MemberRef, seat: TranslatedSeat) -> bool:
        """Whether a newer process has the static seat that this one waits for (K1.40)."""
        group, instance_id = self._shard.groups.get(key.group_id), seat.member.instance_id
        if group is None or instance_id is None:
            return False
        return group.instances.get(instance_id, key.member_id) != key.member_id

    def _settler(self, notice: GroupUpgraded, seat: TranslatedSeat, now_ms: int) -> Settler:
        member = seat.member
        return Settler(
            seat=Seat(
                group_id=notice.group_id,
                member_id=member.member_id,
                instance_id=member.instance_id,
                limits=self._machines.limits,
            ),
            profile=self._profile(seat),
            generation=seat.generation,
            epoch=seat.epoch,
            handed=seat.handed,
            using=seat.using,
            session_deadline_ms=_session_end_ms(seat, now_ms),
        )

    def _profile(self, seat: TranslatedSeat) -> Profile:
        """Thousands of members say the same, and then have one profile."""
        member = seat.member
        offer = Offer(
            protocols=member.protocols,
            session_timeout_ms=member.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
        )
        known = self._profiles.get(offer)
        if known is None or known.protocol_name != seat.protocol_name:
            known = self._profiles[offer] = profile_of(offer, seat.protocol_name, seat.wants)
        return known

    # ------------------------------------------------------------------ down

    def note_due(self, notice: DowngradeDue) -> None:
        """A group of classic members only is to turn classic as soon as every client has what it is to have."""
        self._due[notice.group_id] = notice

    def next_step(self, now_ms: int) -> BecomeClassic | None:
        """What the engine is to be told of a group that is ready; asked when machines and engine are at rest."""
        for group_id, due in tuple(self._due.items()):
            if self._is_moot(group_id, due):
                del self._due[group_id]
            elif due.ref is not None or self._is_at_rest(group_id, now_ms):
                del self._due[group_id]
                seats = tuple(self._seats(group_id, now_ms))
                return BecomeClassic(ref=due.ref, group_id=group_id, seats=seats, is_dry_run=due.is_dry_run)
        return None

    def keys_of(self, group_id: GroupId) -> list[MemberRef]:
        """Every machine of a group."""
        return [MemberRef(group_id, member_id) for member_id in self._machines.members_of(group_id)]

    def leave(self, group_id: GroupId) -> Iterator[ClassicJoin]:
        """Let go of a group's machines; gives the JoinGroups that they held, for the classic group to answer."""
        self._unsettled.pop(group_id, None)
        for member_id, state in self._machines.members_of(group_id).items():
            key = MemberRef(group_id, member_id)
            client = self._machines.client_of(key)
            self._machines.drop(key)
            if isinstance(state, PreparingRebalance):
                request = last_join(state.membership)
                yield ClassicJoin(ref=state.parked.ref, request=request, identity=client, fresh_id=member_id)

    def _is_moot(self, group_id: GroupId, due: DowngradeDue) -> bool:
        """Whether there is nothing to be done any more, and nobody who waits for a word."""
        group = self._shard.groups.get(group_id)
        return due.ref is None and (group is None or not group.members)

    def _is_at_rest(self, group_id: GroupId, now_ms: int) -> bool:
        """Whether every client has exactly what the target says; a group that is not is looked at again next time.

        Whom it waited for last is asked first, so that a look costs little while a group is on its way.
        """
        group = self._shard.groups[group_id]
        waited_for = self._unsettled.pop(group_id, None)
        if group_state(group) != STABLE or (waited_for is not None and not self._is_settled(waited_for, now_ms)):
            if waited_for is not None:
                self._unsettled[group_id] = waited_for
            return False
        unsettled = next((key for key in _keys(group) if not self._is_settled(key, now_ms)), None)
        if unsettled is None:
            return True
        self._unsettled[group_id] = unsettled
        return False

    def _is_settled(self, key: MemberRef, now_ms: int) -> bool:
        """Whether a member's client has what it is to have; one without a machine speaks the consumer protocol."""
        group = self._shard.groups.get(key.group_id)
        if group is None or key.member_id not in group.members:
            return True
        state = self._machines.get(key)
        returner = None if state is None else take_leave(state, now_ms)
        return returner is not None and returner.is_settled

    def _seats(self, group_id: GroupId, now_ms: int) -> Iterator[ClassicSeat]:
        group = self._shard.groups.get(group_id)
        for key in () if group is None else _keys(group):
            state = self._machines.get(key)
            returner = None if state is None else take_leave(state, now_ms)
            if returner is None:
                continue
            profile = returner.membership.profile
            yield ClassicSeat(
                member_id=key.member_id,
                instance_id=returner.membership.seat.instance_id,
                identity=self._machines.client_of(key),
                session_timeout_ms=profile.session_timeout_ms,
                rebalance_timeout_ms=profile.rebalance_timeout_ms,
                protocols=profile.protocols,
                generation=returner.generation,
                using=returner.using,
                session_deadline_ms=returner.session_deadline_ms,
            )


def _keys(group: Group) -> Iterator[MemberRef]:
    return (MemberRef(group.group_id, member_id) for member_id in group.members)


def _session_end_ms(seat: TranslatedSeat, now_ms: int) -> int:
    """A session goes on as it was; one that did not run, because a request was parked, begins."""
    deadline_ms = seat.session_deadline_ms
    return now_ms + seat.member.session_timeout_ms if deadline_ms is None else deadline_ms


def _client(ref: RequestRef | MemberRef | None) -> RequestRef:
    assert isinstance(ref, RequestRef), ref
    return ref


def _join(group_id: GroupId, seat: TranslatedSeat, *, is_anonymous: bool = False) -> JoinGroup:
    """The JoinGroup that a classic group knows of a member; an anonymous client was never told its id."""
    member = seat.member
    return JoinGroup(
        group_id=group_id,
        member_id=NO_MEMBER_ID if is_anonymous else member.member_id,
        instance_id=member.instance_id,
        protocol_type=CONSUMER,
        protocols=member.protocols,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        needs_member_id=False,
    )


def _sync(group_id: GroupId, seat: TranslatedSeat) -> SyncGroup:
    return SyncGroup(
        group_id=group_id,
        generation=seat.generation,
        member_id=seat.member.member_id,
        instance_id=seat.member.instance_id,
    )
