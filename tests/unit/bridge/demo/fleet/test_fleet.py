"""The fleet with scripted clients that need no broker. It must not know what a good run is."""

import sys
from pathlib import Path

import pytest
import trio

from bridge.demo.events import Partition, Protocol
from bridge.demo.fleet import Fleet, FleetError
from bridge.demo.fleet_specs import MemberSpec, Target
from bridge.demo.judge import Roll, rolls_in

TARGET = Target(bootstrap="nowhere:1", group="g", topics=("t",))
SCRIPT = Path(__file__).parents[1] / "scripted_member.py"
P0, P1 = Partition("t", 0), Partition("t", 1)


def scripted(seat: str, *partitions: int, protocol: Protocol = Protocol.CLASSIC) -> MemberSpec:
    """A client that claims partitions at once and gives them up on SIGTERM."""
    program = (sys.executable, str(SCRIPT), *(str(index) for index in partitions), "--")
    return MemberSpec(seat=seat, program=program, protocol=protocol)


async def test_fleet_step_with_roll_is_settled_and_marked(tmp_path: Path) -> None:
    """A restart of another kind under the same seat is a roll, the step around it has a begin and an end."""
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, TARGET, [P0, P1], tmp_path)
        await fleet.start(scripted("a", 0))
        await fleet.start(scripted("b", 1))
        await fleet.wait_settled(stable_ms=100, timeout_s=10)
        async with fleet.step("roll a", is_unnoticed=True):
            await fleet.roll(scripted("a", 0, protocol=Protocol.CONSUMER))
            await fleet.wait_settled(stable_ms=100, timeout_s=10)
        await fleet.stop_all()
    evidence = fleet.evidence()
    (step,) = evidence.steps
    assert (step.name, step.is_unnoticed) == ("roll a", True)
    assert step.ended_ns - step.began_ns > 100_000_000
    assert [log.who for log in evidence.members] == ["a#1", "b#2", "a#3"]
    assert rolls_in(evidence.members) == (Roll(seat="a", before="scripted classic", after="scripted consumer"),)
    assert all(log.died_ns is not None for log in evidence.members)


async def test_member_may_be_started_at_another_address(tmp_path: Path) -> None:
    """Such as the broker's own, in place of the bridge's; the others keep theirs."""
    telling = (sys.executable, "-c", "import sys; raise SystemExit(' '.join(sys.argv[1:3]))")
    for bootstrap, told in ((None, f"--bootstrap {TARGET.bootstrap}"), ("broker:1", "--bootstrap broker:1")):
        async with trio.open_nursery() as nursery:
            fleet = Fleet(nursery, TARGET, [P0], tmp_path)
            await fleet.start(MemberSpec(seat="a", program=telling), bootstrap)
            with pytest.raises(FleetError, match=told):
                await fleet.wait_settled(timeout_s=10)


async def test_fleet_that_never_settles_says_what_is_missing(tmp_path: Path) -> None:
    """Waits are bounded, and the error names the partition."""
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, TARGET, [P0, P1], tmp_path)
        await fleet.start(scripted("a", 0))
        with pytest.raises(FleetError, match=r"EB-FLEET-001.*t-1 has 0 owners"):
            await fleet.wait_settled(stable_ms=10, timeout_s=1)
        await fleet.stop_all()


async def test_fleet_member_dying_unasked_ends_the_wait(tmp_path: Path) -> None:
    """A crashed client is an error at once, with its last words."""
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, TARGET, [P0], tmp_path)
        await fleet.start(MemberSpec(seat="a", program=(sys.executable, "-c", "raise SystemExit('broken')")))
        with pytest.raises(FleetError, match=r"EB-FLEET-002: a#1 died with status 1.*\sbroken"):
            await fleet.wait_settled(timeout_s=10)


async def test_fleet_killed_member_no_longer_counts(tmp_path: Path) -> None:
    """The partitions of a dead process are free for another one; its death is asked for and no failure."""
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, TARGET, [P0], tmp_path)
        await fleet.start(scripted("a", 0))
        await fleet.wait_settled(stable_ms=10, timeout_s=10)
        await fleet.kill("a")
        with pytest.raises(FleetError, match="EB-FLEET-003"):
            await fleet.stop("a")
        await fleet.start(scripted("b", 0))
        await fleet.wait_settled(stable_ms=10, timeout_s=10)
        await fleet.stop_all()


async def test_fleet_frozen_member_is_waited_for_only_once_thawed(tmp_path: Path) -> None:
    """A frozen process is alive and owns by its own account, but takes no part."""
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, TARGET, [P0], tmp_path)
        await fleet.start(scripted("a", 0))
        await fleet.wait_settled(stable_ms=10, timeout_s=10)
        fleet.freeze("a")
        with pytest.raises(FleetError, match="t-0 has 0 owners"):
            await fleet.wait_settled(stable_ms=10, timeout_s=0.3)
        fleet.thaw("a")
        await fleet.wait_settled(stable_ms=10, timeout_s=10)
        await fleet.stop_all()
    assert [log.died_ns is None for log in fleet.logs()] == [False]
