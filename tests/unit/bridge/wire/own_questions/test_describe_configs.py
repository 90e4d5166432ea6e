"""The bridge's own DescribeConfigs, against kafka-python."""

from functools import partial

from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse

from bridge.wire.own_questions import (
    DESCRIBE_CONFIGS_VERSION,
    BrokerSettings,
    broker_settings_request,
    read_broker_settings,
)
from tests.support.oracle_frames import cut_short, is_malformed, request_bytes, response_bytes
from translators.dialects.errors import ErrorCode

VERSION = DESCRIBE_CONFIGS_VERSION
RESULT = DescribeConfigsResponse.DescribeConfigsResult


def answer(error_code: int = 0) -> bytes:
    """A setting with a synonym, and one that is not shown."""
    config = RESULT.DescribeConfigsResourceResult
    synonym = config.DescribeConfigsSynonym(version=VERSION, name="group.max.size", value="7", source=5)
    common = {"version": VERSION, "read_only": True, "config_source": 5, "is_sensitive": False}
    configs = [
        config(name="group.max.size", value="7", synonyms=[synonym], **common),
        config(name="hidden", value=None, synonyms=[], **common),
    ]
    result = RESULT(
        version=VERSION,
        error_code=error_code,
        error_message=None,
        resource_type=4,
        resource_name="1",
        configs=[] if error_code else configs,
    )
    return response_bytes(DescribeConfigsResponse(version=VERSION, throttle_time_ms=0, results=[result]))


def test_request_names_one_broker_and_the_settings() -> None:
    """Without synonyms."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    wanted = resource(version=VERSION, resource_type=4, resource_name="1", configuration_keys=["a", "b"])
    oracle = DescribeConfigsRequest(version=VERSION, resources=[wanted], include_synonyms=False)
    assert broker_settings_request(1, ["a", "b"], "c") == request_bytes(oracle, correlation_id=0, client_id="c")


def test_settings_are_read_and_hidden_ones_left_out() -> None:
    """What is null the broker does not show."""
    assert read_broker_settings(answer()) == BrokerSettings(ErrorCode.NONE, {"group.max.size": "7"})


def test_refusal_is_an_answer() -> None:
    """CLUSTER_AUTHORIZATION_FAILED."""
    assert read_broker_settings(answer(31)) == BrokerSettings(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, {})


def test_answer_that_is_cut_short_is_malformed() -> None:
    """At every byte."""
    assert [len(short) for short in cut_short(answer()) if not is_malformed(partial(read_broker_settings, short))] == []
