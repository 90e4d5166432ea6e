"""Tests of the container of a classic group."""

from dataclasses import replace

from bridge.engine.state import join_key, rebalance_timeout_ms, session_key, sync_key
from tests.support.classic_bench import ClassicBench, join_of
from tests.support.engine_bench import GROUP
from translators.dialects.ids import MemberId


def test_deadline_keys_tell_member_and_matter_apart() -> None:
    """Tuples, so that no group's name and member's name can be mistaken for each other (K0.3.1)."""
    keys = {session_key(GROUP, MemberId("m")), session_key(GROUP, MemberId("")), join_key(GROUP), sync_key(GROUP)}
    assert len(keys) == 4


def test_rebalance_timeout_is_the_longest_of_all_members() -> None:
    """Nobody is given less time than it asked for (K1.4)."""
    bench = ClassicBench()
    bench.join(join_of("", "A"))
    seen = [rebalance_timeout_ms(bench.group)]
    bench.join(replace(join_of("", "B"), rebalance_timeout_ms=90_000))
    bench.join(replace(join_of("", "C"), rebalance_timeout_ms=70_000))
    seen.append(rebalance_timeout_ms(bench.group))
    assert seen == [60_000, 90_000]
    assert list(bench.group.members) == ["A-1", "B-2", "C-3"]
