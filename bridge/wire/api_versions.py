"""ApiVersions on both sides: what a client says of itself, what a broker says it speaks and which features it has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from bridge.wire.apis import ApiKey
from bridge.wire.cursor import Cursor
from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes, RequestHeader, request_frame, response_frame
from bridge.wire.packing import INT16, INT32, INT64, NO_TAGS, array_length, nullable_string, tag_section
from bridge.wire.versions import FIRST_PRODUCE_VERSION_OF_TRANSACTIONS_V2, KNOWN, VersionRange, VersionTable, speaks
from translators.dialects.errors import ErrorCode

FIRST_VERSION_WITH_THROTTLE_TIME = 1
FIRST_FLEXIBLE_VERSION = 3
FIRST_VERSION_WITH_FEATURES_FROM_ZERO = 4
HIGHEST_VERSION = KNOWN[ApiKey.API_VERSIONS].highest

VERSION_ASKED_FIRST = HIGHEST_VERSION
UNKNOWN_FEATURES_EPOCH = -1

_NAME = ApiKey.API_VERSIONS.name
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")

_SUPPORTED, _EPOCH, _FINALIZED, _ZK_MIGRATION_READY = range(4)


@dataclass(frozen=True, slots=True)
class ClientSoftware:
    """Library and version as a client names them (KIP-511); both empty before version 3."""

    name: str = ""
    version: str = ""

    @property
    def is_valid(self) -> bool:
        """Whether Kafka would take the names (`ApiVersionsRequest.isValid`); if not, it answers INVALID_REQUEST."""
        return _SOFTWARE.fullmatch(self.name) is not None and _SOFTWARE.fullmatch(self.version) is not None


@dataclass(frozen=True, slots=True)
class SupportedFeature:
    """A feature that a broker could turn on, with its range of levels (KIP-584)."""

    name: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class FinalizedFeature:
    """A feature that the cluster has turned on, with its levels in the order of the wire (KIP-584)."""

    name: str
    max_level: int
    min_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Everything about features that a broker tells, passed on to clients unchanged (decision 18)."""

    supported: tuple[SupportedFeature, ...] = ()
    finalized_epoch: int = UNKNOWN_FEATURES_EPOCH
    finalized: tuple[FinalizedFeature, ...] = ()
    is_zk_migration_ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsAnswer:
    """An answer to ApiVersions; `error_code` is Kafka's number, known to us or not."""

    error_code: int = ErrorCode.NONE
    versions: VersionTable = field(default_factory=lambda: MappingProxyType({}))
    throttle_time_ms: int = 0
    features: Features = Features()


def read_client_software(version: int, frame: FrameBytes, body_offset: int) -> ClientSoftware:
    """What the client says of itself in a request of version 0 to 4; `frame` is one whole request.

    Leftover bytes before version 3, where the body is empty, are passed over as Kafka does. Raises MalformedFrame.
    """
    if version < FIRST_FLEXIBLE_VERSION:
        return ClientSoftware()
    cursor = Cursor(frame, body_offset, _NAME, version, flexible=True)
    software = ClientSoftware(cursor.string("client_software_name"), cursor.string("client_software_version"))
    cursor.skip_tags()
    cursor.expect_end()
    return software


def api_versions_request(version: int, correlation_id: int, client_id: str, software: ClientSoftware) -> bytes:
    """The whole request frame that asks a broker what it speaks."""
    body = b""
    if version >= FIRST_FLEXIBLE_VERSION:
        names = nullable_string(software.name, flexible=True) + nullable_string(software.version, flexible=True)
        body = names + NO_TAGS
    return request_frame(RequestHeader(0, ApiKey.API_VERSIONS, version, correlation_id, client_id, 0), body)


def api_versions_reply(version: int, correlation_id: int, answer: ApiVersionsAnswer) -> bytes:
    """The whole answer frame for a request of `version`.

    A version above ours gets the body of version 0, UNSUPPORTED_VERSION and our range, whatever `answer` says
    (KIP-511): the client can read that and asks again.
    """
    if not 0 <= version <= HIGHEST_VERSION:
        ours = {int(ApiKey.API_VERSIONS): KNOWN[ApiKey.API_VERSIONS]}
        return api_versions_reply(
            0, correlation_id, ApiVersionsAnswer(error_code=ErrorCode.UNSUPPORTED_VERSION, versions=ours)
        )
    flexible = version >= FIRST_FLEXIBLE_VERSION
    parts = [INT16.pack(answer.error_code), array_length(len(answer.versions), flexible=flexible)]
    for api_key, versions in answer.versions.items():
        parts.append(INT16.pack(api_key) + INT16.pack(versions.lowest) + INT16.pack(versions.highest))
        if flexible:
            parts.append(NO_TAGS)
    if version >= FIRST_VERSION_WITH_THROTTLE_TIME:
        parts.append(INT32.pack(answer.throttle_time_ms))
    if flexible:
        parts.append(tag_section(_feature_tags(version, answer.features)))
    return response_frame(ApiKey.API_VERSIONS, version, correlation_id, b"".join(parts))


def read_api_versions(version: int, frame: FrameBytes, body_offset: int) -> ApiVersionsAnswer:
    """A broker's answer to a request of `version` 0 to 4; `frame` is one whole answer.

    UNSUPPORTED_VERSION comes in the body of version 0 (KIP-511), or in none that can be read: then the table is empty.
    Raises MalformedFrame, as for every answer of librdkafka's mock cluster from version 3 on (see `version_to_ask`).
    """
    error_code = Cursor(frame, body_offset, _NAME, version, flexible=False).int16("error_code")
    if error_code != ErrorCode.UNSUPPORTED_VERSION:
        return _read_answer(version, frame, body_offset)
    try:
        return _read_answer(0, frame, body_offset)
    except MalformedFrame:
        return ApiVersionsAnswer(error_code=error_code)


def version_to_ask(asked: int, answer: ApiVersionsAnswer | None) -> int | None:
    """The version to ask next after `answer` to `asked`, None when that was the last word; no answer means unreadable.

    Newer brokers name their range, unreadable ones are asked with version 0, which every broker since 0.10 speaks.
    """
    if asked == 0 or (answer is not None and answer.error_code != ErrorCode.UNSUPPORTED_VERSION):
        return None
    theirs = None if answer is None else answer.versions.get(ApiKey.API_VERSIONS)
    return 0 if theirs is None else max(0, min(theirs.highest, asked - 1))


def _read_answer(version: int, frame: FrameBytes, body_offset: int) -> ApiVersionsAnswer:
    cursor = Cursor(frame, body_offset, _NAME, version, flexible=version >= FIRST_FLEXIBLE_VERSION)
    error_code = cursor.int16("error_code")
    versions: dict[int, VersionRange] = {}
    for _ in range(cursor.array_length("api_keys")):
        api_key = cursor.int16("api_key")
        versions[api_key] = VersionRange(cursor.int16("min_version"), cursor.int16("max_version"))
        cursor.skip_tags()
    has_throttle_time = version >= FIRST_VERSION_WITH_THROTTLE_TIME
    throttle_time_ms = cursor.int32("throttle_time_ms") if has_throttle_time else 0
    features = _read_features(cursor) if cursor.flexible else Features()
    cursor.expect_end()
    return ApiVersionsAnswer(
        error_code=error_code, versions=versions, throttle_time_ms=throttle_time_ms, features=features
    )


def _read_features(cursor: Cursor) -> Features:
    supported: tuple[SupportedFeature, ...] = ()
    finalized: tuple[FinalizedFeature, ...] = ()
    epoch, is_zk_migration_ready = UNKNOWN_FEATURES_EPOCH, False
    for _ in range(cursor.uvarint("tagged_fields")):
        tag, size = cursor.uvarint("tagged_fields"), cursor.uvarint("tagged_fields")
        end = cursor.offset + size
        if tag == _SUPPORTED:
            supported = tuple(SupportedFeature(*levels) for levels in _read_levels(cursor, "supported_features"))
        elif tag == _EPOCH:
            epoch = cursor.int64("finalized_features_epoch")
        elif tag == _FINALIZED:
            finalized = tuple(FinalizedFeature(*levels) for levels in _read_levels(cursor, "finalized_features"))
        elif tag == _ZK_MIGRATION_READY:
            is_zk_migration_ready = cursor.int8("zk_migration_ready") != 0
        else:
            cursor.skip(size, "tagged_fields")
        if cursor.offset != end:
            raise cursor.malformed("tagged_fields", f"tag {tag} is not as long as the {size} bytes it claims")
    return Features(
        supported=supported,
        finalized_epoch=epoch,
        finalized=finalized,
        is_zk_migration_ready=is_zk_migration_ready,
    )


def _read_levels(cursor: Cursor, name: str) -> list[tuple[str, int, int]]:
    levels = []
    for _ in range(cursor.array_length(name)):
        levels.append((cursor.string(name), cursor.int16(name), cursor.int16(name)))
        cursor.skip_tags()
    return levels


def _feature_tags(version: int, features: Features) -> Mapping[int, bytes]:
    from_zero = version >= FIRST_VERSION_WITH_FEATURES_FROM_ZERO
    # Clients before KAFKA-17011 reject a feature that begins at level 0, so Kafka leaves it out for them.
    supported = [(f.name, f.lowest, f.highest) for f in features.supported if from_zero or f.lowest != 0]
    finalized = [(f.name, f.max_level, f.min_level) for f in features.finalized]
    tags: dict[int, bytes] = {}
    if supported:
        tags[_SUPPORTED] = _levels(supported)
    if features.finalized_epoch != UNKNOWN_FEATURES_EPOCH:
        tags[_EPOCH] = INT64.pack(features.finalized_epoch)
    if finalized:
        tags[_FINALIZED] = _levels(finalized)
    if features.is_zk_migration_ready:
        tags[_ZK_MIGRATION_READY] = b"\x01"
    return tags


def _levels(rows: list[tuple[str, int, int]]) -> bytes:
    parts = [array_length(len(rows), flexible=True)]
    for name, first, second in rows:
        parts += (nullable_string(name, flexible=True), INT16.pack(first), INT16.pack(second), NO_TAGS)
    return b"".join(parts)


TRANSACTION_VERSION = "transaction.version"
LAST_LEVEL_THAT_ADDS_PARTITIONS = 1


def offered_features(features: Features, offered: VersionTable) -> Features:
    """The features as they are, but `transaction.version` at most 1 where Produce v12 is not offered.

    From level 2 on clients leave out AddPartitionsToTxn, because Produce v12 adds the partitions by itself (KIP-890).
    Java and franz-go go by the feature alone: with an older Produce every one of their transactions would fail with
    INVALID_TXN_STATE. Brokers serve transactions of both kinds at every level.
    """
    if speaks(offered, ApiKey.PRODUCE, FIRST_PRODUCE_VERSION_OF_TRANSACTIONS_V2):
        return features
    return replace(features, finalized=tuple(_lowered(feature) for feature in features.finalized))


def _lowered(feature: FinalizedFeature) -> FinalizedFeature:
    if feature.name != TRANSACTION_VERSION:
        return feature
    most = LAST_LEVEL_THAT_ADDS_PARTITIONS
    return replace(feature, max_level=min(feature.max_level, most), min_level=min(feature.min_level, most))
