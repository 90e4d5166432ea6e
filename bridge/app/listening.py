"""How clients come in, in the words of the net room: hosts that tell brokers apart, load balancers believed."""

import ipaddress
from collections.abc import Iterator
from dataclasses import replace

from bridge.config.causes import PORT_MAX, is_address
from bridge.config.faults import ConfigError, Fault, FaultCode, error_of, fault_of
from bridge.config.keys import Settings
from bridge.session.balancers import Balancers, Network
from bridge.session.broker_addresses import HostPattern

PATTERN = "listen.sni.pattern"
NODE_ID = "{id}"
ALLOWED = "one host with {id} in the place of the broker's id, as in b{id}.kafka.example or b{id}.kafka.example:443"
_IN_HOSTS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")
HOST_CHARS_MAX = 253
"""The longest name of DNS."""
NODE_ID_CHARS = 10
LABEL_CHARS_MAX = 63


def read_host_pattern(settings: Settings) -> HostPattern | None:
    """How hosts of brokers are called; None where brokers have ports. Raises ConfigError."""
    text = settings.listen_sni_pattern
    if not text:
        return None
    host, colon, port = (text, "", "") if "://" in text else text.partition(":")
    faults = [*_faults_of_pattern(text, host), *_faults_of_port(text, colon, port), *_faults_beside(settings, host)]
    if faults:
        raise ConfigError(faults)
    return replace(_pattern_of(host), port=int(port or 0))


def _pattern_of(host: str) -> HostPattern:
    """Without the dot that ends hosts in DNS: clients ask for none in TLS."""
    prefix, _, suffix = host.lower().removesuffix(".").partition(NODE_ID)
    return HostPattern(prefix=prefix, suffix=suffix)


def _faults_of_pattern(text: str, host: str) -> Iterator[Fault]:
    if host.count(NODE_ID) != 1:
        seen = f"{text!r} has {NODE_ID} {host.count(NODE_ID) or 'no'} times"
        yield _fault(seen, ALLOWED, "hosts are told apart by the broker's id, which stands where {id} is written")
        return
    longest = host.lower().replace(NODE_ID, "0" * NODE_ID_CHARS)
    labels = longest.removesuffix(".").split(".")
    is_host = _IN_HOSTS.issuperset(longest) and all(0 < len(label) <= LABEL_CHARS_MAX for label in labels)
    if not is_host or len(longest) > HOST_CHARS_MAX:
        yield _fault(f"{text!r} is no host", ALLOWED, "write letters, digits, hyphens and dots around {id}, no scheme")
    elif longest.replace(".", "").isdecimal():
        yield _fault(f"{text!r} is an address", ALLOWED, "clients name hosts in TLS, and leave addresses out")


def _faults_of_port(text: str, colon: str, port: str) -> Iterator[Fault]:
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port) <= PORT_MAX):
        yield _fault(f"{text!r} has no port behind its colon", ALLOWED, "write the port that clients connect to")


def _faults_beside(settings: Settings, host: str) -> Iterator[Fault]:
    """What contradicts hosts: no TLS to ask in, ports of brokers, a bootstrap that is an address or a broker."""
    if not settings.listen_tls:
        hint = "clients ask for a host in TLS, there is nothing to tell brokers apart by without it"
        yield _fault("listen.tls is false", "listen.tls: true beside it", hint, FaultCode.CONTRADICTION)
    if settings.listen_ports or settings.listen_ports_first:
        given = "listen.ports" if settings.listen_ports else "listen.ports.first"
        hint = f"with hosts no broker has a port: remove {given}, or this key"
        yield _fault(f"{given} is given, too", "one of both", hint, FaultCode.CONTRADICTION)
    bootstrap = settings.advertised_host or settings.listen.rpartition(":")[0]
    if is_address(bootstrap.strip("[]")):
        hint = "give in advertised.host the name that clients bootstrap to: they ask for no address in TLS"
        seen = f"bootstrap is {bootstrap!r}, an address"
        yield _fault(seen, "a name in advertised.host beside it", hint, FaultCode.CONTRADICTION)
    node_id = _pattern_of(host).node_id(bootstrap.lower().removesuffix("."))
    if node_id is not None:
        hint = "whoever asked for this broker would be led to any: give bootstrap a name of its own in advertised.host"
        seen = f"bootstrap is {bootstrap!r}, which is the host of broker {node_id}"
        yield _fault(seen, "another name in advertised.host", hint, FaultCode.CONTRADICTION)


def _fault(seen: str, allowed: str, hint: str, code: FaultCode = FaultCode.WRONG_KIND) -> Fault:
    return fault_of(PATTERN, seen, allowed, code, hint)


# -------- load balancers

FROM = "listen.proxy-protocol.from"
OFF, REQUIRED = "off", "required"
_IPV4_IN_IPV6 = 96
"""Bits before the address."""
NETWORKS = "addresses or networks of load balancers, as in 10.0.0.7 or 10.0.0.0/24"


def read_balancers(settings: Settings) -> Balancers | None:
    """Whose headers are read, None: nobody's. Raises ConfigError."""
    given = settings.listen_proxy_protocol_from
    if settings.listen_proxy_protocol == OFF:
        if given:
            seen = f"{given[0]!r} is given, and listen.proxy-protocol is off"
            raise _refuse(seen, "listen.proxy-protocol: required or optional beside it", FaultCode.CONTRADICTION)
        return None
    if not given:
        hint = "whoever may send a header may say to come from anywhere: name those who are believed"
        raise _refuse("nothing is given", NETWORKS, FaultCode.MISSING, hint)
    networks = tuple(map(_read_network, given))
    return Balancers(networks=networks, is_required=settings.listen_proxy_protocol == REQUIRED)


def _read_network(text: str) -> Network:
    try:
        return _plain_network(ipaddress.ip_network(text))
    except ValueError:
        pass
    try:
        meant = ipaddress.ip_network(text, strict=False)
    except ValueError:
        hint = "write an address or a network; names are not looked up"
        raise _refuse(f"{text!r} is neither", NETWORKS, FaultCode.WRONG_KIND, hint) from None
    hint = f"its address has more digits than the network: write {meant}"
    raise _refuse(f"{text!r} is no network", NETWORKS, FaultCode.WRONG_KIND, hint)


def _plain_network(network: Network) -> Network:
    """The same network, of IPv4 where it is one inside IPv6: so addresses are compared."""
    mapped = network.network_address.ipv4_mapped if isinstance(network, ipaddress.IPv6Network) else None
    if mapped is None or network.prefixlen < _IPV4_IN_IPV6:
        return network
    return ipaddress.IPv4Network((mapped, network.prefixlen - _IPV4_IN_IPV6))


def _refuse(seen: str, allowed: str, code: FaultCode, hint: str = "") -> ConfigError:
    return error_of(FROM, seen, allowed, code, hint)
