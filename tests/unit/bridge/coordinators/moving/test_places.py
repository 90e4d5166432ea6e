"""Where groups and members were moved to, in one fact a group: written whole, read whole or not at all."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from bridge.coordinators.ledger import Clients
from bridge.coordinators.mapped.groups import MappedGroups
from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.places import FACTS, PAUSE_MS, Places, SpacedWrites
from bridge.coordinators.moving.unfinished import UnfinishedMove
from bridge.coordinators.unread_facts import UNREAD
from bridge.coordinators.upstream.seat_names import SeatNames
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road, Router
from bridge.net.clock import TrioClock
from bridge.session.contracts import NoAccess
from bridge.supervision import MOVES, Failures, start_job
from tests.support.moving_world import BLOB, FakeFacts, moving_world
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import Protocol
from translators.dialects.ids import GroupId, MemberId, MemberRef, TopicPartition

PAUSE_S = PAUSE_MS / 1000
OTHER = GroupId("other")
ID = "{number}-0123456789abcdef"
IDS = st.text(max_size=8).map(MemberId)
MEMBERS = st.builds(
    ClassicMember,
    member_id=IDS,
    instance_id=st.none(),
    client=st.just(CLIENT),
    protocols=st.just((Protocol("range", BLOB),)),
    protocol_name=st.just("range"),
    session_timeout_ms=st.integers(1, 60_000),
    rebalance_timeout_ms=st.integers(1, 60_000),
    generation=st.integers(-1, 9),
    using=st.frozensets(st.builds(TopicPartition, st.just(TOPIC), st.integers(0, 5)), max_size=3),
    is_elsewhere=st.booleans(),
    epoch=st.integers(-1, 9),
)
SEATS = st.builds(
    MappedSeat,
    member_id=IDS,
    generation=st.integers(0, 9),
    seat_id=IDS,
    seat_generation=st.integers(0, 9),
    is_called=st.booleans(),
    member=st.none() | MEMBERS,
)
SETTLED = st.sampled_from([Road.PASS, Road.UPSTREAM, Road.EMBEDDED])
UNFINISHED = st.builds(
    UnfinishedMove,
    st.just(GROUP),
    SETTLED,
    SETTLED,
    st.lists(IDS, max_size=2).map(tuple),
    st.lists(MEMBERS, max_size=3).map(tuple),
    allow_rebalance=st.booleans(),
)


class Life:
    """One life of the bridge, as far as places go."""

    def __init__(self, facts: FakeFacts) -> None:
        self.router = Router(())
        self.mapped = MappedGroups(Clients(lambda _ref, _reply: None, lambda _: NoAccess()), lambda _, _goes_on: None)
        self.names = SeatNames(lambda _: NoAccess())
        self.places = Places(self.router, self.mapped, self.names, facts)
        self.unfinished = tuple(self.places.restore(facts.kept))

    def state(self) -> object:
        """Everything that has to survive; seats whose clients may know them by now are waited for besides."""
        mapped, names = self.mapped.seats_of(GROUP), self.names.of(GROUP)
        moved = {one: road for one, road in self.router.moved.get(GROUP, {}).items() if road is not Road.MAPPED}
        return (self.router.place(GROUP), moved, mapped, names)


@given(
    place=st.none() | st.just(Road.UPSTREAM),
    roads=st.dictionaries(IDS, SETTLED, max_size=3),
    seats=st.lists(SEATS, max_size=3),
    names=st.dictionaries(IDS, IDS, max_size=2),
    move=st.none() | UNFINISHED,
)
def test_what_is_written_is_read_again(
    place: Road | None,
    roads: dict[MemberId, Road],
    seats: list[MappedSeat],
    names: dict[MemberId, MemberId],
    move: UnfinishedMove | None,
) -> None:
    """Whatever is known of a group, in the middle of a move or not."""
    facts = FakeFacts()
    life = Life(facts)
    if place is not None:
        life.router.place_group(GROUP, place)
    for member_id, road in roads.items():
        life.router.move_member(GROUP, member_id, road)
    for seat in seats:
        life.mapped.put(GROUP, seat)
    for member_id, seat_id in names.items():
        life.names.put(MemberRef(GROUP, member_id), seat_id)
    life.places.write(GROUP)
    if move is not None:
        order = MoveOrder(GROUP, move.destination, move.only, allow_rebalance=move.allow_rebalance)
        assert trio.run(life.places.begin_move, order, move.origin, move.members)
    next_life = Life(facts)
    assert next_life.state() == life.state()
    assert next_life.unfinished == (() if move is None else (move,))
    next_life.places.end_move(GROUP)
    assert Life(facts).unfinished == ()


def test_seats_of_older_journals_say_less() -> None:
    """What a member said of itself was not kept."""
    seat = {"member_id": "a", "generation": 1, "seat_id": "b", "seat_generation": 2, "is_called": False}
    life = Life(FakeFacts({FACTS + GROUP: json.dumps({"mapped": [seat]})}))
    (known,) = life.mapped.seats_of(GROUP).values()
    assert (known.seat_id, known.member) == ("b", None)


def test_group_that_goes_by_the_rules_leaves_nothing() -> None:
    """And one in the middle of a move has no place of its own."""
    facts = FakeFacts()
    life = Life(facts)
    life.router.place_group(GROUP, Road.MOVING)
    life.places.write(GROUP)
    assert facts.kept == {}
    life.router.place_group(GROUP, Road.UPSTREAM)
    life.places.write(GROUP)
    assert facts.kept == {FACTS + GROUP: '{"road":"upstream"}'}
    life.router.place_group(GROUP, Road.PASS)
    life.places.write(GROUP)
    assert facts.kept == {}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        json.dumps({"road": "upstream", "mapped": [{"member_id": "a"}]}),
        json.dumps({"road": "upstream", "members": {"a": "nowhere"}}),
        json.dumps({"road": "upstream", "move": {"to": "pass"}}),
        json.dumps({"road": "upstream", "mapped": 7}),
        json.dumps({"road": "sideways"}),
    ],
)
def test_fact_that_can_t_be_read_is_said_and_none_of_it_counts(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """Half of a group's members on another road than they are would be worse."""
    other = json.dumps({"road": "upstream"})
    life = Life(FakeFacts({FACTS + GROUP: text, FACTS + "other": other}))
    is_list = text == "[]"
    assert ("EB-MOVE-201" in caplog.text) or is_list
    assert life.state() == (None, {}, {}, {})
    assert [one for one in ("other",) if life.router.place(type(GROUP)(one)) is Road.UPSTREAM] == ["other"]


def test_fact_that_can_t_be_read_outlives_what_is_written(caplog: pytest.LogCaptureFixture) -> None:
    """Another release knows where those members are: what is known here does not end it, a new place puts it aside,
    and the sentence says where it stands then.
    """
    facts = FakeFacts({FACTS + GROUP: "{"})
    life = Life(facts)
    life.places.write(GROUP)
    life.places.end_move(GROUP)
    assert facts.kept == {FACTS + GROUP: "{"}
    life.router.place_group(GROUP, Road.UPSTREAM)
    life.places.write(GROUP)
    assert facts.kept == {UNREAD + FACTS + GROUP: "{", FACTS + GROUP: '{"road":"upstream"}'}
    assert f"`{UNREAD}{FACTS}`" in caplog.text
    life.router.place_group(GROUP, Road.PASS)
    life.places.write(GROUP)
    assert facts.kept == {UNREAD + FACTS + GROUP: "{"}


def test_facts_that_can_t_be_read_stand_aside_beside_one_another() -> None:
    """Releases that take turns may leave one each time: the second one was the end of the first."""
    facts, aside = FakeFacts(), dict[str, str]()
    for text, name in (("[", f"{UNREAD}{FACTS}{GROUP}"), ("{", f"{UNREAD}2-{FACTS}{GROUP}")):
        facts.kept[FACTS + GROUP] = text
        life = Life(facts)
        assert life.router.place(GROUP) is None
        life.router.place_group(GROUP, Road.UPSTREAM)
        life.places.write(GROUP)
        aside[name] = text
        assert facts.kept == {**aside, FACTS + GROUP: '{"road":"upstream"}'}


@asynccontextmanager
async def writing(written: list[GroupId]) -> AsyncIterator[SpacedWrites]:
    """Until the end of the block."""
    writes = SpacedWrites(written.append, TrioClock().now_ms, partial(Failures().spare, MOVES))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(writes.keep_writing)
        await trio.testing.wait_all_tasks_blocked()
        yield writes
        nursery.cancel_scope.cancel()


async def test_the_first_is_written_at_once_and_those_behind_it_as_one(autojump_clock: MockClock) -> None:
    """Each group by itself, and again at once when it has been quiet."""
    written: list[GroupId] = []
    async with writing(written) as writes:
        for _ in range(5):
            writes.write(GROUP)
        writes.write(OTHER)
        assert written == [GROUP, OTHER]
        await trio.sleep(2 * PAUSE_S)
        assert written == [GROUP, OTHER, GROUP]
        await trio.sleep(PAUSE_S)
        writes.write(GROUP)
        assert written == [GROUP, OTHER, GROUP, GROUP]


async def test_nothing_is_kept_of_groups_that_were_written_long_ago(autojump_clock: MockClock) -> None:
    """A fleet has thousands of groups, and each is moved once."""
    written: list[GroupId] = []
    async with writing(written) as writes:
        for number in range(50):
            writes.write(GroupId(f"group-{number}"))
        await trio.sleep(2 * PAUSE_S)
        for _ in range(2):
            writes.write(GROUP)
        await trio.sleep(2 * PAUSE_S)
        assert written[50:] == [GROUP, GROUP]
        assert writes._written_ms.keys() == {GROUP}


@pytest.mark.parametrize("ends", [False, True], ids=["in time", "as the bridge ends"])
async def test_bug_in_one_group_leaves_the_others_written(autojump_clock: MockClock, ends: bool) -> None:
    """They waited for their next change, and a bridge killed meanwhile did not know where their members are."""
    written, failures, others = list[GroupId](), Failures(), [GroupId(f"group-{number}") for number in range(9)]

    def write(group_id: GroupId) -> None:
        if group_id == OTHER and written.count(OTHER) == 1:
            raise RuntimeError("a bug")
        written.append(group_id)

    writes = SpacedWrites(write, TrioClock().now_ms, partial(failures.spare, MOVES))
    async with trio.open_nursery() as nursery:
        start_job(nursery, failures, MOVES, writes.keep_writing)
        await trio.testing.wait_all_tasks_blocked()
        for group_id in (OTHER, *others) * 2:
            writes.write(group_id)
        if not ends:
            await trio.sleep(2 * PAUSE_S)
            assert sorted(written) == sorted((OTHER, *others, *others))
        nursery.cancel_scope.cancel()
    assert sorted(written) == sorted((OTHER, *others, *others))
    assert failures.counts[MOVES.name] == 1


async def test_what_waits_is_written_when_the_bridge_ends(autojump_clock: MockClock) -> None:
    """Nothing is left to the next life that this one knew."""
    written: list[GroupId] = []
    async with writing(written) as writes:
        writes.write(GROUP)
        writes.write(GROUP)
    assert written == [GROUP, GROUP]


async def written_bytes(members: int) -> int:
    """What the journal is given while so many mapped members join, one behind the other."""
    facts = CountedFacts()
    async with moving_world(facts) as world:
        for number in range(members):
            member_id = MemberId(ID.format(number=number))
            seat = MappedSeat(member_id=member_id, generation=3, seat_id=member_id, seat_generation=7)
            world.mapped.put(GROUP, seat)
            world.router.move_member(GROUP, member_id, Road.MAPPED)
        for number in range(members):
            world.mapped.end(MemberRef(GROUP, MemberId(ID.format(number=number))))
        await trio.sleep(2 * PAUSE_S)
        assert FACTS + GROUP not in facts.kept
    return facts.taken_bytes


class CountedFacts(FakeFacts):
    """Counts what it is given."""

    taken_bytes = 0

    def keep_fact(self, name: str, text: str) -> None:
        """See `places.DurableFacts`."""
        self.taken_bytes += len(text)
        FakeFacts.keep_fact(self, name, text)


async def test_journal_grows_with_the_members_that_join_and_not_with_their_square(autojump_clock: MockClock) -> None:
    """Each end of a mapping wrote all that were left: of 1,000 members 300 MB, while nobody else was answered."""
    few, many = [await written_bytes(members) for members in (20, 200)]
    assert 0 < many < 15 * few
