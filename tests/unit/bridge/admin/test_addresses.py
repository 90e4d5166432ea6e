"""What is an address of the admin API, and what is this machine."""

import pytest

from bridge.admin.addresses import is_loopback, parse_address, show_address
from bridge.admin.contracts import AdminError


@pytest.mark.parametrize(
    "address", ["", "9190", "127.0.0.1:", ":9190", "127.0.0.1:x", "127.0.0.1:65536", "h:" + "9" * 5_000]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """EB-ADMIN-002 shows what was seen."""
    with pytest.raises(AdminError, match="EB-ADMIN-002"):
        parse_address(address)


def test_address_of_ipv6_has_brackets() -> None:
    """As in URLs."""
    assert parse_address("[::1]:9190") == ("::1", 9190)
    assert show_address("::1", 9190) == "[::1]:9190"
    assert show_address("127.0.0.1", 9190) == "127.0.0.1:9190"


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("a.localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_is_known_by_name_and_address(host: str, *, local: bool) -> None:
    """Everything else is beyond this machine."""
    assert is_loopback(host) is local
