"""Who can be moved as a whole, as clients know themselves."""

from dataclasses import replace

import trio

from bridge.coordinators.mapped.seats import MappedSeat
from bridge.coordinators.moving.whole_groups import as_clients_know, find_in_engine, with_last_words
from tests.support.adopted_world import adopted_world
from tests.support.embedded_world import native_join
from tests.support.engine_bench import FOO, GROUP
from translators.dialects.ids import MemberId


async def test_mapped_members_go_by_what_their_clients_know(autojump_clock: trio.testing.MockClock) -> None:
    """Their broker describes them by the ids of their seats."""
    async with adopted_world() as world:
        found = world.clients()
        first, *others = found
        client = MemberId("client")
        seat = MappedSeat(member_id=client, generation=9, seat_id=first, seat_generation=found[first].generation)
        world.mapped.put(GROUP, seat)
        known = as_clients_know(GROUP, found, world.mapped)
        assert known[client] == replace(found[first], member_id=client, generation=9)
        assert set(known) == {client, *others}


async def test_last_words_of_mapped_members_count(autojump_clock: trio.testing.MockClock) -> None:
    """A broker shows none of a consumer group, and of a classic one the protocol by which the group works."""
    async with adopted_world() as world:
        found = world.clients()
        mapped, silent, _ = found
        said = replace(found[mapped], session_timeout_ms=7_000)
        seat = MappedSeat(member_id=mapped, generation=1, seat_id=mapped, seat_generation=2)
        world.mapped.put(GROUP, replace(seat, member=said))
        world.mapped.put(GROUP, replace(seat, member_id=silent, seat_id=silent))
        shown = {**found, mapped: replace(found[mapped], protocols=(), protocol_name="")}
        assert with_last_words(GROUP, shown, world.mapped) == {**found, mapped: said}


async def test_group_here_is_found_at_rest(autojump_clock: trio.testing.MockClock) -> None:
    """With what each client said and has; or why it can't be moved."""
    async with adopted_world() as world:
        move = world.adopting()
        for held in world.beats():
            move.take(held)
        await move.make()
        found = await find_in_engine(GROUP, world.groups)
        assert not isinstance(found, tuple)
        assert {one: member.using for one, member in found.items()} == {
            one.member_id: one.owned for one in world.players
        }
        world.embedded.send(replace(native_join("native"), group_id=GROUP, subscribed_topic_names=(FOO,)))
        await trio.sleep(0.1)
        refused = await find_in_engine(GROUP, world.groups)
        assert isinstance(refused, tuple)
        assert [one.code for one in refused] == ["EB-MOVE-143"]
