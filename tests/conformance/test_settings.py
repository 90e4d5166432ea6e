"""Settings under Kafka's own names: default, least and greatest value are what Kafka 4.3 says of its own (K8, K8.1)."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from bridge.config.configuration import load
from bridge.config.fields import INT_MAX, INT_MIN, LONG_MAX, Key, Origin
from bridge.config.kafka_keys import GROUP_NAMES
from bridge.config.keys import KEYS
from tests.conformance.settings import load_settings, read_page

OURS = {name: key for name, key in KEYS.items() if key.origin is Origin.KAFKA}
BROKERS = load_settings()["broker"]
GROUPS = load_settings()["group"]
OTHER_DEFAULTS = {"group.consumer.assignment.interval.ms": "1000"}
"""Ours is 0: nobody waits a second for an assignment that costs microseconds (issue 4)."""
NOT_OURS: Mapping[str, str] = {
    "group.coordinator.": "threads, batches and protocols of a broker",
    "group.share.": "share groups are the broker's",
    "share.": "share groups are the broker's",
    "group.streams.": "streams groups are the broker's",
    "offsets.": "offsets live in the broker",
}
GREATEST = {"int": INT_MAX, "long": LONG_MAX}
RANGE = re.compile(r"\[(-?\d+),\.\.\.\]")


def bounds_of(said: Mapping[str, str]) -> tuple[int | None, int | None, set[str]]:
    """Least and greatest value, and the choices, of what Kafka says."""
    if said["type"] not in GREATEST:
        words = said["valid values"].partition("[")[2].rstrip("]")
        return None, None, {word.strip().lower() for word in words.split(",") if word.strip()}
    found = RANGE.fullmatch(said["valid values"])
    return (INT_MIN if found is None else int(found[1])), GREATEST[said["type"]], set()


def default_of(key: Key) -> str:
    """A default as Kafka writes it."""
    return ",".join(key.default) if isinstance(key.default, tuple) else str(key.default)


@pytest.mark.parametrize("name", sorted(OURS))
def test_setting_has_kafkas_default_and_bounds(name: str) -> None:
    """Anyone can configure the bridge exactly like a broker (issue 4, build 9)."""
    key, said = OURS[name], BROKERS[name]
    assert OTHER_DEFAULTS.get(name, default_of(key)) == said["default"]
    assert (key.minimum, key.maximum, set(key.choices)) == bounds_of(said)


def test_defaults_that_differ_do_differ() -> None:
    """Else they need no mention."""
    assert [name for name, kafkas in OTHER_DEFAULTS.items() if default_of(OURS[name]) == kafkas] == []


def test_each_of_kafkas_settings_of_groups_is_ours_or_says_why_not() -> None:
    """None is forgotten, none is made up."""
    others = {name for name in BROKERS if name not in OURS}
    assert set(OURS) <= set(BROKERS)
    assert {name for name in others if not name.startswith(tuple(NOT_OURS))} == set()


def test_settings_of_single_groups_have_kafkas_names() -> None:
    """Each that Kafka has for consumer groups may be written in a rule under that name, within its bounds (K8.1)."""
    theirs = {name for name in GROUPS if name.startswith("consumer.")}
    assert theirs == set(GROUP_NAMES)
    assert all(KEYS[GROUP_NAMES[name]].per_group for name in theirs)
    assert {name: bounds_of(GROUPS[name]) for name in theirs} == {
        name: (KEYS[ours].minimum, KEYS[ours].maximum, set()) for name, ours in GROUP_NAMES.items()
    }


def test_file_in_a_brokers_words_is_understood(tmp_path: Path) -> None:
    """Classes of assignors, names of a group's own settings."""
    path = tmp_path / "bridge.yaml"
    path.write_text(
        "group.consumer.assignors: org.apache.kafka.coordinator.group.assignor.RangeAssignor\n"
        'groups:\n  - match: "a-*"\n    road: embedded\n    consumer.session.timeout.ms: 50000\n'
        "    consumer.assignment.interval.ms: 2000\n"
    )
    config = load(path, {})
    own = config.rules[0].settings(config.settings)
    assert config.settings.group_consumer_assignors == ("range",)
    assert (own.group_consumer_session_timeout_ms, own.group_consumer_assignment_interval_ms) == (50_000, 2_000)
    assert config.settings.group_consumer_session_timeout_ms == 45_000


def test_page_of_kafka_is_read_by_setting() -> None:
    """As its classes print it."""
    page = (
        '<h4><a id="group.max.size"></a></h4><table><tr><th>Type:</th><td>int</td></tr><tr><th>Default:</th>'
        "<td>1000 (1 second)</td></tr><tr><th>Valid Values:</th><td>[1,...]</td></tr></table>\n<li>\n"
        '<h4><a id="log.dir"></a></h4><tr><th>Type:</th><td>string</td></tr>'
    )
    assert read_page(page) == {"group.max.size": {"type": "int", "default": "1000", "valid values": "[1,...]"}}
