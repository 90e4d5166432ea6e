"""DescribeConfigs between fields and the dialect of settings."""

from bridge.wire.codec.api import ApiCodec
from bridge.wire.codec.record import Fields, Record, error_code
from translators.dialects.configs import (
    AskedResource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedConfig,
    DescribedResource,
    Resource,
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
