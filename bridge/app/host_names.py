"""The key that tells brokers apart by hosts, in the words of the net room, and what can't be given beside it.

It must not know sockets nor certificates.
"""

import ipaddress
from collections.abc import Iterator

from bridge.config.causes import PORT_MAX
from bridge.config.faults import ConfigError, Fault, FaultCode
from bridge.config.keys import Settings
from bridge.session.host_names import HostPattern

KEY = "listen.sni.pattern"
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
    faults = [*_faults_of_pattern(text, host), *_faults_of_port(text, colon, port), *_faults_beside(settings)]
    if faults:
        raise ConfigError(faults)
    prefix, _, suffix = host.lower().partition(NODE_ID)
    return HostPattern(prefix=prefix, suffix=suffix, port=int(port or 0))


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


def _faults_beside(settings: Settings) -> Iterator[Fault]:
    """What contradicts hosts: no TLS to ask in, ports of brokers, a bootstrap that can't be asked for."""
    if not settings.listen_tls:
        hint = "clients ask for a host in TLS, there is nothing to tell brokers apart by without it"
        yield _fault("listen.tls is false", "listen.tls: true beside it", hint, FaultCode.CONTRADICTION)
    if settings.listen_ports or settings.listen_ports_first:
        given = "listen.ports" if settings.listen_ports else "listen.ports.first"
        hint = f"with hosts no broker has a port: remove {given}, or this key"
        yield _fault(f"{given} is given, too", "one of both", hint, FaultCode.CONTRADICTION)
    bootstrap = settings.advertised_host or settings.listen.rpartition(":")[0]
    if _is_address(bootstrap.strip("[]")):
        hint = "give in advertised.host the name that clients bootstrap to: they ask for no address in TLS"
        seen = f"bootstrap is {bootstrap!r}, an address"
        yield _fault(seen, "a name in advertised.host beside it", hint, FaultCode.CONTRADICTION)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _fault(seen: str, allowed: str, hint: str, code: FaultCode = FaultCode.WRONG_KIND) -> Fault:
    return Fault(code=code, source="configuration", key=KEY, seen=seen, allowed=allowed, hint=hint)
