"""Members of a group of the engine's as a move finds them."""

from dataclasses import replace

import trio

from bridge.coordinators.moving.engine_members import find_in_engine
from tests.support.adopted_world import adopted_world
from tests.support.embedded_world import native_join
from tests.support.engine_bench import FOO, GROUP


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
