"""The same tables on a standalone cluster, by spark-submit, as on one machine."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.replay.job import run as replay
from bridge.analytics.replay.job import tell
from bridge.analytics.spark.session import SessionSettings, provide_java
from bridge.analytics.specs import ReplaySpec
from bridge.analytics.tables.store import Store
from deploy.spark.package import ROOT, pack
from tests.support.fleet_files import write_log
from tests.support.fleet_log import FleetPlan
from tests.support.table_truth import contents
from tests.support.whatif_log import write_whatif_log

SPARK_HOME = Path(pyspark.__file__).parent
JOB = ROOT / "deploy" / "spark" / "job.py"
OPTIONS = ROOT / "deploy" / "spark" / "spark-defaults.conf"
START_S, JOB_S = 300, 1_200
HOST = "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def daemon(log: Path, said: str, *arguments: str) -> Iterator[None]:
    """A part of Spark's standalone cluster, from when it says so to the end of the block."""
    with log.open("w") as out:
        process = subprocess.Popen(
            [SPARK_HOME / "bin" / "spark-class", *arguments], stdout=out, stderr=subprocess.STDOUT, cwd=log.parent
        )
    try:
        deadline = time.monotonic() + START_S
        while not re.search(said, log.read_text()):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{arguments[0]} does not say {said!r}:\n{log.read_text()[-2000:]}")
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers on loopback; yields the master's URL."""
    provide_java()
    port = free_port()
    url = f"spark://{HOST}:{port}"
    at = ("--host", HOST, "--webui-port", "0")
    with ExitStack() as stack:
        master = ("org.apache.spark.deploy.master.Master", *at, "--port", str(port))
        stack.enter_context(daemon(folder / "master.log", "I have been elected leader", *master))
        for number in (1, 2):
            work = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work{number}"), url)
            worker = ("org.apache.spark.deploy.worker.Worker", *at, *work)
            stack.enter_context(daemon(folder / f"worker{number}.log", "Successfully registered", *worker))
        yield url


@pytest.mark.timeout(900)
def test_cluster_makes_the_tables_of_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    """Issue: packaged code, spark-submit, a master and two workers; replays run there as well, on the executors."""
    write_log(tmp_path / "events", FleetPlan(groups=2, rebalances=5), files=2)
    local = Store(spark, str(tmp_path / "local"))
    make_tables(local, event_lines(spark, str(tmp_path / "events")), lambda _: None)
    package = tmp_path / "epochbridge.zip"
    pack(package)
    with cluster(tmp_path) as url:
        submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", url, "--properties-file", str(OPTIONS)]
        options = ["--py-files", str(package), "--conf", f"spark.pyspark.python={sys.executable}"]
        job = [str(JOB), "run", "--events", str(tmp_path / "events"), "--out", str(tmp_path / "clustered")]
        answer = subprocess.run(
            [*submit, *options, *job], cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False
        )
        write_whatif_log(tmp_path / "fleets")
        spec = ReplaySpec(events=str(tmp_path / "fleets"), protocol="consumer", json="-")
        replayed = tmp_path / "replay.json"
        play = [
            str(JOB),
            "replay",
            "--events",
            spec.events,
            "--protocol",
            "consumer",
            "--json",
            str(replayed),
        ]
        played = subprocess.run(
            [*submit, *options, *play], cwd=tmp_path, capture_output=True, text=True, timeout=JOB_S, check=False
        )
    assert answer.returncode == 0, answer.stderr[-3000:]
    assert "set aside: nothing" in answer.stdout
    assert played.returncode == 0, played.stderr[-3000:]
    assert [replayed.read_text().rstrip("\n")] == tell(spec, replay(spec, SessionSettings()))
    assert contents(Store(spark, str(tmp_path / "clustered"))) == contents(local)
    assert "app-" in "".join(path.name for path in (tmp_path / "work1").iterdir())
