"""Whose word is taken."""

import ipaddress

import pytest

from bridge.session.balancers import Balancers

BALANCERS = Balancers(
    networks=(ipaddress.ip_network("10.0.0.0/24"), ipaddress.ip_network("fd00::7")), is_required=False
)


@pytest.mark.parametrize(
    ("host", "trusted"),
    [
        ("10.0.0.7", True),
        ("::ffff:10.0.0.7", True),
        ("fd00::7", True),
        ("fd00::7%eth0", True),
        ("10.0.1.7", False),
        ("fd00::8", False),
        ("::ffff:10.0.1.7", False),
    ],
)
def test_address_counts_in_every_form(host: str, trusted: bool) -> None:
    """As a socket of IPv4, of both kinds, or with a scope shows it."""
    assert BALANCERS.trusts(host) is trusted
