"""The machines of one owner's classic members: who sits where, whose deadline is next, who is parked on what."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import assert_never

from bridge.coordinators.deadlines import Deadlines
from bridge.log_lines import EMBEDDED
from translators.classic_member.events import Effect, Event
from translators.classic_member.stable import ask_calmly, beat_calmly, hear_calmly, report, stable_deadline
from translators.classic_member.states import (
    Absent,
    CallDue,
    Called,
    CompletingRebalance,
    Fenced,
    Leaving,
    MemberLimits,
    Membership,
    NotCalled,
    PreparingRebalance,
    Stable,
    State,
    parked_join,
    seated,
)
from translators.classic_member.step import next_deadline, step
from translators.classic_member.tenure import Tenure, still_releasing
from translators.dialects.coordinator import Granted, Inquiry
from translators.dialects.ids import (
    NOWHERE,
    ClientIdentity,
    GroupId,
    InstanceId,
    MemberId,
    MemberRef,
    RequestRef,
    Via,
    via_of,
)

NOBODY = ClientIdentity(client_id="", client_host="")
_UNKNOWN = (NOBODY, NOWHERE)


class Machines:
    """One state a member, keyed by group and member id; an absent member takes no place."""

    def __init__(self, limits: MemberLimits, road: str = EMBEDDED) -> None:
        self.limits = limits
        self.road = road
        """By which their requests come, for log lines."""
        self._absent = Absent(limits)
        self._states: dict[MemberRef, State] = {}
        self._ids: dict[GroupId, dict[MemberId, None]] = {}
        """The members of each group, in the order they came."""
        self._clients: dict[MemberRef, tuple[ClientIdentity, Via]] = {}
        self._seats: dict[tuple[GroupId, InstanceId], MemberId] = {}
        self._busy = {stage: Counter[GroupId]() for stage in Stage}
        """How many members of each group are in that stage of a rebalance; groups with none are not in it."""
        self._unsettled: dict[GroupId, dict[MemberId, None]] = {}
        """Of each group the members that have not what they should have, or do not work with it."""
        self._parked: dict[int, set[MemberRef]] = {}
        self._deadlines = Deadlines[MemberRef]()
        self._reports: dict[MemberRef, tuple[Membership, Tenure, Inquiry]] = {}
        """What members asked last that their coordinators want to hear of, and of what it was made."""
        self._is_watched = False
        self.on_profile: Callable[[MemberRef], None] = _unheard
        """Hears of every member whose client said something new about itself, or that was granted something else, or
        that is gone.
        """
        self.on_change: Callable[[MemberRef], None] = _unheard
        """Hears of every member whose client has, or is to have, something else, or that is gone."""
        self._changed: dict[MemberRef, None] = {}

    def __len__(self) -> int:
        """How many members there are."""
        return len(self._states)

    def groups(self) -> frozenset[GroupId]:
        """The groups that they are in."""
        return frozenset(self._ids)

    def get(self, key: MemberRef) -> State | None:
        """The member's state, None for an absent one."""
        return self._states.get(key)

    def client_of(self, key: MemberRef) -> ClientIdentity:
        """Who the member's client says it is."""
        return self._clients.get(key, _UNKNOWN)[0]

    def via_of(self, key: MemberRef) -> Via:
        """The connection by which the member was heard last; nowhere if not since the start."""
        return self._clients.get(key, _UNKNOWN)[1]

    def speaker_of(self, key: MemberRef) -> tuple[ClientIdentity, Via]:
        """Both at once."""
        return self._clients.get(key, _UNKNOWN)

    def meet(self, key: MemberRef, client: ClientIdentity, via: Via) -> None:
        """Remember who speaks for a member, and by which connection."""
        self._clients[key] = client, via

    def meet_first(self, key: MemberRef, client: ClientIdentity, ref: RequestRef) -> None:
        """A request of a member came; if nobody has spoken for it since the start, it is known now who does."""
        if self.client_of(key) is NOBODY and key in self._states:
            self.meet(key, client, via_of(ref))
            self.on_profile(key)

    def hear(self, key: MemberRef, ref: RequestRef) -> None:
        """A request of a member came: perhaps by another connection than the last."""
        known = self._clients.get(key)
        if known is not None and known[1].connection != ref.connection:
            self._clients[key] = known[0], via_of(ref)

    def seat_of(self, group_id: GroupId, instance_id: InstanceId) -> MemberId | None:
        """Who sits on a static seat."""
        return self._seats.get((group_id, instance_id))

    def members_of(self, group_id: GroupId) -> dict[MemberId, State]:
        """The classic members of one group; costs what there are in it."""
        return {one: self._states[MemberRef(group_id, one)] for one in self._ids.get(group_id, ())}

    def feed(self, key: MemberRef, event: Event, now_ms: int) -> tuple[Effect, ...]:
        """Let a member take one step and give back what it asks for."""
        before = self._states.get(key, self._absent)
        taken = step(before, event, now_ms)
        if taken.state is not before:
            self._keep(key, taken.state)
        return taken.effects

    def beat(self, key: MemberRef, generation: int, now_ms: int) -> bool:
        """Let a member's session go on, if its heartbeat asks for nothing else; False: nothing has happened.

        Its deadline only moves later, and nothing of it has to survive: nobody needs to be told.
        """
        before = self._states.get(key)
        after = None if before is None else beat_calmly(before, generation, now_ms)
        if after is None:
            return False
        self._states[key] = after
        return True

    def any_in(self, group_id: GroupId, stage: "Stage") -> bool:
        """Whether a member of a group is in this stage of a rebalance; O(1): all groups are listed by whoever likes."""
        return group_id in self._busy[stage]

    def sizes(self) -> Iterator[tuple[GroupId, int]]:
        """The groups, in the order they came, with how many members each has; O(groups)."""
        return ((group_id, len(members)) for group_id, members in self._ids.items())

    def is_settled(self, group_id: GroupId) -> bool:
        """Whether all members of a group have what they should have; O(1), for who counts groups by it."""
        return group_id not in self._unsettled

    def ask_calmly(self, key: MemberRef, now_ms: int) -> Inquiry | None:
        """Let a member ask its coordinator again if nothing but that is due, and give what it asks: the same object as
        last time where that is the same, so that whoever is asked need not compare. None: nothing has happened.
        """
        before = self._states.get(key)
        after = None if before is None else ask_calmly(before, now_ms)
        if after is None:
            return None
        self._states[key] = after
        # As long as it waits for the answer, only its session may end.
        self._deadlines.note(key, after.session_deadline_ms)
        known = self._reports.get(key)
        if known is None or known[0] is not after.membership or known[1] is not after.tenure:
            known = self._reports[key] = (after.membership, after.tenure, report(after))
        return known[2]

    def hear_calmly(self, key: MemberRef, answer: Granted, now_ms: int) -> int | None:
        """Let a member hear an answer that tells it nothing new, and give when it is to be looked at next; None: it has
        to be fed, nothing has happened.
        """
        before = self._states.get(key)
        after = None if before is None else hear_calmly(before, answer, now_ms)
        if after is None:
            return None
        self._states[key] = after
        deadline_ms = stable_deadline(after)
        self._deadlines.note(key, deadline_ms)
        return deadline_ms

    def is_at_rest(self, key: MemberRef) -> bool:
        """Whether a member works with its assignment and nobody has called it, nor waits for it to let go."""
        state = self._states.get(key)
        return isinstance(state, Stable) and isinstance(state.call, NotCalled) and not still_releasing(state.tenure)

    def begin(self, key: MemberRef, state: State) -> None:
        """Put a member here that is already at work."""
        self._keep(key, state)

    def __iter__(self) -> Iterator[MemberRef]:
        """Every member in the order they came."""
        return iter(self._states)

    def clear(self) -> None:
        """Forget every member."""
        for key in tuple(self._states):
            self.drop(key)
        self._parked.clear()
        self._changed.clear()

    def watch(self) -> None:
        """Remember from now on whose state changed in a way that has to survive."""
        self._is_watched = True
        self._changed.clear()

    def take_changed(self) -> Iterable[MemberRef]:
        """Those whose lasting part may have changed since the last call."""
        changed, self._changed = self._changed, {}
        return changed

    def drop(self, key: MemberRef) -> None:
        """Forget a member."""
        if self._is_watched:
            self._changed[key] = None
        before = self._states.pop(key, None)
        self._move(key.group_id, before, None)
        self._settle(key)
        self._vacate(key, before)
        self._note_parked(key, before, None)
        if before is not None:
            ids = self._ids[key.group_id]
            del ids[key.member_id]
            if not ids:
                del self._ids[key.group_id]
        self._clients.pop(key, None)
        self._reports.pop(key, None)
        self.on_profile(key)
        self.on_change(key)

    def drop_group(self, group_id: GroupId) -> list[tuple[MemberRef, State, tuple[ClientIdentity, Via]]]:
        """Forget the members of a group; gives what each was and who spoke for it.

        What is counted by groups goes at once, and not member by member.
        """
        dropped: list[tuple[MemberRef, State, tuple[ClientIdentity, Via]]] = []
        for groups in self._busy.values():
            groups.pop(group_id, None)
        self._unsettled.pop(group_id, None)
        for member_id in self._ids.pop(group_id, ()):
            key = MemberRef(group_id, member_id)
            before, speaker = self._states.pop(key), self._clients.pop(key, _UNKNOWN)
            if self._is_watched:
                self._changed[key] = None
            self._vacate(key, before)
            self._note_parked(key, before, None)
            self._reports.pop(key, None)
            self.on_profile(key)
            dropped.append((key, before, speaker))
        return dropped

    def next_deadline_ms(self) -> int | None:
        """When a member has to be looked at, perhaps too early."""
        return self._deadlines.next_ms()

    def take_due(self, now_ms: int) -> list[MemberRef]:
        """The members whose deadline has passed."""
        return self._deadlines.take_due(now_ms, self._deadline_of)

    def note_deadline(self, key: MemberRef) -> None:
        """Look at a member again when its state says so, after `take_due` gave it out; a step has mostly noted it."""
        self._deadlines.note(key, self._deadline_of(key))

    def note_all_deadlines(self) -> None:
        """Look at every member again when its state says so, after a turn that took some out and failed."""
        for key in self._states:
            self.note_deadline(key)

    def is_parked(self, ref: RequestRef) -> bool:
        """Whether a member's machine holds this JoinGroup and will answer it."""
        states = (self._states.get(key) for key in self._parked.get(ref.connection, ()))
        return any(parked.parked.ref == ref for parked in map(parked_join, states) if parked is not None)

    def take_parked(self, connection: int) -> list[tuple[MemberRef, RequestRef]]:
        """The members with a JoinGroup parked on a connection that is gone."""
        found: list[tuple[MemberRef, RequestRef]] = []
        for key in self._parked.pop(connection, ()):
            state = parked_join(self._states.get(key))
            if state is not None and state.parked.ref.connection == connection:
                found.append((key, state.parked.ref))
        return found

    def _keep(self, key: MemberRef, state: State) -> None:
        if isinstance(state, Absent):
            self.drop(key)
            return
        before = self._states.get(key)
        if before is None:
            self._ids.setdefault(key.group_id, {})[key.member_id] = None
        self._states[key] = state
        self._deadlines.note(key, next_deadline(state))
        self._move(key.group_id, before, state)
        lasts = _lasts(before, state)
        if not lasts or _call_of(before) is not _call_of(state):
            self._note_rest(key, state)
        if lasts:
            return
        self.on_change(key)
        if self._is_watched:
            self._changed[key] = None
        if not _weighs_alike(before, state):
            self.on_profile(key)
        self._note_parked(key, before, state)
        if type(before) is not type(state):
            self._vacate(key, before)
            seat = _seat(key, state)
            if seat is not None:
                self._seats[seat] = key.member_id

    def _note_parked(self, key: MemberRef, before: State | None, after: State | None) -> None:
        """Where its JoinGroup waits, if it has one: by one connection as many members may come and go as it likes."""
        left, entered = parked_join(before), parked_join(after)
        if left is not None and (kept := self._parked.get(left.parked.ref.connection)) is not None:
            kept.discard(key)
            if not kept:
                del self._parked[left.parked.ref.connection]
        if entered is not None:
            self._parked.setdefault(entered.parked.ref.connection, set()).add(key)

    def _move(self, group_id: GroupId, before: State | None, after: State | None) -> None:
        left, entered = stage_of(before), stage_of(after)
        if left is entered:
            return
        if left is not None:
            self._busy[left][group_id] -= 1
            if not self._busy[left][group_id]:
                del self._busy[left][group_id]
        if entered is not None:
            self._busy[entered][group_id] += 1

    def _note_rest(self, key: MemberRef, state: State) -> None:
        if is_settled(state):
            self._settle(key)
        else:
            self._unsettled.setdefault(key.group_id, {})[key.member_id] = None

    def _settle(self, key: MemberRef) -> None:
        others = self._unsettled.get(key.group_id)
        if others is not None:
            others.pop(key.member_id, None)
            if not others:
                del self._unsettled[key.group_id]

    def _vacate(self, key: MemberRef, state: State | None) -> None:
        seat = _seat(key, state)
        if seat is not None and self._seats.get(seat) == key.member_id:
            del self._seats[seat]

    def _deadline_of(self, key: MemberRef) -> int | None:
        state = self._states.get(key)
        if isinstance(state, Stable):
            return stable_deadline(state)
        return None if state is None else next_deadline(state)


class Stage(Enum):
    """What a member has still to do in a rebalance."""

    JOINING = auto()
    """It joins, or has been or is to be called for it."""
    COMPLETING = auto()
    """Its SyncGroup is still to come."""


def stage_of(state: State | None) -> Stage | None:
    """In which stage of a rebalance a member is, None for in none."""
    match state:
        case PreparingRebalance():
            return Stage.JOINING
        case Stable():
            return Stage.JOINING if isinstance(state.call, (CallDue, Called)) else None
        case CompletingRebalance():
            return Stage.COMPLETING
        case None | Absent() | Leaving() | Fenced():
            return None
        case _:
            assert_never(state)


def is_settled(state: State) -> bool:
    """Whether a member works with what it should have, and with nothing else; O(partitions)."""
    if not isinstance(state, Stable) or not isinstance(state.call, NotCalled):
        return False
    return state.tenure.since.keys() == state.membership.granted


def _call_of(state: State | None) -> type | None:
    return type(state.call) if isinstance(state, Stable) else None


def _unheard(_key: MemberRef) -> None:
    """Nobody wants to know."""


def _seat(key: MemberRef, state: State | None) -> tuple[GroupId, InstanceId] | None:
    member = seated(state)
    instance_id = None if member is None else member.membership.seat.instance_id
    return None if instance_id is None else (key.group_id, instance_id)


def _weighs_alike(before: State | None, after: State) -> bool:
    """Whether a member says and has what it did; O(1), since values that stay are the same objects."""
    was, now = seated(before), seated(after)
    if was is None or now is None:
        return was is now
    is_granted_alike = was.membership.granted is now.membership.granted
    return is_granted_alike and was.membership.profile is now.membership.profile


def _lasts(before: State | None, after: State) -> bool:
    """Whether nothing changed but times, the call or the question under way, as by heartbeats of members at work."""
    return (
        isinstance(before, Stable)
        and isinstance(after, Stable)
        and before.membership is after.membership
        and before.tenure is after.tenure
    )


def is_present(state: State | None) -> bool:
    """Whether the client is a member as far as it knows."""
    return seated(state) is not None
