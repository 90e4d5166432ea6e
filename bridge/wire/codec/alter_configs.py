"""AlterConfigs and IncrementalAlterConfigs between fields and the dialect of settings: their answers are the same."""

from abc import abstractmethod
from typing import TypeVar

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.describe_configs import read_resource, resource_fields
from bridge.wire.codec.record import Fields, Record, error_code
from translators.dialects.configs import (
    Alteration,
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    IncrementalAlterConfigs,
    Operation,
    ResourceAlterations,
    groups_among,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

AlteringT = TypeVar("AlteringT", AlterConfigs, IncrementalAlterConfigs)


class _Altering(ApiCodec[AlteringT, AlterConfigsReply]):
    """What both have in common: all but the operation that one of them names."""

    reply_type = AlterConfigsReply

    @abstractmethod
    def operation(self, record: Record) -> int:
        """What is to be done to one setting."""

    def decode_request(self, record: Record, version: int) -> AlteringT:
        """Fields to request."""
        resources = tuple(
            ResourceAlterations(
                read_resource(each),
                tuple(
                    Alteration(config.text("name"), config.nullable_text("value"), self.operation(config))
                    for config in each.records("configs")
                ),
            )
            for each in record.records("resources")
        )
        return self.request_type(resources=resources, validate_only=record.flag("validate_only"))

    def encode_request(self, request: AlteringT, version: int) -> Fields:
        """Request to fields."""
        return {
            "resources": [
                {
                    **resource_fields(each.resource),
                    "configs": [
                        {"name": one.name, "value": one.value, "config_operation": one.operation}
                        for one in each.alterations
                    ],
                }
                for each in request.resources
            ],
            "validate_only": request.validate_only,
        }

    def decode_reply(self, record: Record, version: int) -> AlterConfigsReply:
        """Fields to reply."""
        results = tuple(
            AlteredResource(
                resource=read_resource(each),
                error=error_code(each),
                error_message=each.nullable_text("error_message"),
            )
            for each in record.records("responses")
        )
        return AlterConfigsReply(results=results, throttle_time_ms=record.number("throttle_time_ms"))

    def encode_reply(self, reply: AlterConfigsReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "responses": [
                {
                    **resource_fields(each.resource),
                    "error_code": each.error,
                    "error_message": each.error_message,
                }
                for each in reply.results
            ],
        }

    def refuse(self, request: AlteringT, code: ErrorCode) -> AlterConfigsReply:
        """The refusal repeats the code for every resource."""
        return AlterConfigsReply(
            results=tuple(AlteredResource(resource=each.resource, error=code) for each in request.resources)
        )

    def groups(self, request: AlteringT) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return groups_among(each.resource for each in request.resources)


class AlterConfigsCodec(_Altering[AlterConfigs]):
    """AlterConfigs: whatever it names is set."""

    request_type = AlterConfigs

    def operation(self, record: Record) -> int:
        """What is to be done to one setting."""
        del record
        return Operation.SET


class IncrementalAlterConfigsCodec(_Altering[IncrementalAlterConfigs]):
    """IncrementalAlterConfigs: it names what is to be done."""

    request_type = IncrementalAlterConfigs

    def operation(self, record: Record) -> int:
        """What is to be done to one setting."""
        return record.number("config_operation")


ALTER_CONFIGS = AlterConfigsCodec()
INCREMENTAL_ALTER_CONFIGS = IncrementalAlterConfigsCodec()
