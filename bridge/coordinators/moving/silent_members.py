"""Members that were moved and are gone without a word: what is kept of them ends once their broker has them no more.

A client that dies says nothing, and its broker tells nobody that it has ended it: what was kept for it stayed for ever,
here and in the journal.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import trio

from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.descriptions import describe
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.migration.route import Road, Router
from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.ids import GroupId, MemberId, MemberRef

LOOK_S = 60.0
"""How often it is seen who has said nothing."""
SESSION_MS = 45_000
"""Of whose session nothing is known: that of most clients. To ask too early changes nothing."""
PASSING_EVERY = 10
"""Every so many looks are those looked for whose requests nobody reads: they pass while their group is elsewhere."""
REFUSED_SESSIONS = 3
"""Where the bridge may not see who is there, who has been silent for so many sessions is taken for gone: of one that
lives after all the coordinator says that it is no member (25), and it joins anew.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedMembers:
    """What knows of members that were moved; `dropped` hears of each that passed and is gone, `untranslated` of each on
    road upstream that is, and of whom a name is kept.
    """

    mapped: MappedGroups
    upstream: UpstreamGroups
    router: Router
    broker: Broker
    now_ms: Callable[[], int]
    dropped: Callable[[MemberRef], None]
    untranslated: Callable[[MemberRef], None]


class SilentMembers:
    """Looks for them every now and then."""

    def __init__(self, known: MovedMembers) -> None:
        self._known = known
        self._heard_ms: dict[MemberRef, int] = {}
        """When each mapped member was heard at the latest, as of the last look."""
        self._looks = 0

    async def keep_looking(self) -> None:
        """Go on until cancelled."""
        while True:
            await trio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """End what is kept of those that are gone."""
        self._looks += 1
        self._forget_untranslated()
        self._note_who_spoke()
        silent = self._silent()
        passing = self._passing() if self._looks % PASSING_EVERY == 0 else {}
        for group_id in dict.fromkeys((*silent, *passing)):
            there = await self._members_of(group_id)
            if self._known.router.place(group_id) is Road.MOVING:
                # Its move knows who is there.
                continue
            self._note_who_spoke()
            self._end_seats(group_id, silent.get(group_id, ()), there)
            if there is not None:
                self._drop(group_id, passing.get(group_id, ()), there)

    def _forget_untranslated(self) -> None:
        """Who went just before the bridge was killed stands in the journal still, which is written four times a second;
        it has no machine, whose end is what is else heard of, and its client comes by a new id.
        """
        known = self._known
        alone = {
            MemberRef(group_id, one)
            for group_id, roads in known.router.moved.items()
            for one, road in roads.items()
            if road is Road.UPSTREAM
        }
        for member in sorted(alone | known.upstream.names.all().keys()):
            is_moving = known.router.place(member.group_id) is Road.MOVING
            if not is_moving and known.upstream.is_gone(member):
                known.untranslated(member)

    def _note_who_spoke(self) -> None:
        mapped, now_ms = self._known.mapped, self._known.now_ms()
        spoke = mapped.take_spoken()
        # Who is mapped since the last look, or was recalled, has as long as anybody.
        self._heard_ms = {key: now_ms if key in spoke else self._heard_ms.get(key, now_ms) for key in mapped.members()}

    def _silent(self) -> dict[GroupId, list[MemberId]]:
        silent: dict[GroupId, list[MemberId]] = {}
        for key in self._heard_ms:
            if self._known.router.place(key.group_id) is not Road.MOVING and self._has_been_silent(key, 1):
                silent.setdefault(key.group_id, []).append(key.member_id)
        return silent

    def _passing(self) -> dict[GroupId, list[MemberId]]:
        """Those that pass while their group does not: nothing of theirs is read here."""
        return {
            group_id: passing
            for group_id, roads in self._known.router.moved.items()
            if self._known.router.place(group_id) is not Road.MOVING
            and (passing := [one for one, road in roads.items() if road is Road.PASS])
        }

    def _has_been_silent(self, key: MemberRef, sessions: int) -> bool:
        seat, heard_ms = self._known.mapped.seat(key.group_id, key.member_id), self._heard_ms.get(key)
        if seat is None or heard_ms is None:
            return False
        return self._known.now_ms() - heard_ms > sessions * _session_ms(seat)

    async def _members_of(self, group_id: GroupId) -> Collection[MemberId] | None:
        """Whom its broker has, None where that is not to be known; nobody, where the bridge may not see it."""
        try:
            described = await describe(self._known.broker, group_id)
        except GroupRefused:
            return None
        except BrokerUnreachable:
            # Perhaps nobody can be heard just now, and sessions begin anew when a coordinator has loaded.
            self._heard_ms |= {key: self._known.now_ms() for key in self._heard_ms if key.group_id == group_id}
            return None
        return {one.member_id for one in described.members}

    def _end_seats(self, group_id: GroupId, silent: Collection[MemberId], there: Collection[MemberId] | None) -> None:
        mapped = self._known.mapped
        for member_id in silent:
            key, seat = MemberRef(group_id, member_id), mapped.seat(group_id, member_id)
            # It may have said something while the broker was asked.
            if seat is None or not self._has_been_silent(key, REFUSED_SESSIONS if there is None else 1):
                continue
            if there is None or seat.seat_id not in there:
                mapped.end(key)

    def _drop(self, group_id: GroupId, passing: Collection[MemberId], there: Collection[MemberId]) -> None:
        roads = self._known.router.moved.get(group_id, {})
        for member_id in passing:
            if member_id not in there and roads.get(member_id) is Road.PASS:
                self._known.dropped(MemberRef(group_id, member_id))


def _session_ms(seat: MappedSeat) -> int:
    return SESSION_MS if seat.member is None else seat.member.session_timeout_ms
