"""Puts together what moves live groups: the router, the roads of moves, and where groups were moved to before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from bridge.coordinators.embedded.groups import EmbeddedGroups
from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.moving.candidates import Candidates
from bridge.coordinators.moving.groups import MovingGroups
from bridge.coordinators.moving.journey_door import Parts
from bridge.coordinators.moving.moves import LiveMoves
from bridge.coordinators.moving.places import FACTS, Places
from bridge.coordinators.moving.preflight import Preflight
from bridge.coordinators.moving.requests import Ways
from bridge.coordinators.moving.roster_watch import RosterWatch
from bridge.coordinators.moving.sight import GroupEars, Look
from bridge.coordinators.moving.surroundings import Around
from bridge.coordinators.placement import GroupPlaces
from bridge.coordinators.upstream.groups import UpstreamGroups
from bridge.coordinators.upstream.seat_names import SeatNames
from bridge.migration.roster import Roster
from bridge.migration.route import Road, Router
from bridge.net.reply_routes import ReplyRoutes
from bridge.ports import Broker, Clock, Coordinators
from bridge.session.contracts import Groups, Passing
from bridge.session.old_commits import OldCommits
from translators.classic_member.member_records import profile_of
from translators.classic_member.profile import Profile
from translators.dialects.ids import GroupId, MemberId, MemberRef, Via

THIS_NODE = 0
"""The node whose connections are served here, as `ReplyRoutes` numbers it."""


Seats = Mapping[GroupId, Mapping[MemberId, MemberId]]
"""The ids by which brokers know members, by those that their clients say."""


@dataclass(frozen=True, slots=True)
class Moving:
    """What moves groups, and the roads on which requests come to it."""

    live: LiveMoves
    preflight: Preflight
    """What brokers can do, once there is who can ask them."""
    roads: Mapping[Road, Groups]
    passing: Passing
    mapped: MappedGroups
    places: Places
    seats: Callable[[], Seats]
    """As whom brokers know members whose clients say other ids, or other generations."""
    profile: Callable[[MemberRef], Profile | None]
    """What a classic client said of itself that the bridge translates, on whichever road; None where it has none."""
    recall: Callable[[], None]
    """Put groups where the journal has them; to be called once it is open, before clients come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """Those between whom groups are moved, and what a move asks of the shell."""

    router: Router
    stays: GroupPlaces
    reply_routes: ReplyRoutes
    embedded: EmbeddedGroups
    upstream: UpstreamGroups
    requests_of_embedded: Groups
    requests_of_upstream: Groups
    broker: Broker
    coordinators: Coordinators
    clock: Clock
    wall_ms: Callable[[], int]
    passing: Passing
    old_commits: OldCommits = field(default_factory=OldCommits)


def put_together(between: Between) -> Moving:
    """Make what moves groups between these roads."""
    router, routes, embedded = between.router, between.reply_routes, between.embedded

    def unmapped(member: MemberRef, goes_on: MemberId | None) -> None:
        live.unmapped(member, goes_on)

    roster = Roster()
    # A LeaveGroup of several comes by it whose members may be half taken over, and have seats that upstream names.
    mapped = MappedGroups(Clients(partial(routes.deliver, road=Road.MAPPED), between.upstream.names.access), unmapped)
    roads: dict[Road, Groups] = {
        Road.EMBEDDED: between.requests_of_embedded,
        Road.UPSTREAM: between.requests_of_upstream,
        Road.MAPPED: mapped,
    }
    ways = Ways(router, routes.access, partial(routes.deliver, road=Road.MOVING), roads, roster)
    moving = roads[Road.MOVING] = MovingGroups(ways, between.clock.now_ms)
    places = Places(router, mapped, between.upstream.names, embedded)
    # Its SyncGroup passes, by the words that its answer hands out.
    mapped.joins = roster.joins
    ways.ears = lambda: mapped.ears
    ears = GroupEars(between.upstream.catalog)
    mapped.passes, mapped.settled = ears.hear, router.return_member
    moving.lost = lambda connection: roster.disconnected(Via(THIS_NODE, connection))
    surroundings = Around(ways=ways, upstream=between.upstream, mapped=mapped, now_ms=between.clock.now_ms)
    parts = Parts(
        candidates=Candidates(
            around=surroundings, router=router, roster=roster, broker=between.broker, embedded=embedded
        ),
        stays=between.stays,
        moving=moving,
        places=places,
        coordinators=between.coordinators,
        clock=between.clock,
        wall_ms=between.wall_ms,
    )
    via_of = partial(_via_of, roster, embedded, between.upstream)
    look = Look(
        broker=between.broker,
        ears=ears,
        access=routes.access,
        via_of=via_of,
        road_of=router.road,
        old_commits=between.old_commits,
    )
    parts.candidates.preflight.see, parts.candidates.preflight.listen = look.see, ears.note_ways
    live = LiveMoves(parts, embedded.supervised)
    between.upstream.tell_of_the_gone(live.forgotten)
    return Moving(
        live=live,
        preflight=parts.candidates.preflight,
        roads=roads,
        passing=RosterWatch(between.passing, roster, ears),
        mapped=mapped,
        places=places,
        seats=partial(seats_of_all, mapped, between.upstream.names),
        profile=partial(_profile, embedded, between.upstream),
        recall=lambda: live.resume(tuple(places.restore(embedded.facts(FACTS)))),
    )


def seats_of_all(mapped: MappedGroups, names: SeatNames) -> Seats:
    """By group; costs all members that were moved and have not joined since."""
    found: dict[GroupId, dict[MemberId, MemberId]] = {}
    for member in mapped.members():
        seat = mapped.seat(member.group_id, member.member_id)
        if seat is not None:
            found.setdefault(member.group_id, {})[member.member_id] = seat.seat_id
    for member, seat_id in names.all().items():
        found.setdefault(member.group_id, {})[member.member_id] = seat_id
    return found


def _profile(embedded: EmbeddedGroups, upstream: UpstreamGroups, member: MemberRef) -> Profile | None:
    return upstream.profile_of(member) or profile_of(embedded.owner.machines.get(member))


def _via_of(
    roster: Roster, embedded: EmbeddedGroups, upstream: UpstreamGroups, group_id: GroupId, member_id: MemberId
) -> Via | None:
    """By which connection a member was heard last, on whichever road; None of whom nobody heard here."""
    said = roster.members_of(group_id).get(member_id)
    if embedded.has_member(group_id, member_id):
        return embedded.owner.machines.via_of(MemberRef(group_id, member_id))
    if upstream.translates(group_id, member_id):
        return upstream.via_of(MemberRef(group_id, member_id))
    return None if said is None else said.via
