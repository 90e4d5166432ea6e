"""What brokers and the group itself are asked before an order is judged, and for how long their word counts."""

from collections.abc import Mapping
from dataclasses import replace

import trio
from trio.testing import MockClock

from bridge.coordinators.moving.preflight import ASK_S, KEPT_MS, Forecast, KnownAbilities, Preflight
from bridge.coordinators.moving.sight import Sight, Tell
from bridge.migration.abilities import BrokerAbilities, Login
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, MoveStage, Obstacle
from bridge.migration.route import Road
from bridge.ports import BrokerUnreachable
from tests.support.judged_orders import ABLE, TO_PASS, TO_UPSTREAM, codes, member
from tests.support.moving_world import moving_world
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import MemberId, TopicPartition


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


async def _unreachable() -> BrokerAbilities:
    raise BrokerUnreachable("nobody listens")


MEMBERS = {MemberId("a"): member()}


def named(*members: ClassicMember) -> Mapping[MemberId, ClassicMember]:
    """These by their ids."""
    return {one.member_id: one for one in members}


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
