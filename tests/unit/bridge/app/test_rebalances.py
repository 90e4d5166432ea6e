"""Who takes rebalances, by configuration."""

import pytest

from bridge.app.rebalances import Figures, parse_headers, rebalance_sinks
from bridge.config.configuration import Config
from bridge.config.keys import Settings
from bridge.telemetry.event_log.sinks import SinkUnusable


def count_sinks(settings: Settings) -> int:
    """How many places there are; each is closed."""
    sinks = list(rebalance_sinks(Config(settings=settings), Figures(), lambda: 0))
    for sink in sinks:
        sink.close()
    return len(sinks)


def test_nobody_wants_rebalances_no_place() -> None:
    """Nothing is put together for nobody."""
    assert count_sinks(Settings(metrics_rebalances=False)) == 0
    assert count_sinks(Settings()) == 2, "one for what is over, one for what plans judge groups by"


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_collector_gets_a_taker(protocol: str) -> None:
    """Both protocols; nobody listens there, and nothing is to be sent."""
    settings = Settings(metrics_rebalances=False, otel_endpoint="http://127.0.0.1:9", otel_protocol=protocol)
    (sink,) = rebalance_sinks(Config(settings=settings), Figures(), lambda: 0)
    assert sink.fate.failures == 0


def test_headers_are_names_and_values() -> None:
    """Values may hold an equals sign."""
    assert parse_headers(["Authorization=Basic YQ==", "x-tenant = a"]) == {
        "authorization": "Basic YQ==",
        "x-tenant": "a",
    }


def test_broken_header_is_refused_without_its_value() -> None:
    """It may be a token."""
    with pytest.raises(SinkUnusable, match="EB-OTEL-002") as refused:
        parse_headers(["topsecret"])
    assert "topsecret" not in str(refused.value)


def test_endpoint_without_a_scheme_is_refused() -> None:
    """An exporter would only find out when there is something to send."""
    with pytest.raises(SinkUnusable, match=r"EB-OTEL-004: .*'collector:4318'.*http://"):
        count_sinks(Settings(otel_endpoint="collector:4318"))
