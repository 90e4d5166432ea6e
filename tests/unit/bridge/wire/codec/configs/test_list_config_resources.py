"""ListConfigResources: version 0 lists client metrics and names no type (KIP-1142)."""

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.configs import LIST_CONFIG_RESOURCES
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.configs import (
    CLIENT_METRICS,
    GROUP,
    ListConfigResources,
    ListConfigResourcesReply,
    Resource,
)
from translators.dialects.errors import ErrorCode

METRICS = ListConfigResources(types=(CLIENT_METRICS,))
REPLY = ListConfigResourcesReply(error=ErrorCode.NONE, resources=(Resource(GROUP, "g"),), throttle_time_ms=2)


def test_version_that_knows_types_says_them() -> None:
    """None for all."""
    for request in (METRICS, ListConfigResources(), ListConfigResources(types=(GROUP, 99))):
        assert request_trip(ApiKey.LIST_CONFIG_RESOURCES, 1, request) == request
    assert reply_trip(ApiKey.LIST_CONFIG_RESOURCES, 1, REPLY) == REPLY


def test_first_version_is_about_client_metrics() -> None:
    """And can't ask for anything else."""
    assert request_trip(ApiKey.LIST_CONFIG_RESOURCES, 0, METRICS) == METRICS
    told = ListConfigResourcesReply(
        error=ErrorCode.NONE, resources=(Resource(CLIENT_METRICS, "g"),), throttle_time_ms=2
    )
    assert reply_trip(ApiKey.LIST_CONFIG_RESOURCES, 0, REPLY) == told
    with pytest.raises(ValueError, match="version 0 lists client metrics"):
        request_trip(ApiKey.LIST_CONFIG_RESOURCES, 0, ListConfigResources())


def test_refusal_lists_nothing() -> None:
    """And the request names no group."""
    assert LIST_CONFIG_RESOURCES.refuse(METRICS, ErrorCode.NOT_CONTROLLER) == ListConfigResourcesReply(
        error=ErrorCode.NOT_CONTROLLER
    )
    assert LIST_CONFIG_RESOURCES.groups(METRICS) == ()
