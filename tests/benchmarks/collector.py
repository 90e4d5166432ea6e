"""An OpenTelemetry collector as a program: takes what is sent by OTLP over HTTP, says where, and ends with its input.

It must not know who sends.
"""

import sys

from tests.support.otlp_collector import http_collector


def main() -> None:
    """Serve until standard input ends; to each line the answer is how many spans have come."""
    with http_collector() as received:
        print(received.endpoint, flush=True)
        for _ in sys.stdin:
            print(len(received.spans()), flush=True)


if __name__ == "__main__":
    main()
