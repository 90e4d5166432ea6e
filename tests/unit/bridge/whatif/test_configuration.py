"""What may be asked for, and what is refused in one sentence."""

import pytest

from bridge.config.keys import KEYS
from bridge.engine.settings import EngineSettings
from bridge.telemetry.schema.terms import Protocol
from bridge.whatif.configuration import SETTINGS, Configuration, Unplayable, configure

OF_CLIENTS = {"heartbeat.interval.ms", "session.timeout.ms", "metadata.max.age.ms"}


def test_nothing_asked_for_is_the_record_s_protocol_and_the_bridge_s_settings() -> None:
    """So a replay without options asks what the bridge would do as it comes."""
    assert configure(None, None, ()) == Configuration(protocol=None, engine=EngineSettings())


def test_everything_asked_for_is_there() -> None:
    """Settings of the bridge go to the engine, settings of clients to clients."""
    pairs = ["group.consumer.heartbeat.interval.ms=1000", "replacement.grace.ms=30000", "session.timeout.ms=9000"]
    engine = EngineSettings(
        group_consumer_heartbeat_interval_ms=1000, replacement_grace_ms=30_000, group_consumer_assignors=("range",)
    )
    wanted = Configuration(protocol=Protocol.CONSUMER, assignor="range", engine=engine, session_timeout_ms=9000)
    assert configure("consumer", "range", pairs) == wanted


@pytest.mark.parametrize(
    ("assignor", "pair", "sentence"),
    [
        ("best", "replacement.grace.ms=1", "EB-WHATIF-001: .*'best'.* takes uniform, range"),
        ("range", "listen=x", "EB-WHATIF-002: .*'listen=x'.*group.consumer.session.timeout.ms.*metadata.max.age.ms"),
        ("range", "replacement.grace.ms", "EB-WHATIF-002: "),
        ("range", "replacement.grace.ms=soon", "EB-WHATIF-003: .*'soon'.*number from 0 to"),
        ("range", f"replacement.grace.ms={'9' * 5_000}", "EB-WHATIF-003: .*number from 0 to"),
        ("range", "group.consumer.heartbeat.interval.ms=0", "EB-WHATIF-003: .*'0'.*number from 1 to"),
    ],
)
def test_what_is_unknown_is_refused_with_what_would_do(assignor: str, pair: str, sentence: str) -> None:
    """Code, value seen, values allowed."""
    with pytest.raises(Unplayable, match=sentence):
        configure(None, assignor, [pair])


def test_assignors_of_classic_clients_are_known_for_classic_groups_only() -> None:
    """Their leaders go by them; the coordinator of the new protocol has its own."""
    assert configure("classic", "cooperative-sticky", ()).assignor == "cooperative-sticky"
    with pytest.raises(Unplayable, match=r"EB-WHATIF-001: .*takes uniform, range$"):
        configure("consumer", "cooperative-sticky", ())


def test_settings_are_the_bridge_s_own_within_their_bounds() -> None:
    """A replay promises nothing that the bridge would refuse."""
    ours = {name: setting for name, setting in SETTINGS.items() if name not in OF_CLIENTS}
    bounds = {key.name: (key.minimum, key.maximum) for key in KEYS.values() if key.name in ours}
    assert bounds.keys() == ours.keys()
    outside = [
        name
        for name, (least, most) in bounds.items()
        if (least is not None and ours[name].minimum < least) or (most is not None and ours[name].maximum > most)
    ]
    assert outside == []
