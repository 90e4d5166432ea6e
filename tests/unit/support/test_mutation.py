"""What may be spoiled is spoiled, one change at a time, and takes the place of the sound code."""

import json
from pathlib import Path
from types import FunctionType

import pytest

from tests.mutation.__main__ import ROOT, killed_again
from tests.mutation.equivalents import EQUIVALENT
from tests.mutation.operators import Mutant, mutants_of, spoiled_code
from tests.mutation.report import page, row
from tests.mutation.suite import Judged, Verdict, put

SOURCE = '''
"""A module."""
from dataclasses import replace
LIMIT = 3

def pick(numbers, least=1):
    """Those above, and below the limit."""
    assert least > 0
    return [number for number in numbers if least <= number and not number == LIMIT]

class Counter:
    def __init__(self):
        self.count = 0

    def add(self, by):
        if by:
            self.count += by
        return min(self.count, LIMIT + 1)
'''
KILLED, ALIVE = Judged(Verdict.KILLED, "test", 0.1), Judged(Verdict.SURVIVED, "", 0.1)


def _spoiled(root: Path) -> dict[str, Mutant]:
    (root / "sample.py").write_text(SOURCE)
    return {f"{one.function}: {one.before} -> {one.after}": one for one in mutants_of(root, "sample.py")}


def test_each_change_of_a_function_is_listed_once(tmp_path: Path) -> None:
    """Neither the assertion nor the default, the table or the docstring."""
    assert list(_spoiled(tmp_path)) == [
        "pick: [number for number in numbers if least <= number and (not number == LIMIT)] -> None",
        (
            "pick: [number for number in numbers if least <= number and (not number == LIMIT)]"
            " -> [number for number in numbers]"
        ),
        "pick: least <= number and (not number == LIMIT) -> least <= number or not number == LIMIT",
        "pick: least <= number and (not number == LIMIT) -> not number == LIMIT",
        "pick: least <= number and (not number == LIMIT) -> least <= number",
        "pick: least <= number -> least < number",
        "pick: not number == LIMIT -> number == LIMIT",
        "pick: number == LIMIT -> number != LIMIT",
        "Counter.__init__: self.count = 0 -> pass",
        "Counter.__init__: 0 -> 1",
        "Counter.add: by -> not by",
        "Counter.add: self.count += by -> pass",
        "Counter.add: self.count += by -> self.count -= by",
        "Counter.add: min(self.count, LIMIT + 1) -> None",
        "Counter.add: min(self.count, LIMIT + 1) -> max(self.count, LIMIT + 1)",
        "Counter.add: LIMIT + 1 -> LIMIT - 1",
        "Counter.add: 1 -> 2",
    ]


def _imported(root: Path) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(SOURCE, str(root / "sample.py"), "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize(
    ("change", "numbers", "sound", "spoiled"),
    [
        ("pick: least <= number -> least < number", [1, 2], [1, 2], [2]),
        ("pick: not number == LIMIT -> number == LIMIT", [2, 3], [2], [3]),
    ],
)
def test_spoiled_code_takes_the_place_of_the_sound_one(
    tmp_path: Path, change: str, numbers: list[int], sound: list[int], spoiled: list[int]
) -> None:
    """In the function that is there already, which others have imported."""
    mutant = _spoiled(tmp_path)[change]
    pick = _imported(tmp_path)["pick"]
    assert isinstance(pick, FunctionType)
    code = pick.__code__
    assert pick(numbers) == sound
    put(spoiled_code(tmp_path, mutant), {(code.co_filename, code.co_qualname, code.co_firstlineno): [pick]})
    assert pick(numbers) == spoiled


NESTED = """
def adder(by):
    def add(number):
        return number + by
    return add

add_two = adder(2)
"""


@pytest.mark.parametrize(("kind", "spoiled"), [("arithmetic", 3), ("return value", None)])
def test_function_that_another_made_at_import_is_spoiled_with_it(
    tmp_path: Path, kind: str, spoiled: int | None
) -> None:
    """Codecs are tables of such functions; also where the change leaves no use of what they close over."""
    (tmp_path / "sample.py").write_text(NESTED)
    mutant = next(one for one in mutants_of(tmp_path, "sample.py") if one.kind == kind)
    names: dict[str, FunctionType] = {}
    exec(compile(NESTED, str(tmp_path / "sample.py"), "exec", dont_inherit=True), names)
    add_two = names["add_two"]
    known = {
        (one.__code__.co_filename, one.__code__.co_qualname, one.__code__.co_firstlineno): [one]
        for one in (names["adder"], add_two)
    }
    assert add_two(5) == 7
    put(spoiled_code(tmp_path, mutant), known)
    assert add_two(5) == spoiled


def test_mutant_of_other_sources_is_refused(tmp_path: Path) -> None:
    """A run that goes on while somebody edits would judge something else."""
    mutant = _spoiled(tmp_path)["Counter.add: 1 -> 2"]
    (tmp_path / "sample.py").write_text(SOURCE.replace("LIMIT + 1", "LIMIT + 5"))
    with pytest.raises(LookupError, match="not there any more"):
        spoiled_code(tmp_path, mutant)
    with pytest.raises(LookupError, match="was not imported"):
        put(spoiled_code(tmp_path, _spoiled(tmp_path)["Counter.add: 1 -> 2"]), {})


def test_score_leaves_out_one_equivalent_in_twenty_and_counts_the_others_as_survived() -> None:
    """40 mutants, of which 30 are killed and 10 survive; three of these are called equivalent, and two may be."""
    mutants = [Mutant("translators/a.py", "f", line, "constant", str(line), "x", line) for line in range(40)]
    judged = {mutant: KILLED if mutant.line < 30 else ALIVE for mutant in mutants}
    equivalent = {mutant.key: "no one can see it" for mutant in mutants[37:]}
    line, score = row("translators", judged, equivalent)
    assert score == pytest.approx(100 * 30 / 38)
    assert line == "| translators | 40 | 30 | 0 | 7 | 3 | 78.9 % | 0 | 78.9 % | ≥ 90 % |"
    since = {mutants[30].key, mutants[31].key, mutants[39].key}
    line, score = row("translators", judged, equivalent, since)
    assert line == "| translators | 40 | 30 | 0 | 7 | 3 | 78.9 % | 2 | 84.2 % | ≥ 90 % |"
    assert score == pytest.approx(100 * 32 / 38)

    text = page("`a command`", judged, equivalent)
    assert "- `translators/a.py:30` f, constant: `30` → `x`" in text
    assert "- `translators/a.py:39` f, constant: `39` → `x`: no one can see it" in text


def test_survivor_counts_as_killed_later_if_it_was_in_every_place(tmp_path: Path) -> None:
    """Lines move, so that a change that stands twice in a function can't be told from itself."""
    told = [(["a.py", "f", "constant: 0", "1"], True), (["a.py", "g", "constant: 0", "1"], True)]
    told.append((["a.py", "f", "constant: 0", "1"], False))
    file = tmp_path / "again"
    file.write_text("\n".join(json.dumps({"key": key, "killed": killed}) for key, killed in told))
    assert killed_again(file) == {("a.py", "g", "constant: 0", "1")}
    assert killed_again(None) == frozenset()


def test_what_is_called_equivalent_is_a_mutant_of_the_sources() -> None:
    """A function that got another name or place takes its entry along, or its mutant counts as survived again."""
    paths = sorted({path for path, *_ in EQUIVALENT})
    assert EQUIVALENT.keys() <= {mutant.key for path in paths for mutant in mutants_of(ROOT, path)}
