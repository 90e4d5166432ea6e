"""Answers to FindCoordinator and Metadata from what an earlier life knew, until a broker is heard in this one.

A client that connects again asks both before its next heartbeat, mostly on one connection, so that one unanswered
request would keep its members from going on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bridge.session.broker_addresses import Address
from bridge.wire.apis import ApiKey
from bridge.wire.codec.api import Fields, Record
from bridge.wire.codec.registry import BodyPlace, read_request_fields, reply_frame
from bridge.wire.frames import RequestHeader
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, Topic, TopicId, TopicName

PARTITIONS_MAX = 20_000
"""A Metadata answer of more partitions is left to the broker: it would keep everybody else waiting."""

_GROUP_KEY = 0
_FIRST_FIND_COORDINATOR_OF_MANY = 4
_FIRST_METADATA_WITH_NULL_FOR_ALL = 1
_NOBODY = -1
_NOT_ASKED_FOR = -(1 << 31)
"""`authorized_operations` of whoever did not ask for them, or where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The listeners that stand for the brokers of before, and the topics; both are looked at when they are needed."""

    addresses: Mapping[int, Address]
    topics: Callable[[], Iterable[Topic]]
    is_ours: Callable[[GroupId], bool]
    """Whether the bridge itself answers for a group of that name."""

    def answer(self, header: RequestHeader, data: bytes | memoryview, elements_max: int) -> bytes | None:
        """The whole answer to one whole request; None where a broker has to be waited for.

        Raises MalformedFrame, TooManyElements.
        """
        if header.api_key not in _ANSWERED or not self.addresses:
            return None
        place = BodyPlace(header.body_offset, elements_max)
        request = read_request_fields(header.api_key, header.api_version, data[header.body_offset :], place)
        if header.api_key == ApiKey.FIND_COORDINATOR:
            fields: Fields | None = self._coordinators(header.api_version, request)
        else:
            fields = self._metadata(header.api_version, request)
        return (
            None if fields is None else reply_frame(header.api_key, header.api_version, header.correlation_id, fields)
        )

    def _coordinators(self, version: int, request: Record) -> Fields:
        is_many = version >= _FIRST_FIND_COORDINATOR_OF_MANY
        keys = request.texts("coordinator_keys") if is_many else (request.text("key"),)
        is_group = request.number("key_type") == _GROUP_KEY
        node_id = min(self.addresses)
        found = [self._coordinator(node_id, key, is_group and self.is_ours(GroupId(key))) for key in keys]
        return {"throttle_time_ms": 0, "coordinators": found} if is_many else {"throttle_time_ms": 0, **found[0]}

    def _coordinator(self, node_id: int, key: str, is_ours: bool) -> Fields:
        """Any listener answers for the bridge's own groups; who coordinates the others only a broker knows."""
        host, port = self.addresses[node_id] if is_ours else ("", _NOBODY)
        return {
            "key": key,
            "node_id": node_id if is_ours else _NOBODY,
            "host": host,
            "port": port,
            "error_code": ErrorCode.NONE if is_ours else ErrorCode.COORDINATOR_NOT_AVAILABLE,
            "error_message": None if is_ours else "No broker has answered since the bridge started.",
        }

    def _metadata(self, version: int, request: Record) -> Fields | None:
        topics = self._topics(version, request)
        if topics is None:
            return None
        return {
            "throttle_time_ms": 0,
            "brokers": [
                {"node_id": node_id, "host": host, "port": port, "rack": None}
                for node_id, (host, port) in sorted(self.addresses.items())
            ],
            "cluster_id": None,
            "controller_id": _NOBODY,
            "topics": topics,
            "cluster_authorized_operations": _NOT_ASKED_FOR,
            "error_code": ErrorCode.NONE,
        }

    def _topics(self, version: int, request: Record) -> list[Fields] | None:
        """Each topic that was asked for; None where they have more partitions than are written here."""
        known = tuple(self.topics())
        if request.is_null("topics") or (version < _FIRST_METADATA_WITH_NULL_FOR_ALL and not request.records("topics")):
            return None if _is_too_much(known) else [_without_leaders(topic) for topic in known]
        by_name = {topic.name: topic for topic in known}
        by_id = {topic.topic_id: topic for topic in known}
        wanted: list[Fields] = []
        room = PARTITIONS_MAX
        for each in request.records("topics"):
            name, topic_id = each.nullable_text("name"), TopicId(each.blob("topic_id"))
            topic = by_id.get(topic_id) if name is None else by_name.get(TopicName(name))
            if topic is None:
                wanted.append(_unknown(name, topic_id))
            else:
                # Counted as it goes: a request that names one topic 25,000 times had all summed up each time.
                room -= topic.partition_count
                if room < 0:
                    return None
                wanted.append(_without_leaders(topic))
        return wanted


_ANSWERED = frozenset((ApiKey.FIND_COORDINATOR, ApiKey.METADATA))


def _is_too_much(topics: Iterable[Topic]) -> bool:
    return sum(topic.partition_count for topic in topics) > PARTITIONS_MAX


def _without_leaders(topic: Topic) -> Fields:
    """A topic all of whose replicas are offline, as Kafka shows one: clients keep its partitions and ask again.

    Without its partitions a leader that subscribes by pattern would take the topic for deleted and join again.
    """
    return {
        "error_code": ErrorCode.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": False,
        "partitions": [
            {
                "error_code": ErrorCode.LEADER_NOT_AVAILABLE,
                "partition_index": partition,
                "leader_id": _NOBODY,
                "leader_epoch": -1,
                "replica_nodes": (),
                "isr_nodes": (),
                "offline_replicas": (),
            }
            for partition in range(topic.partition_count)
        ],
        "topic_authorized_operations": _NOT_ASKED_FOR,
    }


def _unknown(name: str | None, topic_id: TopicId) -> Fields:
    """It may well exist: both errors are ones after which a client asks again."""
    return {
        "error_code": ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.LEADER_NOT_AVAILABLE,
        "name": name,
        "topic_id": topic_id if name is None else NO_TOPIC_ID,
        "is_internal": False,
        "partitions": (),
        "topic_authorized_operations": _NOT_ASKED_FOR,
    }
