"""Notices other bridges before the same cluster, by a small classic group that only bridges are in."""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from math import inf

import trio

from bridge.coordinators.embedded.bridge_meeting import (
    GROUPS_MAX,
    Claims,
    Digest,
    Meeting,
    Place,
    Standing,
    digest,
    find_stronger,
    judge,
)
from bridge.log_lines import PASSING, LogFields, of_embedded
from bridge.migration.missing_rights import Resource, Right
from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import GroupId

ROUND_S = 3.0
"""Heartbeats go out, and the others are looked at, so often."""
TOGETHER_S = 0.25
"""What is claimed within so much is said together."""
HEARING_S = 0.5
"""How long a first member waits to hear whether there is any other bridge."""
DEAF_ROUNDS = 2
"""When it is said that others can't be heard: the first round may come before the bridge is ready to ask anything."""
RECENT_S = 60.0
"""How long a group counts as wanted by clients after one was refused, and as ours before anybody is in it."""
WANTED_S = 10.0
"""A client that was to try again does so by then, or not at all."""
OFF_S = 60.0
"""After so long it is tried again where a broker does not let bridges meet."""

LOG = logging.getLogger("epochbridge.coordinators")
_NOBODY_KNOWS = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "EB-BRIDGES-002: another bridge comes, goes or wants the same group; who has what is not settled yet",
)


class Bridges:
    """Claims the groups that are served here. `lost` are those that another bridge has, with what is said of it.

    While no other bridge is there a claim costs nothing: a newcomer can't come in before this one has said again what
    it has, since the group of the bridges is rebalanced then.
    """

    def __init__(
        self,
        broker: Broker,
        place: Place,
        live: Callable[[], Iterable[GroupId]],
        lives: Callable[[GroupId], bool],
        now_ms: Callable[[], int],
    ) -> None:
        """`live` gives the groups that have members, `lives` says of one whether it is among them."""
        self.lost: dict[GroupId, str] = {}
        self.told: dict[GroupId, str] = {}
        """Groups of this bridge whose clients come by another one, too."""
        self.others: tuple[Claims, ...] = ()
        self._meeting = Meeting(broker, place)
        self._place = place
        self._live = live
        self._lives = lives
        self._now_ms = now_ms
        self._granted: dict[GroupId, float] = {}
        self._wanted: dict[GroupId, float] = {}
        self._refused: dict[GroupId, tuple[float, Refusal]] = {}
        self._is_fenced = False
        self._has_read = False
        self._deaf_rounds = 0
        self._is_off_told = False
        self._is_alone = False
        self._off_until_s = -inf
        self._lock = trio.Lock()
        self._wake = trio.Event()

    # ------------------------------------------------------------------ what joins ask

    async def claim(self, group_id: GroupId) -> Refusal | None:
        """Have a group from now on; the refusal if another bridge has it.

        Raises BrokerUnreachable while other bridges are known and can't be heard. Where none was ever seen nobody waits
        longer than `HEARING_S`: what the bridges' own group suffers from must not stop the only bridge.
        """
        if self._now_s() < self._off_until_s or self._is_held(group_id):
            return None
        if self._is_fenced:
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, self._fenced)
        self._wanted[group_id] = self._now_s()
        if not self._is_alone:
            await self._settle(group_id)
        elif group_id not in self.lost:
            self._grant(group_id)
        if self._is_held(group_id) or self._now_s() < self._off_until_s:
            return None
        _, refusal = self._refused.get(group_id, (0.0, _NOBODY_KNOWS))
        return refusal

    def _now_s(self) -> float:
        return self._now_ms() / 1000

    @property
    def _fenced(self) -> str:
        return (
            f"EB-BRIDGES-004: another bridge says that it is this one ({self._place.bridge}): was the journal copied? "
            "Give every bridge a journal of its own"
        )

    def forget(self, group_id: GroupId) -> None:
        """Nobody is in a group any more: another bridge may have it."""
        self._granted.pop(group_id, None)
        self.told.pop(group_id, None)
        self._wake.set()

    @property
    def refused_count(self) -> int:
        """How many groups are refused here for another bridge's sake."""
        return len(self.lost.keys() | self._refused.keys())

    def refusal(self, group_id: GroupId) -> Refusal | None:
        """Why a group that was served here is not any more."""
        reason = self.lost.get(group_id)
        return None if reason is None else Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)

    def told_of(self, group_id: GroupId) -> str | None:
        """What is to be known of a group of which clients come by several bridges."""
        return self.lost.get(group_id) or self.told.get(group_id)

    def _is_held(self, group_id: GroupId) -> bool:
        return group_id not in self.lost and (group_id in self._granted or self._lives(group_id))

    def _grant(self, group_id: GroupId) -> None:
        self._wanted.pop(group_id, None)
        self._refused.pop(group_id, None)
        self._granted[group_id] = self._now_s()
        self._wake.set()

    async def _settle(self, group_id: GroupId) -> None:
        try:
            with trio.move_on_after(inf if self._has_company else HEARING_S) as patience:
                while not self._has_company:
                    # Whether there is anybody else is seen in a moment; the rest may take as long as it takes.
                    async with self._lock:
                        if not self._has_read:
                            self._take(await self._meeting.read())
                        if self._is_alone or self._has_company:
                            break
                    await trio.sleep(TOGETHER_S)
                if not self._is_alone:
                    patience.deadline = inf
                    async with self._lock:
                        if group_id in self._wanted:
                            await self._decide()
        except GroupRefused as problem:
            self._switch_off(problem)
        except BrokerUnreachable:
            if self._has_company:
                raise
        is_free = self._is_alone or not self._has_company
        if is_free and group_id in self._wanted and group_id not in self.lost:
            self._grant(group_id)

    @property
    def _has_company(self) -> bool:
        return bool(self.others) or self._meeting.has_company

    async def _decide(self) -> None:
        """Settle everything that is wanted, in one go for all that wait."""
        if not self._is_alone:
            await self._meeting.enter(self._claims())
            others = await self._meeting.read()
            if others is None:
                return
            self._take(others)
        for group_id in tuple(self._wanted):
            standing, other = judge(self._place.bridge, digest(group_id), self.others)
            if standing is Standing.OURS and (self._is_alone or self._meeting.has_said(group_id)):
                self._grant(group_id)
            elif standing is Standing.THEIRS and other is not None:
                del self._wanted[group_id]
                refusal = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, _theirs(other))
                self._refused[group_id] = (self._now_s(), refusal)
                self._wake.set()

    # ------------------------------------------------------------------ in the group of the bridges

    async def run(self) -> None:
        """Stay in the group of the bridges until cancelled."""
        while True:
            is_on = self._now_s() >= self._off_until_s
            # Claims that wait for the first look don't wait for the coming in, too, which takes seconds.
            if is_on and (self._is_fenced or self._meeting.said is not None or await self._try(self._look)):
                await self._try(self._round)
            self._wake = trio.Event()
            with trio.move_on_after(ROUND_S):
                await self._wake.wait()
                await trio.sleep(TOGETHER_S)

    async def leave(self) -> None:
        """Let others have the groups at once, for good: for a bridge that would not know them again."""
        async with self._lock:
            self._off_until_s = inf
            try:
                await self._meeting.leave()
            except BrokerUnreachable as problem:
                told = "EB-BRIDGES-005: the other bridges could not be told that this one ends, and notice it later: %s"
                LOG.info(told, problem)

    async def _try(self, work: Callable[[], Awaitable[None]]) -> bool:
        try:
            async with self._lock:
                await work()
        except GroupRefused as problem:
            self._switch_off(problem)
            return False
        except BrokerUnreachable as problem:
            self._deaf_rounds += 1
            if self._deaf_rounds == DEAF_ROUNDS:
                LOG.info("EB-BRIDGES-006: other bridges could not be looked for: %s; tried again soon", problem)
            return False
        self._deaf_rounds = 0
        return True

    async def _look(self) -> None:
        self._take(await self._meeting.read())

    async def _round(self) -> None:
        meeting = self._meeting
        if self._is_fenced:
            self._is_fenced = await meeting.is_seat_taken()
            if self._is_fenced:
                return
            self.lost = {}
            self._take(await meeting.read())
        if meeting.said is None or not meeting.is_said or not await self._beat() or self._claims() != meeting.said:
            await meeting.enter(self._claims())
        self._take(await meeting.read())
        self._is_off_told = False
        self._tidy()

    async def _beat(self) -> bool:
        """Say that this bridge lives; False if it has to say again what it has."""
        code = await self._meeting.beat()
        if code is ErrorCode.NONE:
            return True
        self._is_alone, self._meeting.has_company = False, True
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            # It was away too long, and others may have taken what it had: they are heard first.
            self._meeting.said = None
            self._take(await self._meeting.read())
        elif code is ErrorCode.FENCED_INSTANCE_ID:
            self._is_fenced, self._meeting.said = True, None
            self._granted.clear()
            self.lost = dict.fromkeys(self._live(), self._fenced)
            LOG.error("%s", self._fenced)
            raise BrokerUnreachable("this bridge is fenced")
        elif code is not ErrorCode.REBALANCE_IN_PROGRESS:
            raise BrokerUnreachable(f"the heartbeat got {code.name}")
        return False

    # ------------------------------------------------------------------ what follows from it

    def _claims(self) -> Claims:
        held = {*self._live(), *self._granted} - self.lost.keys()
        if len(held) > GROUPS_MAX:
            told = "EB-BRIDGES-007: of %d groups only %d are told to other bridges; let this one have its clients alone"
            LOG.warning(told, len(held), GROUPS_MAX)
        now_s = self._now_s()
        refused = {group_id for group_id, (at_s, _) in self._refused.items() if now_s - at_s < RECENT_S}
        return Claims(
            bridge=self._place.bridge,
            where=self._place.where,
            held=frozenset(map(digest, held)),
            wanted=frozenset(map(digest, self._wanted)),
            refused=frozenset(map(digest, refused | self.lost.keys())),
        )

    def _take(self, others: tuple[Claims, ...] | None) -> None:
        """Know what the others say."""
        if others is None:
            self._is_alone = False
            return
        knew = {other.bridge for other in self.others}
        for other in others:
            if other.bridge not in knew:
                LOG.info("another bridge before this cluster: %s, whose clients come at %s", other.bridge, other.where)
        is_late = self._meeting.said is None
        self.others, self._is_alone, self._has_read = others, not others, True
        if self.others or self.lost or self.told:
            self._compare({digest(one): one for one in {*self._live(), *self._granted}}, is_late=is_late)

    def _compare(self, ours: Mapping[Digest, GroupId], *, is_late: bool) -> None:
        """Find what others have of ours, and what they refuse for our sake; who was away (`is_late`) comes second."""
        everything = {digest(one): one for one in self.lost} | dict(ours)
        lost: dict[GroupId, str] = {}
        told: dict[GroupId, str] = {}
        for key, group_id in everything.items():
            holder = next((other for other in self.others if key in other.held), None)
            stays_lost = is_late or group_id in self.lost
            stronger = holder if stays_lost else find_stronger(self._place.bridge, key, self.others)
            if stronger is not None:
                lost[group_id] = _theirs(stronger)
            else:
                refusing = [other.where for other in self.others if key in other.refused]
                if refusing:
                    told[group_id] = (
                        f"EB-BRIDGES-003: its clients come by the bridge at {', '.join(refusing)}, too, which refuses "
                        "them, since this one has the group: let them all come here"
                    )
        _say_new(self.lost, lost)
        _say_new(self.told, told)
        self.lost, self.told = lost, told
        for group_id in lost:
            self._granted.pop(group_id, None)

    def _tidy(self) -> None:
        """A group that nobody is in after a while is nobody's."""
        now_s, live = self._now_s(), set(self._live())
        for group_id, since_s in tuple(self._granted.items()):
            if group_id not in live and now_s - since_s > RECENT_S:
                del self._granted[group_id]
        for group_id, (at_s, _) in tuple(self._refused.items()):
            if now_s - at_s > RECENT_S:
                del self._refused[group_id]
        for group_id, since_s in tuple(self._wanted.items()):
            if now_s - since_s > WANTED_S:
                del self._wanted[group_id]

    def _switch_off(self, problem: GroupRefused) -> None:
        level = logging.DEBUG if self._is_off_told else logging.WARNING
        LOG.log(
            level,
            "EB-BRIDGES-008: the cluster does not let this bridge into group %r (%s): groups are served all the same, "
            "and a second bridge before this cluster would not be noticed; %s; or set bridges.group: off",
            self._place.group_id,
            problem,
            Right("Read", Resource.GROUP, self._place.group_id).missing(),
            extra=LogFields(group_id=self._place.group_id, road=PASSING),
        )
        self._is_off_told = True
        self._off_until_s = self._now_s() + OFF_S
        self._wanted.clear()
        self.lost, self.told, self.others, self._meeting.said = {}, {}, (), None


def _theirs(other: Claims) -> str:
    return (
        f"EB-BRIDGES-001: the bridge at {quote(other.where)} has this group, and a group is served by one bridge at a "
        "time: let its clients come by one address, or give the bridges different rules"
    )


def _say_new(before: Mapping[GroupId, str], after: Mapping[GroupId, str]) -> None:
    for group_id, reason in after.items():
        if before.get(group_id) != reason:
            LOG.warning("group %r: %s", group_id, reason, extra=of_embedded(group_id))
    gone: Collection[GroupId] = before.keys() - after.keys()
    for group_id in gone:
        LOG.info("group %r is no other bridge's any more", group_id, extra=of_embedded(group_id))
