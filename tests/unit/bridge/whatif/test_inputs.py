"""What a played client is taken to want."""

import pytest

from bridge.whatif.inputs import USUAL_REBALANCE_MS, USUAL_SESSION_MS, Client
from translators.dialects.ids import ClientIdentity, MemberId


@pytest.mark.parametrize(
    ("said_ms", "session_ms", "rebalance_ms"), [(-1, USUAL_SESSION_MS, USUAL_REBALANCE_MS), (7_000, 7_000, 7_000)]
)
def test_client_that_says_no_timeout_has_the_usual_one(said_ms: int, session_ms: int, rebalance_ms: int) -> None:
    """One that says it has its own."""
    client = Client(
        member_id=MemberId("m"),
        identity=ClientIdentity(client_id="c", client_host="h"),
        session_timeout_ms=said_ms,
        rebalance_timeout_ms=said_ms,
    )
    assert (client.session_ms, client.rebalance_ms) == (session_ms, rebalance_ms)
