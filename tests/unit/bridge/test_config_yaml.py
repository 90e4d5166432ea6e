"""YAML with lines."""

import pytest

from bridge.config_faults import ConfigError, FaultCode
from bridge.config_file import Entry, WrittenFile
from bridge.config_yaml import read_text


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
    ],
)
def test_other_text_is_a_fault(text: str, code: FaultCode) -> None:
    """What can't be read is said, never guessed."""
    with pytest.raises(ConfigError) as caught:
        read_text(text, "f")
    assert [fault.code for fault in caught.value.faults] == [code]
