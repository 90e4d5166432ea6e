"""`python -m tests.moves [--fleets mixed,java] [--versions 4.3.1] [--bridge 50] [--brokers 12] [--seed S]`: every fleet
goes every road in peace, then a mixed one under kills, and a page of it.

It must not know how anything is judged; exit status 1 if anything was found.
"""

import argparse
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import trio

from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.moves.fleets import TROUPES, VERSIONS, ways_at
from tests.moves.trial import Course, Outcome, play
from tests.support.bridge_process import ROOT
from tests.support.casts import Wardrobe

KILLED = ("kafka-python-range", "confluent-range", "aiokafka", "confluent-range")
"""Who plays under kills."""
KILLS_OF_A_GROUP = 6
"""After so many a group stops and another one begins."""
PROPERTIES = {
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "300",
}
"""Kafka's five seconds between two heartbeats of a consumer make every settling long."""
PROSE = (
    "Groups of real clients behind a bridge with a SQLite journal, in front of one broker, on 6 partitions with 200",
    "records a second. Each move is ordered by the admin API, while records flow; then everybody has to be at rest,",
    "and every member has to have had a commit taken, before the next move is ordered. Who dies, dies by SIGKILL,",
    "that long after the order was sent, or mostly after the move has begun, which the seed draws, and is started",
    "again at once (a broker up to 3 s later); then the same order is given again. Nobody comes or goes meanwhile, so",
    "every callback of a client is one too many. Judged are the clients' own diaries, and the offsets that are",
    "committed at the broker after each move.",
    "What is bold has to be 0.",
    "",
)


def main(arguments: Sequence[str]) -> int:
    """Play and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.moves", description=__doc__)
    parser.add_argument("--fleets", default=",".join(TROUPES), help="who is moved in peace (all)")
    parser.add_argument("--versions", default=",".join(VERSIONS), help="of Kafka (all)")
    parser.add_argument("--bridge", type=int, default=50, help="how often the bridge is killed (50)")
    parser.add_argument("--brokers", type=int, default=12, help="how often the broker is killed (12)")
    parser.add_argument(
        "--session-ms", type=int, default=0, help="longer sessions, where a broker starts slowly (45000)"
    )
    parser.add_argument(
        "--roads", default="", help="on the way to which roads they die, one after the other (each there and back)"
    )
    parser.add_argument("--seed", default=uuid.uuid4().hex[:6], help="who dies when; printed")
    parser.add_argument("--kept", type=Path, help="keep logs and data here instead of removing them")
    parser.add_argument("--page", type=Path, help="write the result page here")
    wished = parser.parse_args(arguments)
    print(f"seed {wished.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="moves-") as passing:
        directory = wished.kept or Path(passing)
        directory.mkdir(parents=True, exist_ok=True)
        outcomes = play_all(directory, wished)
    text = page(wished, outcomes)
    print(text)
    if wished.page:
        wished.page.write_text(text, encoding="utf-8")
    return min(sum(sum(outcome.faults().values()) for _, outcome in outcomes), 1)


def play_all(directory: Path, wished: argparse.Namespace) -> list[tuple[str, Outcome]]:
    """Each outcome with the version of its broker."""
    wardrobe, found = Wardrobe(directory), []
    wardrobe.least_session_ms = wished.session_ms
    fleets = [name for name in wished.fleets.split(",") if name]
    for version in wished.versions.split(","):
        courses = [course for name in fleets if (course := in_peace(name, version)) is not None]
        courses += [*under_kills("bridge", version, wished), *under_kills("broker", version, wished)]
        with running_broker(version, directory) as broker:
            for number, course in enumerate(courses):
                place = directory / f"{version}-{number:02}-{course.troupe}"
                found.append((version, trio.run(partial(play, broker, wardrobe, place, course))))
    return found


@contextmanager
def running_broker(version: str, directory: Path) -> Iterator[KafkaBroker]:
    """A broker of this version."""
    properties = PROPERTIES if version.startswith("4") else {"group.initial.rebalance.delay.ms": "300"}
    settings = BrokerSettings(version=version, properties=properties)
    with start_broker(settings, directory=directory / f"kafka-{version}") as broker:
        yield broker


def in_peace(name: str, version: str) -> Course | None:
    """The course of a fleet, None if none of its roads is open there."""
    troupe = TROUPES[name]
    roads = troupe.roads(version)
    return Course(troupe=name, seats=troupe.seats(), roads=roads, deaths=("",) * len(roads), seed="") if roads else None


def under_kills(death: str, version: str, wished: argparse.Namespace) -> list[Course]:
    """The courses at this version, of as many deaths at all of them as are wished for."""
    wanted = wished.bridge if death == "bridge" else wished.brokers
    versions = wished.versions.split(",")
    chosen = [road for road in wished.roads.split(",") if road]
    roads = (deal_chosen(versions, wanted, chosen) if chosen else deal_roads(versions, wanted))[version]
    shares = [tuple(roads[one : one + KILLS_OF_A_GROUP]) for one in range(0, len(roads), KILLS_OF_A_GROUP)]
    return [
        Course(
            troupe=f"under {len(share)} deaths of the {death}",
            seats={f"m{seat}": kind for seat, kind in enumerate(KILLED, 1)},
            roads=share,
            deaths=(death,) * len(share),
            seed=f"{wished.seed}-{version}-{death}-{number}",
        )
        for number, share in enumerate(shares)
    ]


def deal_roads(versions: Sequence[str], deaths: int) -> Mapping[str, Sequence[str]]:
    """On the way to which roads somebody dies, by version: there and back, each way as often as the other, at each of
    the versions that have it by turns.

    With a share for each version most deaths fell on the one way that all of them have.
    """
    dealt: dict[str, list[str]] = {version: [] for version in versions}
    ways = dict.fromkeys(way for version in versions for way in ways_at(version))
    hosts = {way: cycle([version for version in versions if way in ways_at(version)]) for way in ways}
    for begun, way in zip(range(0, deaths, 2), cycle(ways), strict=False):
        dealt[next(hosts[way])] += (way, "pass")[: deaths - begun]
    return dealt


def deal_chosen(versions: Sequence[str], deaths: int, roads: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The same where somebody chose the roads, as from one to the other without a stay at the broker: every version has
    as many deaths as the other.
    """
    ends = [deaths * number // len(versions) for number in range(len(versions) + 1)]
    return {one: [*islice(cycle(roads), ends[at + 1] - ends[at])] for at, one in enumerate(versions)}


def page(wished: argparse.Namespace, outcomes: Sequence[tuple[str, Outcome]]) -> str:
    """The result in Markdown."""
    # Which of them is told is drawn by seeds of versions: a run of some is no part of a run of all.
    only = "".join(
        f' --{name} "{chosen}"'
        for name, chosen, whole in (("fleets", wished.fleets, TROUPES), ("versions", wished.versions, VERSIONS))
        if chosen != ",".join(whole)
    )
    only += f" --session-ms {wished.session_ms}" if wished.session_ms else ""
    only += f" --roads {wished.roads}" if wished.roads else ""
    command = f"python -m tests.moves{only} --bridge {wished.bridge} --brokers {wished.brokers} --seed {wished.seed}"
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    names = list(outcomes[0][1].faults()) if outcomes else []
    lines = ["# Moves under kills", "", f"`{command}` (also `tox run -e moves`), commit `{commit}`.", "", *PROSE]
    lines += ["| Kafka | who | moves | records | " + " | ".join(f"**{name}**" for name in names) + " |"]
    lines += ["|--" * (4 + len(names)) + "|"]
    for version, outcome in outcomes:
        faults = " | ".join(str(count) for count in outcome.faults().values())
        records = outcome.verdict.records_produced
        lines.append(f"| {version} | {outcome.course.troupe} | {len(outcome.moves)} | {records} | {faults} |")
    deaths = Counter(
        (moved.death, moved.way, moved.was_begun) for _, outcome in outcomes for moved in outcome.moves if moved.death
    )
    lines += [
        "",
        "| who died | on the way | times | of these with the move begun and not forgotten |",
        "|--|--|--|--|",
    ]
    for death, way in sorted({(death, way) for death, way, _ in deaths}):
        begun = deaths[death, way, True]
        lines.append(f"| {death} | {way} | {begun + deaths[death, way, False]} | {begun} |")
    return "\n".join([*lines, "", *_details(outcomes), ""])


def _details(outcomes: Sequence[tuple[str, Outcome]]) -> Iterator[str]:
    for version, outcome in outcomes:
        where = f"- {version}, {outcome.course.troupe}: "
        verdict = outcome.verdict
        yield from (f"{where}{one.who} had {one.callbacks} callbacks {one.step}" for one in verdict.noticed)
        yield from (f"{where}{one}" for one in (*verdict.double_ownership, *outcome.commits_back))
        yield from (f"{where}to {one.to}: {one.verdict}" for one in outcome.moves if not one.is_there)
        if outcome.problem:
            yield where + outcome.problem


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
