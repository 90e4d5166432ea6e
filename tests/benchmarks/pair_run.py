"""One benchmark in one tree of the sources, whichever that is: its figures as a line of JSON.

It is run as a file, not as a module, so that `tests`, `bridge` and `translators` are those of the tree; it must import
nothing of ours before it knows which. Arguments: the tree, the benchmark's name, `small` or `whole`, and where
the broker is (JSON of a BenchBroker, or nothing to start one if the benchmark needs it).
"""

import contextlib
import gc
import json
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.benchmarks.figures import Figure

MEASURES: Mapping[str, tuple[str, str]] = {
    "engine": ("engine", "measure_engine"),
    "journal": ("journal", "measure_journal"),
    "giant": ("giant_group", "measure_giant_group"),
    "conversion": ("conversion", "measure_conversion"),
    "assignors": ("assignors", "measure_assignors"),
    "assignor-grid": ("assignors", "measure_grid"),
    "what-if-play": ("whatif", "measure_play"),
    "event-memory": ("event_memory", "measure_event_memory"),
    "tls-relay": ("tls_relay", "measure_tls_relay"),
    "tls-handshakes": ("tls_handshakes", "measure_tls_handshakes"),
    "rights": ("rights", "measure_rights"),
    "startup": ("startup", "measure_startup"),
    "idle": ("idle", "measure_idle"),
    "relay": ("relay", "measure_relay"),
    "small-frames": ("small_frames", "measure_small_frames"),
    "heartbeats": ("heartbeats", "measure_heartbeats"),
    "events": ("events", "measure_events"),
    "group": ("big_group", "measure_big_group"),
    "migration": ("migration", "measure_migration"),
    "moves": ("moves", "measure_moves"),
    "moves-giant": ("moves", "measure_giant_moves"),
    "restarts": ("restarts", "measure_restarts"),
    "what-if": ("whatif", "measure_whatif"),
    "pipeline": ("pipeline", "measure_pipeline"),
    "table-sizes": ("table_sizes", "measure_table_sizes"),
    "table-shapes": ("table_sizes", "measure_table_shapes"),
    "table-refresh": ("table_refresh", "measure_table_refresh"),
    "table-history": ("table_sizes", "measure_table_history"),
    "table-cluster": ("table_sizes", "measure_table_cluster"),
    "topic-stream": ("topic_stream", "measure_topic_stream"),
    "upstream": ("upstream", "measure_upstream"),
    "proxied-joins": ("proxied_joins", "measure_proxied_joins"),
    "census": ("census", "measure_census"),
}
"""Where each benchmark is, so that a run imports no more than its own; those that take long last."""
NEED_BROKER = frozenset(
    (
        *("startup", "idle", "relay", "small-frames", "heartbeats", "events"),
        *(
            "group",
            "migration",
            "moves",
            "moves-giant",
            "restarts",
            "topic-stream",
            "upstream",
            "proxied-joins",
            "census",
        ),
    )
)
NEED_OWN_BROKER = frozenset(
    {"group", "migration", "moves", "moves-giant", "restarts", "topic-stream", "upstream", "proxied-joins", "census"},
)
"""They leave members or topics behind, which the next run would find."""
WITHOUT_COLLECTOR = frozenset({"assignors"})
"""Python's collector looks at all objects of a group of 10,000 some times in one computation, which took half of its
time and all of the difference between two trees that set groups up otherwise. A bridge calms it (`calm_collector`).
"""
SMALL: Mapping[str, Mapping[str, int | float | str]] = {
    "restarts": {"SIZES": 1, "KINDS": 2},
    "upstream": {"MEMBERS": 300, "ROUNDS": 2},
    "engine": {"ROUNDS": 3, "TIMES": 8, "MEMBERS": 1_000},
    "journal": {"ROUNDS": 2, "SECONDS": 0.7},
    "giant": {"MEMBERS": 1_500, "PARTITIONS": 15_000, "FILES": 3_000, "DELAY_MS": 1_000, "INTERVAL_S": 1.0},
    "conversion": {"MEMBERS": 1_000, "ROUNDS": 3},
    "assignors": {"SHAPES": 3, "ROUNDS": 31},
    "event-memory": {"GENERATIONS": 3},
    "startup": {"ROUNDS": 3},
    "idle": {"CONNECTIONS": 1_000, "QUIET_S": 0.3},
    "relay": {"ROUNDS": 1, "MEGABYTES": 300},
    "tls-relay": {"ROUNDS": 1, "MEGABYTES": 60},
    "tls-handshakes": {"CLIENTS": 200},
    "rights": {"ROUNDS": 1, "MEMBERS": 60},
    "small-frames": {"ROUNDS": 1},
    "heartbeats": {"ROUNDS": 1, "MEMBERS": 500, "FAST": "fast 2", "STEADY": "steady 1 3"},
    "events": {
        "ROUNDS": 3,
        "EVENTS": 30_000,
        "BEATING_ROUNDS": 2,
        "FAST": "fast 1",
        "ROUND_S": 1,
        "BEATING_MEMBERS": 300,
    },
    "group": {"MEMBERS": 200, "INTERVAL_S": 0.5},
    "what-if": {"DEPLOYMENTS_S": 1},
    "pipeline": {"RUN_EVENTS": 200_000, "STREAM_EVENTS": 400_000, "BATCH_FILES": 8},
    "table-sizes": {"SIZES": 1},
    "table-shapes": {"SHAPE_EVENTS": 300_000, "MANY_GROUPS": 1_000},
    "table-refresh": {"REFRESHES": 4},
    "table-history": {"BATCHES": 12, "BATCH_EVENTS": 100_000},
    "table-cluster": {"CLUSTER_SIZES": 1},
    "topic-stream": {"STREAM_EVENTS": 400_000},
}
"""Constants of its module to make a benchmark short; of a tuple, how many of its entries stay."""
SMALL_ARGUMENTS: Mapping[str, Mapping[str, int]] = {"event-memory": {"events": 150_000, "warm": 75_000}}
"""What a benchmark is asked for instead, where that is an argument."""


def main(tree: Path, name: str, size: str, broker: str) -> None:
    """Measure and print the figures as the last line."""
    sys.path[0] = str(tree)
    for package in ("tests", "bridge", "translators"):
        file = import_module(package).__file__
        if file is None or not Path(file).is_relative_to(tree):
            raise SystemExit(f"{package} came from {file}, which is not in {tree}")
    begin_as_a_bridge()
    if size == "small":
        shrink(name)
    if name in WITHOUT_COLLECTOR:
        gc.disable()
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        figures = _measure(name, size, broker, Path(directory))
    print(json.dumps([_told(figure) for figure in figures]))


def begin_as_a_bridge() -> None:
    """Have values made as the process of a bridge has them made, where the tree's bridge does anything about it."""
    with contextlib.suppress(ModuleNotFoundError):
        import_module("bridge.cli.late_methods").make_methods_late()


def _measure(name: str, size: str, broker: str, folder: Path) -> "list[Figure]":
    measure = getattr(_module(name), MEASURES[name][1])
    if name not in NEED_BROKER:
        wanted = SMALL_ARGUMENTS.get(name, {}) if size == "small" else {}
        return list(measure(folder, **wanted))
    brokers = import_module("tests.benchmarks.broker")
    if broker:
        return list(measure(brokers.BenchBroker(**json.loads(broker)), folder))
    with brokers.bench_broker(folder) as own:
        return list(measure(own, folder))


def _module(name: str) -> ModuleType:
    return import_module(f"tests.benchmarks.{MEASURES[name][0]}")


def shrink(name: str) -> None:
    """Make a benchmark short. Raises SystemExit where a tree has no such constant: it would do more work."""
    module = _module(name)
    for constant, small in SMALL.get(name, {}).items():
        whole = getattr(module, constant, None)
        if whole is None:
            raise SystemExit(f"{module.__file__} has no {constant}: no short {name} in this tree, try --whole")
        setattr(module, constant, whole[:small] if isinstance(whole, tuple) and isinstance(small, int) else small)


def _told(figure: "Figure") -> dict[str, str | float | None]:
    baseline = None if figure.baseline is None else figure.baseline.value
    return {
        "name": figure.name,
        "value": figure.value,
        "unit": figure.unit,
        "note": figure.note,
        "baseline": baseline,
        "baseline_name": "" if figure.baseline is None else figure.baseline.name,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
