"""What happens to a group in each story: every change is a step, and the fleet settles before the next."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import trio

from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec
from tests.support.casts import CASTS, KINDS, Wardrobe
from tests.support.grown_topic import grow_topic

PARTITIONS = 7
STABLE_MS = 1200
SETTLE_TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StorySetting:
    """Where a story is told: the fleet, who plays, the programs, and how long a dead classic member is waited for."""

    fleet: Fleet
    cast: str
    wardrobe: Wardrobe
    session_timeout_ms: int

    async def spec(self, number: int, *, static: bool = False, upgraded: bool = False) -> MemberSpec:
        """The member of seat `number` (from 1); `upgraded` gives its KIP-848 kind."""
        kinds = CASTS[self.cast]
        kind = kinds[(number - 1) % len(kinds)]
        chosen = KINDS[kind].upgraded if upgraded else kind
        spec = partial(self.wardrobe.spec, f"m{number}", chosen, self.session_timeout_ms, static=static)
        return await trio.to_thread.run_sync(spec)

    async def form(self, specs: Sequence[MemberSpec]) -> None:
        """Step `form`: start all at once."""
        async with self.fleet.step("form"):
            for spec in specs:
                await self.fleet.start(spec)
            await self.settle()

    async def add(self, spec: MemberSpec) -> None:
        """Step `add SEAT`."""
        async with self.fleet.step(f"add {spec.seat}"):
            await self.fleet.start(spec)
            await self.settle()

    async def leave(self, seat: str) -> None:
        """Step `leave SEAT`."""
        async with self.fleet.step(f"leave {seat}"):
            await self.fleet.stop(seat)
            await self.settle()

    async def bounce(self, spec: MemberSpec) -> None:
        """Step `bounce SEAT`: stopped, and started again at once."""
        async with self.fleet.step(f"bounce {spec.seat}"):
            await self.fleet.roll(spec)
            await self.settle()

    async def settle(self) -> None:
        """Wait until nothing moves."""
        await self.fleet.wait_settled(stable_ms=STABLE_MS, timeout_s=SETTLE_TIMEOUT_S)

    async def seats(self, count: int, *, static: bool = False, upgraded: bool = False) -> list[MemberSpec]:
        """The members of seats 1 to `count`."""
        return [await self.spec(number, static=static, upgraded=upgraded) for number in range(1, count + 1)]


async def tell_form(setting: StorySetting) -> None:
    """Three start together."""
    await setting.form(await setting.seats(3))


async def tell_scale_up(setting: StorySetting) -> None:
    """Two, then three, then four."""
    await setting.form(await setting.seats(2))
    await setting.add(await setting.spec(3))
    await setting.add(await setting.spec(4))


async def tell_scale_down(setting: StorySetting) -> None:
    """Four, of which two stop at the same time, then one more."""
    await setting.form(await setting.seats(4))
    async with setting.fleet.step("leave m2 and m3"):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(setting.fleet.stop, "m2")
            nursery.start_soon(setting.fleet.stop, "m3")
        await setting.settle()
    await setting.leave("m1")


async def tell_kill(setting: StorySetting) -> None:
    """Three, one is killed; its session has to run out."""
    await setting.form(await setting.seats(3))
    async with setting.fleet.step("kill m1"):
        await setting.fleet.kill("m1")
        await setting.settle()


async def tell_leave(setting: StorySetting) -> None:
    """Three, one leaves in good order."""
    await setting.form(await setting.seats(3))
    await setting.leave("m2")


async def tell_bounce(setting: StorySetting) -> None:
    """Three static members; two are restarted one after the other inside their sessions."""
    specs = await setting.seats(3, static=True)
    await setting.form(specs)
    await setting.bounce(specs[0])
    await setting.bounce(specs[2])


async def tell_grow(setting: StorySetting) -> None:
    """Two members; the topic gets one more partition, so that one member has nothing to do with it."""
    await setting.form(await setting.seats(2))
    async with setting.fleet.step("grow"):
        (topic,) = setting.fleet.target.topics
        setting.fleet.partitions = await trio.to_thread.run_sync(
            grow_topic, setting.fleet.target.bootstrap, topic, PARTITIONS + 1
        )
        await setting.settle()


async def tell_upgrade(setting: StorySetting) -> None:
    """Three classic members, each replaced by one that speaks KIP-848."""
    await setting.form(await setting.seats(3))
    await _replace_all(setting, await setting.seats(3, upgraded=True))


async def tell_downgrade(setting: StorySetting) -> None:
    """Three members that speak KIP-848, each replaced by a classic one."""
    await setting.form(await setting.seats(3, upgraded=True))
    await _replace_all(setting, await setting.seats(3))


async def tell_static_roll(setting: StorySetting) -> None:
    """Three static members, each bounced into KIP-848 and back: seats keep their partitions, so nobody else hears."""
    before, after = await setting.seats(3, static=True), await setting.seats(3, static=True, upgraded=True)
    await setting.form(before)
    for spec in (*after, *before):
        await setting.bounce(spec)


async def _replace_all(setting: StorySetting, specs: Sequence[MemberSpec]) -> None:
    for spec in specs:
        await setting.leave(spec.seat)
        await setting.add(spec)


Tell = Callable[[StorySetting], Awaitable[None]]

STORIES: Mapping[str, Tell] = {
    "form": tell_form,
    "scale-up": tell_scale_up,
    "scale-down": tell_scale_down,
    "kill": tell_kill,
    "leave": tell_leave,
    "bounce": tell_bounce,
    "grow": tell_grow,
    "upgrade": tell_upgrade,
    "downgrade": tell_downgrade,
    "static-roll": tell_static_roll,
}
"""By the names that tests and the matrix show."""

ROLLS_PER_SEAT: Mapping[str, int] = {"upgrade": 1, "downgrade": 1, "static-roll": 2}
"""How often each seat changes its protocol."""

STATIC_STORIES = frozenset({"bounce", "static-roll"})


def can_play(cast: str, story: str) -> bool:
    """Whether a cast can play a story: every seat must be able to be static, or to change its protocol."""
    kinds = [KINDS[name] for name in CASTS[cast]]
    if story in STATIC_STORIES and not all(kind.static for kind in kinds):
        return False
    return story not in ROLLS_PER_SEAT or any(KINDS[kind.upgraded] != kind for kind in kinds)
