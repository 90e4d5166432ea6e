"""Clients that log in by Kerberos (GSSAPI) come through the bridge on every road, where names allow it.

A ticket is for the host that a client connects to, the bridge's: which keys of brokers take it is tried here, too.
"""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bridge.demo.kafka_broker import HOST
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.java_tools import Command, Said, run_all
from tests.support.kerberos import Programs, kerberos_programs, kerberos_realm
from tests.support.sasl_kafka import BEARER, MECHANISMS, GuardedKafka, login_of, own_login, sasl_kafka

pytestmark = pytest.mark.timeout(900)

TOOLS = "org.apache.kafka.tools.consumer"
MODULE = "com.sun.security.auth.module.Krb5LoginModule"
JAVA = "JAVA_TOOL_OPTIONS"
PATIENCE_S = 180.0
RECORDS = 20
OF_BRIDGE, OF_BROKER, ALIAS = "bridge.test", "broker.test", "alias.test"
ONE_KEY = ("-pw", "one-word", "-e", "aes256-cts-hmac-sha1-96:onlyrealm")
"""A key that the name is no part of: all that are made so have the same, as the names of one account of Active
Directory do.
"""


@dataclass(frozen=True, slots=True)
class World:
    """A broker with a listener for each arrangement of keys, and a client that logs in by Kerberos."""

    broker: GuardedKafka
    topic: str
    client: Path
    """The properties of alice's programs."""

    def consume(self, address: str, group: str, protocol: str = "classic") -> Command:
        """All records, and their offsets committed."""
        words = ["--bootstrap-server", address, "--topic", self.topic, "--group", group, "--from-beginning"]
        words += ["--max-messages", str(RECORDS), "--timeout-ms", "60000", "--command-config", str(self.client)]
        return (f"{TOOLS}.ConsoleConsumer", *words, "--command-property", f"group.protocol={protocol}")

    def describe(self, address: str, group: str) -> Command:
        """Where a group is."""
        words = ("--bootstrap-server", address, "--describe", "--group", group, "--command-config", str(self.client))
        return (f"{TOOLS}.group.ConsumerGroupCommand", *words)

    def run(self, *commands: Command) -> list[Said]:
        """What programs of alice said."""
        return run_all(self.broker.tools, commands)


@pytest.fixture(name="programs", scope="module")
def _programs() -> Programs:
    found = kerberos_programs()
    if found is None:
        pytest.skip("no KDC of MIT's Kerberos on this machine, and none from Debian")
    return found


def jaas(keys: Path, principal: str) -> str:
    """Who somebody is to Java's own Kerberos."""
    return f'{MODULE} required useKeyTab=true storeKey=true keyTab="{keys}" principal="{principal}";'


@pytest.fixture(scope="module")
def world(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Each of three listeners of one broker has a name of its own."""
    folder = tmp_path_factory.mktemp("kerberos")
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{HOST} {one}\n" for one in (OF_BRIDGE, OF_BROKER, ALIAS, "localhost")), encoding="utf-8")
    with kerberos_realm(programs, folder) as realm, pytest.MonkeyPatch.context() as patch:
        alice = realm.add("alice")
        of_bridge, of_broker = realm.add(f"kafka/{OF_BRIDGE}"), realm.add(f"kafka/{OF_BROKER}")
        account, _ = realm.add("kafka/account.test", *ONE_KEY), realm.add(f"kafka/{ALIAS}", *ONE_KEY)
        both = realm.keys("broker.keytab", of_bridge, of_broker, account)
        # Names of hosts that only Java looks up, so that nobody else's resolver has to know them.
        told = f"-Djava.security.krb5.conf={realm.configuration} -Djdk.net.hosts.file={hosts}"
        patch.setenv(JAVA, f"{os.environ.get(JAVA, '')} {told}".strip())
        logins = {"sasl_plaintext": of_bridge, "plaintext": of_broker, "ssl": account}
        kinds = ("CONTROLLER:PLAINTEXT", *(f"{name.upper()}:SASL_PLAINTEXT" for name in logins))
        settings = {
            "listener.security.protocol.map": ",".join(kinds),
            "sasl.enabled.mechanisms": ",".join((*MECHANISMS, BEARER, "GSSAPI")),
            "listener.name.plaintext.sasl.enabled.mechanisms": "GSSAPI",
            "listener.name.ssl.sasl.enabled.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            **{f"listener.name.{name}.gssapi.sasl.jaas.config": jaas(both, one) for name, one in logins.items()},
        }
        client = folder / "client.properties"
        own = jaas(realm.keys("alice.keytab", alice), alice)
        lines = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
        lines |= {"sasl.kerberos.service.name": "kafka", "sasl.jaas.config": own}
        client.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), encoding="utf-8")
        with sasl_kafka(folder / "kafka", settings, has_plain=True) as broker:
            yield World(broker, filled_topic(broker), client)


def filled_topic(broker: GuardedKafka) -> str:
    """A topic with all records."""
    topic = f"kerberos-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **login_of("admin")})
    admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])[topic].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": broker.bootstrap, **login_of("alice")})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number, partition=number % 2)
    assert producer.flush(PATIENCE_S) == 0
    return topic


def port_of(address: str) -> str:
    """The port of an address."""
    return address.rpartition(":")[2]


def test_clients_come_by_the_bridges_name_on_every_road(world: World, tmp_path: Path) -> None:
    """Where the brokers' listener is named as the bridge is, reading, committing and describing are what they are with
    any login. The bridge, which has no Kerberos of its own, logs in by another mechanism.
    """
    settings = {**QUICK_SETTINGS, **own_login(tmp_path), "advertised.host": OF_BRIDGE}
    roads = ("pass", "embedded", "upstream")
    groups = {f"{road}-{protocol}": protocol for road in roads for protocol in ("classic", "consumer")}
    with bridge_process(world.broker.bootstrap, ("embedded-*",), tmp_path, settings) as bridge:
        at = f"{OF_BRIDGE}:{port_of(bridge.bootstrap)}"
        read = world.run(*(world.consume(at, group, protocol) for group, protocol in groups.items()))
        seen = world.run(*(world.describe(at, group) for group in groups))
    for group, said, shown in zip(groups, read, seen, strict=True):
        assert f"Processed a total of {RECORDS} messages" in said.text, (group, said.text)
        lines = [line.split() for line in shown.text.splitlines() if world.topic in line]
        assert [line[3:6] for line in lines] == [["10", "10", "0"]] * 2, (group, shown.text)


@pytest.mark.parametrize(("listener", "name", "is_taken"), [("plain", OF_BRIDGE, False), ("tls", ALIAS, True)])
def test_ticket_for_the_bridge_is_taken_by_its_key_alone(
    world: World, tmp_path: Path, listener: str, name: str, *, is_taken: bool
) -> None:
    """A broker that is named by its own host does not look for the bridge's key, also where its file has that; it does
    not have to where both names have one key.
    """
    upstream: str = getattr(world.broker, listener)
    with bridge_process(upstream, (), tmp_path, {**QUICK_SETTINGS, "advertised.host": name}) as bridge:
        (said,) = world.run(world.consume(f"{name}:{port_of(bridge.bootstrap)}", f"pass-{listener}"))
    assert (f"Processed a total of {RECORDS} messages" in said.text) == is_taken, said.text
    assert ("SaslAuthenticationException" in said.text) != is_taken, said.text
