"""The matrix of clients, stories and brokers: which combinations there are, which run by default, and their table."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from tests.support.casts import CASTS, KINDS, Library
from tests.support.stories import STORIES, can_play

SEED = 848
VERSIONS = ("3.9.1", "4.3.1")
FIGURES = ("disturbed", "lost", "owned twice", "read twice", "rebalances", "longest stall ms")

Properties = Mapping[str, object]


class Case(NamedTuple):
    """One combination."""

    version: str
    cast: str
    story: str

    def __str__(self) -> str:
        return "-".join(self)


def all_cases() -> Sequence[Case]:
    """Every combination that can be played."""
    return [
        Case(version, cast, story)
        for version in VERSIONS
        for cast in CASTS
        for story in STORIES
        if can_play(cast, story)
    ]


def picked_cases() -> Sequence[Case]:
    """Every cast (but kafkajs, which needs Node) and every story at least once, by turns on each broker."""
    chance = random.Random(SEED)
    casts = [cast for cast in CASTS if not needs_node(cast)]
    told: Counter[str] = Counter()
    picked: list[tuple[str, str]] = []
    for cast in chance.sample(casts, len(casts)):
        playable = [story for story in STORIES if can_play(cast, story)]
        least = min(told[story] for story in playable)
        story = chance.choice([story for story in playable if told[story] == least])
        told[story] += 1
        picked.append((cast, story))
    for story in (story for story in STORIES if not told[story]):
        picked.append((chance.choice([cast for cast in casts if can_play(cast, story)]), story))
    return [Case(version, *pair) for version, pair in zip(cycle(VERSIONS), picked, strict=False)]


def needs_node(cast: str) -> bool:
    """Whether somebody in the cast is a JavaScript client."""
    return any(KINDS[kind].library is Library.KAFKAJS for kind in CASTS[cast])


def table_lines(results: Iterable[tuple[str, Properties]]) -> Sequence[str]:
    """A Markdown table of (outcome, properties) pairs: where, who, what, outcome, figures."""
    head = ("broker", "road", "clients", "story", "outcome", *FIGURES)
    lines = [_row(head), _row(["---"] * len(head))]
    lines += [
        _row([*(str(told.get(name, "")) for name in head[:4]), outcome, *(str(told.get(name, "")) for name in FIGURES)])
        for outcome, told in results
    ]
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
