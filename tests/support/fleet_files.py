"""Event-log files of invented fleets, copied as often as a size asks for."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bridge.telemetry.event_log.codec import encode_event
from tests.support.fleet_log import EPOCH_US, MINUTE_US, FleetLog, FleetPlan, Truth

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


def like_real(groups: int, members: int, partitions: int, rebalances: int) -> FleetPlan:
    """A lasting fleet with names as long as those of real services: its events come to some 440 bytes."""
    return FleetPlan(
        groups=groups,
        members=members,
        partitions=partitions,
        rebalances=rebalances,
        group_name="checkout.settlement-worker",
        topic="shop.payments.settled",
        is_lasting=True,
    )


def write_history(folder: Path, plan: FleetPlan, events: int) -> Iterator[tuple[Path, int]]:
    """Write runs of one and the same fleet, each after the one before, until there are so many events in all.

    Gives each file, as soon as it is there, with how many events are in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = FleetLog(replace(plan, boot=BOOT, is_lasting=True))
    told = log.events()
    text = b"".join(encode_event(event) for event in told)
    span_us = told[-1].stamp.wall_us - EPOCH_US + MINUTE_US
    for run in range(-(-events // len(told))):
        path = folder / f"events-b{run + 1:07d}-000001.jsonl"
        later = _later(text, run * span_us).replace(BOOT.encode(), f"b{run + 1:07d}".encode())
        path.write_bytes(later)
        yield path, len(told)


def _later(text: bytes, by_us: int) -> bytes:
    return re.sub(rb'"wall_us":(\d+)', lambda found: b'"wall_us":%d' % (int(found[1]) + by_us), text)
