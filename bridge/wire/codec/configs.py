"""DescribeConfigs, both ways to alter, and ListConfigResources between fields and the dialect of settings.

The answers of AlterConfigs and IncrementalAlterConfigs are the same.
"""

from abc import abstractmethod
from typing import TypeVar

from bridge.wire.codec.api import ApiCodec, Fields, Record, error_code
from translators.dialects.configs import (
    CLIENT_METRICS,
    Alteration,
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    AskedResource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedConfig,
    DescribedResource,
    IncrementalAlterConfigs,
    ListConfigResources,
    ListConfigResourcesReply,
    Operation,
    Resource,
    ResourceAlterations,
    Synonym,
    groups_among,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


def read_resource(record: Record) -> Resource:
    """Whose settings a struct is about."""
    return Resource(record.number("resource_type"), record.text("resource_name"))


def resource_fields(resource: Resource) -> Fields:
    """The same as fields."""
    return {"resource_type": resource.resource_type, "resource_name": resource.name}


class DescribeConfigsCodec(ApiCodec[DescribeConfigs, DescribeConfigsReply]):
    """DescribeConfigs between fields and the dialect of settings."""

    request_type = DescribeConfigs
    reply_type = DescribeConfigsReply

    def decode_request(self, record: Record, version: int) -> DescribeConfigs:
        """Fields to request."""
        return DescribeConfigs(
            resources=tuple(
                AskedResource(
                    read_resource(each),
                    None if each.is_null("configuration_keys") else tuple(each.texts("configuration_keys")),
                )
                for each in record.records("resources")
            ),
            include_synonyms=record.flag("include_synonyms"),
            include_documentation=record.flag("include_documentation"),
        )

    def encode_request(self, request: DescribeConfigs, version: int) -> Fields:
        """Request to fields."""
        return {
            "resources": [
                {**resource_fields(each.resource), "configuration_keys": each.keys} for each in request.resources
            ],
            "include_synonyms": request.include_synonyms,
            "include_documentation": request.include_documentation,
        }

    def decode_reply(self, record: Record, version: int) -> DescribeConfigsReply:
        """Fields to reply."""
        results = tuple(
            DescribedResource(
                resource=read_resource(each),
                error=error_code(each),
                error_message=each.nullable_text("error_message"),
                configs=tuple(map(_config, each.records("configs"))),
            )
            for each in record.records("results")
        )
        return DescribeConfigsReply(results=results, throttle_time_ms=record.number("throttle_time_ms"))

    def encode_reply(self, reply: DescribeConfigsReply, version: int) -> Fields:
        """Reply to fields."""
        return {
            "throttle_time_ms": reply.throttle_time_ms,
            "results": [
                {
                    **resource_fields(each.resource),
                    "error_code": each.error,
                    "error_message": each.error_message,
                    "configs": [_config_fields(config) for config in each.configs],
                }
                for each in reply.results
            ],
        }

    def refuse(self, request: DescribeConfigs, code: ErrorCode) -> DescribeConfigsReply:
        """The refusal repeats the code for every resource."""
        results = tuple(DescribedResource(resource=each.resource, error=code) for each in request.resources)
        return DescribeConfigsReply(results=results)

    def groups(self, request: DescribeConfigs) -> tuple[GroupId, ...]:
        """The groups that a request names."""
        return groups_among(each.resource for each in request.resources)


def _config(record: Record) -> DescribedConfig:
    return DescribedConfig(
        name=record.text("name"),
        value=record.nullable_text("value"),
        source=record.number("config_source"),
        is_read_only=record.flag("read_only"),
        is_sensitive=record.flag("is_sensitive"),
        synonyms=tuple(
            Synonym(each.text("name"), each.nullable_text("value"), each.number("source"))
            for each in record.records("synonyms")
        ),
        config_type=record.number("config_type"),
        documentation=record.nullable_text("documentation"),
    )


def _config_fields(config: DescribedConfig) -> Fields:
    return {
        "name": config.name,
        "value": config.value,
        "read_only": config.is_read_only,
        "config_source": config.source,
        "is_sensitive": config.is_sensitive,
        "synonyms": [{"name": each.name, "value": each.value, "source": each.source} for each in config.synonyms],
        "config_type": config.config_type,
        "documentation": config.documentation,
    }


DESCRIBE_CONFIGS = DescribeConfigsCodec()


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
