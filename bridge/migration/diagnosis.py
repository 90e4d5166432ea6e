"""What stands in the way of moves in a cluster and a bridge, and what helps: the findings of the doctor.

It judges what was looked at elsewhere. What could not be looked at is a finding, too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto

from bridge.migration.abilities import BrokerAbilities, Known, Login, TakeOverWay
from bridge.migration.broker_facts import GROUP_VERSION, POLICY, BrokerFacts
from bridge.migration.probe import PROBE_GROUP_PREFIX
from translators.dialects.configs import MigrationPolicy

SKEW_MAX_MS = 1_000
"""Clocks that differ by less are no news: traces and event logs of both are still read side by side."""


class Severity(StrEnum):
    """What a finding means."""

    STOPS = auto()
    """It stands in the way of some move, for every group."""
    WARNS = auto()
    """It stands in nobody's way, and will be missed one day."""
    INFORMS = auto()
    """It is as it should be, or a choice."""
    UNSEEN = auto()
    """It could not be looked at."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One finding: a stable code, what was seen, what helps ("" where nothing needs to), and how much it matters."""

    code: str
    text: str
    remedy: str = ""
    severity: Severity = Severity.INFORMS


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeFacts:
    """What a bridge says of its own settings, or is to be started with."""

    is_running: bool = False
    has_rules: bool = False
    journal: str = "sqlite"
    is_followed: bool = True
    admin: str = ""
    is_admin_in_the_clear: bool = False
    """Whether the admin API can be reached from other machines, without TLS."""
    unreachable: tuple[str, ...] = ()
    """Addresses that clients are told and nobody can connect to."""
    taken_ports: tuple[int, ...] = ()
    """Ports that it would listen at, and somebody else does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """Everything that was looked at; `silent` are brokers that did not answer, with the sentence why.

    `skew_ms` is how far the active controller's clock is ahead of the bridge's, None where nobody told its time, give
    or take `skew_error_ms`. `probe_fault` says why a probe found nothing, "" if it did or none was tried.
    """

    brokers: Sequence[BrokerFacts] = ()
    silent: Sequence[str] = ()
    abilities: BrokerAbilities = field(default_factory=BrokerAbilities)
    probe_fault: str = ""
    skew_ms: int | None = None
    skew_error_ms: int = 0
    bridge: BridgeFacts = field(default_factory=BridgeFacts)

    @property
    def is_unanswered(self) -> bool:
        """Whether no broker said anything, not even that it wants a login: then that is all there is to say of them."""
        return not self.brokers and self.abilities.login is not Login.NONE


Check = Callable[[Examined], Iterator[Diagnosis]]


def diagnose(examined: Examined) -> tuple[Diagnosis, ...]:
    """All findings, what stands in the way first."""
    found = [finding for check in _CHECKS for finding in check(examined)]
    return tuple(sorted(found, key=lambda one: list(Severity).index(one.severity)))


def _check_brokers(seen: Examined) -> Iterator[Diagnosis]:
    if seen.abilities.login is Login.NONE:
        return
    if not seen.brokers:
        yield Diagnosis(
            "EB-DOCTOR-101",
            f"no broker answers: {'; '.join(seen.silent) or 'none is named'}",
            "check the bootstrap list, and that the cluster runs",
            Severity.STOPS,
        )
        return
    for sentence in seen.silent:
        yield Diagnosis(
            "EB-DOCTOR-102",
            f"a broker that the cluster names does not answer: {sentence}",
            "see that the bridge can reach every broker at the address that the brokers advertise",
            Severity.STOPS,
        )
    for broker in seen.brokers:
        level = broker.features.get(GROUP_VERSION)
        yield Diagnosis(
            "EB-DOCTOR-103",
            f"broker {broker.node_id} is Apache Kafka {broker.release or '(it does not say which release)'},"
            f" group.version {level or 'off'}",
        )
    if len({broker.release for broker in seen.brokers}) > 1:
        yield Diagnosis(
            "EB-DOCTOR-104",
            "the brokers are of different releases: a group can do what its coordinator can, and that may move",
            "finish the upgrade of the brokers before you move groups",
            Severity.WARNS,
        )


def _check_takeover(seen: Examined) -> Iterator[Diagnosis]:
    if seen.is_unanswered:
        return
    takeover = seen.abilities.takeover
    how = "probed" if seen.abilities.known is Known.PROBED else "read from what the brokers say"
    if takeover is TakeOverWay.IMPOSSIBLE:
        yield Diagnosis(
            "EB-DOCTOR-110",
            f"the brokers do not coordinate the consumer protocol ({how}): road upstream is closed, embedded is open",
            "upgrade the brokers to Kafka 4, or set group.version with kafka-features.sh; or use road embedded",
            Severity.WARNS,
        )
    elif takeover is TakeOverWay.UNKNOWN:
        yield Diagnosis(
            "EB-DOCTOR-111",
            f"it is not known whether the brokers take over members: {seen.probe_fault or 'none was asked'}",
            f"give the bridge a login with READ on groups {PROBE_GROUP_PREFIX}*, and run the doctor again",
            Severity.UNSEEN,
        )
    else:
        words = {
            TakeOverWay.IN_PLACE: "each member by itself, by its own first heartbeat",
            TakeOverWay.BY_SCOUT: "each member by itself, after a scout has converted the group",
            TakeOverWay.WHOLE_GROUP: "whole groups: members that are not taken over at once are called to join",
        }
        yield Diagnosis("EB-DOCTOR-112", f"the brokers take over {words[takeover]} ({how})")
        if seen.probe_fault and (seen.abilities.policy is None or seen.abilities.policy.upgrades):
            yield Diagnosis(
                "EB-DOCTOR-113",
                f"a take-over could not be probed: {seen.probe_fault}",
                f"mend what is named, so that nothing is concluded from versions; a login needs READ on groups"
                f" {PROBE_GROUP_PREFIX}*",
                Severity.WARNS,
            )


def _check_policy(seen: Examined) -> Iterator[Diagnosis]:
    policy = seen.abilities.policy
    if policy is MigrationPolicy.BIDIRECTIONAL:
        yield Diagnosis("EB-DOCTOR-120", f"{POLICY} is bidirectional: groups may be moved there and back")
    elif policy is MigrationPolicy.UPGRADE:
        yield Diagnosis(
            "EB-DOCTOR-121",
            f"{POLICY} is upgrade: a group that was moved back stays a consumer group, and a newcomer disturbs it",
            f"set {POLICY}=bidirectional on every broker",
            Severity.WARNS,
        )
    elif policy is not None:
        yield Diagnosis(
            "EB-DOCTOR-122",
            f"{POLICY} is {policy.value}: the brokers refuse to take over members (69)",
            f"set {POLICY}=bidirectional on every broker, or use road embedded",
            Severity.STOPS,
        )
    hidden = sorted({broker.hides_settings for broker in seen.brokers if broker.hides_settings})
    if hidden:
        yield Diagnosis(
            "EB-DOCTOR-123",
            f"the brokers do not show their settings ({', '.join(hidden)}): policy, sizes and sessions are not known",
            "grant the bridge's login DESCRIBE_CONFIGS on the cluster",
            Severity.UNSEEN,
        )


def _check_limits(seen: Examined) -> Iterator[Diagnosis]:
    abilities = seen.abilities
    if abilities.session_min_ms is not None or abilities.session_max_ms is not None:
        yield Diagnosis(
            "EB-DOCTOR-130",
            f"brokers take sessions of classic members from {abilities.session_min_ms} to {abilities.session_max_ms}"
            f" ms, groups of up to {abilities.classic_size_max} classic and {abilities.consumer_size_max} consumer"
            f" members; the session of consumer members is {abilities.consumer_session_ms} ms",
        )


def _check_login(seen: Examined) -> Iterator[Diagnosis]:
    login = seen.abilities.login
    if seen.is_unanswered:
        return
    if login is Login.OPEN:
        yield Diagnosis("EB-DOCTOR-140", "the cluster asks nobody for a login: the bridge may do all that moves need")
    elif login is Login.NONE:
        yield Diagnosis(
            "EB-DOCTOR-141",
            "the cluster authenticates its clients, and the bridge has no login: it can't ask for groups, nor keep the"
            " members of an adopted group alive",
            "set upstream.sasl.mechanism, upstream.sasl.username and upstream.sasl.password.path",
            Severity.STOPS,
        )
    else:
        yield Diagnosis(
            "EB-DOCTOR-144",
            "the cluster authenticates its clients and lets the bridge in, which asks it what each client may do",
        )


def _skew(skew_ms: int) -> str:
    return f"{skew_ms} ms ahead of" if skew_ms >= 0 else f"{-skew_ms} ms behind"


def _check_clocks(seen: Examined) -> Iterator[Diagnosis]:
    if seen.is_unanswered:
        return
    if seen.skew_ms is None:
        yield Diagnosis(
            "EB-DOCTOR-150",
            "no broker told what time it is (DescribeQuorum, from Kafka 3.3 with KRaft on, needs DESCRIBE on the"
            " cluster)",
            "compare the clocks by hand: date +%s on both machines",
            Severity.UNSEEN,
        )
    elif abs(seen.skew_ms) > SKEW_MAX_MS + seen.skew_error_ms:
        yield Diagnosis(
            "EB-DOCTOR-151",
            f"the clock of the active controller is {_skew(seen.skew_ms)} this one, give or take"
            f" {seen.skew_error_ms} ms: times in event logs and traces do not fit those of the brokers",
            "have both machines follow a time server",
            Severity.WARNS,
        )
    else:
        yield Diagnosis("EB-DOCTOR-152", f"the clock of the active controller is {_skew(seen.skew_ms)} this one")


def _check_bridge(seen: Examined) -> Iterator[Diagnosis]:
    bridge = seen.bridge
    if bridge.journal == "memory":
        yield Diagnosis(
            "EB-DOCTOR-160",
            "journal is memory: a move does not survive a restart of the bridge, and neither do embedded groups",
            "set journal: sqlite",
            Severity.WARNS,
        )
    if not bridge.is_followed:
        yield Diagnosis(
            "EB-DOCTOR-161",
            "groups are not followed: who comes through this bridge is not known, and so no group can be adopted",
            "set metrics.rebalances: true",
            Severity.WARNS,
        )
    if not bridge.has_rules:
        yield Diagnosis("EB-DOCTOR-162", "no rule sends a group anywhere: all groups pass, until they are moved")
    if bridge.admin == "off":
        yield Diagnosis(
            "EB-DOCTOR-163",
            "admin.listen is off: nobody can order or watch a move",
            "set admin.listen to a loopback address",
            Severity.STOPS,
        )
    elif bridge.is_admin_in_the_clear:
        yield Diagnosis(
            "EB-DOCTOR-164",
            f"the admin API listens at {bridge.admin}, beyond this machine, without TLS: tokens can be read along",
            "set admin.tls, or admin.listen to a loopback address, or keep the port behind a firewall",
            Severity.WARNS,
        )


def _check_ports(seen: Examined) -> Iterator[Diagnosis]:
    bridge = seen.bridge
    for address in bridge.unreachable:
        yield Diagnosis(
            "EB-DOCTOR-170",
            f"clients are told {address}, and nobody can connect there from the bridge's own machine",
            "check advertised.host, listen.ports and listen.ports.first, or listen.sni.pattern, and firewalls",
            Severity.STOPS,
        )
    if bridge.taken_ports:
        ports = ", ".join(map(str, bridge.taken_ports))
        yield Diagnosis(
            "EB-DOCTOR-171",
            f"somebody else listens at port {ports}, which the bridge would take",
            "end what listens there, or set listen and listen.ports.first; a bridge that runs is asked with --admin",
            Severity.STOPS,
        )
    if not bridge.unreachable and not bridge.taken_ports:
        told = "clients can connect where they are told to" if bridge.is_running else "the ports of the bridge are free"
        yield Diagnosis("EB-DOCTOR-172", told)


_CHECKS: tuple[Check, ...] = (
    _check_brokers,
    _check_takeover,
    _check_policy,
    _check_limits,
    _check_login,
    _check_clocks,
    _check_bridge,
    _check_ports,
)
