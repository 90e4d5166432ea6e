"""The keys of the PROXY protocol, and what can't be given beside each other."""

import ipaddress

import pytest

from bridge.app.listening import read_balancers
from bridge.app.process import find_faults
from bridge.app.settings import proxy_settings
from bridge.config.configuration import load
from bridge.config.faults import FaultCode
from bridge.config.keys import Settings
from bridge.session.balancers import Balancers

KEY = "listen.proxy-protocol.from"


def faults_of(*assignments: str) -> list[tuple[str, FaultCode, str]]:
    """Key, code and all that is told of each fault."""
    found = find_faults(load(None, {}, ["bootstrap=k:9092", *assignments]))
    return [(fault.key, fault.code, f"{fault.seen} {fault.hint}") for fault in found]


def test_nobody_is_believed_by_default() -> None:
    """And brokers are told nothing."""
    settings = proxy_settings(load(None, {}, ["bootstrap=k:9092"]))
    assert (settings.balancers, settings.announces_clients) == (None, False)


@pytest.mark.parametrize("mode", ["optional", "required"])
def test_balancers_are_addresses_and_networks(mode: str) -> None:
    """Of both kinds."""
    settings = Settings(listen_proxy_protocol=mode, listen_proxy_protocol_from=("10.0.0.7", "fd00::/8"))
    networks = (ipaddress.ip_network("10.0.0.7"), ipaddress.ip_network("fd00::/8"))
    assert read_balancers(settings) == Balancers(networks=networks, is_required=mode == "required")
    assert not faults_of(f"listen.proxy-protocol={mode}", f"{KEY}=10.0.0.7,fd00::/8", "upstream.proxy-protocol=v2")


@pytest.mark.parametrize(
    ("text", "host"), [("::ffff:10.0.0.7", "10.0.0.7"), ("::ffff:10.0.0.0/120", "10.0.0.9"), ("::/0", "fd00::1")]
)
def test_ipv4_inside_ipv6_is_ipv4(text: str, host: str) -> None:
    """As sockets of both kinds show it, and as logs then do."""
    found = read_balancers(Settings(listen_proxy_protocol="required", listen_proxy_protocol_from=(text,)))
    assert found is not None
    assert found.trusts(host)
    assert not found.trusts("10.0.1.1")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("listen.proxy-protocol=required",), FaultCode.MISSING, "name those who are believed"),
        ((f"{KEY}=10.0.0.7",), FaultCode.CONTRADICTION, "listen.proxy-protocol is off"),
        (("listen.proxy-protocol=optional", f"{KEY}=balancer"), FaultCode.WRONG_KIND, "names are not looked up"),
        (("listen.proxy-protocol=optional", f"{KEY}=10.0.0.7/24"), FaultCode.WRONG_KIND, "write 10.0.0.0/24"),
    ],
)
def test_keys_that_name_nobody_are_told(words: tuple[str, ...], code: FaultCode, told: str) -> None:
    """Whoever is believed may say to come from anywhere."""
    ((key, seen_code, seen),) = faults_of(*words)
    assert (key, seen_code) == (KEY, code)
    assert told in seen
