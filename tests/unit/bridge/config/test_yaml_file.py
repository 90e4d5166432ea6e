"""Configuration files: on the disk, and their YAML with lines."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.config.entries import Entry, WrittenFile
from bridge.config.faults import ConfigError, FaultCode
from bridge.config.yaml_file import load_plain, read_file, read_text


def test_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    """Faults name it."""
    path = tmp_path / "bridge.yaml"
    path.write_text("listen: x:1\n", encoding="utf-8")
    assert read_file(path) == WrittenFile(str(path), {"listen": Entry("x:1", 1)}, ())


def test_missing_and_binary_files_are_faults(tmp_path: Path) -> None:
    """No traceback for a wrong path."""
    binary = tmp_path / "b"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none", binary, tmp_path, Path("/dev/zero")):
        with pytest.raises(ConfigError) as caught:
            read_file(path)
        assert caught.value.faults[0].code is FaultCode.UNREADABLE
        assert str(caught.value).count(str(path)) == 1
        # Where it was read, its path and its rights are as they should be.
        assert ("check the path" in str(caught.value)) is (path not in {binary, Path("/dev/zero")})


def test_entries_remember_their_lines() -> None:
    """A fault has to point at a line."""
    written = read_text("# first\na: 1\nb: [x, y]\ngroups:\n  - match: m\n", "f")
    assert written == WrittenFile("f", {"a": Entry(1, 2), "b": Entry(("x", "y"), 3)}, ((5, {"match": Entry("m", 5)}),))


def test_empty_file_is_no_fault() -> None:
    """Everything has a default."""
    assert read_text("", "f") == WrittenFile("f", {}, ())


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: [1", FaultCode.NOT_YAML),
        ("- a\n", FaultCode.NOT_YAML),
        ("a: 1\na: 2\n", FaultCode.NOT_YAML),
        ("a: {b: 1}\n", FaultCode.WRONG_KIND),
        ("groups: x\n", FaultCode.WRONG_RULE),
        ("a: !!timestamp 99\n", FaultCode.WRONG_KIND),
        ("a: !!int ''\n", FaultCode.WRONG_KIND),
        ("a: !!bool x\n", FaultCode.WRONG_KIND),
        ("? [a, b]\n: 1\n", FaultCode.NOT_YAML),
        ("? &a [*a]\n: 1\n", FaultCode.NOT_YAML),
        ("a: &a [x]\nb: *a\n", FaultCode.NOT_YAML),
        ("a: *unknown\n", FaultCode.NOT_YAML),
    ],
)
def test_other_text_is_a_fault(text: str, code: FaultCode) -> None:
    """What can't be read is said, never guessed."""
    with pytest.raises(ConfigError) as caught:
        read_text(text, "f")
    assert [fault.code for fault in caught.value.faults] == [code]


def test_alias_stands_for_a_value() -> None:
    """As in YAML, but not for lists of lists of lists."""
    assert read_text("a: &name x\nb: *name\n", "f").entries == {"a": Entry("x", 1), "b": Entry("x", 2)}
    assert load_plain("a: &name x\nb: *name\n", "f") == {"a": "x", "b": "x"}


def test_plain_text_is_what_it_says() -> None:
    """Lists and mappings as they stand, for those who read them themselves."""
    assert load_plain("stages: [{groups: [a]}, b]", "plan.yaml") == {"stages": [{"groups": ["a"]}, "b"]}


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "when: 2026-99-99",
        "a: !!timestamp 99",
        "a: !!int ''",
        "a: !!bool x",
        "? [a]\n: 1",
        "a: &a [*a]",
        "a: 0x" + "f" * 5_000,
        "a: " + "[" * 5_000,
        "- " * 5_000,
    ],
)
def test_plain_text_that_can_not_be_read_is_a_fault(text: str) -> None:
    """Brackets within brackets, too: a reader that calls itself has a depth."""
    with pytest.raises(ConfigError) as refused:
        load_plain(text, "plan.yaml")
    assert [(fault.code, fault.source) for fault in refused.value.faults] == [(FaultCode.NOT_YAML, "plan.yaml")]


@example("2024_01")
@example("010")
@example("+5")
@example("1:30")
@example("0x1f")
@given(st.from_regex(r"[-+]?[0-9](?:[0-9_xb]|:[0-9]){0,6}", fullmatch=True))
def test_number_is_read_as_one_only_if_it_is_written_the_same_again(text: str) -> None:
    """A word may look like one of YAML's other forms: what is meant by it is for its key to say."""
    entry = read_text(f"a: {text} # b\n", "f").entries["a"]
    assert str(entry.value) == text
