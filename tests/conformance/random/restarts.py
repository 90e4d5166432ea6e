"""Sequences played twice on the bridge, once with kill -9 and a new start in the middle: nobody must notice.

It knows what a restart may cost (K7.31), and must not know how the journal is written.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Barrier

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.conformance.random.comparing import Found, differences
from tests.conformance.random.playing import QUICK
from tests.conformance.random.sequences import Course, Drawn, Restart, settings_of
from tests.conformance.random.settling import SettlingPlay
from tests.conformance.random.sides import BRIDGE_SETTINGS, answered_in, fresh_group
from tests.conformance.random.topics import Topics
from tests.support.conformance.ground import find_ground, make_topics
from tests.support.conformance.playing import Ground
from tests.support.restarted_bridge import RestartedBridge

BATCH, MEETING_S = 16, 300
NO_DRAIN = {"commit.drain.ms": "0"}
"""What may be on its way to the broker at a kill is held for as long (decision 2); here nothing is."""
AT_REST = {"Stable", "Empty", "Dead"}


def interrupted(drawn: Drawn) -> Drawn:
    """The sequence with a restart somewhere."""
    at = Random(drawn.seed).randint(1, len(drawn.moves) - 1)
    return replace(drawn, moves=(*drawn.moves[:at], Restart(), *drawn.moves[at:]))


def unexplained(drawn: Drawn, without: Course, with_kill: Course) -> list[Found]:
    """What differs though it was durable: all in the end, and every answer unless a classic rebalance was cut short.

    A rebalance that runs and ids that were promised are not durable, in Kafka neither (K7.31): who waits for them
    without a kill has nothing to be compared with.
    """
    found = differences(without, with_kill)
    at = next(step for step, move in enumerate(drawn.moves, 1) if isinstance(move, Restart))
    early = [one for one in found if one.step < at]
    if not early and was_at_rest(without, at):
        return found
    return [one for one in found if one.path.startswith("settled") and without[one.step - 1].settled["quiet"]]


def was_at_rest(course: Course, step: int) -> bool:
    """Whether no classic rebalance ran and nobody had been promised an id just before this step."""
    before = course[step - 2] if step > 1 else course[0]
    rows = before.classic["groups"]
    assert isinstance(rows, list)
    state = next((row["state"] for row in rows if isinstance(row, dict)), "Dead")
    promised = any(one.answer.get("error") == "MEMBER_ID_REQUIRED" for seen in course[:step] for one in seen.answers)
    return state in AT_REST and not promised


def met(barrier: Barrier) -> None:
    """Wait until every sequence has come to its restart."""
    barrier.wait(MEETING_S)


def play_batch(bridge: RestartedBridge, ground: Ground, topics: Topics, drawns: Sequence[Drawn]) -> list[list[Found]]:
    """Each once undisturbed, and each once with one kill for all of them."""

    def kill() -> None:
        bridge.kill()
        bridge.start()

    def undisturbed(drawn: Drawn) -> Course:
        return SettlingPlay(ground=ground, group=fresh_group(), patience=QUICK, topics=topics).course(drawn)

    def disturbed(drawn: Drawn, before: Course) -> Course:
        expected = answered_in(before)
        play = SettlingPlay(ground=ground, group=fresh_group(), patience=QUICK, topics=topics, expected=expected)
        play.restart = lambda: met(barrier)
        return play.course(drawn)

    barrier = Barrier(len(drawns), kill)
    with ThreadPoolExecutor(len(drawns)) as pool:
        without = list(pool.map(undisturbed, drawns))
        with_kill = list(pool.map(disturbed, drawns, without))
    return [unexplained(*three) for three in zip(drawns, without, with_kill, strict=True)]


def restart_all(drawns: Sequence[Drawn], directory: Path) -> list[tuple[Drawn, list[Found]]]:
    """Those of the sequences after whose restart something is different that is durable; in batches."""
    settings = settings_of("plain")
    with start_broker(BrokerSettings(properties=settings), directory=directory) as broker:
        make_topics(broker.bootstrap)
        topics = Topics.at(broker.bootstrap)
        bridge = RestartedBridge(broker.bootstrap, "wire-*", directory, {**BRIDGE_SETTINGS, **settings, **NO_DRAIN})
        bridge.start()
        try:
            ground = find_ground(bridge.bootstrap)
            drawns = [interrupted(drawn) for drawn in drawns]
            found: list[list[Found]] = []
            for first in range(0, len(drawns), BATCH):
                found += play_batch(bridge, ground, topics, drawns[first : first + BATCH])
            return [(drawn, rest) for drawn, rest in zip(drawns, found, strict=True) if rest]
        finally:
            bridge.kill()
