"""A recorded classic fleet, replayed on the new protocol, and the same fleet on the new protocol for real."""

from collections.abc import Sequence
from statistics import median

import pytest
import trio

from bridge.telemetry.schema.facts import Event
from bridge.whatif.comparison import Comparison, compare
from bridge.whatif.configuration import configure
from bridge.whatif.measures import Measured, measure
from bridge.whatif.timed_events import on_one_timeline
from tests.support.whatif_fleet import HEARTBEAT_MS, REAL, RECORDED, SETTINGS, perform_both, theatre
from tests.support.whatif_log import of_group

STEPS_FELT = 9
"""Two joins, leave, join, death, two restarts; nobody feels the first join, partitions, or a stranger's visit."""
ERROR_S = HEARTBEAT_MS / 1_000
"""What the docs state (docs/howto/ask-what-if.md): when a client heartbeats next nobody can know beforehand."""


def replayed(log: Sequence[Event], group: str) -> Comparison:
    """A group's record on the new protocol."""
    return compare(group, of_group(log, group), configure("consumer", None, SETTINGS))


def happened(log: Sequence[Event], group: str) -> tuple[Measured, ...]:
    """What a group's rebalances really were."""
    return measure([moment for moment in on_one_timeline(of_group(log, group)) if moment.group_id])


def counted(rebalances: Sequence[Measured]) -> list[tuple[int, int, int]]:
    """Of each rebalance: members told, disturbed, partitions that stood still."""
    return [(one.told, one.disturbed, one.stalls) for one in rebalances]


def performed(factory: pytest.TempPathFactory) -> list[Event]:
    """What the bridge logs while both fleets perform."""
    folder = factory.mktemp("whatif")
    with theatre(folder) as (bootstraps, events):
        return trio.run(perform_both, bootstraps, folder, events)


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """The log of a performance."""
    return performed(tmp_path_factory)


def felt(rebalances: Sequence[Measured]) -> list[Measured]:
    """Those that anybody notices; how many looks at the cluster it takes to see a topic grow is chance."""
    return [one for one in rebalances if one.told or one.disturbed or one.stalls]


def test_replay_of_a_classic_record_counts_what_the_new_protocol_then_shows(log: list[Event]) -> None:
    """Rebalances, who is told, disturbances and stalls are exact, step by step."""
    found = replayed(log, RECORDED)
    predicted = felt([one for row in found.rows for one in row.predicted])
    real = felt(happened(log, REAL))
    assert counted(predicted) == counted(real)
    assert (len(real), sum(one.disturbed for one in real)) == (STEPS_FELT, 0)
    recorded = [row.recorded for row in found.rows if row.recorded is not None]
    assert sum(one.disturbed for one in recorded) > 0, "the script disturbs nobody on the classic protocol"


def test_replay_tells_times_within_the_stated_error(log: list[Event]) -> None:
    """Half of the rebalances are at most a heartbeat interval off; single ones wait for a busy machine."""
    predicted = felt([one for row in replayed(log, RECORDED).rows for one in row.predicted])
    pairs = zip(predicted, felt(happened(log, REAL)), strict=True)
    off_s = [abs(before.duration_us - after.duration_us) / 1e6 for before, after in pairs]
    assert median(off_s) <= ERROR_S, off_s


def test_replay_of_a_record_under_its_own_configuration_is_the_record(log: list[Event]) -> None:
    """What an embedded group went through, its own record predicts."""
    rows = replayed(log, REAL).rows
    assert counted(felt([one for row in rows for one in row.predicted])) == counted(
        felt([row.recorded for row in rows if row.recorded is not None])
    )
