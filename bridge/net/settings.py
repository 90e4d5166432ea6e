"""What one proxy must be told to run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bridge.migration.route import Rule
from bridge.net.kept_logins import KeptLogins
from bridge.net.own_login import LoginSource
from bridge.net.tls import BrokerTls, ClientTls
from bridge.session.balancers import Balancers
from bridge.session.broker_addresses import Address, HostPattern
from bridge.session.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """One proxy in front of one cluster."""

    bootstrap: tuple[Address, ...]
    """Brokers to begin with, tried in order."""
    listen: Address
    """Where clients bootstrap; port 0 takes any free one."""
    advertised_host: str | None = None
    """The host that clients are told; the host of `listen` if not given."""
    broker_ports: Mapping[int, int] = field(default_factory=dict)
    """Ports of brokers by node id, opened at the start; all others have theirs by `first_broker_port`."""
    first_broker_port: int = 0
    """The port of broker 0, broker N has the one N further on; 0: the port after that of `listen`, or any free ports if
    that one is any.
    """
    host_pattern: HostPattern | None = None
    """Brokers are told apart by the hosts that clients ask for in TLS, at the one port of `listen`; None: by ports."""
    balancers: Balancers | None = None
    """Who says in front of connections whom it brings (PROXY protocol); None: nobody."""
    announces_clients: bool = False
    """Tell brokers, or the proxies before them, in front of each connection whom it brings (PROXY protocol)."""
    rules: tuple[Rule, ...] = ()
    """Which groups take which road; the first match wins, none is `pass`."""
    limits: Limits = field(default_factory=Limits)
    rewrites_node_endpoints: bool = False
    """Offer Produce 10+ and Fetch 16+, whose answers are then held whole and searched for addresses (KIP-951)."""
    refresh_interval_ms: int = 30_000
    """How often the cluster is asked for its brokers."""
    versions_max_age_ms: int = 300_000
    """How long a broker's answer to ApiVersions is believed."""
    connect_timeout_ms: int = 5_000
    """How long one attempt to connect to a broker may take."""
    connect_backoff_ms: int = 100
    """The pause after the first attempt that failed; each further one is twice as long, up to a second."""
    login: LoginSource | None = None
    """Who the bridge is where it asks for itself; clients log in by themselves."""
    broker_tls: BrokerTls | None = None
    """How brokers are spoken to inside TLS, by clients' connections, too; None: without it."""
    client_tls: ClientTls | None = None
    """How clients are spoken to inside TLS, at every port of theirs; None: without it."""
    logins: KeptLogins | None = None
    """Clients log in at the bridge itself; None: at brokers, or nowhere."""
    certificates_watch_ms: int = 10_000
    """How often files of TLS are looked at."""
    node: int = 0
    """This process, as it stands in RequestRef."""
