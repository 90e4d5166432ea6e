"""Law of what reads YAML that an operator writes: whatever the text, it is read, or refused by one error of ours.

`!!timestamp 99` raised AttributeError out of the library, which ended a bridge that was told to read its file again;
forty short lines of aliases of aliases would have been shown with a million million words.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.config.faults import ConfigError
from bridge.config.yaml_file import load_plain, read_text
from bridge.coordinators.embedded.regular_expressions import read_regex
from bridge.migration.plans.reading import read_plan

KINDS = ("binary", "bool", "float", "int", "map", "merge", "null", "omap", "pairs", "set", "seq", "str", "timestamp")
TAGS = ("", *(f"!!{kind} " for kind in KINDS), "!own ", "!!python/object/apply:os.getcwd ")
WORDS = (
    *("", "x", "1", "99", "-", "_", "0x_", "0b", "1:2", ".inf", "1e999", "~", "''", "=", "<<", "[]", "[[a]]", "{}"),
    *("{a: 1}", "[a, {b: c}]", "9999-12-31T23:59:59-23:59", "2026-99-99", '"\\ud800"', "*a", "*b", "&a x", "&b [*a]"),
)
KEYS = ("groups", "listen", "plan", "stages", "conditions", "a", "? [a]\n", "<<", "? &b [x]\n")
SHOWN_CHARS_MAX = 20_000
LINES = 40

values = st.builds("{}{}".format, st.sampled_from(TAGS), st.sampled_from(WORDS))
lines = st.builds("{}: {}".format, st.sampled_from(KEYS), values) | st.builds("- {}".format, values) | st.text()


def judge(text: str) -> None:
    """Both readers bear it."""
    for read in (lambda: read_text(text, "f"), lambda: read_plan(load_plain(text, "f"), read_regex)):
        try:
            said = str(read())
        except ConfigError as problem:
            said = str(problem)
        assert len(said) <= SHOWN_CHARS_MAX + 10 * len(text)


@given(st.lists(lines, max_size=5).map("\n".join) | values | st.text())
def test_every_text_is_read_or_refused(text: str) -> None:
    """No other error, whatever stands where."""
    judge(text)


@pytest.mark.parametrize(
    "line", ["a{0}: &a{0} [*a{1}, *a{1}]", "? &a{0} [*a{1}, *a{1}]\n: 1", "a{0}: &a{0} {{x: *a{1}}}"]
)
def test_aliases_of_aliases_grow_nothing(line: str) -> None:
    """Each line doubles what the one before it stands for."""
    judge("\n".join(["a0: &a0 [x, x]", *(line.format(number, number - 1) for number in range(1, LINES))]))
