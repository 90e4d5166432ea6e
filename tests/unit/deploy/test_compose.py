"""The file for docker compose: the specification's own reader takes it, and its parts fit together."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from bridge.app.places import place_judges
from bridge.app.settings import parse_address
from bridge.config.configuration import Config, load
from bridge.demo.members.process import parse_member_options
from bridge.demo.producer import parse_producer_options
from tests.architecture.source_tree import ROOT
from tests.support.go_program import go_program

COMPOSE = ROOT / "deploy/compose/compose.yaml"
READER, READER_VERSION = "github.com/compose-spec/compose-go/v2/cmd", "v2.16.2"
PROJECT = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICES = PROJECT["services"]
PRODUCER, MEMBERS = "bridge.demo.producer", "bridge.demo.members."
FLEET = [name for name, service in SERVICES.items() if "entrypoint" in service]


@pytest.fixture(name="config")
def _config(tmp_path: Path) -> Config:
    """What the bridge reads there."""
    path = tmp_path / "bridge.yaml"
    path.write_text(PROJECT["configs"]["bridge"]["content"], encoding="utf-8")
    config = load(path, {})
    for judge in place_judges(config):
        judge()
    return config


@pytest.fixture(name="reader", scope="module")
def _reader() -> str:
    """Built by this machine's Go."""
    program = go_program(READER, READER_VERSION)
    if program is None:
        pytest.skip("no Go that could build compose-go; the file is only read as YAML")
    return program


def test_file_is_what_the_specification_says(reader: str) -> None:
    """By the reader that docker compose is built on."""
    ran = subprocess.run([reader, str(COMPOSE)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_bridge_listens_where_others_look_for_it(config: Config) -> None:
    """At the broker's own name behind it, and with the ports that are published."""
    settings = config.settings
    advertised = SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].removeprefix("PLAINTEXT://")
    node = SERVICES["kafka"]["environment"]["KAFKA_NODE_ID"]
    assert settings.bootstrap == (advertised,)
    assert [port.partition("=")[0] for port in settings.listen_ports] == [node]
    (published,) = SERVICES["bridge"]["ports"]
    assert int(published.rpartition(":")[2]) == parse_address("admin.listen", settings.admin_listen).port
    assert settings.advertised_host in SERVICES


@pytest.mark.parametrize("name", FLEET)
def test_fleet_comes_by_the_bridge(name: str, config: Config) -> None:
    """With arguments that its programs take, to a topic that is written and a group that the bridge coordinates."""
    python, flag, module = SERVICES[name]["entrypoint"]
    arguments = SERVICES[name]["command"]
    assert (python, flag) == ("python3", "-m")
    partitions = int(SERVICES["kafka"]["environment"]["KAFKA_NUM_PARTITIONS"])
    port = parse_address("listen", config.settings.listen).port
    if module == PRODUCER:
        writer = parse_producer_options(arguments)
        assert (writer.bootstrap, writer.topics, writer.partitions) == (f"bridge:{port}", ("orders",), partitions)
        return
    assert module.startswith(MEMBERS)
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()
    member = parse_member_options(arguments)
    assert (member.bootstrap, member.topics, member.name) == (f"bridge:{port}", ("orders",), name)
    assert [rule.match for rule in config.rules] == [member.group]


def test_fleet_speaks_both_protocols() -> None:
    """What the bridge is for."""
    spoken = [parse_member_options(SERVICES[name]["command"]).protocol for name in FLEET if name != "producer"]
    assert {*spoken} == {"classic", "consumer"}
    assert len(spoken) > len({*spoken})


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "kafka"])
def test_containers_of_ours_have_no_rights(name: str) -> None:
    """A file system that is only read, no capability."""
    service: Mapping[str, object] = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
