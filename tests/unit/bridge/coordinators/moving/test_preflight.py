"""Orders judged by what brokers can do, before anything begins."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.moving.preflight import ASK_S, KEPT_MS, Forecast, KnownAbilities, Preflight, judge
from bridge.coordinators.moving.sight import Sight, Tell
from bridge.migration.abilities import BrokerAbilities, Login, MigrationPolicy, TakeOver
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, MoveStage, Obstacle
from bridge.migration.reasons import Reason, Weight
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from tests.support.moving_world import moving_world
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from translators.dialects.classic import Protocol
from translators.dialects.ids import MemberId, TopicPartition

ABLE = BrokerAbilities(
    takeover=TakeOver.IN_PLACE,
    policy=MigrationPolicy.BIDIRECTIONAL,
    session_min_ms=6_000,
    session_max_ms=1_800_000,
    classic_size_max=10,
    consumer_size_max=10,
    login=Login.OPEN,
)
TO_UPSTREAM, TO_PASS = MoveOrder(GROUP, Road.UPSTREAM), MoveOrder(GROUP, Road.PASS)


def member(member_id: str = "a", session_ms: int = 30_000, assignor: str = "range") -> ClassicMember:
    """A classic member at work."""
    return ClassicMember(
        member_id=MemberId(member_id),
        instance_id=None,
        client=CLIENT,
        protocols=(Protocol(assignor, b""),),
        protocol_name=assignor,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=60_000,
        generation=3,
        using=frozenset({TopicPartition(TOPIC, 0)}),
    )


def test_brokers_that_can_do_it_are_no_obstacle() -> None:
    """In every direction."""
    roads = (Road.PASS, Road.UPSTREAM, Road.EMBEDDED)
    for origin in roads:
        for destination in roads:
            assert codes(judge(MoveOrder(GROUP, destination), origin, [member()], ABLE)) == []


@pytest.mark.parametrize(
    ("order", "origin", "abilities", "code"),
    [
        (TO_UPSTREAM, Road.PASS, replace(ABLE, takeover=TakeOver.IMPOSSIBLE), "EB-MOVE-111"),
        (TO_UPSTREAM, Road.PASS, replace(ABLE, policy=MigrationPolicy.DISABLED), "EB-MOVE-112"),
        (TO_UPSTREAM, Road.EMBEDDED, replace(ABLE, policy=MigrationPolicy.DOWNGRADE), "EB-MOVE-112"),
        (TO_UPSTREAM, Road.PASS, replace(ABLE, consumer_size_max=0), "EB-MOVE-114"),
        (TO_PASS, Road.EMBEDDED, replace(ABLE, session_min_ms=40_000), "EB-MOVE-140"),
        (TO_UPSTREAM, Road.EMBEDDED, replace(ABLE, session_min_ms=40_000), "EB-MOVE-140"),
        (TO_PASS, Road.EMBEDDED, replace(ABLE, classic_size_max=0), "EB-MOVE-141"),
        (TO_PASS, Road.UPSTREAM, replace(ABLE, policy=MigrationPolicy.DISABLED), "EB-MOVE-144"),
    ],
)
def test_what_brokers_refuse_is_said_before(
    order: MoveOrder, origin: Road, abilities: BrokerAbilities, code: str
) -> None:
    """Also what only the second of two ways would come to."""
    found = judge(order, origin, [member()], abilities)
    assert codes(found) == [code]
    assert judge(replace(order, allow_rebalance=True), origin, [member()], abilities) == found


async def test_reason_names_the_member_that_it_is_of() -> None:
    """One; of several the sentence tells."""
    preflight = Preflight()
    preflight.abilities = _able
    known, short = member(), member("b", session_ms=1_000)
    (one,) = (await preflight.look(TO_PASS, Road.EMBEDDED, named(known, short), to_nobody)).obstacles
    assert (one.code, one.member_id) == ("EB-MOVE-140", "b")
    both = named(replace(short, member_id=MemberId("c")), short)
    (many,) = (await preflight.look(TO_PASS, Road.EMBEDDED, both, to_nobody)).obstacles
    assert many.member_id is None


def test_members_without_a_protocol_in_common_are_no_classic_group() -> None:
    """A broker answers 23 to the last of them."""
    found = judge(TO_PASS, Road.UPSTREAM, [member(), member("b", assignor="sticky")], ABLE)
    assert codes(found) == ["EB-MOVE-142"]


def test_only_who_is_moved_is_judged() -> None:
    """A canary of a group whose user data a round leaves behind, in which everybody has a part."""
    canary = MoveOrder(GROUP, Road.UPSTREAM, (MemberId("a"),))
    members = [replace(one, has_user_data=True) for one in (member(), member("b", assignor="of-its-own"))]
    hidden = {MemberId("b"): (TOPIC,)}
    assert codes(judge(canary, Road.PASS, members, ABLE, Sight(hidden))) == []
    assert codes(judge(TO_UPSTREAM, Road.PASS, members, ABLE, Sight(hidden))) == ["EB-MOVE-115", "EB-MOVE-116"]
    assert codes(judge(canary, Road.PASS, members, ABLE, Sight({MemberId("a"): (TOPIC,)}))) == ["EB-MOVE-116"]
    elsewhere = Sight(unheard=frozenset({MemberId("b")}))
    # In that round everybody has a part, and nobody plays it for a stranger.
    assert codes(judge(canary, Road.PASS, members, ABLE, elsewhere)) == ["EB-MOVE-119"]


def test_members_that_come_by_another_way_are_a_reason_where_they_count() -> None:
    """Taken over is who is here; taken in is a whole group; and brokers 4.0 call whoever is left behind."""
    members, elsewhere = [member(), member("b")], Sight(unheard=frozenset({MemberId("b")}))
    (note,) = judge(TO_UPSTREAM, Road.PASS, members, ABLE, elsewhere)
    assert (note.code, note.weight, note.members) == ("EB-MOVE-118", Weight.NOTES, ("b",))
    old = replace(ABLE, takeover=TakeOver.WHOLE_GROUP)
    (reason,) = judge(TO_UPSTREAM, Road.PASS, members, old, elsewhere)
    assert (reason.code, reason.weight) == ("EB-MOVE-117", Weight.DISTURBS)
    assert codes(judge(MoveOrder(GROUP, Road.EMBEDDED), Road.PASS, members, ABLE, elsewhere)) == ["EB-MOVE-132"]


async def _unreachable() -> BrokerAbilities:
    raise BrokerUnreachable("nobody listens")


MEMBERS = {MemberId("a"): member()}


def named(*members: ClassicMember) -> Mapping[MemberId, ClassicMember]:
    """These by their ids."""
    return {one.member_id: one for one in members}


def codes(found: Iterable[Reason | Obstacle]) -> list[str]:
    """What stands in the way; what is only to be known is left out."""
    return [one.code for one in found if not isinstance(one, Reason) or one.weight is not Weight.NOTES]


def to_nobody(_obstacles: tuple[Obstacle, ...]) -> None:
    """Nobody is told."""


async def _slow() -> BrokerAbilities:
    await trio.sleep(2 * ASK_S)
    return replace(ABLE, policy=MigrationPolicy.DISABLED)


async def _silent() -> BrokerAbilities:
    return BrokerAbilities(login=Login.OPEN, policy=MigrationPolicy.DISABLED)


async def test_what_brokers_do_not_say_the_move_finds_out(autojump_clock: MockClock) -> None:
    """Its pilot is refused, and nothing has changed."""
    preflight = Preflight()
    assert await preflight.look(TO_UPSTREAM, Road.PASS, MEMBERS, to_nobody) == Forecast()
    for abilities in (_unreachable, _slow, _silent):
        preflight.abilities = KnownAbilities(abilities, lambda: None, lambda: 0).now
        assert await preflight.look(TO_UPSTREAM, Road.PASS, MEMBERS, to_nobody) == Forecast()


async def _disabled() -> BrokerAbilities:
    return replace(ABLE, policy=MigrationPolicy.DISABLED)


async def test_order_and_dry_run_say_the_same_and_ask_no_broker_for_a_member(autojump_clock: MockClock) -> None:
    """The reason has a code and a remedy."""
    async with moving_world() as world:
        world.at_broker({"a": frozenset({TopicPartition(TOPIC, 0)})})
        world.joined("a")
        world.candidates.preflight.abilities = _disabled
        checked, ordered = await world.live.check(TO_UPSTREAM), await world.order(Road.UPSTREAM)
        for one in (checked, ordered):
            assert (one.stage, [obstacle.code for obstacle in one.obstacles]) == (MoveStage.REFUSED, ["EB-MOVE-112"])
        assert (world.asked("a"), world.road("a")) == ([], Road.PASS)


async def test_second_of_two_ways_asks_no_broker_again(autojump_clock: MockClock) -> None:
    """Requests are held by then, for a third of a session at most: a broker that says nothing would take all of it."""
    async with moving_world() as world:
        world.at_broker({"a": frozenset({TopicPartition(TOPIC, 0)})})
        world.joined("a")
        world.candidates.preflight.abilities = _slow
        before_s = trio.current_time()
        found = await world.candidates.find_again(TO_UPSTREAM, Road.PASS)
        assert list(found) == ["a"]
        assert trio.current_time() - before_s < ASK_S


async def test_what_is_seen_of_a_group_is_said_of_any_brokers() -> None:
    """Commits by another way, and topics that clients may not see: also where brokers say nothing of themselves."""

    async def see(_order: MoveOrder, _origin: Road, _members: object, _tell: Tell) -> Sight:
        return Sight({MemberId("a"): (TOPIC,)}, has_foreign_commits=True)

    preflight = Preflight()
    preflight.see = see
    for abilities in (_silent, _able):
        preflight.abilities = abilities
        found = (await preflight.look(TO_UPSTREAM, Road.PASS, MEMBERS, to_nobody)).obstacles
        assert codes(found) == ["EB-MOVE-107", "EB-MOVE-116"]
        assert found[1].member_id == "a"
        found = (await preflight.look(MoveOrder(GROUP, Road.EMBEDDED), Road.PASS, MEMBERS, to_nobody)).obstacles
        assert codes(found) == ["EB-MOVE-107"]


async def test_what_could_not_be_seen_is_said() -> None:
    """It is not the same as nothing: commits that can't be compared keep the group where it is, and of rights that
    nobody tells the broker has the last word.
    """

    async def see(_order: MoveOrder, _origin: Road, _members: object, _tell: Tell) -> Sight:
        return Sight(has_foreign_commits=None, unasked=frozenset({MemberId("a")}))

    preflight = Preflight()
    preflight.see = see
    for abilities in (_silent, _able):
        preflight.abilities = abilities
        forecast = await preflight.look(TO_UPSTREAM, Road.PASS, MEMBERS, to_nobody)
        assert (codes(forecast.obstacles), codes(forecast.notes)) == (["EB-MOVE-108"], ["EB-MOVE-122"])
        assert "'a'" not in forecast.notes[0].sentence
        assert forecast.notes[0].member_id == "a"


async def _able() -> BrokerAbilities:
    return ABLE


async def test_brokers_are_not_asked_at_each_order() -> None:
    """Until their word is old, or they are others; one that they did not give is asked for anew."""
    asked: list[BrokerAbilities] = []
    at_ms, brokers, says = 0, 1, ABLE

    async def ask() -> BrokerAbilities:
        asked.append(says)
        return says

    known = KnownAbilities(ask, lambda: brokers, lambda: at_ms)
    assert [await known.now(), await known.now(), len(asked)] == [ABLE, ABLE, 1]
    at_ms += KEPT_MS
    assert [await known.now(), len(asked)] == [ABLE, 2]
    brokers, says = 2, BrokerAbilities()
    assert [await known.now(), await known.now(), len(asked)] == [says, says, 4]
    says = ABLE
    assert [await known.now(), await known.now(), len(asked)] == [ABLE, ABLE, 5]
    known.forget()
    assert [await known.now(), len(asked)] == [ABLE, 6]


async def test_refusal_of_brokers_is_asked_for_anew_at_the_next_order(autojump_clock: MockClock) -> None:
    """An operator mends the policy and gives the order again: it was refused for half a minute more."""
    says = [await _disabled(), ABLE]
    async with moving_world() as world:
        world.at_broker({"a": frozenset({TopicPartition(TOPIC, 0)})})
        world.joined("a")

        async def ask() -> BrokerAbilities:
            return says[0]

        known = KnownAbilities(ask, lambda: None, lambda: 0)
        preflight = world.candidates.preflight
        preflight.abilities, preflight.forget_abilities = known.now, known.forget
        refused = await world.live.check(TO_UPSTREAM)
        del says[0]
        checked = await world.live.check(TO_UPSTREAM)
    assert [obstacle.code for obstacle in refused.obstacles] == ["EB-MOVE-112"]
    assert checked.obstacles == ()


async def test_who_was_found_long_ago_is_looked_for_once_more(autojump_clock: MockClock) -> None:
    """A look takes its time, and members may join meanwhile."""

    async def see(_order: MoveOrder, _origin: Road, _members: object, _tell: Tell) -> Sight:
        await trio.sleep(1)
        world.at_broker({"b": frozenset({TopicPartition(TOPIC, 0)})})
        return Sight()

    async with moving_world() as world:
        world.at_broker({"a": frozenset({TopicPartition(TOPIC, 0)})})
        world.candidates.preflight.see = see
        found = await world.candidates.find(TO_UPSTREAM, Road.PASS)
        assert list(found) == ["b"]
