"""How the client libraries of the field differ, as data (measured in clients.md)."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProfile:
    """One way to be a consumer; without `protocols` it speaks KIP-848.

    `reaction_ms` passes between a called heartbeat and JoinGroup, `rejoin_ms` before a follow-up join of a cooperative
    client, which gave something up, unless it `waits_for_call`. `rounds` is how many JoinGroups make one join. A client
    with `parallel_beats` sends a heartbeat also while one is unanswered or a join is open. `restates` tells whether a
    KIP-848 client says everything in every heartbeat, `taking_ms` how long its application takes to begin with new
    partitions.
    """

    name: str
    protocols: tuple[str, ...] = ()
    is_cooperative: bool = False
    subscription_version: int = 0
    reaction_ms: int = 1
    rejoin_ms: int = 1
    waits_for_call: bool = False
    rounds: int = 1
    heartbeat_ms: int = 3_000
    session_ms: int = 10_000
    rebalance_ms: int = 60_000
    needs_member_id: bool = True
    parallel_beats: bool = False
    drops_id_when_stale: bool = False
    keeps_id_when_unknown: bool = False
    commits_on_own_connection: bool = False
    waits_for_last_commit: bool = True
    may_be_static: bool = True
    restates: bool = False
    taking_ms: int = 0

    @property
    def is_native(self) -> bool:
        """Whether the client speaks the consumer protocol."""
        return not self.protocols


_COOPERATIVE = ("cooperative-sticky",)

PROFILES = {
    profile.name: profile
    for profile in (
        ClientProfile(name="kafka-python", protocols=("range", "roundrobin"), reaction_ms=190),
        ClientProfile(
            name="kafka-python-cooperative",
            protocols=_COOPERATIVE,
            is_cooperative=True,
            subscription_version=1,
            reaction_ms=190,
            rejoin_ms=190,
        ),
        ClientProfile(
            name="librdkafka", protocols=("range", "roundrobin"), subscription_version=3, waits_for_last_commit=False
        ),
        ClientProfile(
            name="librdkafka-cooperative",
            protocols=_COOPERATIVE,
            is_cooperative=True,
            subscription_version=3,
            reaction_ms=500,
            rejoin_ms=500,
        ),
        ClientProfile(name="aiokafka", protocols=("roundrobin",), drops_id_when_stale=True, may_be_static=False),
        ClientProfile(
            name="aiokafka-two-assignors",
            protocols=("range", "roundrobin"),
            rounds=2,
            drops_id_when_stale=True,
            may_be_static=False,
        ),
        ClientProfile(
            name="kafkajs",
            protocols=("RoundRobinAssigner",),
            reaction_ms=8,
            parallel_beats=True,
            commits_on_own_connection=True,
            may_be_static=False,
        ),
        ClientProfile(
            name="sarama-1.22",
            protocols=("range",),
            needs_member_id=False,
            keeps_id_when_unknown=True,
            waits_for_last_commit=False,
            may_be_static=False,
        ),
        ClientProfile(
            name="java",
            protocols=("range", "cooperative-sticky"),
            subscription_version=3,
            reaction_ms=3,
            session_ms=15_000,
        ),
        ClientProfile(
            name="java-cooperative",
            protocols=_COOPERATIVE,
            is_cooperative=True,
            subscription_version=3,
            reaction_ms=3,
            session_ms=15_000,
        ),
        ClientProfile(name="java-consumer", taking_ms=1_500),
        ClientProfile(
            name="librdkafka-consumer", taking_ms=1_500, waits_for_last_commit=False, commits_on_own_connection=True
        ),
        ClientProfile(name="platformatic-consumer", restates=True),
    )
}
"""Every profile by its name."""

UNDRAWN = {
    name: replace(PROFILES[like], name=name, waits_for_call=True)
    for name, like in (
        ("java-cooperative-shy", "java-cooperative"),
        ("librdkafka-cooperative-shy", "librdkafka-cooperative"),
        ("kafka-python-cooperative-shy", "kafka-python-cooperative"),
    )
}
"""Profiles that no seed draws, so that every seed goes on telling its story: cooperative clients that let go of
what they lost and don't join by themselves.
"""
