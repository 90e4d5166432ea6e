"""Groups are found in requests about settings of every kind and version, between whatever else is named."""

import pytest

from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import SUPPORTED, Request, encode_request
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import read_request_header
from bridge.wire.group_names import groups_in_settings
from translators.dialects.configs import (
    BROKER,
    GROUP,
    Alteration,
    AlterConfigs,
    AskedResource,
    DescribeConfigs,
    IncrementalAlterConfigs,
    Resource,
    ResourceAlterations,
)

NAMES = ("a-group", "another")
RESOURCES = (Resource(2, "a-topic"), Resource(GROUP, NAMES[0]), Resource(BROKER, "1"), Resource(GROUP, NAMES[1]))
_CHANGES = (Alteration("a.key", "a value"), Alteration("b.key", None))
_ALTERED = tuple(ResourceAlterations(one, _CHANGES) for one in RESOURCES)
REQUESTS: dict[ApiKey, Request] = {
    ApiKey.DESCRIBE_CONFIGS: DescribeConfigs(
        resources=tuple(
            AskedResource(one, keys) for one, keys in zip(RESOURCES, (None, ("k", "l"), (), None), strict=True)
        )
    ),
    ApiKey.ALTER_CONFIGS: AlterConfigs(resources=_ALTERED),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigs(resources=_ALTERED),
}
CASES = [(key, version) for key in REQUESTS for version in range(SUPPORTED[key].lowest, SUPPORTED[key].highest + 1)]


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_groups_are_found_between_others(api_key: ApiKey, version: int) -> None:
    """In every version that is read, and nothing is made up where a frame is cut off."""
    frame = encode_request(api_key, version, 7, "client", REQUESTS[api_key])
    header = read_request_header(frame)
    assert header is not None
    assert groups_in_settings(header, frame) == set(NAMES)
    with pytest.raises(MalformedFrame):
        groups_in_settings(header, frame[:-12])
