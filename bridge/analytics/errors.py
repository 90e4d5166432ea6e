"""What the user is told when a job can't be done, and while it is."""

import os
import re
import sys

import click

CAUSED_BY = "↳"
"""Before each cause that delta-rs names, on a line of its own, in colour."""
_PAINT = re.compile(r"\x1b\[\d*m")


class AnalyticsError(Exception):
    """One sentence with its code: what happened, the value seen, the likely cause, the next step."""


def tell(text: str) -> None:
    """Say on standard error what goes on, if anybody still reads that. Whoever has read enough (`2>&1 | head`), or has
    ended the `tee` behind a stream with the same Ctrl-C, wants the tables all the same.
    """
    try:
        click.echo(text, err=True)
    except OSError:
        # What is written from here on goes nowhere, as it would; and the process need not fail at its end for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def first_line(problem: BaseException) -> str:
    """What was raised in one line, never empty; with all causes that delta-rs names."""
    text = _PAINT.sub("", str(problem)).strip()
    if CAUSED_BY in text:
        return ": ".join(line.strip(f" {CAUSED_BY}") for line in text.splitlines())
    return text.splitlines()[0] if text else type(problem).__name__
