"""ApiVersions on both sides, against kafka-python and against what librdkafka's mock cluster sends."""

from functools import partial

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from bridge.wire.api_versions import (
    VERSION_ASKED_FIRST,
    ApiVersionsAnswer,
    ClientSoftware,
    Features,
    FinalizedFeature,
    SupportedFeature,
    api_versions_reply,
    api_versions_request,
    read_api_versions,
    read_client_software,
    version_to_ask,
)
from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import read_request_header
from bridge.wire.versions import VersionRange
from tests.support.oracle_frames import cut_short, is_malformed, reframed, request_bytes, response_bytes

VERSIONS = range(5)
BODY = 8
FEATURES = Features(
    supported=(SupportedFeature("group.version", 0, 1), SupportedFeature("metadata.version", 7, 27)),
    finalized_epoch=1234,
    finalized=(FinalizedFeature("group.version", 1, 1), FinalizedFeature("metadata.version", 27, 27)),
    is_zk_migration_ready=True,
)
ANSWER = ApiVersionsAnswer(
    versions={0: VersionRange(0, 9), 18: VersionRange(0, 4), 68: VersionRange(0, 1)},
    throttle_time_ms=5,
    features=FEATURES,
)
MOCK_REFUSES_V3 = bytes.fromhex("000000110000000500230100120000000200000000")
"""What librdkafka 2.16's mock cluster answers to versions 3 and 4: half compact, its count off by one."""
COUNT_OFF_BY_ONE = reframed(
    bytes.fromhex("00000005" + "0000" + "02" + "0003" + "0000" + "000c" + "0012000000020000000000")
)


def _oracle(version: int, answer: ApiVersionsAnswer) -> bytes:
    key, supported, finalized = (
        ApiVersionsResponse.ApiVersion,
        ApiVersionsResponse.SupportedFeatureKey,
        ApiVersionsResponse.FinalizedFeatureKey,
    )
    message = ApiVersionsResponse(
        version=version,
        error_code=answer.error_code,
        api_keys=[
            key(version=version, api_key=k, min_version=r.lowest, max_version=r.highest)
            for k, r in answer.versions.items()
        ],
        throttle_time_ms=answer.throttle_time_ms,
        supported_features=[
            supported(version=version, name=f.name, min_version=f.lowest, max_version=f.highest)
            for f in answer.features.supported
            if version >= 3
        ],
        finalized_features_epoch=answer.features.finalized_epoch,
        finalized_features=[
            finalized(version=version, name=f.name, max_version_level=f.max_level, min_version_level=f.min_level)
            for f in answer.features.finalized
            if version >= 3
        ],
        zk_migration_ready=answer.features.is_zk_migration_ready,
    )
    return response_bytes(message)


def _seen_by(version: int, answer: ApiVersionsAnswer) -> ApiVersionsAnswer:
    """What a reader of that version can know of the answer."""
    return ApiVersionsAnswer(
        error_code=answer.error_code,
        versions=answer.versions,
        throttle_time_ms=answer.throttle_time_ms if version >= 1 else 0,
        features=answer.features if version >= 3 else Features(),
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_reads_as_kafka_python_writes_it(version: int) -> None:
    """Features, epoch and the ZooKeeper flag as tags 0 to 3."""
    assert read_api_versions(version, _oracle(version, ANSWER), BODY) == _seen_by(version, ANSWER)
    bare = ApiVersionsAnswer(error_code=41)
    assert read_api_versions(version, _oracle(version, bare), BODY) == bare


@pytest.mark.parametrize("version", [0, 1, 2, 4])
def test_answer_is_written_as_kafka_python_does(version: int) -> None:
    """Finalized features pass unchanged (decision 18)."""
    assert api_versions_reply(version, 7, ANSWER) == _oracle(version, ANSWER)
    assert api_versions_reply(version, 7, ApiVersionsAnswer()) == _oracle(version, ApiVersionsAnswer())


def test_version_3_leaves_out_features_that_begin_at_zero() -> None:
    """KAFKA-17011: older clients reject the whole answer otherwise; the finalized level stays."""
    seen = read_api_versions(3, api_versions_reply(3, 7, ANSWER), BODY)
    assert seen.features.supported == (SupportedFeature("metadata.version", 7, 27),)
    assert seen.features.finalized == FEATURES.finalized
    assert read_api_versions(4, api_versions_reply(4, 7, ANSWER), BODY) == ANSWER


@pytest.mark.parametrize("version", [5, 99, 32_767])
def test_unknown_version_gets_the_v0_body_with_our_range(version: int) -> None:
    """KIP-511: error 35, the range of ApiVersions, header version 0."""
    ours = ApiVersionsAnswer(error_code=35, versions={ApiKey.API_VERSIONS: VersionRange(0, 4)})
    frame = api_versions_reply(version, 7, ANSWER)
    assert frame == _oracle(0, ours)
    assert read_api_versions(4, frame, BODY) == ours


@pytest.mark.parametrize("version", VERSIONS)
def test_client_software_is_read_from_version_3_on(version: int) -> None:
    """KIP-511: library and version."""
    fields = {"client_software_name": "librdkafka", "client_software_version": "2.16.0"} if version >= 3 else {}
    frame = request_bytes(ApiVersionsRequest(version=version, **fields), client_id="c")
    header = read_request_header(frame)
    assert header is not None
    expected = ClientSoftware("librdkafka", "2.16.0") if version >= 3 else ClientSoftware()
    assert read_client_software(version, frame, header.body_offset) == expected
    assert api_versions_request(version, 7, "c", expected) == frame


@pytest.mark.parametrize("version", [3, 4])
def test_request_one_byte_short_or_long_is_refused(version: int) -> None:
    """Frame-exact from the first flexible version on."""
    frame = api_versions_request(version, 7, "c", ClientSoftware("lib", "1.0"))
    header = read_request_header(frame)
    assert header is not None
    for short in cut_short(frame)[header.body_offset - 4 :]:
        assert is_malformed(partial(read_client_software, version, short, header.body_offset))
    with pytest.raises(MalformedFrame, match="1 bytes too many"):
        read_client_software(version, reframed(frame[4:] + b"\x00"), header.body_offset)


def test_leftover_bytes_before_version_3_are_passed_over() -> None:
    """Some old clients put a client name where the body is empty; Kafka doesn't mind."""
    assert read_client_software(0, b"\x00" * 30, 14) == ClientSoftware()


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("apache-kafka-java", "4.3.0", True),
        ("a", "1", True),
        ("", "1", False),
        ("-lib", "1", False),
        ("lib.", "1", False),
        ("lib", "1 beta", False),
        ("lib\n", "1", False),
    ],
)
def test_names_are_valid_as_in_kafka(name: str, version: str, expected: bool) -> None:
    """`ApiVersionsRequest.isValid`; else the answer is INVALID_REQUEST."""
    assert ClientSoftware(name, version).is_valid is expected


@pytest.mark.parametrize("version", [3, 4])
def test_unreadable_answers_of_the_mock_cluster_lead_to_version_0(version: int) -> None:
    """clients.md: what it says from version 3 on is malformed, refusals and answers alike."""
    refusal = read_api_versions(version, MOCK_REFUSES_V3, BODY)
    assert refusal == ApiVersionsAnswer(error_code=35)
    assert version_to_ask(version, refusal) == 0
    with pytest.raises(MalformedFrame):
        read_api_versions(version, COUNT_OFF_BY_ONE, BODY)
    assert version_to_ask(version, None) == 0


def test_older_brokers_are_asked_in_the_version_they_name() -> None:
    """Kafka 3.8 refuses version 4 and names 0 to 3."""
    refusal = ApiVersionsAnswer(error_code=35, versions={ApiKey.API_VERSIONS: VersionRange(0, 3)})
    assert VERSION_ASKED_FIRST == 4
    assert version_to_ask(4, refusal) == 3
    assert version_to_ask(3, refusal) == 2
    assert version_to_ask(0, refusal) is None
    assert version_to_ask(0, None) is None
    assert version_to_ask(3, ANSWER) is None
    assert version_to_ask(3, ApiVersionsAnswer(error_code=42)) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_answer_one_byte_short_or_long_is_refused(version: int) -> None:
    """Never a table that is shorter than the broker's."""
    frame = _oracle(version, ANSWER)
    for short in cut_short(frame)[BODY - 4 :]:
        assert is_malformed(partial(read_api_versions, version, short, BODY))
    assert is_malformed(partial(read_api_versions, version, reframed(frame[4:] + b"\x00"), BODY))


def test_tag_longer_than_its_content_is_refused() -> None:
    """The epoch is eight bytes, whatever its size says; unknown tags are passed over."""
    start = bytes.fromhex("00000007" + "0000" + "01" + "00000000" + "01")
    assert read_api_versions(3, reframed(start + b"\x09\x02hi"), BODY) == ApiVersionsAnswer()
    with pytest.raises(MalformedFrame, match="tag 1 is not as long"):
        read_api_versions(3, reframed(start + b"\x01\x09" + b"\x00" * 9), BODY)
