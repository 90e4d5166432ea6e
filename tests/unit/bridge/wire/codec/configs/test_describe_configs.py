"""DescribeConfigs: kinds and meanings from version 3 on."""

from dataclasses import replace

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.configs import DESCRIBE_CONFIGS
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.configs import (
    BROKER,
    GROUP,
    AskedResource,
    ConfigSource,
    ConfigType,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedConfig,
    DescribedResource,
    Resource,
    Synonym,
)
from translators.dialects.errors import ErrorCode

GROUPS, NODE = Resource(GROUP, "g"), Resource(BROKER, "1")
REQUEST = DescribeConfigs(
    resources=(AskedResource(GROUPS, ("a", "b")), AskedResource(NODE), AskedResource(GROUPS, ())),
    include_synonyms=True,
    include_documentation=True,
)
CONFIG = DescribedConfig(
    name="a",
    value="1",
    source=ConfigSource.GROUP,
    is_read_only=True,
    is_sensitive=True,
    synonyms=(Synonym("a", "1", ConfigSource.GROUP), Synonym("b", None, ConfigSource.DEFAULT)),
    config_type=ConfigType.INT,
    documentation="Which.",
)
REPLY = DescribeConfigsReply(
    results=(
        DescribedResource(resource=GROUPS, error_message="", configs=(CONFIG,)),
        DescribedResource(resource=NODE, error=ErrorCode.INVALID_REQUEST, error_message="why"),
    ),
    throttle_time_ms=4,
)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_request_and_reply_of_version_say_what_they_can(version: int) -> None:
    """Null asks for all, and so does an empty list, which is told apart."""
    tells = version >= 3
    assert request_trip(ApiKey.DESCRIBE_CONFIGS, version, REQUEST) == replace(REQUEST, include_documentation=tells)
    config = CONFIG if tells else replace(CONFIG, config_type=0, documentation="")
    results = (replace(REPLY.results[0], configs=(config,)), REPLY.results[1])
    assert reply_trip(ApiKey.DESCRIBE_CONFIGS, version, REPLY) == replace(REPLY, results=results)


def test_refusal_repeats_the_code_for_every_resource() -> None:
    """And only groups are named."""
    assert DESCRIBE_CONFIGS.refuse(REQUEST, ErrorCode.NOT_CONTROLLER) == DescribeConfigsReply(
        results=tuple(DescribedResource(resource=one, error=ErrorCode.NOT_CONTROLLER) for one in (GROUPS, NODE, GROUPS))
    )
    assert DESCRIBE_CONFIGS.groups(REQUEST) == ("g", "g")
