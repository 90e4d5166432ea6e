"""The table of keys."""

from bridge.config.fields import Origin
from bridge.config.keys import KEYS


def test_fields_are_keys_with_underscores() -> None:
    """One rule leads from a key to its field and its environment variable."""
    assert {key.field_name for key in KEYS.values()} == {name.replace(".", "_").replace("-", "_") for name in KEYS}


def test_kafkas_keys_have_kafkas_defaults() -> None:
    """As in Kafka 4.3, but for the assignment interval."""
    kafka = {key.name: key.default for key in KEYS.values() if key.origin is Origin.KAFKA}
    assert kafka["group.consumer.session.timeout.ms"] == 45_000
    assert kafka["group.initial.rebalance.delay.ms"] == 3_000
    assert kafka["group.consumer.assignment.interval.ms"] == 0
    assert kafka["group.max.session.timeout.ms"] == 1_800_000
