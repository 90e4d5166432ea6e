"""Runs the benchmarks that are named, or all, most of them against one real Kafka, and prints a table for each.

It must not know how anything is measured; a figure that misses its target is no failure, one that can't be had is.
"""

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import psutil

from tests.benchmarks.assignors import measure_assignors, measure_grid
from tests.benchmarks.big_group import measure_big_group
from tests.benchmarks.broker import BenchBroker, bench_broker
from tests.benchmarks.census import measure_census
from tests.benchmarks.conversion import measure_conversion
from tests.benchmarks.engine import measure_engine
from tests.benchmarks.event_memory import measure_event_memory
from tests.benchmarks.events import measure_events
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.fleet import FleetError
from tests.benchmarks.giant_group import measure_giant_group
from tests.benchmarks.heartbeats import measure_heartbeats
from tests.benchmarks.idle import measure_idle
from tests.benchmarks.journal import measure_journal
from tests.benchmarks.migration import measure_migration
from tests.benchmarks.moves import measure_giant_moves, measure_moves
from tests.benchmarks.pairs import main as compare_trees
from tests.benchmarks.pipeline import measure_pipeline
from tests.benchmarks.processes import BenchmarkError
from tests.benchmarks.proxied_joins import measure_proxied_joins
from tests.benchmarks.relay import measure_relay
from tests.benchmarks.restarts import measure_restarts
from tests.benchmarks.rights import measure_rights
from tests.benchmarks.small_frames import measure_small_frames
from tests.benchmarks.startup import measure_startup
from tests.benchmarks.table_refresh import measure_table_refresh
from tests.benchmarks.table_sizes import (
    measure_table_cluster,
    measure_table_history,
    measure_table_shapes,
    measure_table_sizes,
)
from tests.benchmarks.tls_handshakes import measure_tls_handshakes
from tests.benchmarks.tls_relay import measure_tls_relay
from tests.benchmarks.topic_stream import measure_topic_stream
from tests.benchmarks.upstream import measure_upstream
from tests.benchmarks.whatif import measure_play, measure_whatif

IN_PROCESS: Mapping[str, Callable[[Path], list[Figure]]] = {
    "engine": measure_engine,
    "journal": measure_journal,
    "giant": measure_giant_group,
    "conversion": measure_conversion,
    "assignors": measure_assignors,
    "assignor-grid": measure_grid,
    "pipeline": measure_pipeline,
    "table-refresh": measure_table_refresh,
    "table-sizes": measure_table_sizes,
    "table-shapes": measure_table_shapes,
    "table-history": measure_table_history,
    "table-cluster": measure_table_cluster,
    "event-memory": measure_event_memory,
    "tls-relay": measure_tls_relay,
    "tls-handshakes": measure_tls_handshakes,
    "rights": measure_rights,
    "what-if": measure_whatif,
    "what-if-play": measure_play,
}
"""Those that need no broker."""
WITH_BROKER: Mapping[str, Callable[[BenchBroker, Path], list[Figure]]] = {
    "startup": measure_startup,
    "idle": measure_idle,
    "relay": measure_relay,
    "small-frames": measure_small_frames,
    "heartbeats": measure_heartbeats,
    "group": measure_big_group,
    "events": measure_events,
    "migration": measure_migration,
    "moves": measure_moves,
    "moves-giant": measure_giant_moves,
    "restarts": measure_restarts,
    "topic-stream": measure_topic_stream,
    "upstream": measure_upstream,
    "proxied-joins": measure_proxied_joins,
    "census": measure_census,
}


def main(arguments: Sequence[str]) -> int:
    """Run and print; 1 if a figure could not be measured."""
    if arguments[:1] == ["pairs"]:
        return compare_trees(arguments[1:])
    known = [*IN_PROCESS, *WITH_BROKER]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("benchmarks", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; all if none; or `pairs`")
    names = parser.parse_args(arguments).benchmarks or known
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"no benchmark is named {unknown[0]!r}; there are {', '.join(known)}")
    print(_machine(), flush=True)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        folder = Path(directory)
        for name in [name for name in names if name in IN_PROCESS]:
            failures += not _run(name, partial(IN_PROCESS[name], folder))
        with_broker = [name for name in names if name in WITH_BROKER]
        if with_broker:
            with bench_broker(folder) as broker:
                print(f"Apache Kafka {broker.version}", flush=True)
                for name in with_broker:
                    failures += not _run(name, partial(WITH_BROKER[name], broker, folder))
    return min(failures, 1)


def _run(name: str, measure: Callable[[], list[Figure]]) -> bool:
    begin = time.monotonic()
    try:
        figures = measure()
    except (BenchmarkError, FleetError) as error:
        print(f"\n## {name}\n\nnot measured: {error}", flush=True)
        return False
    print(f"\n## {name} ({time.monotonic() - begin:.0f} s)\n\n{table(figures)}", flush=True)
    return True


def _machine() -> str:
    """What the figures depend on; also how busy the machine was with other things."""
    busy = ", ".join(f"{load:.1f}" for load in psutil.getloadavg())
    return (
        f"Python {platform.python_version()}; {platform.system()} {platform.release()}; "
        f"{psutil.cpu_count()} CPUs, {psutil.virtual_memory().total / 1e9:.0f} GB; load before the start {busy}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
