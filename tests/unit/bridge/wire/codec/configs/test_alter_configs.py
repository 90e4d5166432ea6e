"""AlterConfigs and IncrementalAlterConfigs: one sets, the other says what is to be done."""

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.configs import ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from tests.support.codec_trips import reply_trip, request_trip
from translators.dialects.configs import (
    GROUP,
    Alteration,
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    IncrementalAlterConfigs,
    Operation,
    Resource,
    ResourceAlterations,
)
from translators.dialects.errors import ErrorCode

HERE = Resource(GROUP, "g")
REPLY = AlterConfigsReply(
    results=(
        AlteredResource(resource=HERE, error=ErrorCode.INVALID_CONFIG, error_message="why"),
        AlteredResource(resource=Resource(2, "topic")),
    ),
    throttle_time_ms=3,
)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_settings_said_anew_arrive_whole(version: int) -> None:
    """Whatever is named is set."""
    request = AlterConfigs(
        resources=(ResourceAlterations(HERE, (Alteration("a", "1"), Alteration("b", None))),), validate_only=True
    )
    assert request_trip(ApiKey.ALTER_CONFIGS, version, request) == request
    assert reply_trip(ApiKey.ALTER_CONFIGS, version, REPLY) == REPLY


@pytest.mark.parametrize("version", [0, 1])
def test_increments_arrive_whole(version: int) -> None:
    """With operations that nobody knows, too."""
    alterations = tuple(Alteration("a", None, operation) for operation in (*Operation, 9))
    request = IncrementalAlterConfigs(resources=(ResourceAlterations(HERE, alterations),))
    assert request_trip(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, request) == request
    assert reply_trip(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, REPLY) == REPLY


def test_refusal_repeats_the_code_for_every_resource() -> None:
    """Both are answered alike."""
    resources = (ResourceAlterations(HERE, ()), ResourceAlterations(Resource(2, "topic"), ()))
    refusal = AlterConfigsReply(
        results=tuple(AlteredResource(resource=one.resource, error=ErrorCode.NOT_CONTROLLER) for one in resources)
    )
    assert ALTER_CONFIGS.refuse(AlterConfigs(resources=resources), ErrorCode.NOT_CONTROLLER) == refusal
    increments = IncrementalAlterConfigs(resources=resources)
    assert INCREMENTAL_ALTER_CONFIGS.refuse(increments, ErrorCode.NOT_CONTROLLER) == refusal
    assert INCREMENTAL_ALTER_CONFIGS.groups(increments) == ("g",)
