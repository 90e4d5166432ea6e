"""What stands behind the bridge: the mock cluster, and one that isn't there. It must not know the bridge.

Starting an Apache Kafka and lending a topic on one run end to end.
"""

from pathlib import Path

import pytest
import trio
from confluent_kafka.admin import AdminClient

from bridge.demo.cluster import borrow_topic, run_mock
from bridge.demo.errors import DemoError


async def test_mock_serves_three_brokers_and_the_topic(tmp_path: Path) -> None:
    """As long as the body runs."""
    async with run_mock("orders", 4, tmp_path) as bootstrap:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        metadata = await trio.to_thread.run_sync(lambda: admin.list_topics(timeout=60))
    assert len(bootstrap.split(",")) == len(metadata.brokers) == 3
    assert len(metadata.topics["orders"].partitions) == 4


async def test_absent_cluster_is_told_with_its_address() -> None:
    """EB-DEMO-006 at once, not after all retries of a client library."""
    with pytest.raises(DemoError, match=r"EB-DEMO-006: no Kafka answers at 127\.0\.0\.1:1:"):
        async with borrow_topic("127.0.0.1:1", "t", 1):
            pytest.fail("there is no broker")
