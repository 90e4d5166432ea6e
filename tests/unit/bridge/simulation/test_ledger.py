"""Who processes what, and who is forgiven."""

import pytest

from bridge.simulation.ledger import InvariantBroken, Ledger
from translators.dialects.ids import TopicName, TopicPartition

P, Q = TopicPartition(TopicName("t"), 0), TopicPartition(TopicName("t"), 1)
SESSION_MS = 100


class Clock:
    """Time set by hand."""

    now_ms = 0


def two_clients() -> tuple[Ledger, Clock]:
    """A ledger with clients 1 and 2."""
    clock = Clock()
    ledger = Ledger(lambda: clock.now_ms)
    for number in (1, 2):
        ledger.enter(number, f"client {number}", SESSION_MS)
    return ledger, clock


def test_second_holder_breaks_the_law() -> None:
    """Reliability 3.2, 1: no partition is processed by two."""
    ledger, _ = two_clients()
    ledger.take(1, [P])
    with pytest.raises(InvariantBroken, match=r"processed by two.*client 2.*client 1"):
        ledger.take(2, [P, Q])


def test_released_partition_may_be_taken() -> None:
    """Hand-over."""
    ledger, _ = two_clients()
    ledger.take(1, [P])
    ledger.release(1, [P, Q])
    ledger.take(2, [P])
    assert (ledger.holders(P), ledger.holders(Q), ledger.takes) == ((2,), (), 2)


def test_client_past_its_session_is_forgiven_until_it_is_admitted() -> None:
    """A paused zombie believes that it owns; once admitted again it must not."""
    ledger, clock = two_clients()
    ledger.take(1, [P])
    clock.now_ms = SESSION_MS - 1
    ledger.hear(2)
    assert not ledger.is_excused(1)
    clock.now_ms = SESSION_MS
    assert ledger.is_excused(1)
    ledger.take(2, [P])
    ledger.hear(1)
    assert ledger.is_excused(1)
    with pytest.raises(InvariantBroken):
        ledger.admit(1)


def test_client_of_a_bridge_without_memory_is_forgiven_after_the_grace() -> None:
    """Decision 9: survivors that come in time are safe; an answer from before the restart admits nobody."""
    ledger, clock = two_clients()
    ledger.revive(1)
    clock.now_ms = 10
    ledger.bereave(40)
    assert (ledger.is_excused(1), ledger.may_be_unknown(1)) == (False, True)
    clock.now_ms = 40
    ledger.admit(1)
    assert ledger.is_excused(1)
    ledger.revive(1)
    ledger.admit(1)
    assert not ledger.may_be_unknown(1)


def test_deleted_topic_has_no_holders() -> None:
    """There is nothing to process."""
    ledger, _ = two_clients()
    ledger.take(1, [P])
    ledger.forget_topic(P.topic)
    ledger.take(2, [P])
    assert ledger.holders(P) == (2,)


def test_rest_counts_treatment_anew() -> None:
    """Treatment is counted between two rests."""
    ledger, _ = two_clients()
    ledger.standings[1].treatment.joins = 3
    ledger.rest()
    assert ledger.standings[1].treatment.joins == 0


def test_trace_tells_when_who_and_what() -> None:
    """The last events of a failure."""
    ledger, clock = two_clients()
    clock.now_ms = 7
    ledger.note("x", "does it")
    assert ledger.trace[-1].split() == ["7", "x", "does", "it"]
