"""A shard emptied in place."""

from dataclasses import replace

from bridge.engine.state import empty
from tests.support.engine_bench import Bench
from tests.support.snapshots import snapshot


def test_emptied_shard_is_as_new_with_the_same_inputs() -> None:
    """Nothing is left of groups, topics and deadlines; numbers of commits are never used twice."""
    bench = Bench(no_assignment_before_ms=5)
    bench.join("a")
    bench.state.last_commit_id = 7
    empty(bench.state)
    assert snapshot(bench.state) == replace(snapshot(bench.fresh_shard()), last_commit_id=7)
    assert bench.state.no_assignment_before_ms == 5
