"""A cluster looked at, and a probe played against answers in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
import trio
from trio.testing import MockClock

from bridge.app.examination import ClusterAccess, bridge_facts, broker_facts, examine_cluster, probe_takeover
from bridge.config.configuration import load
from bridge.migration.abilities import Known, Login, TakeOverWay
from bridge.migration.diagnosis import BridgeFacts
from bridge.migration.probe import Probe
from bridge.net.cluster_memory import Entrance
from bridge.net.cluster_survey import BrokerFound, ClusterSurvey
from bridge.ports import BrokerUnreachable
from bridge.wire.api_versions import (
    ApiVersionsAnswer,
    Features,
    FinalizedFeature,
    SupportedFeature,
    api_versions_reply,
)
from bridge.wire.apis import ApiKey
from bridge.wire.own_questions import BrokerSettings
from bridge.wire.versions import KNOWN, VersionRange, VersionTable
from tests.support.memory_cluster import MemoryCluster
from translators.dialects.admin import DeleteGroups
from translators.dialects.classic import HeartbeatReply, JoinGroupReply, LeaveGroup, LeaveGroupReply, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.messages import GroupReply, GroupRequest

MEMBER = MemberId("m-1")
PROBE = Probe(GroupId("__epochbridge-probe-x"), MemberId("x"))
TAKEN: Sequence[GroupReply] = (
    JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=MEMBER),
    JoinGroupReply(error=ErrorCode.NONE, member_id=MEMBER, generation=1, protocol_name="range", leader=MEMBER),
    SyncGroupReply(error=ErrorCode.NONE),
    ConsumerGroupHeartbeatReply(error=ErrorCode.NONE),
)
ON = Features(
    supported=(SupportedFeature("metadata.version", 7, 30),),
    finalized=(FinalizedFeature("group.version", 1, 1),),
    finalized_epoch=1,
)


@dataclass
class ScriptedBroker:
    """A coordinator that gives its answers one after the other, and then none: it hangs, or is gone."""

    answers: list[GroupReply]
    is_gone: bool = False
    asked: list[GroupRequest] = field(default_factory=list)

    async def ask_coordinator(self, request: GroupRequest) -> GroupReply:
        """The next answer."""
        self.asked.append(request)
        await trio.lowlevel.checkpoint()
        if self.answers:
            return self.answers.pop(0)
        if self.is_gone:
            raise BrokerUnreachable("EB-NET-036: gone")
        await trio.sleep_forever()
        raise AssertionError("never")


def access(broker: ScriptedBroker, entrance: Entrance = Entrance.OPEN, highest: int = 30) -> ClusterAccess:
    """A cluster of one broker that has the consumer protocol on, and supports metadata up to this level."""
    features = replace(ON, supported=(SupportedFeature("metadata.version", 7, highest),))
    versions = {int(key): KNOWN[key] for key in (ApiKey.API_VERSIONS, ApiKey.CONSUMER_GROUP_HEARTBEAT)}
    answers = {
        int(ApiKey.API_VERSIONS): lambda version, number: api_versions_reply(
            version, number, ApiVersionsAnswer(features=features)
        )
    }
    cluster = MemoryCluster(answers, versions).upstream()
    cluster.entrance = entrance
    return ClusterAccess(cluster, ClusterSurvey(cluster), broker, lambda: MemberId("x"))  # type: ignore[arg-type]  # one method of it is called


async def test_probe_ends_with_what_it_found_and_leaves() -> None:
    """The last requests take the member away, and the group."""
    left = LeaveGroupReply(error=ErrorCode.NONE)
    broker = ScriptedBroker([*TAKEN, ConsumerGroupHeartbeatReply(error=ErrorCode.NONE), left])
    assert (await probe_takeover(broker, PROBE)).takeover is TakeOverWay.IN_PLACE  # type: ignore[arg-type]  # see above
    assert [type(one) for one in broker.asked[-2:]] == [LeaveGroup, DeleteGroups]


@pytest.mark.parametrize("is_gone", [True, False])
async def test_probe_that_gets_no_answer_says_so_and_leaves(*, is_gone: bool, autojump_clock: MockClock) -> None:
    """A broker that is gone, and one that hangs: the farewell is tried, within its bound."""
    broker = ScriptedBroker(list(TAKEN[:2]), is_gone=is_gone)
    found = await probe_takeover(broker, PROBE)  # type: ignore[arg-type]  # see above
    assert (found.takeover, found.fault) == (
        TakeOverWay.UNKNOWN,
        "EB-NET-036: gone" if is_gone else "no end within 30 s",
    )
    assert isinstance(broker.asked[-1], LeaveGroup)


@pytest.mark.parametrize(
    "code",
    [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
)
async def test_coordinator_that_is_being_made_is_asked_again(code: ErrorCode, autojump_clock: MockClock) -> None:
    """The first doctor of a fresh Kafka 4.3.1 said that a take-over could not be probed, and that a right be given."""
    early = JoinGroupReply(error=code, member_id=MemberId(""))
    late = [SyncGroupReply(error=code), TAKEN[2], ConsumerGroupHeartbeatReply(error=code), TAKEN[3]]
    broker = ScriptedBroker([early, early, *TAKEN[:2], *late], is_gone=True)
    found = await probe_takeover(broker, PROBE)  # type: ignore[arg-type]  # see above
    assert (found.takeover, found.fault) == (TakeOverWay.IN_PLACE, "")


async def test_probe_counts_more_than_what_is_read() -> None:
    """Where it finds nothing, what was read stays, with the reason."""
    probed = await examine_cluster(access(ScriptedBroker(list(TAKEN))))
    assert (probed.abilities.takeover, probed.abilities.known, probed.probe_fault) == (
        *(TakeOverWay.IN_PLACE, Known.PROBED),
        "",
    )
    refused = JoinGroupReply(error=ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=MemberId(""))
    read = await examine_cluster(access(ScriptedBroker([refused])))
    assert (read.abilities.takeover, read.abilities.known) == (TakeOverWay.IN_PLACE, Known.READ)
    assert read.probe_fault == "the bridge's login has no READ on groups __epochbridge-probe-*"


async def test_probe_of_kafka_4_0_does_not_see_that_others_are_called() -> None:
    """It subscribes to no topic, so what the brokers say of themselves counts more."""
    fenced = ConsumerGroupHeartbeatReply(error=ErrorCode.FENCED_MEMBER_EPOCH)
    alive = ConsumerGroupHeartbeatReply(error=ErrorCode.NONE)
    answers = [*TAKEN[:3], fenced, alive, HeartbeatReply(ErrorCode.NONE), alive]
    examined = await examine_cluster(access(ScriptedBroker(answers), highest=25))
    assert (examined.abilities.takeover, examined.abilities.known) == (TakeOverWay.WHOLE_GROUP, Known.PROBED)


async def test_cluster_that_wants_a_login_is_not_looked_at() -> None:
    """Nothing is asked that would be refused."""
    broker = ScriptedBroker([])
    examined = await examine_cluster(access(broker, Entrance.LOGIN))
    assert (examined.brokers, examined.abilities.login, broker.asked) == ((), Login.NONE, [])


def test_settings_are_told_as_they_are() -> None:
    """By name, as the configuration has them."""
    assert bridge_facts(load(None, {})) == BridgeFacts(admin="127.0.0.1:9190")
    changed = load(None, {}, ["journal=memory", "metrics.rebalances=false", "admin.listen=0.0.0.0:9190"])
    assert bridge_facts(changed) == BridgeFacts(
        journal="memory", is_followed=False, admin="0.0.0.0:9190", is_admin_in_the_clear=True
    )
    assert not bridge_facts(load(None, {}, ["admin.listen=off"])).is_admin_in_the_clear


def test_admin_api_in_tls_is_not_said_to_be_without() -> None:
    """The doctor warned of tokens that can be read along, and told to set what was set."""
    inside = ["admin.listen=0.0.0.0:9190", "admin.tls=true", "admin.tls.certificate.path=admin.pem"]
    assert not bridge_facts(load(None, {}, inside)).is_admin_in_the_clear


@pytest.mark.parametrize(
    ("versions", "first"), [({}, None), ({ApiKey.OFFSET_COMMIT: VersionRange(2, 10)}, 2)], ids=["untold", "told"]
)
def test_first_commit_that_a_broker_takes_is_what_it_offers(versions: VersionTable, first: int | None) -> None:
    """By its ApiVersions, which any client may ask for."""
    assert broker_facts(BrokerFound(node_id=1, versions=versions)).first_commit_version == first


def test_refused_settings_are_named() -> None:
    """By the error's name."""
    refused = BrokerSettings(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, {})
    facts = broker_facts(BrokerFound(node_id=1, settings=refused, features=ON))
    assert (facts.hides_settings, facts.features, facts.supported) == (
        "CLUSTER_AUTHORIZATION_FAILED",
        {"group.version": 1},
        {"metadata.version": 30},
    )
