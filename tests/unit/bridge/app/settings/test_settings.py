"""The configuration in the words of each room."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.app.settings import (
    RuledSettings,
    embedded_settings,
    engine_settings,
    member_limits,
    parse_address,
    proxy_settings,
)
from bridge.config.configuration import Config, load
from bridge.config.faults import ConfigError
from bridge.coordinators.embedded.shares import ShareLimits
from bridge.engine.assignors.registry import registry
from bridge.engine.settings import configured_settings
from bridge.migration.route import Road, Rule
from bridge.session.broker_addresses import Address
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import GroupId

FILE = """\
bootstrap: [a:9092, "[::1]:9093"]
listen: 127.0.0.1:9000
listen.ports: [1=9100]
listen.ports.first: 9200
connect.backoff.ms: 70
gain.wait.max.ms: 7
commit.drain.ms: 8
group.consumer.heartbeat.interval.ms: 6000
groups:
  - match: fast-*
    road: embedded
    group.consumer.heartbeat.interval.ms: 5000
  - match: "*"
    road: embedded
"""


def config_of(directory: Path, text: str = FILE) -> Config:
    """A configuration from a file."""
    path = directory / "bridge.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path, {})


def test_each_room_gets_its_part(tmp_path: Path) -> None:
    """Values arrive under the rooms' own names."""
    config = config_of(tmp_path)
    proxy = proxy_settings(config)
    assert proxy.bootstrap == (Address("a", 9092), Address("::1", 9093))
    assert (proxy.listen, proxy.broker_ports) == (Address("127.0.0.1", 9000), {1: 9100})
    assert (proxy.first_broker_port, proxy.connect_backoff_ms) == (9200, 70)
    assert proxy.rules == (Rule("fast-*", Road.EMBEDDED), Rule("*", Road.EMBEDDED))
    assert member_limits(config).gain_wait_max_ms == 7
    assert embedded_settings(config).commit_drain_ms == 8


def test_shares_are_parts_of_the_journal_and_memory_has_none(tmp_path: Path) -> None:
    """In memory there is no room to share out."""
    config = config_of(tmp_path)
    kept = replace(
        config.settings, journal="sqlite", journal_bytes_max=1_000_000, journal_share_group=10, journal_share_client=50
    )
    assert embedded_settings(replace(config, settings=kept)).shares == ShareLimits(100_000, 500_000, 1_000_000)
    forgotten = replace(kept, journal="memory")
    assert embedded_settings(replace(config, settings=forgotten)).shares is None


def test_first_matching_rule_gives_a_group_its_own_settings(tmp_path: Path) -> None:
    """A group's own setting overrides everybody's (K2.62); a rule without settings leaves the general ones."""
    settings = engine_settings(config_of(tmp_path))
    intervals = [
        configured_settings(settings, GroupId(name)).group_consumer_heartbeat_interval_ms for name in ("fast-1", "x")
    ]
    assert intervals == [5000, 6000]


def test_ruled_settings_remember_a_bounded_number_of_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients choose group names; the memory for them is bounded."""
    monkeypatch.setattr("bridge.app.settings.REMEMBERED_GROUPS_MAX", 2)
    ruled = RuledSettings(config_of(tmp_path))
    for number in range(5):
        assert GroupId(f"fast-{number}") in ruled
    assert GroupId("slow") not in ruled
    assert len(ruled) <= 2
    assert set(ruled) <= {GroupId(f"fast-{number}") for number in range(5)}
    remembered = set(ruled)
    assert GroupId(f"fast-{'x' * 32_000}") in ruled
    assert set(ruled) == remembered


@pytest.mark.parametrize("key", ["group.consumer.assignors: [swirl]\n", "groups: [{match: x, road: embedded, K}]\n"])
def test_unknown_assignor_is_told_with_those_there_are(key: str, tmp_path: Path) -> None:
    """Of the general settings and of single rules, at the start."""
    config = config_of(tmp_path, key.replace("K", '"group.consumer.assignors": [swirl]'))
    with pytest.raises(ConfigError, match=r"swirl.*range, uniform"):
        engine_settings(config)
    engine_settings(config, {"swirl", "uniform", "range"})


@pytest.mark.parametrize("text", ["", "host", ":9092", "host:", "host:x", "host:65536", "host:-1"])
def test_what_is_no_address_is_told(text: str) -> None:
    """With the value seen and what is allowed."""
    with pytest.raises(ConfigError, match="HOST:PORT"):
        parse_address("listen", text)


@pytest.mark.parametrize("text", ["1", "x=1", "1=x", "1=65536", "1=0"])
def test_what_is_no_port_of_a_broker_is_told(text: str, tmp_path: Path) -> None:
    """NODE=PORT."""
    config = config_of(tmp_path, f"bootstrap: [a:1]\nlisten.ports: ['{text}']\n")
    with pytest.raises(ConfigError, match="NODE=PORT"):
        proxy_settings(config)


def test_bootstrap_is_needed() -> None:
    """There is no default for where the brokers are."""
    with pytest.raises(ConfigError, match="bootstrap"):
        proxy_settings(Config())


def test_rule_says_what_its_groups_begin_as_and_how_they_convert(tmp_path: Path) -> None:
    """Both settings are a group's own (decision 21); the policy is read as a broker spells it, in any case (K3.1)."""
    path = tmp_path / "bridge.yaml"
    path.write_text(
        "bootstrap: a:9092\n"
        "groups:\n"
        "  - match: old-*\n"
        "    road: embedded\n"
        "    embedded.initial.group.type: classic\n"
        "    group.consumer.migration.policy: UPGRADE\n"
    )
    settings = engine_settings(load(path, {}), registry)
    old, other = configured_settings(settings, GroupId("old-1")), configured_settings(settings, GroupId("new"))
    assert (old.group_begins_classic, old.group_consumer_migration_policy) == (True, MigrationPolicy.UPGRADE)
    assert (other.group_begins_classic, other.group_consumer_migration_policy) == (False, MigrationPolicy.BIDIRECTIONAL)
