"""What one API needs to be spoken in both directions and both roles, and the fields of its messages once decoded."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Generic, Protocol, TypeVar, cast

from translators.dialects.errors import ErrorCode, code_of
from translators.dialects.ids import NO_TOPIC_ID, GroupId, InstanceId, TopicId, TopicIdPartition, TopicName
from translators.dialects.offsets import CommittedPartition, CommittedTopic

# ------------------------------------------------------------------------------------------- record
# The fields of one decoded message or struct, with access by type, and the values that many APIs have among them.

Fields = Mapping[str, object]
"""What is to be written: names in snake case; every field of the version must be there, others are ignored."""


class Record(dict[str, object]):
    """What was read: every field of the schema by its name in snake case; those that a version lacks have defaults."""

    __slots__ = ()

    def number(self, name: str) -> int:
        """An integer of any size."""
        value = self[name]
        assert isinstance(value, int), "as its schema has it"
        return value

    def flag(self, name: str) -> bool:
        """A boolean."""
        value = self[name]
        assert isinstance(value, bool), "as its schema has it"
        return value

    def text(self, name: str) -> str:
        """A string that isn't null."""
        value = self[name]
        assert isinstance(value, str), "as its schema has it"
        return value

    def nullable_text(self, name: str) -> str | None:
        """A string or None."""
        value = self[name]
        assert value is None or isinstance(value, str), "as its schema has it"
        return value

    def blob(self, name: str) -> bytes:
        """Bytes that aren't null, also the 16 of a uuid."""
        value = self[name]
        assert isinstance(value, bytes), "as its schema has it"
        return value

    def record(self, name: str) -> "Record":
        """A struct that isn't null."""
        value = self[name]
        assert isinstance(value, Record), "as its schema has it"
        return value

    def nullable_record(self, name: str) -> "Record | None":
        """A struct or None."""
        value = self[name]
        assert value is None or isinstance(value, Record), "as its schema has it"
        return value

    def records(self, name: str) -> Sequence["Record"]:
        """An array of structs; a null one counts as empty."""
        return cast("Sequence[Record]", self[name] or ())

    def texts(self, name: str) -> Sequence[str]:
        """An array of strings; a null one counts as empty."""
        return cast("Sequence[str]", self[name] or ())

    def numbers(self, name: str) -> Sequence[int]:
        """An array of integers; a null one counts as empty."""
        return cast("Sequence[int]", self[name] or ())

    def is_null(self, name: str) -> bool:
        """Whether the field was sent as null."""
        return self[name] is None


def error_code(record: Record) -> ErrorCode:
    """The error of a struct."""
    return code_of(record.number("error_code"))


def instance_id(record: Record, name: str = "group_instance_id") -> InstanceId | None:
    """The static seat of a struct, None where there is none."""
    value = record.nullable_text(name)
    return None if value is None else InstanceId(value)


def topic_id_partitions(records: Sequence[Record]) -> frozenset[TopicIdPartition]:
    """Partitions by topic id, from their form on the wire."""
    return frozenset(
        TopicIdPartition(TopicId(each.blob("topic_id")), partition)
        for each in records
        for partition in each.numbers("partitions")
    )


def topic_id_fields(partitions: Iterable[TopicIdPartition]) -> list[Fields]:
    """Partitions by topic id, sorted, so that equal sets are equal bytes."""
    return [
        {"topic_id": topic_id, "partitions": [each.partition for each in group]}
        for topic_id, group in groupby(sorted(partitions), key=attrgetter("topic_id"))
    ]


def committed_topics(records: Sequence[Record]) -> tuple[CommittedTopic, ...]:
    """What became of topics, from their form in answers."""
    return tuple(
        CommittedTopic(
            name=TopicName(topic.text("name")),
            partitions=tuple(
                CommittedPartition(partition.number("partition_index"), error_code(partition))
                for partition in topic.records("partitions")
            ),
            topic_id=TopicId(topic.blob("topic_id")) if "topic_id" in topic else NO_TOPIC_ID,
        )
        for topic in records
    )


def committed_topic_fields(topics: Iterable[CommittedTopic]) -> list[Fields]:
    """What became of topics, as answers have it."""
    return [
        {
            "name": topic.name,
            "topic_id": topic.topic_id,
            "partitions": [
                {"partition_index": partition.partition, "error_code": partition.error}
                for partition in topic.partitions
            ],
        }
        for topic in topics
    ]


# ---------------------------------------------------------------------------------------------- api
# What one API needs to be spoken in both directions and both roles.

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")


class Api(Protocol):
    """An API behind a door that takes any dialect value and refuses the wrong one with TypeError."""

    @property
    def request_type(self) -> type[object]:
        """The dialect class of its requests."""

    @property
    def reply_type(self) -> type[object]:
        """The dialect class of its answers."""

    def decode_request(self, record: Record, version: int) -> object:
        """Fields to request."""

    def request_fields(self, request: object, version: int) -> Fields:
        """Request to fields."""

    def decode_reply(self, record: Record, version: int) -> object:
        """Fields to reply."""

    def reply_fields(self, reply: object, version: int) -> Fields:
        """Reply to fields."""

    def refusal(self, request: object, code: ErrorCode) -> object:
        """The reply that refuses all of a request."""

    def group_ids(self, request: object) -> tuple[GroupId, ...]:
        """The groups that a request names."""


class ApiCodec(ABC, Generic[RequestT, ReplyT]):
    """One API; versions are arguments here and unknown behind."""

    request_type: type[RequestT]
    reply_type: type[ReplyT]

    @abstractmethod
    def decode_request(self, record: Record, version: int) -> RequestT:
        """Fields to request."""

    @abstractmethod
    def encode_request(self, request: RequestT, version: int) -> Fields:
        """Request to fields; ValueError when the version can't say it."""

    @abstractmethod
    def decode_reply(self, record: Record, version: int) -> ReplyT:
        """Fields to reply."""

    @abstractmethod
    def encode_reply(self, reply: ReplyT, version: int) -> Fields:
        """Reply to fields; ValueError when the version can't say it."""

    @abstractmethod
    def refuse(self, request: RequestT, code: ErrorCode) -> ReplyT:
        """The reply that refuses all of a request."""

    @abstractmethod
    def groups(self, request: RequestT) -> tuple[GroupId, ...]:
        """The groups that a request names."""

    def request_fields(self, request: object, version: int) -> Fields:
        """Request to fields, once its class is checked."""
        return self.encode_request(self._request(request), version)

    def reply_fields(self, reply: object, version: int) -> Fields:
        """Reply to fields, once its class is checked."""
        if not isinstance(reply, self.reply_type):
            raise TypeError(f"{type(reply).__name__} is not a {self.reply_type.__name__}")
        return self.encode_reply(reply, version)

    def refusal(self, request: object, code: ErrorCode) -> ReplyT:
        """The reply that refuses all of a request, once its class is checked."""
        return self.refuse(self._request(request), code)

    def group_ids(self, request: object) -> tuple[GroupId, ...]:
        """The groups that a request names, once its class is checked."""
        return self.groups(self._request(request))

    def _request(self, request: object) -> RequestT:
        if not isinstance(request, self.request_type):
            raise TypeError(f"{type(request).__name__} is not a {self.request_type.__name__}")
        return request
