"""A broker with one topic and no group, as a process of its own: for bridges that need no more of Kafka."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.bridge_process import ROOT
from tests.support.scripted_broker import LOOPBACK
from translators.dialects.ids import TopicName

TOPIC = TopicName("t")
PARTITIONS = 4


@contextmanager
def topic_broker(port: int) -> Iterator[str]:
    """Run it at this port of loopback until the end of the block; gives its address."""
    address = f"{LOOPBACK}:{port}"
    command = [sys.executable, "-m", "tests.benchmarks.topic_server", address, TOPIC, str(PARTITIONS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield address
        finally:
            process.kill()
