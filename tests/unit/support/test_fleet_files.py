"""The logs that benchmarks are measured with are shaped like those of real services."""

import json
from itertools import pairwise
from pathlib import Path

from tests.support.fleet_files import like_real, write_history


def test_history_is_one_fleet_s_in_many_runs(tmp_path: Path) -> None:
    """Some 440 bytes an event; the same groups and members in each run, which begins when the one before is over."""
    files = list(write_history(tmp_path, like_real(groups=3, members=4, partitions=8, rebalances=12), 2_000))
    lines = [path.read_bytes().splitlines() for path, _ in files]
    assert [len(run) for run in lines] == [count for _, count in files]
    assert sum(count for _, count in files) >= 2_000
    assert 420 < sum(path.stat().st_size for path, _ in files) / sum(count for _, count in files) < 460
    runs = [[json.loads(line) for line in run] for run in lines]
    members = [{(event["group_id"], event.get("member_id")) for event in run} for run in runs]
    assert all(one == members[0] for one in members)
    assert all(before[-1]["wall_us"] < after[0]["wall_us"] for before, after in pairwise(runs))
    told = [event for run in runs for event in run]
    assert len({event["event_id"] for event in told}) == len(told)
    begun = [event["rebalance_id"] for event in told if event["kind"] == "rebalance-began"]
    assert len(set(begun)) == len(begun)
