"""Rebalances as JSON."""

import json

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.trace.exports import rebalances_document
from tests.support.event_stories import cooperative_handover


def test_document_holds_fields_and_what_follows() -> None:
    """Names as in the values; lists for tuples."""
    document = json.loads(rebalances_document(assemble(cooperative_handover().events)))
    (rebalance,) = document["rebalances"]
    assert rebalance["explained"]["cause"] == "join"
    assert (rebalance["disturbed_count"], rebalance["untouched_count"]) == (0, 2)
    c1 = rebalance["members"][1]
    assert (c1["member_id"], c1["stall_us"], c1["lost"]) == ("c1", 2_100_000, ["orders-4"])
