"""How fast a day of a hundred groups is replayed on the new protocol.

It must not know how a play goes.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bridge.analytics.replay.job import run
from bridge.analytics.replay.playing import play_group
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.specs import ReplaySpec
from bridge.telemetry.event_log.codec import encode_event
from bridge.whatif.configuration import configure
from bridge.whatif.event_lines import read_event
from bridge.whatif.inputs import Input
from bridge.whatif.play import predict
from tests.benchmarks.figures import Figure, Target, middle, spread
from tests.support.whatif_history import GROUP, came, history, left

GROUPS, MEMBERS, PARTITIONS = 100, 10, 60
DEPLOYMENTS_S = (8 * 3600, 15 * 3600)
STEP_S, DOWN_S = 60, 20
REPLAY_S, PLAY_MS = Target(bound=60), Target(bound=600)
ROUNDS = 5
SETTINGS = {"spark.driver.memory": "4g"}


def measure_play(directory: Path) -> list[Figure]:
    """One group's day in this process, by CPU time: reading its lines, playing it, measuring both sides."""
    folder = directory / "a-day"
    _, rebalances = write_day(folder, groups=1)
    lines = next(folder.iterdir()).read_text().splitlines()
    configuration = configure("consumer", None, ())
    spent: list[float] = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        events = [event for event in map(read_event, lines) if event is not None]
        played = play_group("group0", events, configuration)
        spent.append((time.process_time() - begin) * 1_000)
        assert len([row for row in played.rows if row.rebalance_id]) == rebalances
    note = f"{len(lines):,} events, {rebalances} rebalances; {spread(spent)}"
    return [Figure(name="a group's day, CPU", value=middle(spent), unit="ms", target=PLAY_MS, note=note)]


def measure_whatif(directory: Path) -> list[Figure]:
    """A classic group of ten members deployed twice a day, a hundred times; the session start not counted."""
    folder = directory / "days"
    events, rebalances = write_day(folder)
    settings = SessionSettings(master="local[2]", settings=SETTINGS)
    spark = open_session(settings)
    try:
        spark.range(1000).count()
        begin, begin_cpu_s = time.monotonic(), _cpu_s()
        report = run(ReplaySpec(events=str(folder), protocol="consumer"), settings)
        seconds, cpu_s = time.monotonic() - begin, _cpu_s() - begin_cpu_s
    finally:
        spark.stop()
    played = sum(group.recorded.rebalances for group in report.groups)
    assert (len(report.groups), played) == (GROUPS, GROUPS * rebalances)
    note = f"{GROUPS * events / 1e6:.2f} million events, {played:,} rebalances"
    name = f"{GROUPS} groups, a day each"
    return [
        Figure(name=name, value=seconds, unit="s", target=REPLAY_S, note=note),
        Figure(name=f"{name}: CPU of driver, JVM and workers", value=cpu_s, unit="s"),
    ]


def _cpu_s() -> float:
    """CPU time of this process and all it started, those that have ended included."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))


def day() -> Iterator[Input]:
    """Ten members come, and two deployments replace one after the other."""
    for number in range(MEMBERS):
        yield came(number * 5, f"m{number}")
    for number in range(MEMBERS * len(DEPLOYMENTS_S)):
        deployment, seat = divmod(number, MEMBERS)
        at_s = DEPLOYMENTS_S[deployment] + seat * STEP_S
        yield left(at_s, f"m{number}")
        yield came(at_s + DOWN_S, f"m{number + MEMBERS}")


def write_day(folder: Path, groups: int = GROUPS) -> tuple[int, int]:
    """Write the record of each group as a run of its own; gives events and rebalances of one."""
    folder.mkdir(parents=True)
    record = predict(history(*day(), partitions=PARTITIONS), configure("classic", None, ()))
    text = b"".join(map(encode_event, record.events)).decode()
    boot = record.events[0].stamp.boot
    for number in range(groups):
        path = folder / f"events-b{number}-000001.jsonl"
        path.write_text(text.replace(boot, f"b{number}").replace(GROUP, f"group{number}"))
    return len(record.events), len(record.triggers)
