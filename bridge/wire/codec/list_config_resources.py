"""ListConfigResources between fields and the dialect of settings."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.describe_configs import read_resource, resource_fields
from bridge.wire.codec.record import Fields, Record, error_code
from translators.dialects.configs import CLIENT_METRICS, ListConfigResources, ListConfigResourcesReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

_FIRST_OF_ALL_TYPES = 1


class ListConfigResourcesCodec(ApiCodec[ListConfigResources, ListConfigResourcesReply]):
    """The same; version 0 lists client metrics and says no type."""

    request_type = ListConfigResources
    reply_type = ListConfigResourcesReply

    def decode_request(self, record: Record, version: int) -> ListConfigResources:
        """Fields to request."""
        if version < _FIRST_OF_ALL_TYPES:
            return ListConfigResources(types=(CLIENT_METRICS,))
        return ListConfigResources(types=tuple(record.numbers("resource_types")))

    def encode_request(self, request: ListConfigResources, version: int) -> Fields:
        """Request to fields."""
        if version < _FIRST_OF_ALL_TYPES and request.types != (CLIENT_METRICS,):
            raise ValueError(f"version {version} lists client metrics, not {request.types}")
        return {"resource_types": request.types}

    def decode_reply(self, record: Record, version: int) -> ListConfigResourcesReply:
        """Fields to reply."""
        return ListConfigResourcesReply(
            error=error_code(record),
            resources=tuple(map(read_resource, record.records("config_resources"))),
            throttle_time_ms=record.number("throttle_time_ms"),
        )

    def encode_reply(self, reply: ListConfigResourcesReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "error_code": reply.error,
            "config_resources": [resource_fields(each) for each in reply.resources],
        }

    def refuse(self, request: ListConfigResources, code: ErrorCode) -> ListConfigResourcesReply:
        """The refusal names no resources."""
        return ListConfigResourcesReply(error=code)

    def groups(self, request: ListConfigResources) -> tuple[GroupId, ...]:
        """It names none."""
        return ()


LIST_CONFIG_RESOURCES = ListConfigResourcesCodec()
