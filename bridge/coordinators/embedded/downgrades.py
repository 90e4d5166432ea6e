"""Groups that change their kind, seen from the engine: who gets a machine, and when all are ready to lose theirs."""

from collections.abc import Iterable, Iterator

from bridge.engine.commands import BecomeClassic, GroupType, Speaks
from bridge.engine.outcome import DowngradeDue, GroupUpgraded, NotConverted, TranslatedSeat, Unready
from bridge.engine.queries import STABLE, group_state
from bridge.engine.records import (
    CurrentAssigned,
    GroupDeleted,
    GroupEpochBumped,
    MemberForgotten,
    MemberSubscribed,
    Record,
    TargetAssigned,
    TargetEpochReached,
)
from bridge.engine.state import Group, Shard
from bridge.ports import Members
from translators.dialects.classic import JoinGroupReply, SyncGroupReply
from translators.dialects.coordinator import CoordinatorEvent, MembersTakenOver, RequestAnswered, TakenOver
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberRef, ReplyTo, RequestRef

_TURN_FAILED = "a turn of the bridge failed; see its log, and try again"


def taken_over(shard: Shard, notice: GroupUpgraded) -> Iterator[CoordinatorEvent]:
    """What a group's upgrade means to its members: who is translated now, and whose parked request is refused."""
    refused: list[RequestAnswered] = []
    taken: list[TakenOver] = []
    for seat in notice.seats:
        key = MemberRef(notice.group_id, seat.member.member_id)
        if _speaks_for_itself(shard, key):
            refused += _send_back(seat)
        else:
            taken.append(_taken(key, seat))
    for seat in notice.newcomers:
        key = MemberRef(notice.group_id, seat.member.member_id)
        if seat.joining is not None and _has_lost_its_seat(shard, key, seat):
            reply = JoinGroupReply(error=ErrorCode.FENCED_INSTANCE_ID, member_id=key.member_id)
            refused.append(RequestAnswered(_client(seat.joining), reply))
        else:
            taken.append(_taken(key, seat, is_new=True))
    yield MembersTakenOver(tuple(taken))
    yield from refused


def _taken(key: MemberRef, seat: TranslatedSeat, *, is_new: bool = False) -> TakenOver:
    member = seat.member
    return TakenOver(
        member=key,
        client=member.identity,
        instance_id=member.instance_id,
        protocols=member.protocols,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocol_name=seat.protocol_name,
        wants=seat.wants,
        epoch=seat.epoch,
        generation=seat.generation,
        handed=seat.handed,
        using=seat.using,
        is_completing=seat.is_completing,
        session_deadline_ms=seat.session_deadline_ms,
        joining=None if seat.joining is None else _client(seat.joining),
        syncing=None if seat.syncing is None else _client(seat.syncing),
        is_new=is_new,
    )


def _speaks_for_itself(shard: Shard, key: MemberRef) -> bool:
    """Whether it was this member's own KIP-848 heartbeat, under its own id, that converted the group (K3.17)."""
    group = shard.groups.get(key.group_id)
    member = None if group is None else group.members.get(key.member_id)
    return member is not None and member.subscription.speaks is Speaks.CONSUMER


def _send_back(seat: TranslatedSeat) -> Iterator[RequestAnswered]:
    """Answer what a member left parked that is no classic one any more."""
    called = ErrorCode.REBALANCE_IN_PROGRESS
    if seat.joining is not None:
        yield RequestAnswered(_client(seat.joining), JoinGroupReply(error=called, member_id=seat.member.member_id))
    if seat.syncing is not None:
        yield RequestAnswered(_client(seat.syncing), SyncGroupReply(error=called))


def _has_lost_its_seat(shard: Shard, key: MemberRef, seat: TranslatedSeat) -> bool:
    """Whether a newer process has the static seat that this one waits for (K1.40)."""
    group, instance_id = shard.groups.get(key.group_id), seat.member.instance_id
    if group is None or instance_id is None:
        return False
    return group.instances.get(instance_id, key.member_id) != key.member_id


def _client(ref: ReplyTo | None) -> RequestRef:
    assert isinstance(ref, RequestRef), ref
    return ref


class Downgrades:
    """Consumer groups of classic members only that turn classic as soon as every client has what it is to have."""

    def __init__(self, shard: Shard, members: Members) -> None:
        self._shard = shard
        self._members = members
        self.due: dict[GroupId, DowngradeDue] = {}
        """Groups that are to turn classic, each looked at when all is at rest."""
        self._unsettled: dict[GroupId, MemberRef] = {}
        self._to_look: dict[GroupId, None] = {}
        """Of which of them something has happened since the last look: each turn, of whatever group, looked at all."""

    def clear(self) -> None:
        """Forget what was under way: the state it belongs to is gone."""
        self.due.clear()
        self._unsettled.clear()
        self._to_look.clear()

    def abandon_orders(self) -> list[tuple[RequestRef, NotConverted]]:
        """Give up the operators' orders that a failed turn left undone; their answers."""
        ordered = [due for due in self.due.values() if isinstance(due.ref, RequestRef)]
        self.due.clear()
        self._to_look.clear()
        return [
            (_client(due.ref), NotConverted(due.group_id, GroupType.CLASSIC, Unready.UNSEATED_MEMBER, _TURN_FAILED))
            for due in ordered
        ]

    def note(self, notice: DowngradeDue) -> None:
        """A group is to turn classic."""
        self.due[notice.group_id] = notice
        self.look_again(notice.group_id)

    def look_again(self, group_id: GroupId) -> None:
        """Something has happened to a group, or to a member of it."""
        if group_id in self.due:
            self._to_look[group_id] = None

    def hear(self, records: Iterable[Record]) -> None:
        """These were applied: by such as these a group comes to rest, or is none any more."""
        if not self.due:
            return
        for record in records:
            match record:
                case (
                    GroupEpochBumped()
                    | MemberSubscribed()
                    | MemberForgotten()
                    | CurrentAssigned()
                    | TargetAssigned()
                    | TargetEpochReached()
                    | GroupDeleted()
                ):
                    self.look_again(record.group_id)
                case _:
                    pass

    def note_upgraded(self, group_id: GroupId) -> None:
        """A group has become a consumer group: what was due before is not any more."""
        self.due.pop(group_id, None)

    def note_done(self, group_id: GroupId) -> None:
        """A group has become classic."""
        self._unsettled.pop(group_id, None)

    def next_step(self, now_ms: int) -> BecomeClassic | None:
        """What the engine is to be told of a group that is ready; asked when machines and engine are at rest."""
        while self._to_look:
            group_id = next(iter(self._to_look))
            del self._to_look[group_id]
            due = self.due.get(group_id)
            if due is None:
                continue
            if self._is_moot(group_id, due):
                del self.due[group_id]
            elif due.ref is not None or self._is_at_rest(group_id, now_ms):
                del self.due[group_id]
                group = self._shard.groups.get(group_id)
                found = () if group is None else (self._members.seat(key, now_ms) for key in _keys(group))
                seats = tuple(seat for seat in found if seat is not None)
                return BecomeClassic(ref=due.ref, group_id=group_id, seats=seats, is_dry_run=due.is_dry_run)
        return None

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
        return self._members.is_settled(key, now_ms)


def _keys(group: Group) -> Iterator[MemberRef]:
    return (MemberRef(group.group_id, member_id) for member_id in group.members)
