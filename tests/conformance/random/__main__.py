"""`python -m tests.conformance.random --seeds 1-200` plays drawn sequences on Kafka and on the bridge and compares.

It knows the order of things, and must not know what a coordinator does.
"""

import argparse
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Semaphore

from confluent_kafka.admin import AdminClient

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.conformance.random.drawing import draw
from tests.conformance.random.judging import Verdict, judge
from tests.conformance.random.playing import CAREFUL, QUICK, Patience
from tests.conformance.random.sequences import KINDS, Course, Drawn, settings_of
from tests.conformance.random.settling import SettlingPlay
from tests.conformance.random.topics import Topics
from tests.conformance.random.writing import written
from tests.support.bridge_process import bridge_process
from tests.support.conformance.ground import find_ground, make_topics
from tests.support.conformance.playing import Ground
from tests.support.conformance.steps import Call

BRIDGE_SETTINGS = {
    "journal": "memory",
    "embedded.resume.grace.ms": "0",
    "embedded.topics.refresh.ms": "500",
    "embedded.initial.group.type": "classic",
}


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a profile."""

    kafka: Ground
    ours: Ground
    topics: Topics

    def play(self, drawn: Drawn, patience: Patience) -> Verdict:
        """A sequence on both, each in a group of its own."""
        with ThreadPoolExecutor(2) as pool:
            kafka, ours = pool.map(lambda ground: self._play_on(ground, drawn, patience), (self.kafka, self.ours))
        return judge(drawn, kafka, ours)

    def _play_on(self, ground: Ground, drawn: Drawn, patience: Patience) -> Course:
        group = f"wire-{uuid.uuid4().hex[:8]}-x"
        return SettlingPlay(ground=ground, group=group, patience=patience, topics=self.topics).course(drawn)


@contextmanager
def both_sides(profile: str, directory: Path) -> Iterator[Sides]:
    """A broker with the bridge in front of it."""
    settings = settings_of(profile)
    with start_broker(BrokerSettings(properties=settings), directory=directory) as broker:
        make_topics(broker.bootstrap)
        with bridge_process(broker.bootstrap, ("wire-*",), directory, {**BRIDGE_SETTINGS, **settings}) as bridge:
            yield Sides(
                find_ground(broker.bootstrap),
                find_ground(bridge.bootstrap),
                Topics(AdminClient({"bootstrap.servers": broker.bootstrap})),
            )


def examine(sides: Sides, drawn: Drawn, few: Semaphore) -> Verdict:
    """What differs, every time."""
    verdict = sides.play(drawn, QUICK)
    if not verdict.unexplained:
        return verdict
    with few:
        for _ in range(2):
            if verdict.unexplained:
                verdict = sides.play(drawn, CAREFUL)
    return verdict


def shrink(sides: Sides, drawn: Drawn, verdict: Verdict) -> tuple[Drawn, Verdict]:
    """Drop steps as long as something of the kind still differs."""
    kind = signature(drawn, verdict)
    drawn = replace(drawn, moves=drawn.moves[: verdict.steps])
    size = max(1, len(drawn.moves) // 2)
    while size:
        tries = [
            replace(drawn, moves=drawn.moves[:at] + drawn.moves[at + size :]) for at in range(0, len(drawn.moves), size)
        ]
        with ThreadPoolExecutor(12) as pool:
            verdicts = list(pool.map(lambda one: sides.play(one, QUICK), tries))
        kept = [(one, v) for one, v in zip(tries, verdicts, strict=True) if v.unexplained and signature(one, v) & kind]
        if kept:
            drawn, verdict = kept[-1]
            drawn = replace(drawn, moves=drawn.moves[: verdict.steps])
            size = min(size, max(1, len(drawn.moves) // 2))
        else:
            size //= 2
    return drawn, verdict


def signature(drawn: Drawn, verdict: Verdict) -> set[str]:
    """What a difference is about, so that shrinking keeps to it."""
    kinds = set()
    for one in verdict.unexplained:
        move = drawn.moves[one.asked - 1]
        api = move.api if isinstance(move, Call) else type(move).__name__
        kinds.add(f"{api if one.path.startswith('answer') else 'view'} {one.leaf()} {one.kafka!r} {one.ours!r}")
    return kinds


def show(drawn: Drawn, verdict: Verdict) -> None:
    for number, move in enumerate(drawn.moves, 1):
        print("   ", number, written(move))
    for one in verdict.unexplained[:10]:
        print("  ", one.line())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1-50")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--profile", default="plain")
    parser.add_argument("--at-once", type=int, default=40)
    parser.add_argument("--shrink", type=int, default=10)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    begun = time.monotonic()
    rules: Counter[str] = Counter()
    compared = 0
    seen: set[str] = set()
    with (
        tempfile.TemporaryDirectory() as directory,
        both_sides(options.profile, Path(directory)) as sides,
        ThreadPoolExecutor(options.at_once) as pool,
    ):
        drawns = [draw(seed, options.kind, options.profile) for seed in seeds]
        bad = []
        few = Semaphore(12)
        for drawn, verdict in zip(drawns, pool.map(lambda one: examine(sides, one, few), drawns), strict=True):
            rules.update(verdict.rules)
            compared += verdict.steps
            if verdict.unexplained:
                bad.append((drawn, verdict))
        print(f"played: {time.monotonic() - begun:.0f} s", flush=True)
        for drawn, verdict in bad:
            print(f"seed {drawn.seed} ({drawn.kind}) at step {verdict.steps} of {len(drawn.moves)}", flush=True)
            if signature(drawn, verdict) & seen or options.shrink <= 0:
                print("   as above:", verdict.unexplained[0].line())
                continue
            options.shrink -= 1
            seen |= signature(drawn, verdict)
            small, small_verdict = shrink(sides, drawn, verdict)
            seen |= signature(small, small_verdict)
            show(small, small_verdict)
    steps = sum(len(one.moves) for one in drawns)
    print(
        f"{len(seeds)} sequences, {compared} of {steps} steps compared, {len(bad)} differ, {time.monotonic() - begun:.0f} s"
    )
    for title, count in rules.most_common():
        print(f"  {count:5} {title}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
