"""Names and identities."""

import pytest

from translators.dialects.ids import ClientIdentity


@pytest.mark.parametrize("host", ["127.0.0.1", "/127.0.0.1"])
def test_host_is_shown_as_a_broker_shows_it(host: str) -> None:
    """K6.2: Kafka writes the address as Java does."""
    assert ClientIdentity(client_id="c", client_host=host).shown_host == "/127.0.0.1"
