"""Hosts, folders and URLs that can't be right, each told with what to write instead."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bridge.app.places import judge_doubles, judge_folders, judge_ports, place_judges
from bridge.app.process import find_faults
from bridge.config.configuration import load
from bridge.config.faults import ConfigError, FaultCode
from bridge.config.keys import KEYS, Settings
from bridge.config.sources import quick_rules

BROKER = "bootstrap=k:9092"


def make_settings(field_name: str, entries: tuple[str, ...]) -> Settings:
    """All defaults but one."""
    settings = Settings()
    # It is frozen, and `replace` wants to know the type of each name.
    object.__setattr__(settings, field_name, entries)
    return settings


def faults_of(*assignments: str) -> Sequence[tuple[str, FaultCode]]:
    """The key and the code of each fault."""
    return [(fault.key, fault.code) for fault in find_faults(load(None, {}, [BROKER, *assignments]))]


@pytest.mark.parametrize("host", ["bridge.example.org", "10.0.0.1", "::1", "fe80::1%eth0", "localhost"])
def test_hosts_that_clients_can_ask_are_taken(host: str) -> None:
    """Names and addresses of both kinds, also where all interfaces are listened at."""
    assert not faults_of(f"advertised.host={host}", "listen=0.0.0.0:9192")


@pytest.mark.parametrize(
    "host", ["k:9192", "[::1]:9192", "[::1]", "0.0.0.0", "::", "*", "http://k", "a,b", "x::y", "1.2.3.400"]
)
def test_hosts_that_nobody_can_ask_are_told(host: str) -> None:
    """A port, a scheme, several, none."""
    assert faults_of(f"advertised.host={host}") == [("advertised.host", FaultCode.WRONG_KIND)]


@pytest.mark.parametrize("listen", ["0.0.0.0:9192", "[::]:9192"])
def test_all_interfaces_are_no_host_for_clients(listen: str) -> None:
    """Each would ask its own machine."""
    assert faults_of(f"listen={listen}") == [("advertised.host", FaultCode.MISSING)]


@pytest.mark.parametrize(
    ("broker", "listen"),
    [
        ("127.0.0.1:9192", "127.0.0.1:9192"),
        ("LocalHost:9192", "127.0.0.1:9192"),
        ("k:9192", "K:9192"),
        ("[::1]:9192", "[::]:9192"),
        ("127.0.0.5:9192", "0.0.0.0:9192"),
    ],
)
def test_bridge_is_not_its_own_broker(broker: str, listen: str) -> None:
    """It would ask itself for the cluster, and never hear."""
    found = faults_of(f"bootstrap=k:9092,{broker}", f"listen={listen}", "advertised.host=b")
    assert found == [("bootstrap", FaultCode.CONTRADICTION)]


@pytest.mark.parametrize(
    ("broker", "listen"),
    [("127.0.0.1:9092", "127.0.0.1:9192"), ("k:9192", "0.0.0.0:9192"), ("127.0.0.1:9192", "10.0.0.1:9192")],
)
def test_brokers_may_have_the_same_port_elsewhere(broker: str, listen: str) -> None:
    """Another machine's, or another address of this one."""
    assert not faults_of(f"bootstrap={broker}", f"listen={listen}", "advertised.host=b")


@pytest.mark.parametrize("topic", ["", "events", "a.b-c_D9", "x" * 249])
def test_topics_that_there_may_be_are_taken(topic: str) -> None:
    """As Kafka calls them."""
    assert not faults_of(f"events.topic={topic}")


@pytest.mark.parametrize("topic", [".", "..", "a b", "ä", "a/b", "x" * 250])
def test_topics_that_there_can_not_be_are_told(topic: str) -> None:
    """Each batch of events would be refused, one by one."""
    assert faults_of(f"events.topic={topic}") == [("events.topic", FaultCode.WRONG_KIND)]


def test_one_port_is_not_for_two() -> None:
    """The admin API and clients; port 0 is any free one."""
    assert faults_of("admin.listen=127.0.0.1:9192") == [("admin.listen", FaultCode.CONTRADICTION)]
    assert not faults_of("admin.listen=127.0.0.1:0", "listen=127.0.0.1:0")
    assert not faults_of("admin.listen=off")


@pytest.mark.parametrize(
    ("ports", "faults"),
    [
        ("1=9193,2=9194", 0),
        ("1=9193,2=9193", 1),
        ("1=9192", 1),
        ("1=9190", 1),
        ("1=9193,1=9194", 1),
        ("1=9192,2=9190,3=9193,4=9193", 3),
    ],
)
def test_each_broker_has_a_port_of_its_own(ports: str, faults: int) -> None:
    """Neither another broker's, nor the bootstrap's, nor that of the admin API; one port for one broker."""
    assert faults_of(f"listen.ports={ports}") == [("listen.ports", FaultCode.CONTRADICTION)] * faults


@pytest.mark.parametrize(
    "entries",
    [("listen.ports.first=9192",), ("listen.ports.first=9190",), ("listen.ports.first=9300", "listen.ports=7=9300")],
)
def test_first_port_of_brokers_may_be_anybodys(entries: tuple[str, ...]) -> None:
    """Where brokers count from 1 nobody has it: those who came from ports in the order of meeting set it so."""
    assert not faults_of(*entries)


@pytest.mark.parametrize(
    "entries",
    [
        ("listen.ports=1=9092",),
        ("admin.listen=127.0.0.1:9092",),
        # Others have the same port, at another host of this machine.
        ("admin.listen=127.0.0.1:9092", "listen=10.0.0.1:9092"),
        ("admin.listen=10.0.0.1:9092", "listen=127.0.0.1:9092"),
    ],
)
def test_bridge_asks_none_of_its_own_ports_for_the_cluster(entries: tuple[str, ...]) -> None:
    """That of a broker leads back to itself, that of the admin API to another protocol."""
    assert ("bootstrap", FaultCode.CONTRADICTION) in faults_of("bootstrap=127.0.0.1:9092", *entries)


@pytest.mark.parametrize("name", [key.name for key in KEYS.values() if isinstance(key.default, tuple)])
def test_no_list_has_an_entry_twice(name: str) -> None:
    """Whatever it is a list of; a second broker was forgotten, most likely."""
    judge = judge_ports if name == "listen.ports" else judge_doubles
    entries = ("1=9300", "1=9300") if name == "listen.ports" else ("secret=word", "secret=word")
    field_name = KEYS[name].field_name
    with pytest.raises(ConfigError) as refused:
        judge(make_settings(field_name, entries))
    assert [(fault.key, fault.code) for fault in refused.value.faults] == [(name, FaultCode.CONTRADICTION)]
    assert not KEYS[name].is_secret or "word" not in str(refused.value)
    judge(make_settings(field_name, entries[:1]))


def test_brokers_are_the_same_in_capitals() -> None:
    """As hosts are."""
    assert ("bootstrap", FaultCode.CONTRADICTION) in faults_of("bootstrap=k:9092,K:9092")


def test_admin_api_at_another_interface_takes_no_port_from_brokers() -> None:
    """The same number at two addresses is two ports."""
    assert not faults_of("listen.ports=1=9190", "listen=127.0.0.2:9192")
    assert not faults_of("listen.ports=1=9190", "admin.listen=off")


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("http://c:4318", True),
        ("https://ada:pw@c/x", True),
        ("c:4318", False),
        ("http://", False),
        ("http://c:x", False),
    ],
)
def test_collectors_are_named_by_urls(url: str, is_taken: bool) -> None:
    """The scheme says whether TLS is spoken."""
    assert bool(faults_of(f"otel.endpoint={url}")) is not is_taken


def test_folders_are_looked_at_where_something_is_written(tmp_path: Path) -> None:
    """A bridge that only passes on needs no journal."""
    (tmp_path / "file").touch()
    places = [f"journal.path={tmp_path}/no/j.db", f"events.path={tmp_path}/file"]
    with pytest.raises(ConfigError) as both:
        judge_folders(load(None, {}, [BROKER, *places], quick_rules(["a"], ())))
    assert [fault.key for fault in both.value.faults] == ["journal.path", "events.path"]
    with pytest.raises(ConfigError) as events:
        judge_folders(load(None, {}, [BROKER, *places]))
    assert [fault.key for fault in events.value.faults] == ["events.path"]
    judge_folders(load(None, {}, [BROKER, f"journal.path={tmp_path}/j.db", f"events.path={tmp_path}/new"]))


def test_places_that_are_right_are_passed_over() -> None:
    """With nothing but a broker given."""
    for judge in place_judges(load(None, {}, [BROKER])):
        judge()


def test_who_may_not_look_into_a_folder_is_told_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration is checked by whom it is written by, whom /var/lib/private lets in no more than anybody else."""

    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    places = [f"journal.path={tmp_path}/private/j.db", f"events.path={tmp_path}/private/events"]
    config = load(None, {}, [BROKER, *places], quick_rules(["a"], ()))
    monkeypatch.setattr(Path, "is_dir", refuse)
    judge_folders(config)
