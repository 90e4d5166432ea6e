"""What brokers can do, and what is to be seen of a group, asked before a move begins: what they would refuse in the
middle is a reason not to begin. By what it is judged is loaded with the first order.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

import trio

from bridge.coordinators.moving.sight import NOTHING_SEEN, Sight, Tell, WaysHeard
from bridge.migration.abilities import BrokerAbilities, TakeOverWay
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from translators.dialects.ids import GroupId, MemberId

JUDGEMENT = "bridge.coordinators.moving.judgement"
"""Behind it stand all reasons why a group can't move: a bridge that moves nothing, and is asked nothing, needs none."""
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
    is_of_brokers: bool = False
    """Whether what brokers can do stands in the way, which an operator may mend at once."""


class _Foretell(Protocol):
    def __call__(
        self, order: MoveOrder, origin: Road, members: Members, abilities: BrokerAbilities, sight: Sight
    ) -> Forecast: ...


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
        if found.takeover is not TakeOverWay.UNKNOWN:
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
        foretell: _Foretell = import_module(JUDGEMENT).foretell
        forecast = foretell(order, origin, members, abilities, sight)
        if forecast.is_of_brokers:
            self.forget_abilities()
        return forecast
