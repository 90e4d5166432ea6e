"""What holds for every layer of tests: shared fixtures, the choice of combinations, Hypothesis profiles.

It knows no room of the bridge.
"""

import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.class_archive import OPTIONS, java_options

pytest_plugins = [
    "tests.support.checks",
    "tests.support.kafka",
    "tests.support.open_consumers",
    "tests.support.story_table",
    "tests.support.time_limits",
    "tests.support.work_units",
]

# Two shared cores: the time of one example says nothing about the code.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

os.environ.setdefault(OPTIONS, java_options())


@pytest.fixture(autouse=True)
def kept_logging() -> Iterator[None]:
    """Put back what a test changes of the process's logging, so that the next one sees its own lines."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --matrix: end-to-end tests run each client and each story once (pairs), or every combination (all).

    Add the limit of a whole run, too (`tests.support.time_limits`).
    """
    parser.addini("run_limit_s", "seconds after which the whole run is ended, red; 0: none", default="0")
    parser.addoption("--matrix", choices=("pairs", "all"), default="pairs", help="client and story combinations to run")
