"""Who processes what, and who is forgiven."""

import pytest

from tests.support.simulation.oracle import InvariantBroken, Oracle
from translators.dialects.ids import TopicName, TopicPartition

P, Q = TopicPartition(TopicName("t"), 0), TopicPartition(TopicName("t"), 1)
SESSION_MS = 100


class Clock:
    """Time set by hand."""

    now_ms = 0


def two_clients() -> tuple[Oracle, Clock]:
    """A oracle with clients 1 and 2."""
    clock = Clock()
    oracle = Oracle(lambda: clock.now_ms)
    for number in (1, 2):
        oracle.enter(number, f"client {number}", SESSION_MS)
    return oracle, clock


def test_second_holder_breaks_the_law() -> None:
    """Reliability 3.2, 1: no partition is processed by two."""
    oracle, _ = two_clients()
    oracle.take(1, [P])
    with pytest.raises(InvariantBroken, match=r"processed by two.*client 2.*client 1"):
        oracle.take(2, [P, Q])


def test_released_partition_may_be_taken() -> None:
    """Hand-over."""
    oracle, _ = two_clients()
    oracle.take(1, [P])
    oracle.release(1, [P, Q])
    oracle.take(2, [P])
    assert (oracle.holders(P), oracle.holders(Q), oracle.takes) == ((2,), (), 2)


def test_client_past_its_session_is_forgiven_until_it_is_admitted() -> None:
    """A paused zombie believes that it owns; once admitted again it must not."""
    oracle, clock = two_clients()
    oracle.take(1, [P])
    clock.now_ms = SESSION_MS - 1
    oracle.hear(2)
    assert not oracle.is_excused(1)
    clock.now_ms = SESSION_MS
    assert oracle.is_excused(1)
    oracle.take(2, [P])
    oracle.hear(1)
    assert oracle.is_excused(1)
    with pytest.raises(InvariantBroken):
        oracle.admit(1)


def test_client_of_a_bridge_without_memory_is_forgiven_after_the_grace() -> None:
    """Survivors that come in time are safe; an answer from before the restart admits nobody (decision 9)."""
    oracle, clock = two_clients()
    oracle.revive(1)
    clock.now_ms = 10
    oracle.lose_memory(40)
    assert (oracle.is_excused(1), oracle.may_be_unknown(1)) == (False, True)
    clock.now_ms = 40
    oracle.admit(1)
    assert oracle.is_excused(1)
    oracle.revive(1)
    oracle.admit(1)
    assert not oracle.may_be_unknown(1)


def test_deleted_topic_has_no_holders() -> None:
    """There is nothing to process."""
    oracle, _ = two_clients()
    oracle.take(1, [P])
    oracle.forget_topic(P.topic)
    oracle.take(2, [P])
    assert oracle.holders(P) == (2,)


def test_rest_counts_treatment_anew() -> None:
    """Treatment is counted between two rests."""
    oracle, _ = two_clients()
    oracle.standings[1].treatment.joins = 3
    oracle.rest()
    assert oracle.standings[1].treatment.joins == 0


def test_trace_tells_when_who_and_what() -> None:
    """The last events of a failure."""
    oracle, clock = two_clients()
    clock.now_ms = 7
    oracle.note("x", "does it")
    assert oracle.trace[-1].split() == ["7", "x", "does", "it"]
