"""A running bridge sends the trace of a real client's rebalance to a collector's stand-in."""

from pathlib import Path

import trio

from bridge.demo.cluster import create_topics
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, Target
from bridge.telemetry.otel import names
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import KafkaUnderTest
from tests.support.otlp_collector import http_collector

GROUP = "embedded-traced"


async def test_rebalance_of_a_real_client_reaches_the_collector(kafka_43: KafkaUnderTest, tmp_path: Path) -> None:
    """What is not sent yet when the bridge stops is sent then."""
    topics = (f"{GROUP}-topic",)
    partitions = await trio.to_thread.run_sync(create_topics, kafka_43.bootstrap, topics, 2)
    with http_collector() as received:
        settings = {**QUICK_SETTINGS, "otel.endpoint": received.endpoint, "otel.headers": "x-tenant=a"}
        with bridge_process(kafka_43.bootstrap, ["embedded-*"], tmp_path, settings) as bridge:
            async with trio.open_nursery() as nursery:
                target = Target(bootstrap=bridge.bootstrap, group=GROUP, topics=topics)
                fleet = Fleet(nursery, target, partitions, tmp_path)
                await fleet.start(MemberSpec(seat="a"))
                await fleet.wait_settled(stable_ms=500)
                await fleet.stop_all()
    spans = received.spans()
    roots = [span for span in spans if span.name == names.REBALANCE]
    causes = [
        attribute.value.string_value for span in roots for attribute in span.attributes if attribute.key == names.CAUSE
    ]
    assert sorted(causes) == ["first-join", "leave"]
    assert {names.MEMBER, names.JOIN_WAIT, names.SYNC, names.FIRST_FETCH} <= {span.name for span in spans}
    assert set(received.metric_values()) == set(names.METRICS)
    assert all(headers["x-tenant"] == "a" for headers in received.headers)
