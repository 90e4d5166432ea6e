"""Spark's standalone cluster on loopback: a master and two workers of one core, and jobs that are submitted to it.

It must not know what is tested.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from bridge.analytics.spark.session import ON_ONE_MACHINE, provide_java
from deploy.spark.package import ROOT
from tests.support.ports import free_port

SPARK_HOME = Path(pyspark.__file__).parent
JOB = ROOT / "deploy" / "spark" / "job.py"
OPTIONS = ROOT / "deploy" / "spark" / "spark-defaults.conf"
DRIVER_JAVA = "spark.driver.extraJavaOptions"
START_S = 300
HOST = "127.0.0.1"


class ClusterError(Exception):
    """A part of the cluster does not start; the text has the end of what it wrote."""


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
                raise ClusterError(f"{arguments[0]} does not say {said!r}:\n{log.read_text()[-2000:]}")
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


def submission(master: str, package: Path) -> list[str]:
    """The words before those of a job: `spark-submit` with our options, the packaged code and this Python."""
    submit = [str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, "--properties-file", str(OPTIONS)]
    if master.startswith("local"):
        # This driver runs the tasks as well, so it has the options of one that does.
        submit += ["--conf", f"{DRIVER_JAVA}={ON_ONE_MACHINE[DRIVER_JAVA]}"]
    return [*submit, "--py-files", str(package), "--conf", f"spark.pyspark.python={sys.executable}", str(JOB)]
