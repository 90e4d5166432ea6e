"""What the user is told when a job can't be done."""

import re

CAUSED_BY = "↳"
"""Before each cause that delta-rs names, on a line of its own, in colour."""
_PAINT = re.compile(r"\x1b\[\d*m")


class AnalyticsError(Exception):
    """One sentence with its code: what happened, the value seen, the likely cause, the next step."""


def first_line(problem: BaseException) -> str:
    """What was raised in one line, never empty; with all causes that delta-rs names."""
    text = _PAINT.sub("", str(problem)).strip()
    if CAUSED_BY in text:
        return ": ".join(line.strip(f" {CAUSED_BY}") for line in text.splitlines())
    return text.splitlines()[0] if text else type(problem).__name__
