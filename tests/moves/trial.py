"""One group goes from road to road and back while records flow; its bridge or its broker may die at a seed's moments.

It must not know how anything is moved. Judged are the clients' own diaries, and what the broker has committed.
"""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from bridge.admin.client import NoAnswer, ask_moves, parse
from bridge.demo.cluster import read_committed
from bridge.demo.errors import KafkaLaunchError
from bridge.demo.events import Partition
from bridge.demo.fleet import FleetError
from bridge.demo.judge import Verdict, judge
from bridge.demo.kafka_broker import KafkaBroker
from tests.kills.trial import commits_back, diaries_back
from tests.support.bridge_process import BridgeProcessError
from tests.support.casts import Wardrobe
from tests.support.moved_group import LIFE_S, LOOK_S, MovedGroup, running_group

TIMEOUT_S = 120.0
EARLY_WITHIN_S: Mapping[str, float] = {"upstream": 1.3, "pass": 0.3, "embedded": 1.3}
"""About as long as it takes from an order until its move begins, a second of which a group on `pass` is looked at."""
WITHIN_S: Mapping[str, float] = {"upstream": 0.15, "pass": 0.5, "embedded": 0.1}
"""About as long as a move is carried out that has begun: deaths fall into and after it."""
EARLY_SHARE = 0.25
"""So many deaths of all are drawn from the order on, and the others from the begin of the move."""
DEAD_S = (0.0, 3.0)
"""How long a broker is dead, beside the time that it takes to start."""
THERE_ALREADY = {"EB-MOVE-103", "EB-MOVE-203"}
"""What an order is answered whose group has been moved: it has no members left, or is on that road."""
BEGINNINGS_MAX = 3
"""How often a group is formed that does not settle: of moves that says nothing, as none was ordered."""


FAILURES = (AssertionError, FleetError, trio.TooSlowError, NoAnswer, BridgeProcessError, KafkaLaunchError, OSError)
"""What ends a course before its time, and is told on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Who goes where, one road after the other, and who dies ("bridge", "broker" or "") on the way there."""

    troupe: str
    seats: Mapping[str, str]
    roads: Sequence[str]
    deaths: Sequence[str]
    seed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A move: whether the group got there, what was said of it, how long it took to say so, and who died."""

    came_from: str
    to: str
    is_there: bool
    verdict: str
    took_s: float
    death: str
    after_s: float
    """When after the order, or the begin of the move, somebody died."""
    was_begun: bool
    """Whether the bridge's next life knew of the move."""

    @property
    def way(self) -> str:
        """From where to where."""
        return f"{self.came_from} to {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a course."""

    course: Course
    moves: tuple[Moved, ...]
    verdict: Verdict
    commits_back: tuple[str, ...]
    tracebacks: int
    problem: str = ""
    """Why it could not be played to its end."""

    def faults(self) -> Mapping[str, int]:
        """What has to be nothing."""
        return {
            "callbacks in clients": sum(one.callbacks for one in self.verdict.noticed),
            "records lost": self.verdict.records_lost,
            "partitions owned twice": len(self.verdict.double_ownership),
            "commits that went back": len(self.commits_back),
            "commits that are not what was processed": len(self.verdict.commit_mismatches),
            "moves that did not get there": sum(not one.is_there for one in self.moves),
            "tracebacks of the bridge": self.tracebacks,
            "courses not played to their end": int(bool(self.problem)),
        }


@dataclass(slots=True)
class Trial:
    """A settled group that is moved."""

    group: MovedGroup
    broker: KafkaBroker
    moments: random.Random
    is_native: bool = False
    committed: list[Mapping[Partition, int]] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)

    async def go(self, to: str, death: str) -> None:
        """Order a move, let somebody die over it, order it again if need be, and wait until all are at rest."""
        began, after_s, was_begun = time.monotonic(), 0.0, False
        async with self.group.fleet.step(f"to {to}{', ' if death else ''}{death}", is_unnoticed=True):
            if death:
                is_early = self.moments.random() < EARLY_SHARE
                after_s = self.moments.uniform(0, (EARLY_WITHIN_S if is_early else WITHIN_S)[to])
                was_begun = await self._die(to, death, after_s, is_early=is_early)
            await self.group.order(to)
            found = await self.group.wait_for_end()
            took_s = time.monotonic() - began
            await trio.sleep(LIFE_S)
            await self.group.fleet.wait_settled(timeout_s=TIMEOUT_S)
            await self.group.fleet.wait_confirmed(timeout_s=TIMEOUT_S)
        obstacles = found["obstacles"]
        assert isinstance(obstacles, list), found
        codes = {str(one["code"]) for one in obstacles}
        said = f"{found['stage']}: {found['verdict']} {' '.join(str(one['sentence']) for one in obstacles)}".strip()
        moved = Moved(
            came_from=self.moves[-1].to if self.moves else "pass",
            to=to,
            is_there=found["stage"] == "done" or (self.may_be_there(death) and bool(codes & THERE_ALREADY)),
            verdict=said,
            took_s=took_s,
            death=death,
            after_s=after_s,
            was_begun=was_begun,
        )
        print(f"  {moved}", flush=True)
        self.moves.append(moved)
        await self.look()

    def may_be_there(self, death: str) -> bool:
        """Whether nobody may be left to be moved: somebody died over it, or all speak the new protocol already."""
        return bool(death) or self.is_native

    async def look(self) -> None:
        """What the broker has committed."""
        fleet = self.group.fleet
        ask = partial(read_committed, self.broker.bootstrap, self.group.group, fleet.partitions)
        self.committed.append(await trio.to_thread.run_sync(ask))

    async def _die(self, to: str, death: str, after_s: float, *, is_early: bool) -> bool:
        """Gives whether the move was begun when somebody died."""
        async with trio.open_nursery() as nursery:
            if is_early:
                nursery.start_soon(self.group.order, to)
            else:
                await self.group.order(to)
                await self.group.wait_until_begun()
            await trio.sleep(after_s)
            if death == "bridge":
                await trio.to_thread.run_sync(self.group.bridge.kill)
                await trio.to_thread.run_sync(self.group.bridge.start)
            else:
                await trio.to_thread.run_sync(self.broker.kill)
                await trio.sleep(self.moments.uniform(*DEAD_S))
                await trio.to_thread.run_sync(self.broker.start)
        answer = await trio.to_thread.run_sync(ask_moves, self.group.bridge.admin)
        known = parse(answer, self.group.bridge.admin)["moves"]
        await trio.sleep(LOOK_S)
        await self.group.wait_until_nothing_moves()
        return bool(known)


async def play(broker: KafkaBroker, wardrobe: Wardrobe, directory: Path, course: Course, beginning: int = 1) -> Outcome:
    """The group forms, goes its course, reads everything and stops."""
    await trio.Path(directory).mkdir(parents=True, exist_ok=True)
    moments = random.Random(course.seed)
    print(f"{course.troupe} at {broker.version}, seed {course.seed}", flush=True)
    trials: list[Trial] = []
    problem = ""
    is_native = all(kind.endswith("-consumer") for kind in course.seats.values())
    try:
        async with running_group(broker.bootstrap, wardrobe, directory, course.seats) as group:
            trial = Trial(group, broker, moments, is_native)
            trials.append(trial)
            await group.fleet.wait_confirmed(timeout_s=TIMEOUT_S)
            await trial.look()
            for to, death in zip(course.roads, course.deaths, strict=True):
                await trial.go(to, death)
    except* FAILURES as problems:
        problem = "; ".join(f"{type(one).__name__}: {one}" for one in leaves(problems))
        print(f"  {problem}", flush=True)
    if not trials and beginning < BEGINNINGS_MAX:
        return await play(broker, wardrobe, directory.with_name(f"{directory.name}-again"), course, beginning + 1)
    if not trials:
        raise AssertionError(f"{course.troupe} at {broker.version} did not form {beginning} times: {problem}")
    outcome = outcome_of(course, trials[0], problem)
    print(f"  {outcome.faults()} {outcome.verdict.noticed}", flush=True)
    return outcome


def outcome_of(course: Course, trial: Trial, problem: str) -> Outcome:
    """What the diaries say."""
    group = trial.group
    log = group.bridge.log.read_text(encoding="utf-8", errors="replace")
    looks = [*trial.committed, *([group.offsets] if group.offsets else [])]
    return Outcome(
        course=course,
        moves=tuple(trial.moves),
        verdict=judge(group.fleet.evidence(group.offsets or None)),
        commits_back=(*commits_back(looks), *diaries_back(group.fleet.logs())),
        tracebacks=log.count("Traceback"),
        problem=problem,
    )


def leaves(problems: BaseExceptionGroup[Exception]) -> list[Exception]:
    """What went wrong, one by one."""
    found: list[Exception] = []
    for one in problems.exceptions:
        found += leaves(one) if isinstance(one, BaseExceptionGroup) else [one]
    return found
