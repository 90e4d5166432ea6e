"""A collector's stand-in receives traces and metrics over HTTP and gRPC: well-formed, under the documented names."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from bridge.telemetry.otel import names
from bridge.telemetry.otel.exporting import GRPC, HTTP, Collector, open_takers
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.terms import Departure, Outcome, Phase
from tests.support.event_stories import Story, cooperative_handover
from tests.support.otlp_collector import Received, grpc_collector, http_collector

Opener = Callable[[], AbstractContextManager[Received]]
PROTOCOLS: dict[str, Opener] = {HTTP: http_collector, GRPC: grpc_collector}


@pytest.fixture(name="received", scope="module", params=[HTTP, GRPC])
def _received(request: pytest.FixtureRequest) -> Received:
    """What a collector has received of two stories, one of them superseded."""
    protocol = str(request.param)
    story = Story(group="payments").at(0)
    story.joined("c1")
    story.began(2).enters("c1", Phase.AWAITING_RELEASE, "c9")
    former = story.rebalance_id
    story.at(200).left("c2", Departure.LEFT)
    story.ended(Outcome.SUPERSEDED).began(3, supersedes=former).at(300).ended()
    with PROTOCOLS[protocol]() as received:
        collector = Collector(endpoint=received.endpoint, protocol=protocol, headers={"x-tenant": "a"})
        takers = open_takers(collector, "1.2.3")
        for rebalance in [*assemble(cooperative_handover().events), *assemble(story.events)]:
            for taker in takers:
                taker.take(rebalance)
        for taker in takers:
            taker.close()
    return received


def keys(attributes: list[KeyValue]) -> set[str]:
    """Names of attributes."""
    return {attribute.key for attribute in attributes}


def by_id(received: Received) -> dict[bytes, Span]:
    """Spans by their ids, which must be different ones."""
    spans = received.spans()
    found = {span.span_id: span for span in spans}
    assert len(found) == len(spans) > 0
    return found


def test_spans_are_well_formed(received: Received) -> None:
    """Ids of their length, times in order, parents in the same trace, children's names in the table."""
    spans = by_id(received)
    for span in spans.values():
        assert (len(span.trace_id), len(span.span_id)) == (16, 8)
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            assert spans[span.parent_span_id].trace_id == span.trace_id
        else:
            assert span.name == names.REBALANCE


def test_one_trace_for_each_rebalance(received: Received) -> None:
    """One root each."""
    roots = [span for span in received.spans() if not span.parent_span_id]
    assert len(roots) == len({span.trace_id for span in received.spans()}) == 3


def test_names_are_the_documented_ones(received: Received) -> None:
    """Nothing comes that the table does not name."""
    spans = received.spans()
    assert {span.name for span in spans} <= set(names.SPANS)
    assert {key for span in spans for key in keys(list(span.attributes))} <= set(names.ATTRIBUTES)
    assert {event.name for span in spans for event in span.events} <= set(names.SPAN_EVENTS)
    assert {key for span in spans for link in span.links for key in keys(list(link.attributes))} == {names.LINK}
    assert set(received.metric_values()) == set(names.METRICS)


def test_links_lead_to_cause_and_successor(received: Received) -> None:
    """Every link's span has come too."""
    spans = by_id(received)
    links = [(link.attributes[0].value.string_value, link) for span in spans.values() for link in span.links]
    assert {why for why, _ in links} == {"cause", "released-by", "supersedes", "superseded-by"}
    for _, link in links:
        assert spans[link.span_id].trace_id == link.trace_id


def test_service_and_headers_are_told(received: Received) -> None:
    """Who sends, and what the collector wants to hear."""
    (resource,) = {request.resource_spans[0].resource.SerializeToString() for request in received.traces}
    assert b"epochbridge" in resource
    assert b"1.2.3" in resource
    assert all(headers["x-tenant"] == "a" for headers in received.headers)


def test_metrics_hold_group_and_cause(received: Received) -> None:
    """Never a member."""
    metrics = received.metric_values()
    points = metrics[names.COUNT].sum.data_points
    assert sum(point.as_int for point in points) == 3
    for metric in metrics.values():
        for point in [*metric.sum.data_points, *metric.histogram.data_points]:
            assert keys(list(point.attributes)) <= {names.SYSTEM, names.GROUP, names.CAUSE, names.PROTOCOL}
