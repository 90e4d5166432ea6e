"""Words of drawings."""

from dataclasses import replace

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.trace.drawing import (
    longest_stall_us,
    tell_client,
    tell_moved,
    tell_name,
    tell_outcome,
    tell_roles,
    tell_time,
    tell_waited,
)
from tests.support.event_stories import cooperative_handover


def test_rebalance_told_in_words() -> None:
    """Counts, the critical member and the outcome."""
    (rebalance,) = assemble(cooperative_handover().events)
    assert tell_moved(rebalance) == "1 (1 had to)"
    assert tell_waited(rebalance) == "c1 for 3 s"
    assert tell_outcome(rebalance) == "completed"
    assert longest_stall_us(rebalance) == 2_100_000
    (torn,) = assemble(cooperative_handover().events[:8])
    assert tell_outcome(torn) == "open: the log ends before it did"


def test_member_told_with_client_and_roles() -> None:
    """What it runs, and what it was in the rebalance."""
    (rebalance,) = assemble(cooperative_handover().events)
    c4, c1 = rebalance.members
    assert tell_client(c4) == "consumer · epoch 7 · kafka-python 3.0.12"
    assert (tell_roles(rebalance, c4), tell_roles(rebalance, c1)) == (["cause", "new"], ["waited for"])


def test_member_with_random_id_is_called_after_its_client() -> None:
    """People know their clients."""
    (rebalance,) = assemble(cooperative_handover().events)
    c4 = rebalance.members[0]
    assert tell_name(c4) == "c4"
    assert tell_name(replace(c4, member_id="Thv8PAafW8dqqsX9DKdPHA")) == "c4 · Thv8PAaf"


def test_time_told_in_utc() -> None:
    """Milliseconds are enough."""
    assert tell_time(1_763_000_000_123_456) == "2025-11-13 02:13:20.123 UTC"
