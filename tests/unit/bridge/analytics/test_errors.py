"""What is raised, in one line."""

from bridge.analytics.errors import first_line


def test_line_is_the_first_and_never_empty() -> None:
    """Delta paints its causes, one below the other: all of them are told."""
    assert (first_line(ValueError("a\nb")), first_line(ValueError())) == ("a", "ValueError")
    assert first_line(OSError("a\n   \x1b[31m↳\x1b[0m b\n   \x1b[31m↳\x1b[0m c")) == "a: b: c"
