"""What happens in each story, up to the event that it is about and after it."""

import trio

from tests.support.causes.stage import SLOW_S, Stage

GROWN = 9
SLOWER_S = 3.0
SHORT_POLL_MS = 4_500
TOO_SLOW_S = 8.0
REST_S = 6.0
FROZEN_S = 2.0
SLOWEST_S = 5.0
LONG_S = 8.0


async def tell_first_join(stage: Stage) -> None:
    """A group's first member."""
    stage.begin()
    await stage.form(stage.slow("a"))


async def tell_join(stage: Stage) -> None:
    """A third one, while the first takes its time to give something up."""
    await stage.form(stage.slow("a"), stage.member("b"))
    stage.begin()
    await stage.form(stage.member("c"))


async def tell_slow_revoke(stage: Stage) -> None:
    """A third one, while the second takes two seconds in its revoked callback."""
    await stage.form(stage.member("a"), stage.slow("b", 2.0))
    stage.begin()
    await stage.form(stage.member("c"))


async def tell_slow_processing(stage: Stage) -> None:
    """A third one, while the second does not poll for some seconds."""
    await stage.form(stage.member("a"), stage.member("b", acts=("--rest-s", str(REST_S))))
    stage.begin()
    stage.fleet.nudge("b")
    await stage.form(stage.member("c"))


async def tell_frozen(stage: Stage) -> None:
    """A third one, while the second hears nothing at all."""
    await stage.form(stage.member("a"), stage.member("b"))
    stage.fleet.freeze("b")
    stage.begin()
    await stage.fleet.start(stage.member("c"))
    await stage.wait_begun()
    await trio.sleep(FROZEN_S)
    stage.fleet.thaw("b")
    await stage.settle()


async def tell_leave(stage: Stage) -> None:
    """One of three goes."""
    await stage.form(stage.slow("a"), stage.member("b"), stage.member("c"))
    stage.begin()
    await stage.fleet.stop("c")
    await stage.settle()


async def tell_expiry(stage: Stage) -> None:
    """One of three is killed."""
    await stage.form(stage.slow("a"), stage.member("b"), stage.member("c"))
    stage.begin()
    await stage.fleet.kill("c")
    await stage.settle()


async def tell_timeout(stage: Stage) -> None:
    """A third one comes, and the second takes longer to give something up than it may."""
    late = stage.member("b", revoke_s=TOO_SLOW_S, poll_ms=SHORT_POLL_MS)
    await stage.form(stage.member("a", poll_ms=SHORT_POLL_MS), late)
    stage.begin()
    await stage.form(stage.member("c", poll_ms=SHORT_POLL_MS))


async def tell_subscription(stage: Stage) -> None:
    """The second one wants one more topic."""
    more = f"{stage.case.group}-more"
    wanted = await stage.create_topic(more, 3)
    await stage.form(stage.slow("a"), stage.member("b", acts=("--subscribe", more)))
    stage.begin()
    stage.fleet.nudge("b")
    stage.fleet.partitions |= wanted
    await stage.settle()


async def tell_partitions(stage: Stage) -> None:
    """The topic gets more partitions."""
    await stage.form(stage.member("a"), stage.slow("b"))
    stage.begin()
    await stage.grow_topic(f"{stage.case.group}-topic", GROWN)
    await stage.settle()


async def tell_topic(stage: Stage) -> None:
    """A topic that all have wanted from the beginning is there at last."""
    await stage.form(stage.member("a"), stage.slow("b"))
    stage.begin()
    stage.fleet.partitions |= await stage.create_topic(f"{stage.case.group}-later", 3)
    await stage.settle()


async def tell_static_return(stage: Stage) -> None:
    """A static member is killed, expires, and comes back."""
    static = stage.member("b", instance_id="seat-b")
    await stage.form(stage.slow("a"), static)
    await stage.fleet.kill("b")
    await stage.settle()
    stage.begin()
    await stage.form(static)


async def tell_leader_rejoin(stage: Stage) -> None:
    """The leader of a classic group joins again, for no reason that anybody can see."""
    await stage.form(stage.member("a", acts=("--rejoins",)), stage.slow("b"))
    stage.begin()
    stage.fleet.nudge("a")
    await trio.sleep(SLOWER_S)
    await stage.settle()


async def tell_deployment(stage: Stage) -> None:
    """Two members are replaced one after the other, while a third takes its time."""
    await stage.form(stage.slow("s"), stage.member("a"), stage.member("b"))
    for seat in ("a", "b"):
        stage.begin()
        await stage.fleet.stop(seat)
        # One that is there again before the others have met may make it one rebalance, or cut the first one short.
        await stage.settle()
        await stage.form(stage.member(seat))


async def tell_conversion_by_order(stage: Stage) -> None:
    """An operator makes a consumer group of a classic one."""
    await stage.form(stage.slow("a"), stage.member("b"))
    stage.begin()
    await stage.order("convert", to="consumer", dry_run=False)
    await trio.sleep(SLOWER_S)
    await stage.settle()


async def tell_removal(stage: Stage) -> None:
    """An operator removes a static member that runs."""
    await stage.form(stage.slow("a"), stage.member("b", instance_id="seat-b"))
    stage.begin()
    if stage.case.road == "embedded":
        await stage.order("remove-members", instance_ids=["seat-b"], member_ids=[])
    else:
        await stage.remove_by_kafka("seat-b")
    await trio.sleep(SLOWER_S)


async def tell_restart(stage: Stage) -> None:
    """The bridge is killed and started again while a third one waits for the first."""
    await stage.form(stage.slow("a", LONG_S), stage.member("b"))
    stage.begin()
    await stage.fleet.start(stage.member("c"))
    await stage.wait_begun()
    await stage.restart_bridge()
    await stage.settle()


async def tell_coordinator_move(stage: Stage) -> None:
    """The group's coordinator moves to another broker while a third one waits for the first."""
    moved = stage.fleet.directory / "moved"
    moved.touch()
    leads = stage.member("a", acts=("--assign-until", str(moved)))
    await stage.form(leads if stage.case.is_met else stage.slow("a", SLOWEST_S), stage.member("b"))
    moved.unlink()
    stage.begin()
    await stage.fleet.start(stage.member("c"))
    await stage.wait_begun()
    await trio.sleep(SLOW_S)
    await stage.move_coordinator()
    moved.touch()
    await stage.settle()


async def tell_slow_assignment(stage: Stage) -> None:
    """A third one comes, and the leader takes its time to say who gets what."""
    await stage.form(stage.member("a", acts=("--assign-s", str(SLOW_S))), stage.member("b"))
    stage.begin()
    await stage.form(stage.member("c"))


async def tell_conversion_by_join(stage: Stage) -> None:
    """The first member comes that speaks the consumer protocol."""
    await stage.form(stage.slow("a"), stage.member("b"))
    stage.begin()
    await stage.form(stage.consumer("c"))


async def tell_double_join(stage: Stage) -> None:
    """Two come at the same time."""
    await stage.form(stage.slow("a"), stage.member("b"))
    stage.begin()
    await stage.fleet.start(stage.member("c"))
    await stage.fleet.start(stage.member("d"))
    await stage.settle()


async def tell_overlap(stage: Stage) -> None:
    """A third one comes, and before the first has given something up for it the second goes."""
    await stage.form(stage.slow("a", SLOWER_S), stage.member("b"))
    stage.begin()
    await stage.fleet.start(stage.member("c"))
    await stage.wait_begun()
    await stage.fleet.stop("b")
    await stage.settle()
