"""Which addresses are one place."""

import pytest

from translators.dialects.places import place_of


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("10.0.0.9", "10.0.0.9"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("2001:db8:0:7:a:b:c:d", "2001:db8:0:7::/64"),
        ("2001:db8:0:7::", "2001:db8:0:7::/64"),
        ("2001:db8:0:8::", "2001:db8:0:8::/64"),
        ("::ffff:10.0.0.9", "10.0.0.9"),
        ("", ""),
        ("a:b", "a:b"),
        ("broker-1", "broker-1"),
    ],
)
def test_addresses_of_one_network_are_one_place(host: str, place: str) -> None:
    """Whoever has an IPv6 address has 2 to the power of 64; one of IPv4 is itself, however a socket shows it."""
    assert place_of(host) == place
