"""Names of strangers on a terminal."""

import pytest

from translators.dialects.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb\x9b2J", "a\\x1b[2Jb\\x9b2J"),
        ("one\nanother\u2028third", "one\\nanother\\u2028third"),
        ("orders\u202e2-\u2066", "orders\\u202e2-\\u2066"),
        ("a path \udcff", "a path \\udcff"),
        ("größe 漢字", "größe 漢字"),
    ],
)
def test_what_would_be_obeyed_is_written_out(text: str, shown: str) -> None:
    """A client id can't clear the screen, forge a row, turn the text around, or be no text at all."""
    assert printable(text) == shown
