"""What happens in each story, up to the event that it is about and after it."""

import trio

from tests.support.causes.setting import SLOW_S, Setting

GROWN = 9
SLOWER_S = 3.0
SHORT_POLL_MS = 4_500
TOO_SLOW_S = 8.0
REST_S = 6.0
FROZEN_S = 2.0
SLOWEST_S = 5.0
LONG_S = 8.0


async def tell_first_join(setting: Setting) -> None:
    """A group's first member."""
    setting.begin()
    await setting.form(setting.slow("a"))


async def tell_join(setting: Setting) -> None:
    """A third one, while the first takes its time to give something up."""
    await setting.form(setting.slow("a"), setting.member("b"))
    setting.begin()
    await setting.form(setting.member("c"))


async def tell_slow_revoke(setting: Setting) -> None:
    """A third one, while the second takes two seconds in its revoked callback."""
    await setting.form(setting.member("a"), setting.slow("b", 2.0))
    setting.begin()
    await setting.form(setting.member("c"))


async def tell_slow_processing(setting: Setting) -> None:
    """A third one, while the second does not poll for some seconds."""
    await setting.form(setting.member("a"), setting.member("b", acts=("--rest-s", str(REST_S))))
    setting.begin()
    setting.fleet.nudge("b")
    await setting.form(setting.member("c"))


async def tell_frozen(setting: Setting) -> None:
    """A third one, while the second hears nothing at all."""
    await setting.form(setting.member("a"), setting.member("b"))
    setting.fleet.freeze("b")
    setting.begin()
    await setting.fleet.start(setting.member("c"))
    await setting.wait_begun()
    await trio.sleep(FROZEN_S)
    setting.fleet.thaw("b")
    await setting.settle()


async def tell_frozen_out(setting: Setting) -> None:
    """One of three hears nothing for longer than its session, and comes back when the others have what it had."""
    await setting.form(setting.member("a"), setting.member("b"), setting.member("c"))
    setting.begin()
    setting.freeze("c")
    await setting.wait_ended()
    await setting.settle()
    setting.fleet.thaw("c")
    await setting.settle()


async def tell_poll_timeout(setting: Setting) -> None:
    """One of three does not poll for longer than it may (max.poll.interval.ms), and comes back."""
    late = setting.member("c", acts=("--rest-s", str(TOO_SLOW_S)), poll_ms=SHORT_POLL_MS)
    await setting.form(setting.member("a"), setting.member("b"), late)
    setting.begin()
    setting.rest("c")
    await setting.wait_ended()
    await trio.sleep(TOO_SLOW_S)
    await setting.settle()


async def tell_leave(setting: Setting) -> None:
    """One of three goes."""
    await setting.form(setting.slow("a"), setting.member("b"), setting.member("c"))
    setting.begin()
    await setting.fleet.stop("c")
    await setting.settle()


async def tell_expiry(setting: Setting) -> None:
    """One of three is killed."""
    await setting.form(setting.slow("a"), setting.member("b"), setting.member("c"))
    setting.begin()
    await setting.fleet.kill("c")
    await setting.settle()


async def tell_timeout(setting: Setting) -> None:
    """A third one comes, and the second takes longer to give something up than it may."""
    late = setting.member("b", revoke_s=TOO_SLOW_S, poll_ms=SHORT_POLL_MS)
    await setting.form(setting.member("a", poll_ms=SHORT_POLL_MS), late)
    setting.begin()
    await setting.form(setting.member("c", poll_ms=SHORT_POLL_MS))


async def tell_subscription(setting: Setting) -> None:
    """The second one wants one more topic."""
    more = f"{setting.case.group}-more"
    wanted = await setting.create_topic(more, 3)
    await setting.form(setting.slow("a"), setting.member("b", acts=("--subscribe", more)))
    setting.begin()
    setting.fleet.nudge("b")
    setting.fleet.partitions |= wanted
    await setting.settle()


async def tell_partitions(setting: Setting) -> None:
    """The topic gets more partitions."""
    await setting.form(setting.member("a"), setting.slow("b"))
    setting.begin()
    await setting.grow_topic(f"{setting.case.group}-topic", GROWN)
    await setting.settle()


async def tell_topic(setting: Setting) -> None:
    """A topic that all have wanted from the beginning is there at last."""
    await setting.form(setting.member("a"), setting.slow("b"))
    setting.begin()
    setting.fleet.partitions |= await setting.create_topic(f"{setting.case.group}-later", 3)
    await setting.settle()


async def tell_static_return(setting: Setting) -> None:
    """A static member is killed, expires, and comes back."""
    static = setting.member("b", instance_id="seat-b")
    await setting.form(setting.slow("a"), static)
    await setting.fleet.kill("b")
    await setting.settle()
    setting.begin()
    await setting.form(static)


async def tell_leader_rejoin(setting: Setting) -> None:
    """The leader of a classic group joins again, for no reason that anybody can see."""
    await setting.form(setting.member("a", acts=("--rejoins",)), setting.slow("b"))
    setting.begin()
    setting.fleet.nudge("a")
    await trio.sleep(SLOWER_S)
    await setting.settle()


async def tell_deployment(setting: Setting) -> None:
    """Two members are replaced one after the other, while a third takes its time."""
    await setting.form(setting.slow("s"), setting.member("a"), setting.member("b"))
    for seat in ("a", "b"):
        setting.begin()
        await setting.fleet.stop(seat)
        # One that is there again before the others have met may make it one rebalance, or cut the first one short.
        await setting.settle()
        await setting.form(setting.member(seat))


async def tell_conversion_by_order(setting: Setting) -> None:
    """An operator makes a consumer group of a classic one."""
    await setting.form(setting.slow("a"), setting.member("b"))
    setting.begin()
    await setting.order("convert", to="consumer", dry_run=False)
    await trio.sleep(SLOWER_S)
    await setting.settle()


async def tell_removal(setting: Setting) -> None:
    """An operator removes a static member that runs."""
    await setting.form(setting.slow("a"), setting.member("b", instance_id="seat-b"))
    setting.begin()
    if setting.case.road == "embedded":
        await setting.order("remove-members", instance_ids=["seat-b"], member_ids=[])
    else:
        await setting.remove_by_kafka("seat-b")
    await trio.sleep(SLOWER_S)


async def tell_restart(setting: Setting) -> None:
    """The bridge is killed and started again while a third one waits for the first."""
    await setting.form(setting.slow("a", LONG_S), setting.member("b"))
    setting.begin()
    await setting.fleet.start(setting.member("c"))
    await setting.wait_begun()
    await setting.restart_bridge()
    await setting.settle()


async def tell_coordinator_move(setting: Setting) -> None:
    """The group's coordinator moves to another broker while a third one waits for the first."""
    moved = setting.fleet.directory / "moved"
    moved.touch()
    leads = setting.member("a", acts=("--assign-until", str(moved)))
    await setting.form(leads if setting.case.is_met else setting.slow("a", SLOWEST_S), setting.member("b"))
    moved.unlink()
    setting.begin()
    await setting.fleet.start(setting.member("c"))
    await setting.wait_begun()
    await trio.sleep(SLOW_S)
    await setting.move_coordinator()
    moved.touch()
    await setting.settle()


async def tell_slow_assignment(setting: Setting) -> None:
    """A third one comes, and the leader takes its time to say who gets what."""
    await setting.form(setting.member("a", acts=("--assign-s", str(SLOW_S))), setting.member("b"))
    setting.begin()
    await setting.form(setting.member("c"))


async def tell_conversion_by_join(setting: Setting) -> None:
    """The first member comes that speaks the consumer protocol."""
    await setting.form(setting.slow("a"), setting.member("b"))
    setting.begin()
    await setting.form(setting.consumer("c"))


async def tell_double_join(setting: Setting) -> None:
    """Two come at the same time."""
    await setting.form(setting.slow("a"), setting.member("b"))
    setting.begin()
    await setting.fleet.start(setting.member("c"))
    await setting.fleet.start(setting.member("d"))
    await setting.settle()


async def tell_overlap(setting: Setting) -> None:
    """A third one comes, and before the first has given something up for it the second goes."""
    await setting.form(setting.slow("a", SLOWER_S), setting.member("b"))
    setting.begin()
    await setting.fleet.start(setting.member("c"))
    await setting.wait_begun()
    await setting.fleet.stop("b")
    await setting.settle()
