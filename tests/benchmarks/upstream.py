"""What road upstream costs: a client's heartbeat beside one on road embedded, and the short heartbeat that goes to the
broker and back for every member.

It must not know how the bridge does either.
"""

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bridge.demo.services import free_place
from tests.benchmarks.bridge_child import GROUPS, bridge_words
from tests.benchmarks.broker import SMALL_TOPIC, BenchBroker, make_topics
from tests.benchmarks.figures import Baseline, Figure, Target, middle, spread
from tests.benchmarks.processes import BenchmarkError, Child, command, program
from tests.benchmarks.short_beats import BEATS_S

MEMBERS = 1_000
ROUNDS = 5
FAST = "fast 3"
MICROS = 1e6
ALIKE = Target(bound=1.05)
SHORT_BEAT_US = Target(bound=60.0)


@dataclass(slots=True)
class Road:
    """A bridge with members of one road, and what a heartbeat of theirs cost in every round."""

    bridge: Child
    load: Child
    cost_us: list[float] = field(default_factory=list)

    def run(self) -> None:
        """As many heartbeats as are answered."""
        before_s = self.bridge.cpu_s()
        beating: dict[str, float] = json.loads(self.load.ask(FAST))
        if beating["refused"]:
            raise BenchmarkError(f"{beating['refused']} heartbeats of settled members were refused")
        self.cost_us.append(MICROS * (self.bridge.cpu_s() - before_s) / beating["answered"])


def measure_upstream(broker: BenchBroker, directory: Path) -> list[Figure]:
    """Both roads in turns, then the bridge in front of a broker that counts what it is asked."""
    make_topics(broker, SMALL_TOPIC)
    with ExitStack() as stack:

        def road(name: str, option: str) -> Road:
            place = free_place()
            words = bridge_words(broker.bootstrap, place, ())
            words[words.index("--embedded")] = option
            bridge = stack.enter_context(command(words, directory, {}))
            arguments = [place.listen, str(MEMBERS), SMALL_TOPIC, f"{GROUPS.removesuffix('*')}{name}", "classic"]
            return Road(bridge, stack.enter_context(program("tests.benchmarks.heartbeat_load", arguments, directory)))

        embedded, upstream = road("embedded", "--embedded"), road("upstream", "--upstream")
        for _ in range(ROUNDS):
            embedded.run()
            upstream.run()
    ratios = [ours / theirs for ours, theirs in zip(upstream.cost_us, embedded.cost_us, strict=True)]
    return [
        Figure(
            name=f"heartbeat of a client on road upstream, {MEMBERS} members: CPU to that on road embedded",
            value=middle(ratios),
            unit="ratio",
            target=ALIKE,
            note=spread(ratios),
        ),
        Figure(
            name=f"CPU per heartbeat of a client on road upstream, {MEMBERS} members",
            value=middle(upstream.cost_us),
            unit="µs",
            baseline=Baseline(name="road embedded", value=middle(embedded.cost_us)),
            note=spread(upstream.cost_us),
        ),
        *_short_beats(directory),
    ]


def _short_beats(directory: Path) -> list[Figure]:
    """Members whose clients are silent, at a broker of a few lines that wants to hear of them often."""
    cost_us: list[float] = []
    with ExitStack() as stack:
        listen = free_place().listen
        broker = stack.enter_context(program("tests.benchmarks.short_beats", [listen, str(MEMBERS)], directory))
        place = free_place()
        words = bridge_words(listen, place, ())
        words[words.index("--embedded")] = "--upstream"
        bridge = stack.enter_context(command(words, directory, {}))
        broker.ask(f"join {place.listen}")
        for _ in range(ROUNDS):
            before_s, heard = bridge.cpu_s(), int(broker.ask("count"))
            time.sleep(BEATS_S)
            cost_us.append(MICROS * (bridge.cpu_s() - before_s) / (int(broker.ask("count")) - heard))
    return [
        Figure(
            name=f"short heartbeat to the broker and back, {MEMBERS} members: CPU of the bridge",
            value=middle(cost_us),
            unit="µs",
            target=SHORT_BEAT_US,
            note=spread(cost_us),
        )
    ]
