"""What a cluster lets the bridge do, by what was heard of it."""

from dataclasses import dataclass
from typing import cast

import pytest

from bridge.app.cluster_access import closed_reason, may_ask, speaks_consumer_protocol, waiting_reason
from bridge.migration.broker_facts import GROUP_VERSION, METADATA_VERSION
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import Entrance
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address, Advertised, Directory
from bridge.session.client_session import Offered
from bridge.wire.api_versions import ApiVersionsAnswer, Features, FinalizedFeature, SupportedFeature
from bridge.wire.apis import ApiKey
from bridge.wire.sasl import Credentials, Mechanism
from bridge.wire.versions import VersionRange
from translators.dialects.errors import ErrorCode

LOOPBACK = "127.0.0.1"
LOGIN = Credentials(mechanism=Mechanism.PLAIN, username="bridge", password="word")


@pytest.mark.parametrize(
    ("entrance", "credentials", "code"),
    [
        (Entrance.LOGIN, None, "EB-APP-004"),
        (Entrance.LOGIN, LOGIN, None),
        (Entrance.OPEN, None, None),
        (Entrance.UNKNOWN, None, "retry"),
        (Entrance.UNKNOWN, LOGIN, None),
    ],
)
def test_embedded_road_fails_closed_and_judges_on_proof_only(
    entrance: Entrance, credentials: Credentials | None, code: str | None
) -> None:
    """Clients of a cluster that authenticates are not served unless it lets the bridge in, too.

    Where neither is known, clients come again: GROUP_AUTHORIZATION_FAILED ends a KIP-848 client for good.
    """
    settings = ProxySettings(bootstrap=(Address(LOOPBACK, 1),), listen=Address(LOOPBACK, 0), login=credentials)
    directory = Directory(Advertised(host=LOOPBACK, first_port=0, ports={}))
    cluster = UpstreamCluster(settings, directory, lambda _: True)
    cluster.recall(entrance)
    assert may_ask(cluster) is (credentials is not None or entrance is Entrance.OPEN)
    refusal = closed_reason(cluster)
    if code == "retry":
        assert refusal is not None
        assert refusal.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        return
    assert (None if refusal is None else refusal.reason.partition(":")[0]) == code
    assert refusal is None or refusal.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


OLD_FEATURES = (SupportedFeature(METADATA_VERSION, 1, 21),)
NEW_FEATURES = (*OLD_FEATURES, SupportedFeature(GROUP_VERSION, 0, 1))
HEARTBEAT = {ApiKey.CONSUMER_GROUP_HEARTBEAT: VersionRange(0, 1)}


@pytest.mark.parametrize(
    ("versions", "features", "speaks"),
    [
        ({}, Features(), False),
        (HEARTBEAT, Features(), True),
        (HEARTBEAT, Features(supported=OLD_FEATURES), False),
        (HEARTBEAT, Features(supported=NEW_FEATURES, finalized=(FinalizedFeature(GROUP_VERSION, 1, 1),)), True),
        (HEARTBEAT, Features(supported=NEW_FEATURES, finalized=(FinalizedFeature(METADATA_VERSION, 21, 1),)), False),
        ({}, Features(supported=NEW_FEATURES, finalized=(FinalizedFeature(GROUP_VERSION, 1, 1),)), False),
    ],
)
def test_protocol_is_believed_to_be_on_unless_the_features_say_otherwise(
    versions: dict[int, VersionRange], features: Features, speaks: bool
) -> None:
    """Kafka 3.9 offers the heartbeat and answers it with UNSUPPORTED_VERSION."""
    answer = ApiVersionsAnswer(features=features)
    cluster = cast(UpstreamCluster, _Heard(Offered(broker=versions, answer=answer)))
    assert speaks_consumer_protocol(cluster) is speaks
    assert speaks_consumer_protocol(cast(UpstreamCluster, _Heard(None)))


@dataclass
class _Heard:
    """A cluster of which this was heard."""

    offered: Offered | None

    def offered_nowait(self, broker_id: int | None) -> Offered | None:
        """What the broker speaks."""
        assert broker_id is None
        return self.offered


def test_joins_wait_until_a_broker_was_heard() -> None:
    """What the journal knows of the cluster is no broker's word."""
    settings = ProxySettings(bootstrap=(Address(LOOPBACK, 1),), listen=Address(LOOPBACK, 0))
    cluster = UpstreamCluster(settings, Directory(Advertised(host=LOOPBACK, first_port=0, ports={})), lambda _: True)
    cluster.recall(Entrance.OPEN)
    refusal = waiting_reason(cluster)
    assert refusal is not None
    assert refusal.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.has_answered = True
    assert waiting_reason(cluster) is None
