"""The mutation score as a page: a table by room, the survivors, and those that are called equivalent with the reason.

It must not know how anything was judged.
"""

from collections.abc import Collection, Mapping, Sequence

from tests.mutation.operators import Mutant
from tests.mutation.suite import EXAMPLES, Judged, Verdict

Key = tuple[str, str, str, str]
EXCUSED_SHARE_MAX = 0.05
"""Of the mutants of a room: equivalents beyond count as survived."""
ROOMS = ("translators", "bridge/engine", "bridge/coordinators", "bridge/wire")
COLUMNS = (
    *("room", "mutants", "killed", "hung", "survived", "called equivalent", "score"),
    *("killed by tests since", "score with them", "target"),
)
TARGETS = {"translators": 90, "bridge/engine": 90}


def room_of(mutant: Mutant) -> str:
    """The room whose module it is in."""
    return next(room for room in ROOMS if mutant.path.startswith(f"{room}/"))


def row(
    room: str, judged: Mapping[Mutant, Judged], equivalent: Mapping[Key, str], since: Collection[Key] = ()
) -> tuple[str, float]:
    """One line of the table, and the score in per cent; `since` are survivors that newer tests killed."""
    of_room = {mutant: found for mutant, found in judged.items() if room in {"all", room_of(mutant)}}
    counts = [found.verdict for found in of_room.values()]
    killed, hung = counts.count(Verdict.KILLED), counts.count(Verdict.HUNG)
    alive = [mutant for mutant, found in of_room.items() if found.verdict not in {Verdict.KILLED, Verdict.HUNG}]
    called = sum(mutant.key in equivalent for mutant in alive)
    excused = min(called, int(EXCUSED_SHARE_MAX * len(of_room)))
    judged_count = len(of_room) - excused
    score, later = killed + hung, sum(mutant.key in since and mutant.key not in equivalent for mutant in alive)
    scores = [100 * count / judged_count if judged_count else 100.0 for count in (score, score + later)]
    target = f"≥ {TARGETS[room]} %" if room in TARGETS else "–"
    told, told_later = (f"{one:.1f} %" for one in scores)
    cells = (room, len(of_room), killed, hung, len(alive) - called, called, told, later, told_later, target)
    return f"| {' | '.join(map(str, cells))} |", scores[-1]


def page(
    command: str, judged: Mapping[Mutant, Judged], equivalent: Mapping[Key, str], since: Collection[Key] = ()
) -> str:
    """The whole page in Markdown."""
    alive = [mutant for mutant, found in judged.items() if found.verdict not in {Verdict.KILLED, Verdict.HUNG}]
    survivors = sorted((one for one in alive if one.key not in equivalent), key=lambda one: (one.path, one.line))
    excused = sorted((one for one in alive if one.key in equivalent), key=lambda one: (one.path, one.line))
    return "\n".join(
        [
            *_head(command),
            f"| {' | '.join(COLUMNS)} |",
            "|--" * len(COLUMNS) + "|",
            *(row(room, judged, equivalent, since)[0] for room in (*ROOMS, "all")),
            "",
            "## Survivors",
            "",
            *_lines([one for one in survivors if one.key not in since], judged),
            "",
            "## Killed by tests that have landed since",
            "",
            *_lines([one for one in survivors if one.key in since], judged),
            "",
            "## Called equivalent",
            "",
            *(f"- {_told(one)}: {equivalent[one.key]}" for one in excused),
            "",
        ]
    )


def _head(command: str) -> Sequence[str]:
    return (
        "# Mutation score",
        "",
        "How many small faults the unit, property and conformance suites notice. Each mutant is one change of one",
        "function (a comparison, a boolean or arithmetic operator, a constant, a removed statement, a dropped",
        "filter or field, a swapped branch, a return value), judged by the tests that come to its line, quickest",
        f"first, until one fails. Property tests take the same examples each time, {EXAMPLES} at most. Conformance",
        "tests that start a broker, the simulator's stories and all end-to-end tests take no part, and would find",
        "more. Not mutated: texts, annotations, and what runs at import (tables, defaults).",
        "",
        "The score is what was killed, of all but those called equivalent, which may be one in twenty of a room at",
        f"most: what is beyond counts as survived. Made by {command}; written by its `--page`.",
        "",
    )


def _lines(mutants: Sequence[Mutant], judged: Mapping[Mutant, Judged]) -> Sequence[str]:
    words = {Verdict.UNCOVERED: " (no test comes here)", Verdict.NOT_ALL_RUN: " (not all tests were run)"}
    return [f"- {_told(one)}{words.get(judged[one].verdict, '')}" for one in mutants] or ["None."]


def _told(mutant: Mutant) -> str:
    return f"`{mutant.path}:{mutant.line}` {mutant.function}, {mutant.kind}: `{mutant.before}` → `{mutant.after}`"
