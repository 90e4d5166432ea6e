"""What one life of the bridge tells the next of its cluster."""

import logging
from dataclasses import replace

import pytest

from bridge.migration.route import Router
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import ClusterMemory, Entrance, recollect
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.wire.endpoints import Endpoint
from bridge.wire.versions import VersionRange
from translators.dialects.ids import GroupId, Topic, TopicId, TopicName

KNOWN = ClusterMemory(
    bootstrap=("kafka:9092",),
    entrance=Entrance.OPEN,
    brokers=(Endpoint(2, "b", 9092), Endpoint(1, "::1", 9093)),
    versions={3: VersionRange(0, 12), 18: VersionRange(0, 4)},
)


def cluster_of(bootstrap: str, opened: list[int]) -> UpstreamCluster:
    """A cluster that nobody has asked yet; listeners get the ports of their brokers."""
    directory = Directory(Advertised(host="bridge", first_port=9193, ports={}))
    host, _, port = bootstrap.rpartition(":")
    settings = ProxySettings(bootstrap=(Address(host, int(port)),), listen=Address("bridge", 9192))

    def listen_for(node_id: int) -> bool:
        opened.append(node_id)
        directory.settle(node_id, directory.port(node_id))
        return True

    return UpstreamCluster(settings, directory, listen_for)


def test_text_is_read_as_it_was_written() -> None:
    """Entrance, brokers in their order, versions."""
    assert recollect(KNOWN.text()) == KNOWN


@pytest.mark.parametrize("text", ["", "[]", "{", '{"bootstrap":[],"entrance":"wide","brokers":[],"versions":{}}'])
def test_what_can_t_be_read_is_not_known(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """The cluster is asked anew; nothing ends."""
    with caplog.at_level(logging.WARNING):
        assert recollect(text) is None
    assert "EB-NET-055" in caplog.text


def test_brokers_of_the_life_before_get_their_ports_again() -> None:
    """Clients come back to where they were; versions count until asked."""
    opened: list[int] = []
    cluster = cluster_of("kafka:9092", opened)
    assert cluster.offered_nowait(None) is None
    cluster.resume(KNOWN.text(), tuple, Router(()))
    assert opened == [1, 2]
    assert cluster.directory.ours == {1: Address("bridge", 9194), 2: Address("bridge", 9195)}
    assert cluster.is_open
    offered = cluster.offered_nowait(2)
    assert offered is not None
    assert offered.broker == KNOWN.versions
    cluster.has_answered = True
    assert cluster.offered_nowait(2) is None


@pytest.mark.parametrize("entrance", list(Entrance))
def test_memory_answers_for_an_open_cluster_alone(entrance: Entrance) -> None:
    """Where a login is wanted, or that is not known, a stranger hears no topics; its addresses are those opened now."""
    topic = Topic(TopicId(b"t" * 16), TopicName("t"), 1)
    cluster = cluster_of("kafka:9092", [])
    cluster.resume(replace(KNOWN, entrance=entrance).text(), lambda: (topic,), Router(()))
    offered = cluster.offered_nowait(None)
    assert offered is not None
    assert (offered.remembered is not None) == (entrance is Entrance.OPEN)
    if offered.remembered is not None:
        assert offered.remembered.addresses == cluster.directory.ours
        assert offered.remembered.topics() == (topic,)
        assert not offered.remembered.is_ours(GroupId("passes"))


def test_another_cluster_is_not_taken_for_the_one_before() -> None:
    """Other bootstrap addresses: nothing of it counts, least of all that it let everybody in."""
    opened: list[int] = []
    cluster = cluster_of("other:9092", opened)
    cluster.resume(KNOWN.text(), tuple, Router(()))
    assert (opened, cluster.entrance, cluster.offered_nowait(None)) == ([], Entrance.UNKNOWN, None)
