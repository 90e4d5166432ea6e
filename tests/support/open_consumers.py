"""Consumers of librdkafka that a failed test has left open are closed before anything else goes on.

Its traceback keeps them, until the collector of some later test finds them. Their destructor then waits in C for
rebalance callbacks that nobody serves any more, so that the other test never ends, and its whole process with it.
"""

import gc
from collections.abc import Generator

import pytest
from confluent_kafka import Consumer


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Close them as soon as a part of a test has failed, while its brokers are still there."""
    report = yield
    if report.failed:
        for one in gc.get_objects():
            # isinstance would ask objects that pretend to be of another class, and may raise in them.
            if type(one) is Consumer:
                one.close()  # a second time does nothing
    return report
