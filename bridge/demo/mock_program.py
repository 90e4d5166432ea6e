"""The mock cluster as a program: says its address in one line, and ends when its standard input does.
It must not know who started it; ending with its input means that it outlives nobody.
"""

import argparse
import sys
from collections.abc import Sequence

from bridge.demo.demo_error import DemoError
from bridge.demo.mock_library import MockCluster


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
