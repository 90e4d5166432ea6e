"""What is raised, in one line, and what is said meanwhile."""

import os
import subprocess
import sys

from bridge.analytics.errors import first_line


def test_line_is_the_first_and_never_empty() -> None:
    """Delta paints its causes, one below the other: all of them are told."""
    assert (first_line(ValueError("a\nb")), first_line(ValueError())) == ("a", "ValueError")
    assert first_line(OSError("a\n   \x1b[31m↳\x1b[0m b\n   \x1b[31m↳\x1b[0m c")) == "a: b: c"


def test_word_that_nobody_reads_ends_nothing() -> None:
    """`analytics stream 2>&1 | head` broke off at the first word behind the last one that was read."""
    reading, writing = os.pipe()
    os.close(reading)
    program = """
import sys
from bridge.analytics.errors import tell
tell("one")
tell("two")
print("three", file=sys.stderr)
print("done")
"""
    with os.fdopen(writing, "wb") as pipe:
        answer = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=pipe, check=False)
    assert (answer.returncode, answer.stdout) == (0, b"done\n")
