"""Event-log files of invented fleets, copied as often as a size asks for."""

from dataclasses import replace
from pathlib import Path

from bridge.telemetry.event_log.codec import encode_event
from tests.support.fleet_log import FleetLog, FleetPlan, Truth

BOOT = "b0000000"


def write_log(folder: Path, plan: FleetPlan, *, files: int = 1) -> Truth:
    """Write the log of one run, cut into files of about the same size; return what is true of it."""
    log = FleetLog(plan)
    lines = [encode_event(event) for event in log.events()]
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(lines) // files)
    for place in range(files):
        part = b"".join(lines[place * size : (place + 1) * size])
        (folder / f"events-{plan.boot}-{place + 1:06d}.jsonl").write_bytes(part)
    return log.truth


def write_runs(folder: Path, plan: FleetPlan, events: int) -> tuple[Truth, int]:
    """Write at least so many events as runs of bridges side by side, alike but for run, groups and members.

    Returns what is true of one run, and how many runs there are: making one takes long, copying it does not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = FleetLog(replace(plan, boot=BOOT))
    text = b"".join(encode_event(event) for event in log.events())
    runs = -(-events // log.truth.events)
    for run in range(1, runs + 1):
        boot = f"b{run:07d}"
        (folder / f"events-{boot}-000001.jsonl").write_bytes(text.replace(BOOT.encode(), boot.encode()))
    return log.truth, runs
