"""Names and identities."""

import pytest

from translators.dialects.ids import ClientIdentity, is_blank


@pytest.mark.parametrize("host", ["127.0.0.1", "/127.0.0.1"])
def test_host_is_shown_as_a_broker_shows_it(host: str) -> None:
    """Kafka writes the address as Java does (K6.2)."""
    assert ClientIdentity(client_id="c", client_host=host).shown_host == "/127.0.0.1"


@pytest.mark.parametrize(
    ("name", "is_none"), [("", True), (" \t", True), ("\x00\x1f", True), ("\u00a0", False), ("\u3000", False)]
)
def test_blank_is_what_java_trims(name: str, is_none: bool) -> None:
    """4.3.1: a name of control characters is none, one of Unicode's other spaces is a name (K2.1)."""
    assert is_blank(name) is is_none
