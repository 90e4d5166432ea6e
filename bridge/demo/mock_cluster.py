"""librdkafka's mock cluster as a program: says its address in one line, and ends when its standard input does. It is a
process of its own because the library aborts on bad input.
"""

import argparse
import ctypes
import sys
from collections.abc import Sequence
from ctypes.util import find_library
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from bridge.demo.errors import DemoError

PRODUCER_TYPE = 0
ERROR_BYTES = 512
REPLICAS_MAX = 3


def library_path() -> str:
    """The librdkafka of confluent-kafka's wheel, else the system's; raises DemoError (EB-DEMO-001) without one."""
    try:
        shipped = files("confluent-kafka") or []
    except PackageNotFoundError:
        shipped = []
    for file in shipped:
        if file.name.startswith(("librdkafka-", "librdkafka.")):
            return str(Path(str(file.locate())))
    installed = find_library("rdkafka")
    if installed is None:
        raise DemoError(
            "EB-DEMO-001: no librdkafka was found, neither in the package confluent-kafka nor on this system. "
            "Install the demo's libraries with `pip install 'epochbridge[demo]'`, or name a cluster with --bootstrap."
        )
    return installed


class MockCluster:
    """A cluster of `brokers` nodes on loopback; it lives until the process ends (its threads are librdkafka's)."""

    def __init__(self, brokers: int) -> None:
        self._library = ctypes.CDLL(library_path())
        self._declare()
        reason = ctypes.create_string_buffer(ERROR_BYTES)
        configuration = self._library.rd_kafka_conf_new()
        client = self._library.rd_kafka_new(PRODUCER_TYPE, configuration, reason, ERROR_BYTES)
        if not client:
            raise DemoError(f"EB-DEMO-002: librdkafka refused to start: {reason.value.decode(errors='replace')}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(client, brokers)
        if not self._cluster:
            raise DemoError(
                f"EB-DEMO-002: librdkafka could not start {brokers} mock brokers, for want of loopback ports?"
            )
        self._replicas = min(brokers, REPLICAS_MAX)

    @property
    def bootstrap(self) -> str:
        """Its brokers as HOST:PORT, joined by commas."""
        answer: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        return answer.decode()

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic; raises DemoError (EB-DEMO-002) with librdkafka's error number."""
        status: int = self._library.rd_kafka_mock_topic_create(self._cluster, name.encode(), partitions, self._replicas)
        if status != 0:
            raise DemoError(
                f"EB-DEMO-002: the mock cluster refused topic {name!r} with {partitions} partitions: error {status}."
            )

    def _declare(self) -> None:
        handle, number, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
        library = self._library
        library.rd_kafka_conf_new.restype = handle
        library.rd_kafka_new.restype = handle
        library.rd_kafka_new.argtypes = [number, handle, text, ctypes.c_size_t]
        library.rd_kafka_mock_cluster_new.restype = handle
        library.rd_kafka_mock_cluster_new.argtypes = [handle, number]
        library.rd_kafka_mock_cluster_bootstraps.restype = text
        library.rd_kafka_mock_cluster_bootstraps.argtypes = [handle]
        library.rd_kafka_mock_topic_create.restype = number
        library.rd_kafka_mock_topic_create.argtypes = [handle, text, number, number]


def main(arguments: Sequence[str]) -> None:
    """Run until end of input; what can't be started ends the process with the reason."""
    parser = argparse.ArgumentParser(description="librdkafka's mock cluster; it ends with its standard input.")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--topic", required=True, action="append", help="may be given several times")
    parser.add_argument("--partitions", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        cluster = MockCluster(options.brokers)
        for topic in options.topic:
            cluster.create_topic(topic, options.partitions)
    except DemoError as error:
        raise SystemExit(str(error)) from error
    print(cluster.bootstrap, flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main(sys.argv[1:])
