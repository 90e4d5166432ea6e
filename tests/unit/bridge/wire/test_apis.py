"""The tables of apis, against kafka-python's and kio's schemas."""

import importlib
import pkgutil

import kio.schema
import pytest
from kafka.protocol.api_key import ApiKey as OracleKey

from bridge.wire.apis import (
    ApiKey,
    Treatment,
    api_name,
    is_flexible,
    request_header_version,
    response_header_version,
    treatment,
)


def _header_versions(side: str) -> list[tuple[int, int, int]]:
    """Api key, version and header version of every message that kio knows."""
    rows = []
    for module in pkgutil.walk_packages(kio.schema.__path__, "kio.schema."):
        if not module.name.endswith(f".{side}"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if getattr(value, "__module__", "") == module.name and getattr(value, "__header_schema__", None):
                rows.append((int(value.__api_key__), int(value.__version__), int(value.__header_schema__.__version__)))
    return sorted(set(rows))


def test_keys_are_kafkas() -> None:
    """Every key of kafka-python's list, with the same number."""
    ours = {key.name.replace("_", "").lower(): int(key) for key in ApiKey}
    assert ours == {key.name.lower(): int(key) for key in OracleKey}


def test_request_headers_are_as_in_kio() -> None:
    """`ApiKeys.requestHeaderVersion` for every api and version of Kafka 4.x."""
    rows = _header_versions("request")
    assert len(rows) > 200
    assert [(k, v, request_header_version(k, v)) for k, v, _ in rows] == rows


def test_response_headers_are_as_in_kio() -> None:
    """`ApiKeys.responseHeaderVersion`, ApiVersions included."""
    rows = _header_versions("response")
    assert len(rows) > 200
    assert [(k, v, response_header_version(k, v)) for k, v, _ in rows] == rows


def test_api_versions_answers_never_have_tags_in_the_header() -> None:
    """KIP-511: a client must be able to read the answer to a version it guessed."""
    assert [response_header_version(ApiKey.API_VERSIONS, v) for v in range(7)] == [0] * 7
    assert [request_header_version(ApiKey.API_VERSIONS, v) for v in range(6)] == [1, 1, 1, 2, 2, 2]


def test_controlled_shutdown_v0_alone_has_no_client_id() -> None:
    """The one request with header version 0."""
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 0) == 0
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 1) == 1


def test_unknown_key_is_hidden_plain_and_named_by_number() -> None:
    """Proprietary keys exist and must not break anything."""
    assert treatment(10_000) is Treatment.HIDDEN
    assert not is_flexible(10_000, 3)
    assert api_name(10_000) == "api 10000"
    assert api_name(-1) == "api -1"
    assert api_name(11) == "JoinGroup"


@pytest.mark.parametrize(
    ("api_key", "expected"),
    [
        (ApiKey.JOIN_GROUP, Treatment.ANSWERED),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, Treatment.ANSWERED),
        (ApiKey.FIND_COORDINATOR, Treatment.REWRITTEN),
        (ApiKey.FETCH, Treatment.RELAYED),
        (ApiKey.PUSH_TELEMETRY, Treatment.RELAYED),
        (ApiKey.WRITE_TXN_MARKERS, Treatment.RELAYED),
        (ApiKey.SHARE_FETCH, Treatment.REWRITTEN),
        (ApiKey.SHARE_ACKNOWLEDGE, Treatment.REWRITTEN),
        (ApiKey.SHARE_GROUP_HEARTBEAT, Treatment.RELAYED),
        (ApiKey.VOTE, Treatment.HIDDEN),
    ],
)
def test_treatment_follows_what_answers_carry(api_key: ApiKey, expected: Treatment) -> None:
    """Addresses are replaced or the api is hidden; what is between brokers is hidden; the rest passes."""
    assert treatment(api_key) is expected
