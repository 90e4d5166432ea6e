"""The same tables on a standalone cluster, by spark-submit, as on one machine."""

import subprocess
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


@pytest.mark.timeout(900)
def test_cluster_makes_the_tables_of_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    """Issue: packaged code, spark-submit, a master and two workers; replays run there as well, on the executors."""
    write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=5), files=2)
    local = Store(spark, str(tmp_path / "local"))
    make_tables(local, event_lines(spark, str(tmp_path / "events")), lambda _: None)
    package = tmp_path / "epochbridge.zip"
    pack(package)
    with cluster(tmp_path) as url:
        submit = submission(url, package)
        job = ["run", "--events", str(tmp_path / "events"), "--out", str(tmp_path / "clustered")]
        answer = subprocess.run(
            [*submit, *job], cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False
        )
        write_whatif_log(tmp_path / "fleets")
        spec = ReplaySpec(events=str(tmp_path / "fleets"), protocol="consumer", json="-")
        replayed = tmp_path / "replay.json"
        play = [
            "replay",
            "--events",
            spec.events,
            "--protocol",
            "consumer",
            "--json",
            str(replayed),
        ]
        played = subprocess.run(
            [*submit, *play], cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False
        )
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "set aside: nothing" in answer.stdout
    # spark-submit hands on what Python says on either way as standard output.
    assert "executors read the lines by Arrow" in answer.stdout
    assert played.returncode == 0, played.stderr[-3000:]
    assert [replayed.read_text().rstrip("\n")] == tell(spec, replay(spec, SessionSettings()))
    assert contents(Store(spark, str(tmp_path / "clustered"))) == contents(local)
    assert "app-" in "".join(path.name for path in (tmp_path / "work1").iterdir())
