"""Who of a group can be moved now: asked of its broker, or of those who have its members here; or why nobody can."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import trio

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.moving.descriptions import CoordinatorBusy, describe
from bridge.coordinators.moving.engine_members import find_in_engine
from bridge.coordinators.moving.preflight import Preflight
from bridge.coordinators.moving.sight import Tell
from bridge.coordinators.moving.surroundings import SCOUT_ID, Around
from bridge.coordinators.moving.survey import (
    CLASSIC_MEMBER,
    Survey,
    already_there,
    is_its_brokers,
    is_no_member,
    left_out,
    nobody,
    survey,
)
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.roster import Roster
from bridge.migration.route import MOVED_MEMBERS_MAX, PLACED_GROUPS_MAX, Road, Router
from bridge.ports import Broker, BrokerUnreachable, GroupRefused
from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import quote
from translators.dialects.ids import NOWHERE, GroupId, MemberId, MemberRef

LOOK_S = 0.1
"""How often a group is looked at that has to come to rest."""
REST_S = 15.0
"""How long a move waits for a group to come to rest before it is refused."""
SAME_MS = 500
"""Who was found longer ago may have joined anew, and is looked for once more."""
Members = Mapping[MemberId, ClassicMember]


def _to_nobody(_obstacles: tuple[Obstacle, ...]) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Looks for members where they are."""

    around: Around
    router: Router
    roster: Roster
    broker: Broker
    embedded: EmbeddedGroups
    preflight: Preflight = field(default_factory=Preflight)
    ends_mappings: bool = True
    """Whether members are forgotten that their broker has no more: a dry run changes nothing."""

    async def find(self, order: MoveOrder, origin: Road, tell: Tell = _to_nobody) -> Members | tuple[Obstacle, ...]:
        """The members of an order, at least one; or what stands in its way, also by what brokers can do. `tell` hears
        meanwhile what is waited for, and what is to be known of a move that can be made.
        """
        found = await self.find_again(order, origin)
        if isinstance(found, tuple):
            return found
        found_ms = self.around.now_ms()
        forecast = await self.preflight.look(order, origin, found, tell)
        if forecast.obstacles:
            return forecast.obstacles
        if self.around.now_ms() - found_ms > SAME_MS:
            found = await self.find_again(order, origin)
            if isinstance(found, tuple):
                return found
        tell(forecast.notes)
        members = {
            one: replace(member, is_elsewhere=True) if one in forecast.unheard else member
            for one, member in found.items()
        }
        return self._obstacles(order, of_order(members, order)) or members

    def in_clients_words(self, order: MoveOrder) -> MoveOrder:
        """The same order with members by the ids that their clients say: tools, tables and plans have those of their
        broker, by which a member that was moved before was not found.
        """
        seats = self.around.mapped.seats_of(order.group_id) if order.members else {}
        names = self.around.upstream.names.of(order.group_id) if order.members else {}
        known = {seat.seat_id: one for one, seat in seats.items()} | {it: one for one, it in names.items()}
        return replace(order, members=tuple(dict.fromkeys(known.get(one, one) for one in order.members)))

    async def find_again(self, order: MoveOrder, origin: Road) -> Members | tuple[Obstacle, ...]:
        """The same for the second way of an order that was judged before its first: requests are held, and every broker
        is not asked once more meanwhile.
        """
        if order.destination is Road.UPSTREAM and origin in (Road.PASS, Road.UPSTREAM):
            found = await self._at_broker(order.group_id)
        elif order.destination is Road.PASS and origin in (Road.UPSTREAM, Road.PASS):
            found = await self._here_at_work(order.group_id)
            if not found and not order.members:
                found = await self.to_be_reseated(order.group_id)
        elif order.destination is Road.EMBEDDED and self._is_upstream(order):
            found = await self._of_both_ways(order)
        elif order.destination is Road.EMBEDDED and origin is Road.PASS and not order.members:
            found = await self._at_broker(order.group_id)
        elif origin is Road.EMBEDDED and order.destination is not Road.EMBEDDED and not order.members:
            found = await find_in_engine(order.group_id, self.embedded)
        else:
            return (
                Obstacle(
                    "EB-MOVE-203",
                    f"no move leads {'some members' if order.members else 'a group'} from {origin} to"
                    f" {order.destination}",
                    "move the whole group, and by way of pass",
                ),
            )
        if isinstance(found, tuple):
            return found
        members = of_order(found, order)
        # The round that leaves user data behind is played for everybody, whoever is to be taken over then.
        is_to_be_cleared = order.destination is Road.UPSTREAM and have_user_data(members)
        return self._obstacles(order, members) or (found if is_to_be_cleared else members)

    def _obstacles(self, order: MoveOrder, members: Members) -> tuple[Obstacle, ...]:
        """Why none of these can be moved."""
        if not members:
            return (self._nobody(order),)
        immovable = staying(order, members)
        if len(immovable) == len(members):
            return tuple(immovable.values())
        if not self.router.has_room(order.group_id, len(members)):
            return (
                Obstacle(
                    "EB-MOVE-205",
                    f"{PLACED_GROUPS_MAX:,} groups and {MOVED_MEMBERS_MAX:,} members at most can be where no rule sends"
                    f" them, and {len(members)} more would be too many",
                    "name groups that were moved in the rules of the configuration, and restart the bridge",
                ),
            )
        return ()

    def _nobody(self, order: MoveOrder) -> Obstacle:
        """Nobody is left to be moved: a group that is where it is ordered to is told so."""
        here = self.around.upstream.members_of(order.group_id)
        are_there = bool(here) and here.keys() >= set(order.members) and order.destination is Road.UPSTREAM
        if are_there:
            return already_there(order)
        if order.members:
            return is_no_member(order)
        stays = order.destination is Road.PASS and self.router.road(order.group_id) is Road.PASS
        return is_its_brokers(order.group_id) if stays else nobody(order.group_id)

    def is_for_newcomers(self, order: MoveOrder, found: Members | tuple[Obstacle, ...]) -> bool:
        """Whether all members of a group are there already, but by themselves: the order says where newcomers go."""
        is_there = self.router.road(order.group_id) is order.destination
        return found == (already_there(order),) and not order.members and not is_there

    def _is_upstream(self, order: MoveOrder) -> bool:
        return not order.members and bool(self.around.upstream.members_of(order.group_id))

    async def _of_both_ways(self, order: MoveOrder) -> Members | tuple[Obstacle, ...]:
        """Members that are given back and then adopted: nobody else may be a consumer member of their group."""
        try:
            described = await self._described_soon(order.group_id)
        except BrokerUnreachable as problem:
            return (_unaskable(problem),)
        here = await self._here_at_work(order.group_id)
        upstream = self.around.upstream
        known = [MemberRef(order.group_id, one) for one in upstream.members_of(order.group_id)]
        ours = {SCOUT_ID, *map(upstream.names.seat_id, known)}
        members = described.members if isinstance(described, DescribedConsumerGroup) else ()
        others = [one for one in members if one.member_type != CLASSIC_MEMBER and one.member_id not in ours]
        return (_has_others(order.group_id, others[0].member_id),) if others else here

    async def _described_soon(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """The group as its broker has it; a coordinator that loads or moves is waited for."""
        with trio.move_on_after(REST_S):
            while True:
                try:
                    return await describe(self.broker, group_id)
                except CoordinatorBusy:
                    await trio.sleep(LOOK_S)
        return await describe(self.broker, group_id)

    async def _here_at_work(self, group_id: GroupId) -> Members:
        """The same once each of them has a seat, for some time: who is in a rebalance just now, as after a restart of
        the bridge, would be left behind.
        """
        with trio.move_on_after(REST_S):
            while True:
                found = self.here(group_id)
                if len(found) == len(self.around.upstream.members_of(group_id)):
                    return found
                await trio.sleep(LOOK_S)
        return self.here(group_id)

    def if_all(self, group_id: GroupId, given_back: Members | None) -> Members | None:
        """These members if no others were heard as classic members of their group, such as canaries that were given
        back before, or those that were never taken over; None where the broker has to tell who there is.
        """
        heard = self.roster.members_of(group_id).keys() | self.around.mapped.seats_of(group_id).keys()
        return None if given_back is None or heard - given_back.keys() else given_back

    async def to_be_reseated(self, group_id: GroupId) -> Members | tuple[Obstacle, ...]:
        """The classic members of a consumer group at rest, whom a newcomer would disturb, as their clients know them;
        nobody where it is a classic group already, or is not at rest.
        """
        why = _restless(group_id)
        with trio.move_on_after(REST_S):
            while True:
                try:
                    described = await describe(self.broker, group_id)
                except GroupRefused as problem:
                    return (_unaskable(problem),)
                except BrokerUnreachable as problem:
                    # Behind a way back nobody asks later: a coordinator that just loads or moves is waited for.
                    why = _unaskable(problem)
                else:
                    why = _restless(group_id)
                    if not isinstance(described, DescribedConsumerGroup):
                        return {}
                    found = survey(described, self.roster)
                    if self._is_at_rest(group_id, found):
                        return self._reseatable(group_id, found)
                await trio.sleep(LOOK_S)
        return (why,)

    def _reseatable(self, group_id: GroupId, found: Survey) -> Members | tuple[Obstacle, ...]:
        members = as_last_heard(group_id, found.members, self.around.mapped)
        unheard = left_out(group_id, members)
        known = as_clients_know(group_id, members, self.around.mapped)
        return found.obstacles or tuple(unheard.values()) or known

    def _is_at_rest(self, group_id: GroupId, found: Survey) -> bool:
        """Whether what members have is known, and no client is to join, or between its join and its sync; of whom is
        mapped since before a restart it shows by its first words whether it has joined.
        """
        if not found.is_at_rest:
            return False
        there, mapped = found.members.keys(), self.around.mapped
        if self.ends_mappings:
            mapped.drop_unheard(group_id, there)
        seats = [seat for seat in mapped.seats_of(group_id).values() if seat.seat_id in there]
        if there & set(mapped.unheard(group_id)) or any(seat.is_called for seat in seats):
            return False
        return not any(self.roster.is_joining(one, group_id) for one in there)

    def at_rest(self, group_id: GroupId, members: Members) -> dict[MemberId, ClassicMember]:
        """Those of them whose clients have just what their broker granted, and who can be asked at once."""
        upstream = self.around.upstream
        keys = {one: MemberRef(group_id, one) for one in members}
        return {
            one: members[one]
            for one, key in keys.items()
            if upstream.is_at_rest(key) and upstream.via_of(key) != NOWHERE
        }

    def here(self, group_id: GroupId) -> Members:
        """The members of a group that have a machine."""
        upstream = self.around.upstream
        members: dict[MemberId, ClassicMember] = {}
        for member_id in upstream.members_of(group_id):
            key = MemberRef(group_id, member_id)
            seat = upstream.seat(key)
            if seat is not None:
                members[member_id] = ClassicMember(
                    member_id=member_id,
                    instance_id=seat.instance_id,
                    client=seat.identity,
                    protocols=seat.protocols,
                    protocol_name=upstream.protocol_of(key),
                    session_timeout_ms=seat.session_timeout_ms,
                    rebalance_timeout_ms=seat.rebalance_timeout_ms,
                    generation=seat.generation,
                    using=seat.using,
                    epoch=upstream.epoch_of(key),
                )
        return members

    async def _at_broker(self, group_id: GroupId) -> Members | tuple[Obstacle, ...]:
        why = _restless(group_id)
        with trio.move_on_after(REST_S):
            while True:
                try:
                    found = survey(await describe(self.broker, group_id), self.roster)
                    if self._is_at_rest(group_id, found):
                        await self.around.upstream.look_at_topics()
                        members = as_last_heard(group_id, found.members, self.around.mapped)
                        return found.obstacles or as_clients_know(group_id, members, self.around.mapped)
                except CoordinatorBusy as problem:
                    why = _unaskable(problem)
                except BrokerUnreachable as problem:
                    return (_unaskable(problem),)
                else:
                    why = _restless(group_id)
                    if found.is_empty:
                        return (nobody(group_id),)
                await trio.sleep(LOOK_S)
        return (why,)


def as_clients_know(group_id: GroupId, found: Members, mapped: MappedGroups) -> Members:
    """Members that their broker has described, mapped ones by the ids and generations that their clients know."""
    members = dict(found)
    for seat in mapped.seats_of(group_id).values():
        member = members.pop(seat.seat_id, None)
        if member is not None:
            members[seat.member_id] = replace(member, member_id=seat.member_id, generation=seat.generation)
    return members


def as_last_heard(group_id: GroupId, found: Members, mapped: MappedGroups) -> Members:
    """The same members, by their ids at the broker; who is mapped has not joined since it said so."""
    members = dict(found)
    for seat in mapped.seats_of(group_id).values():
        member = members.get(seat.seat_id)
        if member is not None and seat.member is not None:
            members[seat.seat_id] = replace(
                member,
                protocols=seat.member.protocols,
                protocol_name=seat.member.protocol_name,
                session_timeout_ms=seat.member.session_timeout_ms,
                rebalance_timeout_ms=seat.member.rebalance_timeout_ms,
            )
    return members


def _restless(group_id: GroupId) -> Obstacle:
    return Obstacle(
        "EB-MOVE-104",
        f"{quote(group_id)} did not come to rest within {REST_S:.0f} s, and a move begins at rest",
        "ask again when its rebalance is over",
    )


def _unaskable(problem: BrokerUnreachable) -> Obstacle:
    remedy = "see to it that the bridge can describe groups: an open cluster, or a login of its own"
    return Obstacle("EB-MOVE-204", f"the broker can't be asked: {problem}", remedy)


def _has_others(group_id: GroupId, member_id: MemberId) -> Obstacle:
    return Obstacle(
        "EB-MOVE-208",
        f"{quote(group_id)} has consumer members at its broker that are not the bridge's, {quote(member_id)} among"
        " them, and only a classic group can be adopted",
        "move it to pass, or leave it on upstream",
        member_id,
    )


def have_user_data(members: Members) -> bool:
    """Whether brokers would refuse to take over these members, until a round has left user data behind."""
    return any(member.has_user_data for member in members.values())


def staying(order: MoveOrder, members: Members) -> Mapping[MemberId, Obstacle]:
    """Those of an order's members that stay where they are when it is carried out, and why."""
    return left_out(order.group_id, of_order(members, order)) if order.destination is Road.UPSTREAM else {}


def of_order(members: Members, order: MoveOrder) -> Members:
    """Those of them that were ordered."""
    return {one: member for one, member in members.items() if order.concerns(one)}
