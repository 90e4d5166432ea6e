"""Prints the table of all stories told at the end of a run, also of one that several processes shared."""

import pytest

from tests.support.matrix import table_lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of all stories told."""
    results = [
        (outcome, dict(report.user_properties))
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if "story" in dict(report.user_properties)
    ]
    if results:
        terminalreporter.section("stories")
        for line in table_lines(results):
            terminalreporter.write_line(line)
