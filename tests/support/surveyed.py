"""A census that stands still: two groups, one of them ready to move and one that is none of consumers."""

from dataclasses import dataclass, replace

from bridge.migration.abilities import BrokerAbilities, Known, Login, TakeOverWay
from bridge.migration.broker_facts import BrokerFacts
from bridge.migration.census import Census, GroupCensus
from bridge.migration.diagnosis import BridgeFacts, Examined
from bridge.migration.gains import gains_of
from bridge.migration.observed import GroupKind, MemberProtocol, ObservedGroup, ObservedMember, UserData
from bridge.migration.readiness import assess_all
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import GroupId, InstanceId, MemberId

ABILITIES = BrokerAbilities(
    takeover=TakeOverWay.IN_PLACE, known=Known.READ, policy=MigrationPolicy.BIDIRECTIONAL, login=Login.OPEN
)
ABLE = replace(
    ABILITIES,
    known=Known.PROBED,
    session_min_ms=6_000,
    session_max_ms=1_800_000,
    classic_size_max=100,
    consumer_size_max=100,
    consumer_session_ms=45_000,
)
"""Brokers that say all of themselves, and take over members in their places."""
ORDERS = ObservedGroup(
    group_id=GroupId("orders"),
    kind=GroupKind.CLASSIC,
    state="Stable",
    assignor="range",
    members=(
        ObservedMember(
            member_id=MemberId("a-1"),
            client_id="a",
            client_host="10.0.0.1",
            library="librdkafka",
            library_version="2.16",
            instance_id=InstanceId("seat"),
            protocol=MemberProtocol.CLASSIC,
            assignors=("range", "roundrobin"),
            topics=("orders",),
            session_timeout_ms=45_000,
            rebalance_timeout_ms=300_000,
            subscription_data=UserData.NONE,
            assignment_data=UserData.STICKY,
            is_behind_bridge=True,
            partition_count=4,
        ),
    ),
    is_complete=True,
)
WORKERS = ObservedGroup(group_id=GroupId("workers"), protocol_type="connect", state="Stable")
CENSUS = Census(
    groups=(
        GroupCensus(
            group=ORDERS,
            committed=4,
            lag=17,
            assessments=assess_all(ORDERS, ABILITIES),
            gains=gains_of(ORDERS),
        ),
        GroupCensus(group=WORKERS, assessments=assess_all(WORKERS, ABILITIES)),
    ),
    abilities=ABILITIES,
    unseen=("EB-CENSUS-005: broker 2: no answer",),
)


EXAMINED = Examined(
    brokers=(BrokerFacts(node_id=1, features={"group.version": 1}, supported={"metadata.version": 30}),),
    abilities=replace(ABILITIES, known=Known.PROBED),
    skew_ms=4,
    bridge=BridgeFacts(is_running=True, has_rules=True, unreachable=("10.0.0.9:9192: refused",)),
)


@dataclass(frozen=True, slots=True)
class StillSurveys:
    """Looks at nothing, and always finds the same."""

    found: Census = CENSUS
    examined: Examined = EXAMINED

    async def census(self) -> Census:
        """The same."""
        return self.found

    async def examine(self) -> Examined:
        """The same."""
        return self.examined
