"""What ends a job though neither the user's words nor our code are at fault: room, memory, a process that is gone."""

from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException

from bridge.analytics.errors import AnalyticsError, first_line

PYTHON_BROKE, PYTHON_BROKE_LINES = "Traceback (most recent call last)", 3
SQL_STATE = "SQLSTATE:"
FILE_GONE = "PATH_NOT_FOUND"


@contextmanager
def told_failures() -> Iterator[None]:
    """Raise AnalyticsError in the place of what Spark, Java, Delta or the disk raise.

    A plan that Spark refuses is our bug, unless a file is not there; a reader of our output that has left is no
    failure.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except AnalysisException as problem:
        if problem.getCondition() != FILE_GONE:
            raise
        raise AnalyticsError(
            f"EB-ANALYTICS-016: a file of the tables is gone ({cause_of(problem)}); they may have been made anew "
            "meanwhile and their old files removed, or somebody removed it: look, and run the same command again"
        ) from problem
    except (OSError, DeltaError, Py4JError, PySparkException) as problem:
        raise AnalyticsError(
            f"EB-ANALYTICS-012: the job broke off ({cause_of(problem)}); room, memory, a file or a process may be gone "
            "or damaged: look, and run the same command again, "
            "with --debug for all that Spark says"
        ) from problem


def cause_of(problem: BaseException) -> str:
    """The first line of what lies at the bottom: Java wraps one exception into the other."""
    java = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    if java is None:
        return first_line(problem)
    while java.getCause() is not None:
        java = java.getCause()
    lines = str(java.toString()).strip().splitlines()
    if PYTHON_BROKE not in "".join(lines[:PYTHON_BROKE_LINES]):
        return lines[0]
    # What broke in a Python process comes as its whole traceback: the last line is what it was, but for Spark's code.
    said = [line.strip() for line in lines]
    return next(line for line in reversed(said) if line and not line.startswith(SQL_STATE))
