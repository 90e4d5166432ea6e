"""A shard's durable state as the shortest history that leads to it."""

from bridge.engine.apply import apply
from bridge.engine.recovery import condense
from tests.support.engine_bench import Bench
from tests.support.snapshots import durable


def test_long_history_becomes_short() -> None:
    """What came and went is not told any more; what is, is."""
    bench = Bench()
    for _ in range(50):
        bench.join("guest")
        bench.leave("guest")
    bench.join("a")
    bench.join("b")
    bench.settle("a", "b")
    records = list(condense(bench.state))
    state = bench.fresh_shard()
    for record in records:
        apply(state, record)
    assert durable(state) == durable(bench.state)
    assert len(records) == 2 + 1 + 3 * 2 + 1
