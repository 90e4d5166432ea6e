"""Which story a seed tells: the fleet, its faults and their times, all drawn from one number."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.support.simulation.profiles import PROFILES
from tests.support.simulation.schedule import Act, Action, Conditions, Phase, Schedule

TOPIC, EXTRA_TOPIC = "orders", "returns"
SUBSCRIPTIONS = (TOPIC, f"{TOPIC} {EXTRA_TOPIC}", EXTRA_TOPIC)
"""What a member may change its mind to."""
PLACES_MAX = 8
STORM_MS = 40_000
TEMPEST_EVERY = 4
CHANGE_OF_MIND_EVERY = 5
"""Every fifth story has members that change their minds about topics, drawn apart: the others stay what they were."""
_TEMPEST_AMOUNTS = {Action.LAG: (500, 4_000, 9_000, 15_000), Action.PAUSE: (300, 5_000, 9_000, 11_000, 16_000, 70_000)}
_NAMES = tuple(PROFILES)
_FAULTS = (
    Action.LEAVE,
    Action.KILL,
    Action.RESTART,
    Action.RESTART,
    Action.KILL_RESTART,
    Action.PAUSE,
    Action.PAUSE,
    Action.CUT,
    Action.CUT,
    Action.LAG,
    Action.START,
    Action.START,
    Action.GROW,
    Action.CREATE,
    Action.DELETE,
    Action.BREAK_UPSTREAM,
    Action.SLOW_BROKER,
    Action.RESTART_BRIDGE,
)


def draw_schedule(seed: int) -> Schedule:
    """The story of a seed: a fleet forms, changes calmly, weathers a storm, and changes once more."""
    rng = Random(f"schedule {seed}")
    conditions = Conditions(
        partitions=rng.choice((1, 3, 4, 6, 12)),
        static_places=frozenset(place for place in range(PLACES_MAX) if rng.random() < rng.choice((0.0, 0.3))),
        curious_places=frozenset(place for place in range(PLACES_MAX) if rng.random() < 0.3),
        initial_delay_ms=rng.choice((0, 0, 500, 3_000)),
        consumer_heartbeat_ms=rng.choice((1_000, 2_000, 2_000, 5_000)),
        consumer_session_ms=rng.choice((12_000, 20_000)),
        latency_ms=rng.choice((1, 3, 30)),
    )
    cast = rng.sample(_NAMES, k=rng.choice((1, 2, 3, 5)))
    fleet = rng.randint(1, PLACES_MAX - 1)
    phases = [Phase(is_calm=False, acts=_formation(rng, cast, fleet))]
    phases += [_calm_phase(rng, cast) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        phases += _roll(rng, fleet)
    phases += [_storm(rng, cast), _calm_phase(rng, cast)]
    if seed % TEMPEST_EVERY == TEMPEST_EVERY - 1:
        phases += _tempest(Random(f"tempest {seed}"))
    if seed % CHANGE_OF_MIND_EVERY == CHANGE_OF_MIND_EVERY - 1:
        phases = [phases[0], *_minded(Random(f"minds {seed}"), phases[1:])]
    return Schedule(seed, conditions, tuple(phases))


def _formation(rng: Random, cast: list[str], fleet: int) -> tuple[Act, ...]:
    spread_ms = rng.choice((0, 50, 4_000))
    return tuple(
        Act(at_ms=rng.randint(0, spread_ms), action=Action.START, place=place, name=rng.choice(cast))
        for place in range(fleet)
    )


def _calm_phase(rng: Random, cast: list[str]) -> Phase:
    action = rng.choice((Action.START, Action.START, Action.LEAVE, Action.KILL, Action.GROW))
    act = Act(
        at_ms=rng.randint(0, 3_000), action=action, place=rng.randrange(PLACES_MAX), name=rng.choice(cast), amount=2
    )
    return Phase(is_calm=True, acts=(act,))


def _roll(rng: Random, fleet: int) -> list[Phase]:
    """A rolling upgrade or downgrade, one member at a time, each step a storm of its own."""
    name = rng.choice(_NAMES)
    return [
        Phase(
            is_calm=False,
            acts=(Act(at_ms=0, action=Action.RESTART, place=place, name=name, amount=rng.choice((50, 1_000, 4_000))),),
        )
        for place in range(fleet)
    ]


def _storm(rng: Random, cast: list[str]) -> Phase:
    """Every storm has its own mixture of faults (swarm), so that each kind is also seen without the others."""
    faults = rng.sample(_FAULTS, k=rng.randint(1, 7))
    names = [*cast, rng.choice(_NAMES)]
    acts = sorted(
        (_fault(rng, rng.choice(faults), names) for _ in range(rng.randint(1, 20))), key=lambda act: act.at_ms
    )
    return Phase(is_calm=False, acts=tuple(acts))


def _tempest(rng: Random) -> list[Phase]:
    """Many faults at once, pauses and lags beyond every session; most leave the bridge its memory."""
    faults = rng.sample(_FAULTS, k=rng.randint(2, 9))
    if rng.random() < 0.7:
        faults = [action for action in faults if action is not Action.RESTART_BRIDGE] or [Action.PAUSE]
    acts = [_fault(rng, rng.choice(faults), list(_NAMES)) for _ in range(rng.randint(10, 60))]
    worse = [replace(act, amount=rng.choice(_TEMPEST_AMOUNTS.get(act.action, (act.amount,)))) for act in acts]
    ordered = tuple(sorted(worse, key=lambda act: act.at_ms))
    return [Phase(is_calm=False, acts=ordered), _calm_phase(rng, list(_NAMES))]


def _minded(rng: Random, phases: list[Phase]) -> Iterator[Phase]:
    """Storms with changed minds, alone or among the faults that they have, with the topic there or not."""
    for phase in phases:
        if phase.is_calm:
            yield phase
            continue
        there = [Act(at_ms=0, action=Action.CREATE, name=EXTRA_TOPIC, amount=rng.choice((1, 4)))]
        minds = _noticed_by_all(rng) if rng.random() < 0.3 else [_change_of_mind(rng) for _ in range(rng.randint(1, 6))]
        acts = (*there[: rng.randint(0, 1)], *minds, *(phase.acts if rng.random() < 0.7 else ()))
        yield replace(phase, acts=tuple(sorted(acts, key=lambda act: act.at_ms)))


def _change_of_mind(rng: Random) -> Act:
    at_ms = rng.choice((rng.randint(0, STORM_MS), rng.randint(0, 3_000)))
    return Act(at_ms=at_ms, action=Action.RESUBSCRIBE, place=rng.randrange(PLACES_MAX), name=rng.choice(SUBSCRIPTIONS))


def _noticed_by_all(rng: Random) -> list[Act]:
    """As where all have the same pattern, and look nearly at the same time."""
    at_ms = rng.choice((10, 1_000, 3_000))
    return [
        replace(_change_of_mind(rng), at_ms=at_ms + rng.choice((0, 0, 0, 1, 3, 30, 300)), place=place)
        for place in range(PLACES_MAX)
    ]


def _fault(rng: Random, action: Action, names: list[str]) -> Act:
    amount = {
        Action.PAUSE: (500, 3_000, 8_000, 25_000),
        Action.LAG: (200, 2_000, 6_000),
        Action.RESTART: (0, 50, 1_000, 5_000),
        Action.KILL_RESTART: (0, 50, 1_000, 5_000),
        Action.SLOW_BROKER: (500, 2_000),
        Action.GROW: (1, 3),
        Action.CREATE: (1, 4),
    }.get(action, (0,))
    return Act(
        at_ms=rng.randint(0, STORM_MS),
        action=action,
        place=rng.randrange(PLACES_MAX),
        name=rng.choice(names),
        amount=rng.choice(amount),
    )
