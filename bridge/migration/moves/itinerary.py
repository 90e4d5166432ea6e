"""The way of one order: which moves bring a group to its road, one behind the other, what comes behind each, and where
the group is when one could not be made.
"""

from dataclasses import dataclass, replace
from enum import StrEnum, auto

from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road


class Leg(StrEnum):
    """One move of a way. It is made whole, or its group stands where it stood before."""

    TAKE_OVER = auto()
    """Classic members of a broker's group become consumer members, member by member."""
    GIVE_BACK = auto()
    """Those become classic members again, member by member."""
    RESEAT = auto()
    """A consumer group of classic members becomes a classic group at its broker, or a round leaves user data behind."""
    ADOPT = auto()
    """A broker's classic group becomes the bridge's own."""
    RELEASE = auto()
    """A group of the bridge becomes a broker's classic group."""


class Outcome(StrEnum):
    """How one move ended."""

    MADE = auto()
    KEPT = auto()
    """Nothing was changed."""
    PARTLY = auto()
    """Some members are where it leads, or all were made to join again on the way and do so by themselves."""


class End(StrEnum):
    """How the way of an order ends."""

    ARRIVED = auto()
    HALF_WAY = auto()
    """The group is its broker's, and could not be moved on."""
    REFUSED = auto()
    """The group is where it was."""


@dataclass(frozen=True, slots=True)
class Itinerary:
    """What an order has before it: `legs`, of which the first is at hand, on the way from `origin` to `destination`.

    With `is_on_its_way` a leg has been made already, and the group is its broker's.
    """

    origin: Road
    destination: Road
    legs: tuple[Leg, ...]
    is_on_its_way: bool = False

    @property
    def leg(self) -> Leg:
        """The move at hand."""
        return self.legs[0]

    @property
    def written_origin(self) -> Road:
        """Where the leg at hand begins, as the journal is told: `resumed` finds the leg by it behind a restart.

        A group on its way from upstream to embedded is on pass by rule perhaps, with members that were taken over one
        by one; written so it would be taken for one that is being adopted.
        """
        if self.leg is Leg.GIVE_BACK and self.destination is Road.EMBEDDED:
            return Road.UPSTREAM
        return Road.PASS if self.is_on_its_way else self.origin

    @property
    def stands(self) -> Road:
        """The group's road as long as the leg at hand has changed nothing."""
        if self.is_on_its_way:
            return Road.PASS
        return Road.EMBEDDED if self.leg is Leg.RELEASE else self.origin

    def onward(self) -> "Itinerary":
        """The same behind the leg at hand."""
        return replace(self, legs=self.legs[1:], is_on_its_way=True)

    def behind(self, outcome: Outcome) -> "Itinerary | End":
        """What comes behind the leg at hand, which ended so."""
        if outcome is Outcome.MADE:
            return self.onward() if len(self.legs) > 1 else End.ARRIVED
        if self.destination is Road.PASS and (outcome is Outcome.PARTLY or self.leg is Leg.RESEAT):
            # Who is a classic member of its broker is where it was ordered to, whatever a newcomer will be to it.
            return End.ARRIVED
        return End.REFUSED if outcome is Outcome.KEPT and not self.is_on_its_way else End.HALF_WAY


def planned(order: MoveOrder, origin: Road, *, has_machines: bool, has_user_data: bool) -> Itinerary:
    """The way of an order that is about to begin.

    `has_machines`: members of the group are translated at their broker; `has_user_data`: its assignments carry what no
    broker takes over.
    """
    return Itinerary(origin, order.destination, _legs(order, origin, has_machines, has_user_data))


def _legs(order: MoveOrder, origin: Road, has_machines: bool, has_user_data: bool) -> tuple[Leg, ...]:
    match order.destination:
        case Road.UPSTREAM if origin is Road.EMBEDDED:
            return (Leg.RELEASE, Leg.TAKE_OVER)
        case Road.UPSTREAM:
            return (Leg.RESEAT, Leg.TAKE_OVER) if has_user_data else (Leg.TAKE_OVER,)
        case Road.EMBEDDED:
            return (Leg.GIVE_BACK, Leg.RESEAT, Leg.ADOPT) if has_machines else (Leg.ADOPT,)
        case _ if has_machines:
            return _back(order)
        case _:
            return (Leg.RELEASE,) if origin is Road.EMBEDDED else (Leg.RESEAT,)


def _back(order: MoveOrder) -> tuple[Leg, ...]:
    """Where only some come back, the group stays a consumer group of those that don't."""
    return (Leg.GIVE_BACK,) if order.members else (Leg.GIVE_BACK, Leg.RESEAT)


def order_resumed(order: MoveOrder, origin: Road) -> MoveOrder:
    """The order with which a bridge goes on that was started again in the middle of this one.

    A way that would be gone on with as an adoption ends where its first part does: what comes behind it can be ordered.
    """
    is_half_way = order.destination is Road.EMBEDDED and origin is not Road.PASS
    return replace(order, destination=Road.PASS) if is_half_way else order


def resumed(order: MoveOrder, origin: Road, *, is_in_engine: bool, has_members: bool) -> Itinerary:
    """The way of `order_resumed` from the leg that the journal tells of.

    `origin`: as it was written; `is_in_engine`: the bridge's engine has the group; `has_members`: the members are known
    that may be between two roads.
    """
    onward = (Leg.TAKE_OVER,) if order.destination is Road.UPSTREAM else ()
    if order.destination is Road.EMBEDDED:
        return Itinerary(origin, order.destination, (Leg.ADOPT,))
    if is_in_engine:
        return Itinerary(origin, order.destination, (Leg.RELEASE, *onward))
    if origin is Road.MAPPED:
        # It was given back before that, and a scout may have been sent; or it is to be taken over behind it.
        return Itinerary(Road.PASS, order.destination, (Leg.RESEAT, *onward) if has_members else onward or _back(order))
    if order.destination is Road.UPSTREAM:
        return Itinerary(origin, order.destination, onward, is_on_its_way=origin is Road.EMBEDDED)
    return Itinerary(origin, order.destination, _back(order))
