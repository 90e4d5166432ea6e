"""A dry run changes nothing: whatever a group is in, whatever is ordered, journal, roads, mappings and broker are
afterwards as they were, and nothing was asked that could change them.
"""

from dataclasses import dataclass, replace

import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.sight import GroupEars, Look
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from tests.support.moving_world import GENERATION, FakeFacts, MovingWorld, classic_join, described, moving_world
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.reseated_world import described as consumer_member
from tests.support.upstream_world import granted
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, TopicPartition, via_of
from translators.dialects.offsets import OffsetFetch

NAMES = ("a", "b", "c")
ASKS_OF_BROKERS = ("topics", "describe", "offsets")
"""The questions that change nothing there."""
ROADS = (Road.UPSTREAM, Road.EMBEDDED, Road.PASS)


@dataclass(frozen=True, slots=True)
class Given:
    """What a group is in: who of it is heard or joining, has a seat of another generation or is a canary, and how its
    broker describes it.
    """

    heard: frozenset[str]
    joining: frozenset[str]
    there: tuple[str, ...]
    state: str
    is_consumer_group: bool
    is_down: bool
    seats: tuple[tuple[str, bool], ...]
    has_canary: bool
    has_user_data: bool


some = st.frozensets(st.sampled_from(NAMES))
givens = st.builds(
    Given,
    heard=some,
    joining=some,
    there=st.lists(st.sampled_from((*NAMES, "seat-a", "seat-b")), unique=True).map(tuple),
    state=st.sampled_from(("Stable", "Stable", "Stable", "PreparingRebalance", "Dead")),
    is_consumer_group=st.booleans(),
    is_down=st.booleans().flatmap(lambda _: st.sampled_from((False, False, False, True))),
    seats=st.lists(st.tuples(st.sampled_from(NAMES[:2]), st.booleans()), unique_by=lambda it: it[0]).map(tuple),
    has_canary=st.booleans(),
    has_user_data=st.booleans(),
)
orders = st.builds(
    MoveOrder,
    group_id=st.just(GROUP),
    destination=st.sampled_from(ROADS),
    members=st.lists(st.sampled_from((*NAMES, "nobody")), unique=True, max_size=2).map(
        lambda names: tuple(map(MemberId, names))
    ),
    allow_rebalance=st.booleans(),
)


async def set_up(world: MovingWorld, given: Given) -> None:
    """Have the group so."""
    look = Look(
        broker=world.upstream.broker,
        ears=GroupEars(world.upstream.groups.catalog),
        access=world.candidates.around.ways.access,
        via_of=lambda group_id, one: heard.via if (heard := world.roster.members_of(group_id).get(one)) else None,
        road_of=world.router.road,
    )
    broker = world.upstream.broker
    if given.has_canary:
        world.at_broker({"c": frozenset({TopicPartition(TOPIC, 2)})})
        world.joined("c")
        await world.order(Road.UPSTREAM, "c")
        world.answer("c", granted(GENERATION, 2))
        await trio.sleep(1)
    world.candidates.preflight.see = look.see
    world.joined(*given.heard)
    for name in given.joining:
        world.roster.joins(via_of(RequestRef(0, world.via(name).connection, 0)), CLIENT, classic_join(name))
    owned = {name: frozenset({TopicPartition(TOPIC, number)}) for number, name in enumerate(given.there)}
    group = described(owned, given.state)
    if given.has_user_data and given.state == "Stable":
        # Bytes of four letters in place of none, whose length is -1.
        members = tuple(replace(one, assignment=one.assignment[:-4] + b"\0\0\0\4data") for one in group.members)
        group = replace(group, members=members)
    broker.described = group
    if given.is_consumer_group:
        typed = tuple(consumer_member(MemberId(name), (0,), number % 2) for number, name in enumerate(given.there))
        broker.described = DescribedConsumerGroup(
            error=ErrorCode.NONE, group_id=GROUP, group_state=given.state, members=typed
        )
    for name, is_called in given.seats:
        seat = MappedSeat(
            member_id=MemberId(name),
            generation=3,
            seat_id=MemberId(f"seat-{name}"),
            seat_generation=7,
            is_called=is_called,
        )
        world.mapped.recall(GROUP, seat)
        world.router.move_member(GROUP, seat.member_id, Road.MAPPED)
    world.places.write(GROUP)
    broker.is_down = given.is_down


def snapshot(world: MovingWorld) -> object:
    """What a dry run must leave as it was."""
    upstream = world.upstream.groups
    return (
        dict(world.facts.kept),
        world.facts.written,
        world.router.place(GROUP),
        dict(world.router.moved.get(GROUP, {})),
        dict(world.mapped.seats_of(GROUP)),
        set(world.mapped.unheard(GROUP)),
        set(upstream.members_of(GROUP)),
        dict(world.roster.members_of(GROUP)),
        len(world.upstream.broker.commits),
        world.live.all(),
    )


async def run_dry(given: Given, order: MoveOrder) -> None:
    """Order it without making it."""
    async with moving_world(FakeFacts()) as world:
        await set_up(world, given)
        for name in NAMES:
            world.via(name).open.clear()
        world.upstream.broker.asked.clear()
        before = snapshot(world)
        progress = await world.live.check(order)
        assert progress.stage.has_ended
        assert snapshot(world) == before
        asked = [request for via in world.upstream.vias.values() for request, _ in via.open]
        # The canary's heartbeats are its own.
        of_order = [one for one in asked if not (given.has_canary and "ConsumerGroupHeartbeat" in type(one).__name__)]
        assert all(isinstance(request, OffsetFetch) for request in of_order), of_order
        assert all(question.startswith(ASKS_OF_BROKERS) for question in world.upstream.broker.asked)


@given(given=givens, order=orders)
def test_dry_run_changes_nothing(given: Given, order: MoveOrder) -> None:
    """Whatever it says of the order."""
    trio.run(run_dry, given, order, clock=MockClock(autojump_threshold=0))
