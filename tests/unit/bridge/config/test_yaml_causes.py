"""What is guessed of text that is no YAML, and of keys within keys; what is told of whole files: test_wrong_files."""

import pytest

from bridge.config.yaml_causes import cause_of_nesting, cause_of_yaml


@pytest.mark.parametrize("line", [0, 1, 2, 9])
def test_nothing_is_guessed_of_text_that_shows_nothing(line: int) -> None:
    """Also where the reader gave up behind the end, or says no line."""
    assert not cause_of_yaml("bootstrap: k:9092\nfoo bar\n", line, "it is wrong")


def test_fault_may_have_begun_in_the_line_above() -> None:
    """The reader sees it at the next one; lines further up are not looked at."""
    text = "bootstrap\t: k\nlisten: x\nlisten: y"
    assert "a tab is in it" in cause_of_yaml(text, 2, "it is wrong")
    assert not cause_of_yaml(text, 3, "it is wrong")


def test_unfinished_merge_is_named_before_all_else() -> None:
    """Its marks are wrong wherever the reader gave up; a line of many signs of equality is none."""
    assert "line 2 " in cause_of_yaml("a: b\n<<<<<<< HEAD\n\tc: d", 3, "it is wrong")
    assert not cause_of_yaml("# ==================\na b", 2, "it is wrong")


@pytest.mark.parametrize(
    ("key", "inner", "told"),
    [
        ("upstream", ["tls"], "write `upstream.tls: …`"),
        ("any", ["match", "road"], "a list under `groups`"),
        ("any", ["listen"], "write `listen: …` one level further out"),
        ("listen.ports", ["1"], "[1=…]"),
        ("bootstrap", ["host", "port"], "`bootstrap: HOST:PORT`"),
        ("listen.tls", ["on"], "keys are written whole"),
        ("any", [], "write one value"),
    ],
)
def test_keys_within_keys_are_told_where_they_belong(key: str, inner: list[str], told: str) -> None:
    """By what there is of that name."""
    assert told in cause_of_nesting(key, inner)
