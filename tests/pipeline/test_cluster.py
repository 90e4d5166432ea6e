"""The same tables on a standalone cluster, by spark-submit, as on one machine."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.replay.job import run as replay
from bridge.analytics.replay.job import tell
from bridge.analytics.spark.session import SessionSettings
from bridge.analytics.specs import ReplaySpec
from bridge.analytics.tables.store import Store
from deploy.spark.package import pack
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.support.spark_cluster import cluster, submission
from tests.support.table_truth import contents
from tests.support.whatif_log import write_whatif_log

JOB_S = 1_200
APART = """
import sys
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.spark.session import SessionSettings, open_session
from bridge.analytics.tables.definitions import EVENTS, TABLES
from bridge.analytics.tables.store import Store

events, url = sys.argv[1:]
memory = {"spark.executor.memory": "700m", "spark.driver.memory": "1g"}
store = Store(open_session(SessionSettings(master=url, settings=memory)), "/proc/self/cwd/tables")
try:
    make_tables(store, event_lines(store.spark, events), lambda _: None)
except AnalyticsError as problem:
    print(problem)
print("committed:", sum(len(store.log(table).files()) for table in TABLES.values()))
"""
"""A run whose `--out` is another folder for each process: the one in which that was started."""


@pytest.fixture(name="place", scope="module")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cluster of these tests has its logs, and its workers their folders."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(name="url", scope="module")
def _url(place: Path) -> Iterator[str]:
    """The master of the cluster."""
    with cluster(place) as url:
        yield url


@pytest.mark.timeout(900)
def test_rows_on_disks_of_the_workers_are_missed(tmp_path: Path, url: str) -> None:
    """Spark called the job done, whose files were elsewhere: the tables were empty, and nobody was told."""
    write_log(tmp_path / "events", FleetPlan(groups=1, rebalances=2))
    call = [sys.executable, "-c", APART, str(tmp_path / "events"), url]
    answer = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False)
    assert answer.returncode == 0, answer.stderr[-3000:]
    said, committed = answer.stdout.splitlines()
    assert said.startswith("EB-ANALYTICS-042: executors wrote ")
    assert ", and 0 of them are there for the driver" in said
    assert committed == "committed: 0"


@pytest.mark.timeout(900)
def test_cluster_makes_the_tables_of_one_machine(spark: SparkSession, tmp_path: Path, place: Path, url: str) -> None:
    """Issue: packaged code, spark-submit, a master and two workers; replays run there as well, on the executors."""
    write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=5), files=2)
    local = Store(spark, str(tmp_path / "local"))
    make_tables(local, event_lines(spark, str(tmp_path / "events")), lambda _: None)
    package = tmp_path / "epochbridge.zip"
    pack(package)
    submit = submission(url, package)
    job = ["run", "--events", str(tmp_path / "events"), "--out", str(tmp_path / "clustered")]
    answer = subprocess.run([*submit, *job], cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False)
    write_whatif_log(tmp_path / "fleets")
    spec = ReplaySpec(events=str(tmp_path / "fleets"), protocol="consumer", json="-")
    replayed = tmp_path / "replay.json"
    play = ["replay", "--events", spec.events, "--protocol", "consumer", "--json", str(replayed)]
    played = subprocess.run([*submit, *play], cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False)
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "set aside: nothing" in answer.stdout
    # spark-submit hands on what Python says on either way as standard output.
    assert "executors read the lines by Arrow" in answer.stdout
    assert played.returncode == 0, played.stderr[-3000:]
    assert [replayed.read_text().rstrip("\n")] == tell(spec, replay(spec, SessionSettings()))
    assert contents(Store(spark, str(tmp_path / "clustered"))) == contents(local)
    assert "app-" in "".join(path.name for path in (place / "work1").iterdir())
