"""A sample of the deaths that `python -m tests.kills` brings about: bridge and broker die, and nobody notices.

It must not know how anything survives.
"""

from pathlib import Path

from tests.kills.cluster import killable_cluster
from tests.kills.trial import Plan, play

SAMPLE = Plan(bridge=2, brokers=1, seed="848", members=5)


async def test_dead_bridge_and_dead_broker_move_nobody_and_lose_nothing(tmp_path: Path) -> None:
    """The whole is 30 and 10 under 14 clients; Java's are among those that are left out here."""
    with killable_cluster(tmp_path / "cluster") as cluster:
        outcome = await play(cluster, tmp_path, SAMPLE)
    assert outcome.verdict.silent_clients == ()
    assert outcome.verdict.records_produced > 0
    assert (outcome.rebalances, outcome.commits_back) == ((), ())
    assert outcome.faults() == dict.fromkeys(outcome.faults(), 0)
