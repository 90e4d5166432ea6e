"""The pattern of hosts as it is written, and each wrong way to write it."""

from pathlib import Path

import pytest

from bridge.app.listening import read_host_pattern
from bridge.app.process import find_faults
from bridge.config.configuration import load
from bridge.config.faults import FaultCode
from bridge.config.keys import Settings
from bridge.session.broker_addresses import HostPattern
from tests.support.certificates import Authority

NAMED = "advertised.host=kafka.example"


def faults_of(folder: Path, *assignments: str) -> list[tuple[str, FaultCode, str]]:
    """Key, code and hint of each fault, with TLS configured."""
    pair = Authority(folder).pair("kafka.example")
    words = ["bootstrap=k:9092", "listen.tls=true", f"listen.tls.certificate.path={pair}", NAMED, *assignments]
    return [(fault.key, fault.code, fault.hint) for fault in find_faults(load(None, {}, words))]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("b{id}.kafka.example", HostPattern(prefix="b", suffix=".kafka.example")),
        ("Kafka-{id}.EXAMPLE:443", HostPattern(prefix="kafka-", suffix=".example", port=443)),
        ("{id}.k", HostPattern(prefix="", suffix=".k")),
        ("b{id}.kafka.example.:443", HostPattern(prefix="b", suffix=".kafka.example", port=443)),
    ],
)
def test_pattern_is_read_with_its_port(tmp_path: Path, text: str, pattern: HostPattern) -> None:
    """In lower case, as hosts are compared."""
    assert faults_of(tmp_path, f"listen.sni.pattern={text}") == []
    settings = Settings(listen_sni_pattern=text, listen_tls=True, advertised_host="kafka.example")
    assert read_host_pattern(settings) == pattern


def test_without_a_pattern_brokers_have_ports() -> None:
    """As ever."""
    assert read_host_pattern(Settings()) is None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kafka.example", "where {id} is written"),
        ("{id}.{id}.example", "where {id} is written"),
        ("b$(nodeId).kafka.example", "where {id} is written"),
        ("https://b{id}.kafka.example", "letters, digits"),
        ("b{id}..example", "letters, digits"),
        ("b {id}.example", "letters, digits"),
        ("b{id}" + "x" * 60 + ".example", "letters, digits"),
        ("b{id}" + ".example" * 40, "letters, digits"),
        ("10.0.0.{id}", "leave addresses out"),
        ("b{id}.kafka.example:", "port that clients connect to"),
        ("b{id}.kafka.example:0", "port that clients connect to"),
        ("b{id}.kafka.example:65536", "port that clients connect to"),
    ],
)
def test_pattern_that_is_none_is_told(tmp_path: Path, text: str, hint: str) -> None:
    """With what to write instead."""
    ((key, code, told),) = [fault for fault in faults_of(tmp_path, f"listen.sni.pattern={text}") if hint in fault[2]]
    assert (key, code) == ("listen.sni.pattern", FaultCode.WRONG_KIND), told


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("listen.ports=1=9193",), "remove listen.ports, or this key"),
        (("listen.ports.first=9300",), "remove listen.ports.first, or this key"),
        (("advertised.host=10.0.0.1",), "they ask for no address in TLS"),
        (("advertised.host=",), "they ask for no address in TLS"),
        (("advertised.host=B0.kafka.example",), "would be led to any"),
    ],
)
def test_keys_that_contradict_hosts_are_told(tmp_path: Path, words: tuple[str, ...], hint: str) -> None:
    """Ports of brokers, and a bootstrap that nobody can ask for."""
    ((key, code, told),) = faults_of(tmp_path, "listen.sni.pattern=b{id}.kafka.example", *words)
    assert (key, code) == ("listen.sni.pattern", FaultCode.CONTRADICTION)
    assert hint in told


def test_hosts_take_tls() -> None:
    """There is nothing to ask in without it."""
    words = ["bootstrap=k:9092", NAMED, "listen.sni.pattern=b{id}.kafka.example"]
    ((fault),) = find_faults(load(None, {}, words))
    assert (fault.key, fault.code) == ("listen.sni.pattern", FaultCode.CONTRADICTION)
    assert fault.seen == "listen.tls is false"
