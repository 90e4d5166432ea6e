"""Kafka's own tests of its coordinator by section and name, and what stands for those that no scenario cites.

It knows the form of their file, and must not know scenarios.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

import yaml

from tests.support.conformance.transcripts import DATA

FILE = DATA.parent / "kafka-tests.yaml"
PATH = re.compile(r"`(tests/[^`]+)`")
SCENARIOS = re.compile(r"scenarios?: ([^`(]+)")
NOT_APPLICABLE = "does not apply: "


@cache
def kafka_tests() -> Mapping[str, Mapping[str, str]]:
    """By section and name the counterpart in words; empty where scenarios cite the test themselves."""
    return cast("Mapping[str, Mapping[str, str]]", yaml.safe_load(FILE.read_text(encoding="utf-8")))


def paths_in(counterpart: str) -> Sequence[str]:
    """The tests of this project that a text names, `FILE` or `FILE::FUNCTION`."""
    return PATH.findall(counterpart)


def titles_in(counterpart: str) -> Sequence[str]:
    """The scenarios that a text names."""
    found = SCENARIOS.match(counterpart)
    return [title.strip() for title in found[1].split(";") if title.strip()] if found is not None else []


def says_something(counterpart: str) -> bool:
    """Whether a text names a counterpart or gives a reason."""
    is_reason = counterpart.startswith(NOT_APPLICABLE)
    return is_reason or bool(paths_in(counterpart)) or bool(titles_in(counterpart))
