"""What a join, a leave and a new partition cost in big groups: finding who gets what, and with its records applied.

It must not know how a target is found; Kafka's figures beside ours are published ones, not measured here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.benchmarks.crowd import Cost, Crowd, Shape, Subscriptions
from tests.benchmarks.figures import Figure, Target, middle, spread

ROUNDS = 31
SAME, BUCKETS, OVERLAPPING = Subscriptions.SAME, Subscriptions.BUCKETS, Subscriptions.OVERLAPPING
TEN = 10_000
SAME_US = Target(bound=100)
MIXED_US = Target(bound=5_000)


@dataclass(frozen=True, slots=True)
class Published:
    """Kafka's milliseconds for the same shape (`docs/reference/benchmarks.md` says where from)."""

    full: str = ""
    join: str = ""
    leave: str = ""
    moved: str = ""


SHAPES: tuple[tuple[Shape, Published], ...] = (
    (Shape("uniform", SAME, 100, 1_000, 100), Published("0.027", "0.013", "0.012", "10")),
    (Shape("uniform", SAME, 1_000, 10_000, 100), Published("0.26", "0.09", "0.09", "10")),
    (Shape("uniform", SAME, TEN, 100_000, 100), Published(join="2.0, with its builder 3.4 to 3.7")),
    (Shape("uniform", SAME, TEN, 100_000, 1_000), Published("2.5", "1.46", "1.41", "10")),
    (Shape("uniform", SAME, TEN, 500_000, 1_000), Published("14 to 71", "12 to 21", "10", "50")),
    (Shape("uniform", BUCKETS, 1_000, 10_000, 100), Published("1.4", "1.05", "1.1 to 2.9", "19")),
    (Shape("uniform", BUCKETS, TEN, 100_000, 100), Published("25 to 35", "19 to 20", "16 to 18", "19")),
    (Shape("uniform", BUCKETS, TEN, 100_000, 1_000), Published("156 to 215", "89 to 95", "86 to 95", "19")),
    (Shape("uniform", BUCKETS, TEN, 500_000, 1_000), Published("171 to 416", "119 to 137", "118 to 134", "99")),
    (Shape("uniform", OVERLAPPING, TEN, 100_000, 100), Published()),
    (Shape("uniform", OVERLAPPING, TEN, 100_000, 1_000), Published()),
    (Shape("range", SAME, TEN, 100_000, 100), Published(join="5.6")),
    (Shape("range", SAME, TEN, 500_000, 1_000), Published("44 to 49", "34 to 35", "33", "0")),
    (Shape("range", BUCKETS, 1_000, 50_000, 100), Published("0.6 to 1.2", "0.8 to 1.3", "0.6 to 1.3", "3,940")),
)


def measure_assignors(_directory: Path) -> list[Figure]:
    """The shapes for which figures of Kafka are published, and five overlapping subscriptions."""
    return [figure for shape, published in SHAPES for figure in _measure_shape(shape, published)]


def measure_grid(_directory: Path) -> list[Figure]:
    """One newcomer at each point of Kafka's own grid (K9.6) that has partitions, with the full computation as note."""
    return [_measure_point(shape) for shape in _grid()]


def _measure_shape(shape: Shape, kafka: Published) -> Iterator[Figure]:
    crowd = Crowd(shape)
    full_ms = crowd.compute_in_full() / 1e3
    yield Figure(name=f"{shape}: all anew", value=full_ms, unit="ms", note=_beside(kafka.full))
    joins = [crowd.join() for _ in range(ROUNDS)]
    leaves = [crowd.leave() for _ in range(ROUNDS)]
    grown = [crowd.grow(number) for number in range(ROUNDS)]
    moved = f"moved {middle([one.moved for one in joins]):.0f}; "
    kafka_moved = f", moved {kafka.moved}" if kafka.moved else ""
    yield _measured(shape, "a member joins", joins, moved, _beside(kafka.join) + kafka_moved)
    yield _measured(shape, "a member leaves", leaves, "", _beside(kafka.leave))
    yield _measured(shape, "a new partition", grown, "", "")
    if shape.subscriptions is BUCKETS:
        wide = [crowd.join_wanting_all() for _ in range(ROUNDS)]
        yield _measured(shape, "a member that wants all topics joins", wide, "", "")


def _measured(shape: Shape, what: str, costs: list[Cost], moved: str, kafka: str) -> Figure:
    found = [one.find_us for one in costs]
    applied = f"applied {middle([one.step_us for one in costs]):.0f} µs; "
    note = moved + applied + spread(found) + kafka
    return Figure(name=f"{shape}: {what}", value=middle(found), unit="µs", target=_target(shape), note=note)


def _target(shape: Shape) -> Target | None:
    if shape.assignor == "range" or (shape.members, shape.partitions) != (TEN, 100_000):
        return None
    return SAME_US if shape.subscriptions is SAME else MIXED_US


def _beside(published: str) -> str:
    return f"; Kafka {published} ms" if published else ""


def _grid() -> Iterator[Shape]:
    for assignor, subscriptions in product(("uniform", "range"), (SAME, BUCKETS)):
        for members, ratio, topics in product((100, 500, 1_000, 5_000, TEN), (5, 10, 50), (10, 100, 1_000)):
            if members * ratio >= topics:
                yield Shape(assignor, subscriptions, members, members * ratio, topics)


def _measure_point(shape: Shape) -> Figure:
    crowd = Crowd(shape)
    full_ms = crowd.compute_in_full() / 1e3
    found = [crowd.join().find_us for _ in range(5)]
    return Figure(name=str(shape), value=middle(found), unit="µs", note=f"all anew {full_ms:.3g} ms; {spread(found)}")
