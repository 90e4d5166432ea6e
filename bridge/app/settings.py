"""The configuration put into the words of each room that needs a part of it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace

from bridge.app.kept_logins import read_kept_logins
from bridge.app.listening import read_balancers, read_host_pattern
from bridge.app.login import read_login
from bridge.app.rules import route_rules, rule_matcher
from bridge.app.tls import broker_tls, client_tls
from bridge.config.causes import PORT_MAX, cause_of_address, is_host, is_ipv6_address, is_number
from bridge.config.configuration import Config
from bridge.config.faults import ConfigError, FaultCode, fault_of
from bridge.config.keys import Settings
from bridge.config.secrets import without_login
from bridge.config.sources import read_environment
from bridge.coordinators.embedded.groups import EmbeddedSettings
from bridge.coordinators.embedded.shares import ShareLimits
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import GroupType
from bridge.engine.settings import EngineSettings
from bridge.net.settings import ProxySettings
from bridge.session.broker_addresses import Address
from bridge.session.limits import Limits
from translators.classic_member.states import MemberLimits
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import GroupId
from translators.dialects.kept_names import NAME_CHARS_MAX

OFF = "off"
BROKER_KEYS = frozenset({"bootstrap", "events.bootstrap"})
"""Addresses that are connected to, not listened at."""
ASSIGNORS_KEY = "group.consumer.assignors"
PERCENT = 100
REMEMBERED_GROUPS_MAX = 10_000
_ENGINE_FIELDS = {field.name for field in fields(EngineSettings)} & {field.name for field in fields(Settings)}


def proxy_settings(config: Config) -> ProxySettings:
    """What the net room is told; raises ConfigError for addresses that are none, and `read_login`'s own."""
    settings = config.settings
    if not settings.bootstrap:
        raise ConfigError([fault_of("bootstrap", "nothing is given", "HOST:PORT of a broker", FaultCode.MISSING)])
    listen = parse_address("listen", settings.listen)
    limits = Limits(
        connections_max=settings.limits_connections_max,
        all_new_connections_max=settings.limits_connections_rate_max,
        new_connections_max=settings.limits_connections_address_rate_max,
        address_connections_max=settings.limits_connections_address_max,
        frame_bytes_max=settings.wire_frame_bytes_max,
        group_frame_bytes_max=settings.wire_group_frame_bytes_max,
        offsets_frame_bytes_max=settings.wire_offsets_frame_bytes_max,
        elements_max=settings.wire_elements_max,
        names_max=settings.wire_names_max,
        rewritten_answer_bytes_max=settings.wire_answer_bytes_max,
        inflight_requests_max=settings.limits_requests_in_flight_max,
        inflight_bytes_max=settings.limits_bytes_in_flight_max,
        all_inflight_bytes_max=settings.limits_inflight_bytes,
        unauthenticated_bytes_max=settings.limits_unauthenticated_bytes,
        unauthenticated_frame_bytes_max=settings.limits_unauthenticated_frame_bytes,
        login_steps_max=settings.limits_unauthenticated_steps_max,
        logins_waiting_max=settings.limits_logins_waiting_max,
        idle_max_ms=settings.limits_idle_ms,
        frame_time_max_ms=settings.limits_progress_ms,
        handshakes_max=settings.limits_handshakes_max,
        handshake_time_max_ms=settings.limits_handshake_ms,
        grants_max=settings.authorization_cache_max,
        grant_ms=settings.authorization_cache_ms,
        upstream_wait_max_ms=settings.connect_timeout_ms,
    )
    return ProxySettings(
        bootstrap=tuple(parse_address("bootstrap", text) for text in settings.bootstrap),
        listen=listen,
        advertised_host=settings.advertised_host or None,
        broker_ports=dict(parse_port(text) for text in settings.listen_ports),
        first_broker_port=settings.listen_ports_first,
        host_pattern=read_host_pattern(settings),
        balancers=read_balancers(settings),
        announces_clients=settings.upstream_proxy_protocol != OFF,
        rules=route_rules(config),
        limits=limits,
        rewrites_node_endpoints=settings.wire_node_endpoints == "rewrite",
        refresh_interval_ms=settings.metadata_refresh_ms,
        connect_backoff_ms=settings.connect_backoff_ms,
        login=read_login(config, read_environment()),
        broker_tls=broker_tls(settings),
        client_tls=client_tls(settings),
        logins=read_kept_logins(settings),
        certificates_watch_ms=settings.certificates_watch_ms,
    )


def engine_settings(config: Config, assignors: Collection[str] = registry) -> EngineSettings:
    """What the engine is told; raises ConfigError for names that are not in `assignors`, those of single rules too."""
    route_rules(config)
    chosen = {ASSIGNORS_KEY: config.settings.group_consumer_assignors}
    for rule in config.rules:
        if any(field_name == "group_consumer_assignors" for field_name, _ in rule.overrides):
            own = rule.settings(config.settings).group_consumer_assignors
            chosen[f"rule {rule.match!r}: {ASSIGNORS_KEY}"] = own
    faults = [
        fault_of(key, f"no assignor is named {name!r}", ", ".join(sorted(assignors)), FaultCode.WRONG_KIND)
        for key, names in chosen.items()
        for name in names
        if name not in assignors
    ]
    if faults:
        raise ConfigError(faults)
    return replace(_engine(config.settings), per_group=RuledSettings(config))


def member_limits(config: Config) -> MemberLimits:
    """What the machines of classic members are told."""
    settings = config.settings
    return MemberLimits(
        gain_wait_max_ms=settings.gain_wait_max_ms, eager_join_hold_max_ms=settings.eager_join_hold_max_ms
    )


def embedded_settings(config: Config) -> EmbeddedSettings:
    """What the embedded coordinator is told."""
    settings = config.settings
    return EmbeddedSettings(
        topics_refresh_ms=settings.embedded_topics_refresh_ms,
        commit_drain_ms=settings.commit_drain_ms,
        recommit_ms=settings.offsets_recommit_ms,
        retention_check_ms=settings.offsets_retention_check_interval_ms,
        shares=share_limits(settings),
    )


def share_limits(settings: Settings) -> ShareLimits | None:
    """What one group and one client address may hold of the journal; in memory there is no room to share out."""
    if settings.journal == "memory":
        return None
    room = settings.journal_bytes_max
    return ShareLimits(
        group_bytes=room * settings.journal_share_group // PERCENT,
        client_bytes=room * settings.journal_share_client // PERCENT,
        all_bytes=room,
    )


class RuledSettings(Mapping[GroupId, EngineSettings]):
    """The settings of groups whose rule has some of its own; the first rule that matches counts, and is remembered."""

    def __init__(self, config: Config) -> None:
        self._remembered: dict[GroupId, EngineSettings | None] = {}
        self.change(config)

    def change(self, config: Config) -> None:
        """From now on the rules of another configuration count, for groups that live, too."""
        self._rules = [
            (rule_matcher(rule), _engine(rule.settings(config.settings)), rule.overrides)
            for rule in config.rules
            if not rule.client_id and not rule.principal
        ]
        self._remembered.clear()

    def __getitem__(self, group_id: GroupId) -> EngineSettings:
        """The group's own settings; KeyError where the general ones hold."""
        found = self._find(group_id) if len(group_id) > NAME_CHARS_MAX else self._recall(group_id)
        if found is None:
            raise KeyError(group_id)
        return found

    def _recall(self, group_id: GroupId) -> EngineSettings | None:
        if group_id not in self._remembered:
            if len(self._remembered) >= REMEMBERED_GROUPS_MAX:
                self._remembered.clear()
            self._remembered[group_id] = self._find(group_id)
        return self._remembered[group_id]

    def __iter__(self) -> Iterator[GroupId]:
        """The groups that were looked up and have settings of their own."""
        return (group_id for group_id, found in self._remembered.items() if found is not None)

    def __len__(self) -> int:
        """How many those are."""
        return sum(1 for _ in self)

    def _find(self, group_id: GroupId) -> EngineSettings | None:
        for matches, own, overrides in self._rules:
            if matches(group_id):
                return own if overrides else None
        return None


def parse_address(key: str, text: str) -> Address:
    """`HOST:PORT`, with `[…]` around an IPv6 host; raises ConfigError."""
    host, colon, port = text.rpartition(":")
    is_ipv6 = host.startswith("[") and host.endswith("]")
    if is_ipv6:
        host = host[1:-1]
    is_one = is_ipv6_address(host) if is_ipv6 else ":" not in host and is_host(host) and host.isprintable()
    if not colon or not is_one or not is_number(port) or int(port) > PORT_MAX:
        fault = fault_of(key, f"{without_login(text)!r} is no address", "HOST:PORT", FaultCode.WRONG_KIND)
        raise ConfigError([replace(fault, hint=cause_of_address(text))])
    if int(port) == 0 and key in BROKER_KEYS:
        fault = fault_of(key, f"{text!r} names port 0, where nobody listens", "HOST:PORT", FaultCode.WRONG_KIND)
        raise ConfigError([replace(fault, hint="give the port of the broker's listener, 9092 as a rule")])
    return Address(host, int(port))


def parse_port(text: str) -> tuple[int, int]:
    """NODE=PORT as the node's id and its port; raises ConfigError."""
    node, equals, port = text.partition("=")
    if not equals or not is_number(node) or not is_number(port) or not 0 < int(port) <= PORT_MAX:
        fault = fault_of("listen.ports", f"{text!r} names no port", "NODE=PORT", FaultCode.WRONG_KIND)
        hint = "write pairs with commas between them and nothing around, as in 1=9193,2=9194"
        raise ConfigError([replace(fault, hint=hint)])
    return int(node), int(port)


def _engine(settings: Settings) -> EngineSettings:
    taken = EngineSettings(**{name: getattr(settings, name) for name in _ENGINE_FIELDS})
    return replace(
        taken,
        group_consumer_migration_policy=MigrationPolicy(settings.group_consumer_migration_policy),
        group_begins_classic=settings.embedded_initial_group_type == GroupType.CLASSIC.value,
    )
