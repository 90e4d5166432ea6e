"""What brokers can do, and what is to be seen of a group, asked before a move begins: what they would refuse in the
middle is a reason not to begin.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import trio

from bridge.coordinators.moving.sight import NOTHING_SEEN, Sight, Tell, WaysHeard
from bridge.migration.abilities import BrokerAbilities, TakeOver
from bridge.migration.moves.members import ClassicMember
from bridge.migration.observed import GroupKind, ObservedGroup, ObservedMember, UserData
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.readiness import OF_A_LOOK, assess
from bridge.migration.reasons import Reason, Weight
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.ids import GroupId, MemberId

ASK_S = 5.0
"""How long brokers may take to say it; what they don't say is found out by the move."""
KEPT_MS = 30_000
"""For so long brokers are not asked again what they can do: they are set up anew by a restart."""
Members = Mapping[MemberId, ClassicMember]


async def _nothing_known() -> BrokerAbilities:
    return BrokerAbilities()


def _nothing_to_forget() -> None:
    """Nobody is asked."""


def _nobody_listens(_group_id: GroupId) -> AbstractContextManager[WaysHeard]:
    return nullcontext(WaysHeard())


async def _nothing_seen(_order: MoveOrder, _origin: Road, _members: Members, _tell: Tell) -> Sight:
    return NOTHING_SEEN


@dataclass(frozen=True, slots=True)
class Forecast:
    """What is known before a move: what stands in its way, what is to be known, and whom nobody heard here."""

    obstacles: tuple[Obstacle, ...] = ()
    notes: tuple[Obstacle, ...] = ()
    unheard: frozenset[MemberId] = frozenset()


class KnownAbilities:
    """What brokers can do, by their own word of a moment ago; of another cluster, or of other brokers, they are asked
    anew.
    """

    def __init__(
        self,
        ask: Callable[[], Awaitable[BrokerAbilities]],
        cluster: Callable[[], Hashable],
        now_ms: Callable[[], int],
    ) -> None:
        """`cluster` tells which brokers there are."""
        self._ask = ask
        self._cluster = cluster
        self._now_ms = now_ms
        self._known = BrokerAbilities()
        self._of: Hashable = None
        self._until_ms = 0

    async def now(self) -> BrokerAbilities:
        """The same; UNKNOWN where they don't say it in time, which is not kept."""
        if self._now_ms() < self._until_ms and self._cluster() == self._of:
            return self._known
        self._until_ms, found = 0, BrokerAbilities()
        with trio.move_on_after(ASK_S):
            try:
                found = await self._ask()
            except BrokerUnreachable:
                return found
        if found.takeover is not TakeOver.UNKNOWN:
            self._known, self._of, self._until_ms = found, self._cluster(), self._now_ms() + KEPT_MS
        return found

    def forget(self) -> None:
        """Have brokers asked anew at the next order: what stood in the way of this one an operator may mend at once."""
        self._until_ms = 0


class Preflight:
    """Asks what brokers can do, has a look at the group, and judges orders by both."""

    def __init__(self) -> None:
        self.abilities: Callable[[], Awaitable[BrokerAbilities]] = _nothing_known
        """Set by who can ask the brokers; takes no longer than `ASK_S`."""
        self.forget_abilities: Callable[[], None] = _nothing_to_forget
        """Set by the same."""
        self.see: Callable[[MoveOrder, Road, Members, Tell], Awaitable[Sight]] = _nothing_seen
        """Set by who can look at groups."""
        self.listen: Callable[[GroupId], AbstractContextManager[WaysHeard]] = _nobody_listens
        """Hears of a group until the end of the block; set by the same."""

    async def look(self, order: MoveOrder, origin: Road, members: Members, tell: Tell) -> Forecast:
        """What is known of an order in which these members have a part, () where nothing is."""
        found: list[BrokerAbilities] = []

        async def ask() -> None:
            found.append(await self.abilities())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            sight = await self.see(order, origin, members, tell)
        (abilities,) = found
        reasons = judge(order, origin, members.values(), abilities, sight)
        if abilities.takeover is TakeOver.UNKNOWN:
            # A broker that tells nothing of itself may be able to do it all: the pilot finds out, and changes nothing.
            reasons = tuple(one for one in reasons if one.code in OF_A_LOOK)
        heeded = {Weight.BLOCKS} if order.allow_rebalance else {Weight.BLOCKS, Weight.DISTURBS}
        obstacles = tuple(_obstacle(one) for one in reasons if one.weight in heeded)
        if any(one.code not in OF_A_LOOK for one in obstacles):
            self.forget_abilities()
        notes = tuple(_obstacle(one) for one in reasons if one.weight is Weight.NOTES and one.code in OF_A_LOOK)
        return Forecast(obstacles, notes, sight.unheard)


def judge(
    order: MoveOrder,
    origin: Road,
    members: Iterable[ClassicMember],
    abilities: BrokerAbilities,
    sight: Sight = NOTHING_SEEN,
) -> tuple[Reason, ...]:
    """All that is to be said of an order in which these members have a part: of those that are not moved, such as the
    rest of a group whose user data a round leaves behind, only that they do not come by this bridge.
    """
    here = [one for one in members if one.member_id not in sight.unheard]
    elsewhere = [_stranger(one) for one in members if one.member_id in sight.unheard]
    group = ObservedGroup(
        group_id=order.group_id,
        road=origin,
        kind=GroupKind.CLASSIC,
        protocol_type=CONSUMER,
        members=(*(_observed(one, sight) for one in here if order.concerns(one.member_id)), *elsewhere),
        is_complete=True,
        has_foreign_commits=sight.has_foreign_commits,
    )
    return assess(group, abilities, order.destination).reasons


def _stranger(member: ClassicMember) -> ObservedMember:
    """One that does not come by this bridge: what it could do is nobody's concern, as it is not moved."""
    return ObservedMember(
        member_id=member.member_id,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        instance_id=member.instance_id,
        assignment_data=_user_data(member),
        is_behind_bridge=False,
    )


def _user_data(member: ClassicMember) -> UserData:
    return UserData.OPAQUE if member.has_user_data else UserData.NONE


def _observed(member: ClassicMember, sight: Sight) -> ObservedMember:
    """What a move knows of it; of its blobs it judges by itself."""
    return ObservedMember(
        member_id=member.member_id,
        client_id=member.client.client_id,
        client_host=member.client.client_host,
        instance_id=member.instance_id,
        assignors=tuple(protocol.name for protocol in member.protocols),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        assignment_data=_user_data(member),
        is_behind_bridge=True,
        hidden_topics=None if member.member_id in sight.unasked else sight.hidden_topics.get(member.member_id, ()),
    )


def _obstacle(reason: Reason) -> Obstacle:
    whose = reason.members[0] if len(reason.members) == 1 else None
    return Obstacle(reason.code, reason.text, reason.remedy, whose)
