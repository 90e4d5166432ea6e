"""Looks at a cluster for the doctor: what its brokers tell, and what a probe finds in a group of the bridge's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import trio

from bridge.admin.addresses import is_loopback, parse_address
from bridge.config.configuration import Config
from bridge.migration.abilities import BrokerAbilities, Known, Login, TakeOverWay
from bridge.migration.broker_facts import BrokerFacts, read_abilities
from bridge.migration.diagnosis import BridgeFacts, Examined
from bridge.migration.probe import (
    PROBE_GROUP_PREFIX,
    QUESTIONS_MAX,
    Probe,
    ProbeFinding,
    farewells,
    next_question,
)
from bridge.net.cluster import UpstreamCluster
from bridge.net.cluster_memory import Entrance
from bridge.net.cluster_survey import BrokerFound, ClusterSurvey
from bridge.ports import Broker, BrokerUnreachable
from bridge.wire.apis import ApiKey
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.messages import GroupReply, GroupRequest

ADMIN_OFF = "off"
PROBE_TIMEOUT_S = 30.0
"""The first join of a group waits for `group.initial.rebalance.delay.ms` of its broker, 3 s by default."""
AGAIN_S = 0.25
"""How soon a coordinator is asked again that loads, or that is being made."""
FAREWELL_TIMEOUT_S = 5.0
"""What is not taken away by then ends with its session."""
_COME_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The ways to one cluster, and ids that no member has had."""

    cluster: UpstreamCluster
    survey: ClusterSurvey
    broker: Broker
    fresh_member_id: Callable[[], MemberId]


async def probe_takeover(broker: Broker, probe: Probe) -> ProbeFinding:
    """Find out in a group of our own whether brokers take over a member, and take everything away again."""
    answers: list[GroupReply] = []
    try:
        with trio.fail_after(PROBE_TIMEOUT_S):
            while len(answers) < QUESTIONS_MAX:
                asked = next_question(probe, answers)
                if isinstance(asked, ProbeFinding):
                    return asked
                answer = await broker.ask_coordinator(asked)
                if getattr(answer, "error", None) in _COME_AGAIN:
                    # As in the first moments of a cluster, or behind the start of a broker.
                    await trio.sleep(AGAIN_S)
                else:
                    answers.append(answer)
    except (BrokerUnreachable, trio.TooSlowError) as problem:
        return ProbeFinding(TakeOverWay.UNKNOWN, str(problem) or f"no end within {PROBE_TIMEOUT_S:.0f} s")
    finally:
        await _leave(broker, farewells(probe, answers))
    return ProbeFinding(TakeOverWay.UNKNOWN, f"no end after {QUESTIONS_MAX} questions")


async def _leave(broker: Broker, requests: Sequence[GroupRequest]) -> None:
    with trio.move_on_after(FAREWELL_TIMEOUT_S, shield=True):
        for request in requests:
            try:
                await broker.ask_coordinator(request)
            except BrokerUnreachable:
                # The probe's member is left in: its session ends at the broker by itself.
                return


async def examine_cluster(access: ClusterAccess) -> Examined:
    """What can be seen of a cluster; whoever asks adds what it knows of the bridge."""
    nodes = await access.survey.find_brokers()
    # Asking for brokers tells whether the cluster wants a login.
    login = login_of(access.cluster)
    abilities = read_abilities((), login)
    if not abilities.may_ask:
        return Examined(abilities=abilities, silent=_silence(access.cluster))
    found = await access.survey.describe_brokers(nodes)
    facts = [broker_facts(one) for one in found if not one.fault]
    abilities = read_abilities(facts, login)
    abilities, fault = await _probe(access.broker, abilities, access.fresh_member_id())
    times = [one for one in found if one.skew_ms is not None]
    best = min(times, key=lambda one: one.skew_error_ms, default=BrokerFound(node_id=-1))
    return Examined(
        brokers=facts,
        silent=tuple(one.fault for one in found if one.fault) or _silence(access.cluster),
        abilities=abilities,
        probe_fault=fault,
        skew_ms=best.skew_ms,
        skew_error_ms=best.skew_error_ms,
    )


def _silence(cluster: UpstreamCluster) -> tuple[str, ...]:
    """Why nobody of the bootstrap list answered, where nobody did."""
    return (cluster.fault,) if cluster.fault else ()


async def _probe(broker: Broker, read: BrokerAbilities, fresh_id: MemberId) -> tuple[BrokerAbilities, str]:
    """Abilities as a probe finds them, as they were read where it finds nothing, and why it did not."""
    if read.takeover is TakeOverWay.IMPOSSIBLE:
        return read, ""
    probe = Probe(GroupId(f"{PROBE_GROUP_PREFIX}{fresh_id}"), fresh_id)
    found = await probe_takeover(broker, probe)
    if found.takeover is TakeOverWay.UNKNOWN:
        return read, found.fault
    if found.takeover is TakeOverWay.BY_SCOUT and read.takeover is TakeOverWay.WHOLE_GROUP:
        # Kafka 4.0 moves the group epoch only where members subscribe to topics, and a probe subscribes to none.
        return replace(read, known=Known.PROBED), ""
    return replace(read, takeover=found.takeover, known=Known.PROBED), ""


def bridge_facts(config: Config) -> BridgeFacts:
    """What a bridge with this configuration says of itself."""
    settings = config.settings
    admin = settings.admin_listen
    return BridgeFacts(
        has_rules=bool(config.rules),
        journal=settings.journal,
        is_followed=settings.metrics_rebalances or bool(settings.events_path),
        admin=admin,
        is_admin_in_the_clear=not (admin == ADMIN_OFF or settings.admin_tls or is_loopback(parse_address(admin)[0])),
    )


def login_of(cluster: UpstreamCluster) -> Login:
    """As whom the bridge may ask."""
    if cluster.can_log_in:
        return Login.OWN
    return {Entrance.OPEN: Login.OPEN, Entrance.LOGIN: Login.NONE, Entrance.UNKNOWN: Login.UNKNOWN}[cluster.entrance]


def broker_facts(found: BrokerFound) -> BrokerFacts:
    """What a broker told, in the words of the migration room."""
    error, commits = found.settings.error, found.versions.get(ApiKey.OFFSET_COMMIT)
    return BrokerFacts(
        node_id=found.node_id,
        offers_consumer_heartbeat=ApiKey.CONSUMER_GROUP_HEARTBEAT in found.versions,
        first_commit_version=None if commits is None else commits.lowest,
        features={one.name: one.max_level for one in found.features.finalized},
        supported={one.name: one.highest for one in found.features.supported},
        settings=found.settings.values,
        hides_settings="" if error is ErrorCode.NONE else error.name,
    )
