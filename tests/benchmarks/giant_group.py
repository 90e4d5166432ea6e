"""A group of 10,000 classic members on 100,000 partitions: how long it takes to form, to restart, and what it weighs.

It must not know how anybody assigns.
"""

import resource
import time
from dataclasses import dataclass
from pathlib import Path

from bridge.demo.services import free_place
from tests.benchmarks.bridge_child import bridge_words
from tests.benchmarks.classic_client import ClassicClient
from tests.benchmarks.figures import Figure, Target
from tests.benchmarks.fleet import Fleet, FleetError
from tests.benchmarks.processes import Child, command, program

MEMBERS, PARTITIONS = 10_000, 100_000
TOPIC, GROUP = "many", "bench-giant"
DELAY_MS = 3_000
INTERVAL_S = 10.0
"""How often a member beats: 1,000 heartbeats a second beside all the rest."""
TIMEOUT_S = 300.0
FILES = 2 * MEMBERS + 256
"""Two for each member, as one of them may ask its broker, and those that the bridge keeps for itself (EB-NET-024)."""
FORMED_S, SERVING_S, GIB = Target(bound=30), Target(bound=5), Target(bound=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What happened to the group, in seconds; `called` members heard of a rebalance by the restart."""

    formed_s: float
    form_cpu_s: float
    ready_s: float
    serving_s: float
    serving_cpu_s: float
    back_s: float
    called: int
    peak_gib: float
    journal_mib: float


def measure_giant_group(directory: Path) -> list[Figure]:
    """Form it, kill the bridge, start it again. Raises BenchmarkError and FleetError."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < FILES:
        raise FleetError(f"{FILES} open files are needed, {most} are allowed: raise `ulimit -n`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    upstream = free_place().listen
    with program("tests.benchmarks.topic_server", [upstream, TOPIC, str(PARTITIONS)], directory):
        course = _run(upstream, directory)
    size = f"{MEMBERS} members × {PARTITIONS} partitions"
    return [
        Figure(
            name=f"{size}: stable, from the first connection on",
            value=course.formed_s,
            unit="s",
            target=FORMED_S,
            note=f"{DELAY_MS / 1000:.0f} s of it initial delay; CPU of the bridge {course.form_cpu_s:.1f} s",
        ),
        Figure(
            name="killed and started: first heartbeat answered after",
            value=course.serving_s,
            unit="s",
            target=SERVING_S,
            note=(
                f"ready after {course.ready_s:.1f} s; CPU of the bridge {course.serving_cpu_s:.1f} s; "
                f"journal {course.journal_mib:.1f} MiB"
            ),
        ),
        Figure(name="the same: all members back", value=course.back_s, unit="s", note=f"{course.called} were called"),
        Figure(name="the most that was resident", value=course.peak_gib, unit="GiB", target=GIB),
    ]


def _run(upstream: str, directory: Path) -> Course:
    place = free_place()
    settings = [
        *("journal=sqlite", f"journal.path={directory / 'giant.db'}", f"limits.connections.max={FILES}"),
        f"group.initial.rebalance.delay.ms={DELAY_MS}",
    ]
    words = bridge_words(upstream, place, settings)
    host, _, port = place.listen.rpartition(":")
    fleet = Fleet((host, int(port)), interval_s=INTERVAL_S)
    with command(words, directory, {}) as bridge:
        before_s = bridge.cpu_s()
        formed_s = _form(fleet)
        form_cpu_s, peak_bytes = bridge.cpu_s() - before_s, _peak_bytes(bridge)
        journal_bytes = sum(path.stat().st_size for path in directory.glob("giant.db*"))
        bridge.process.kill()
        bridge.process.wait()
    killed_s = time.monotonic()
    fleet.disconnect()
    calls = sum(client.times_called for client in fleet.clients)
    with command(words, directory, {}) as bridge:
        fleet.reconnect(fleet.lines[:1])
        fleet.run_until(lambda: fleet.answered > 0, TIMEOUT_S)
        serving_s, serving_cpu_s = time.monotonic() - killed_s, bridge.cpu_s()
        fleet.reconnect(fleet.lines[1:])
        fleet.run_until(lambda: fleet.answered >= MEMBERS, TIMEOUT_S)
        back_s = time.monotonic() - killed_s
        fleet.settle(TIMEOUT_S)
        _check_all_owned(fleet)
        course = Course(
            formed_s=formed_s,
            form_cpu_s=form_cpu_s,
            ready_s=bridge.ready_s,
            serving_s=serving_s,
            serving_cpu_s=serving_cpu_s,
            back_s=back_s,
            called=sum(client.times_called for client in fleet.clients) - calls,
            peak_gib=max(peak_bytes, _peak_bytes(bridge)) / 2**30,
            journal_mib=journal_bytes / 2**20,
        )
    fleet.close()
    return course


def _form(fleet: Fleet) -> float:
    begin = time.monotonic()
    fleet.add([ClassicClient(GROUP, TOPIC, f"member-{number}", cooperative=True) for number in range(MEMBERS)])
    added_s = time.monotonic() - begin
    formed_s = added_s + fleet.settle(TIMEOUT_S)
    _check_all_owned(fleet)
    return formed_s


def _check_all_owned(fleet: Fleet) -> None:
    owned = fleet.owned()
    if owned != PARTITIONS:
        raise FleetError(f"{owned} of {PARTITIONS} partitions are owned in a settled group")


def _peak_bytes(child: Child) -> int:
    """The most memory that was ever resident, as the kernel has it."""
    status = Path(f"/proc/{child.process.pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
