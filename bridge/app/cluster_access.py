"""What a cluster lets the bridge do, as far as is known now: whether brokers can be asked, what they speak, and why
groups are not served yet.
"""

from bridge.migration.broker_facts import GROUP_VERSION, METADATA_VERSION
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import Entrance
from bridge.wire.apis import ApiKey
from translators.dialects.errors import ErrorCode, Refusal

_NOT_ASKED = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "it is not known yet whether the cluster authenticates its clients: no broker has answered; the client tries again",
)


def speaks_consumer_protocol(cluster: UpstreamCluster) -> bool:
    """Whether brokers can have members of the consumer protocol (KIP-848), as far as is known now.

    Kafka 3.9 offers the heartbeat with the protocol off, which its features tell; who tells no levels is believed.
    """
    offered = cluster.offered_nowait(None)
    if offered is None:
        return True
    features = offered.answer.features
    tells_levels = any(one.name == METADATA_VERSION for one in features.supported)
    is_off = tells_levels and not any(one.name == GROUP_VERSION and one.max_level for one in features.finalized)
    return ApiKey.CONSUMER_GROUP_HEARTBEAT in offered.broker and not is_off


def may_ask(cluster: UpstreamCluster) -> bool:
    """Whether the bridge can ask brokers about groups: it needs a login of its own where clients need one."""
    return cluster.can_log_in or cluster.entrance is Entrance.OPEN


def closed_reason(cluster: UpstreamCluster) -> Refusal | None:
    """Why embedded groups are not served, None if they are: where clients log in, the bridge has to, too.

    A verdict kills KIP-848 clients for good, so it takes proof: until it is known whether the cluster authenticates,
    and that makes a difference, clients are told to come again.
    """
    if cluster.entrance is Entrance.OPEN:
        return None
    refusal = _login_fault(cluster)
    if refusal is None or cluster.entrance is Entrance.LOGIN:
        return refusal
    return _NOT_ASKED


def _login_fault(cluster: UpstreamCluster) -> Refusal | None:
    """What stands in the way where the cluster authenticates."""
    if not cluster.can_log_in:
        reason = (
            "EB-APP-004: the cluster authenticates its clients and the bridge has no credentials of its own to ask for "
            "topics and members; set upstream.sasl.mechanism, upstream.sasl.username and upstream.sasl.password.path"
        )
        return Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, reason)
    return None


def waiting_reason(cluster: UpstreamCluster) -> Refusal | None:
    """Why joins and commits are told to come again, None if they need not: no broker was heard since the start."""
    if cluster.has_answered:
        return None
    return Refusal(
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "EB-APP-005: no broker has answered since the bridge started; members go on as the journal has them: check "
        "bootstrap, and that the cluster runs",
    )
