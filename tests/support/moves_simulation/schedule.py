"""What is done to a world of moves, as values, and which story a seed tells."""

from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random

from bridge.migration.route import Road
from tests.support.moves_simulation.kafka_group import Release


class Action(StrEnum):
    """One thing that operators do, or that befalls clients, lines, the bridge or the broker."""

    START = "start"
    LEAVE = "leave"
    KILL = "kill"
    RESTART = "restart"
    PAUSE = "pause"
    CUT = "cut"
    LAG = "lag"
    MOVE = "move"
    STOP = "stop"
    KILL_BRIDGE = "kill-bridge"
    BUSY_BROKER = "busy-broker"
    KILL_BROKER = "kill-broker"
    HANG_BROKER = "hang-broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An action at a time of its phase; one that finds nothing to act on does nothing.

    `amount` is a duration in milliseconds, `name` a profile or, of a move, where to; `places` are the members of an
    order, () for the group.
    """

    at_ms: int
    action: Action
    place: int = 0
    name: str = ""
    amount: int = 0
    places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """Acts between two rests. In a calm one nothing happens but moves, deaths of the bridge and cut lines."""

    is_calm: bool
    acts: tuple[Act, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What holds in a world throughout. Clients at `direct_places` come by another way than the bridge."""

    release: Release = Release.V4_3
    partitions: int = 6
    begins: Road = Road.PASS
    static_places: frozenset[int] = frozenset()
    direct_places: frozenset[int] = frozenset()
    initial_delay_ms: int = 0
    latency_ms: int = 3
    broker_latency_ms: int = 3
    loses: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """A whole story; the seed also feeds what is left to chance within it."""

    seed: int
    conditions: Conditions
    phases: tuple[Phase, ...]


PLACES_MAX = 6
STRANGE, STRANGE_REST = 8, 5
"""One seed in so many tells of a group that is to be adopted while a member of it talks to the broker directly: left to
chance that hardly ever happens.
"""
FAMILIES = (
    ("kafka-python", "java", "sarama-1.22", "librdkafka"),
    ("kafka-python-cooperative", "librdkafka-cooperative", "java-cooperative"),
    ("aiokafka",),
    ("kafkajs",),
)
"""Classic clients that work in one group, as they offer a common protocol and are all eager or all cooperative."""
NATIVES = ("java-consumer", "platformatic-consumer")
_MOVES = (Road.UPSTREAM, Road.UPSTREAM, Road.PASS, Road.PASS, Road.EMBEDDED)
_FAULTS = (
    Action.START,
    Action.START,
    Action.LEAVE,
    Action.KILL,
    Action.RESTART,
    Action.PAUSE,
    Action.CUT,
    Action.LAG,
    Action.KILL_BRIDGE,
    Action.BUSY_BROKER,
    Action.KILL_BROKER,
    Action.STOP,
    Action.MOVE,
)


def draw_schedule(seed: int) -> Schedule:
    """The story of a seed: a fleet forms and is moved, calmly and in storms."""
    rng = Random(f"moves {seed}")
    family = rng.choice(FAMILIES)
    conditions = Conditions(
        release=rng.choice((Release.V4_3, Release.V4_3, Release.V4_1)),
        partitions=rng.choice((2, 3, 6, 8)),
        begins=rng.choice((Road.PASS, Road.PASS, Road.PASS, Road.UPSTREAM, Road.EMBEDDED)),
        static_places=frozenset(place for place in range(PLACES_MAX) if rng.random() < rng.choice((0.0, 0.3))),
        direct_places=frozenset(place for place in range(PLACES_MAX) if rng.random() < rng.choice((0.0, 0.0, 0.2))),
        initial_delay_ms=rng.choice((0, 500)),
        latency_ms=rng.choice((1, 3, 30)),
        broker_latency_ms=rng.choice((1, 3, 30)),
        loses=rng.choice((0, 0, 0, 3)),
    )
    # To who comes by another way the broker gives everything while a group is the bridge's own: such a client is there
    # from the beginning, and stays.
    if conditions.begins is Road.EMBEDDED:
        conditions = replace(conditions, direct_places=frozenset())
    is_strange = seed % STRANGE == STRANGE_REST
    if is_strange:
        conditions = replace(conditions, begins=Road.PASS, direct_places=frozenset({0}))
    fleet = rng.randint(2 if is_strange else 1, PLACES_MAX - 1)
    places = [place for place in range(PLACES_MAX) if place not in conditions.direct_places] or [PLACES_MAX]
    starts = tuple(
        Act(at_ms=rng.randint(0, 1_000), action=Action.START, place=place, name=rng.choice(family))
        for place in range(fleet)
    )
    phases = [Phase(is_calm=False, acts=starts)]
    if is_strange:
        phases.append(Phase(is_calm=True, acts=(Act(at_ms=0, action=Action.MOVE, name=Road.EMBEDDED.value),)))
    for _ in range(rng.randint(2, 4)):
        phases.append(_calm(rng) if rng.random() < 0.6 else _storm(rng, family, places))
    return Schedule(seed, conditions, tuple(phases))


def _move(rng: Random, at_ms: int) -> Act:
    places = tuple(sorted(rng.sample(range(PLACES_MAX), k=rng.randint(1, 3)))) if rng.random() < 0.3 else ()
    return Act(at_ms=at_ms, action=Action.MOVE, name=rng.choice(_MOVES).value, places=places)


def _calm(rng: Random) -> Phase:
    """One order, and what nobody may notice: the bridge dies in the middle, lines are cut, somebody stops it."""
    acts = [_move(rng, 0)]
    reach_ms = rng.choice((30, 300, 4_000))
    if rng.random() < 0.5:
        times = sorted(rng.randint(1, reach_ms) for _ in range(rng.randint(1, 2)))
        acts += [Act(at_ms=at_ms, action=Action.KILL_BRIDGE, amount=rng.choice((10, 200, 1_000))) for at_ms in times]
    if rng.random() < 0.3:
        acts.append(Act(at_ms=rng.randint(1, reach_ms), action=Action.CUT, place=rng.randrange(PLACES_MAX)))
    if rng.random() < 0.2:
        acts.append(Act(at_ms=rng.randint(0, 500), action=Action.LAG, place=rng.randrange(PLACES_MAX), amount=1_000))
    if rng.random() < 0.2:
        acts.append(Act(at_ms=rng.randint(1, reach_ms), action=Action.STOP))
    return Phase(is_calm=True, acts=tuple(sorted(acts, key=lambda act: act.at_ms)))


def _storm(rng: Random, family: tuple[str, ...], places: list[int]) -> Phase:
    faults = rng.sample(_FAULTS, k=rng.randint(1, 5))
    names = [*family, *family, rng.choice(NATIVES)]
    reach_ms = rng.choice((500, 5_000, 20_000))
    acts = [_move(rng, rng.randint(0, reach_ms // 2))]
    for _ in range(rng.randint(1, 8)):
        action, at_ms = rng.choice(faults), rng.randint(0, reach_ms)
        if action is Action.MOVE:
            acts.append(_move(rng, at_ms))
            continue
        amount = {
            Action.PAUSE: (500, 3_000, 8_000, 25_000),
            Action.LAG: (200, 2_000),
            Action.RESTART: (0, 50, 1_000, 5_000),
            Action.KILL_BRIDGE: (10, 200, 1_000, 3_000),
            Action.BUSY_BROKER: (50, 500, 2_000),
        }.get(action, (0,))
        acts.append(
            Act(
                at_ms=at_ms,
                action=action,
                place=rng.choice(places),
                name=rng.choice(names),
                amount=rng.choice(amount),
            )
        )
    return Phase(is_calm=False, acts=tuple(sorted(acts, key=lambda act: act.at_ms)))
