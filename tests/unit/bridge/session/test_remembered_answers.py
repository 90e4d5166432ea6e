"""What stands in for a broker that has not been heard yet."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from bridge.session.broker_addresses import Address
from bridge.session.remembered_answers import PARTITIONS_MAX, Remembered
from bridge.wire.apis import ApiKey
from bridge.wire.codec.api import Fields, Record
from bridge.wire.codec.registry import READABLE, read_reply_fields, whole_request_frame
from bridge.wire.errors import MalformedFrame, TooManyElements
from bridge.wire.frames import LENGTH_BYTES, read_request_header
from tests.support.work_done import growth_faults
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, Topic, TopicId, TopicName

OURS, THEIRS = GroupId("embedded"), GroupId("other")
SMALL = Topic(TopicId(b"s" * 16), TopicName("small"), 2)
BIG = Topic(TopicId(b"b" * 16), TopicName("big"), PARTITIONS_MAX)
UNKNOWN_ID = b"u" * 16
ADDRESSES = {7: Address("bridge", 9107), 3: Address("bridge", 9103)}
LEADER_NOT_AVAILABLE = ErrorCode.LEADER_NOT_AVAILABLE


def remembered(*topics: Topic) -> Remembered:
    """Two brokers and these topics."""
    return Remembered(addresses=ADDRESSES, topics=lambda: topics, is_ours=lambda group_id: group_id == OURS)


def frame_of(api_key: int, version: int, fields: Fields) -> bytes:
    """One whole request."""
    return whole_request_frame(api_key, version, 5, "client", fields)


def ask(known: Remembered, api_key: int, version: int, fields: Fields) -> Record | None:
    """The answer to one request, read again."""
    frame = frame_of(api_key, version, fields)
    header = read_request_header(frame)
    assert header is not None
    answer = known.answer(header, frame, 100)
    if answer is None:
        return None
    assert int.from_bytes(answer[:LENGTH_BYTES]) == len(answer) - LENGTH_BYTES
    correlation_id, reply = read_reply_fields(api_key, version, answer[LENGTH_BYTES:])
    assert correlation_id == 5
    return reply


def look_up(version: int, key: str, key_type: int = 0) -> tuple[int, int, str, int]:
    """Error, node, host and port of one coordinator."""
    fields: Fields = {"key": key, "key_type": key_type, "coordinator_keys": [key]}
    reply = ask(remembered(), ApiKey.FIND_COORDINATOR, version, fields)
    assert reply is not None
    (found,) = reply.records("coordinators") if version >= 4 else (reply,)
    return found.number("error_code"), found.number("node_id"), found.text("host"), found.number("port")


@pytest.mark.parametrize("version", range(READABLE[ApiKey.FIND_COORDINATOR][1] + 1))
def test_coordinator_of_our_groups_is_ours_and_of_others_not_there(version: int) -> None:
    """In every version; a transactional id is nobody's group, whatever it is called."""
    assert look_up(version, OURS) == (ErrorCode.NONE, 3, "bridge", 9103)
    absent = (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, "", -1)
    assert look_up(version, THEIRS) == absent
    if version >= 1:
        assert look_up(version, OURS, 1) == absent


def test_many_keys_are_answered_each() -> None:
    """In the order of the request."""
    fields: Fields = {"key_type": 0, "coordinator_keys": [THEIRS, OURS, OURS]}
    reply = ask(remembered(), ApiKey.FIND_COORDINATOR, 4, fields)
    assert reply is not None
    assert [found.text("key") for found in reply.records("coordinators")] == [THEIRS, OURS, OURS]


def metadata(known: Remembered, version: int, topics: list[Fields] | None) -> Record | None:
    """The answer to one Metadata request."""
    flags = (
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )
    return ask(known, ApiKey.METADATA, version, {"topics": topics, **dict.fromkeys(flags, False)})


def named(topic: Topic) -> Fields:
    """A topic as a request names it."""
    return {"name": topic.name, "topic_id": NO_TOPIC_ID}


@pytest.mark.parametrize("version", range(READABLE[ApiKey.METADATA][1] + 1))
def test_topics_keep_their_partitions_without_leaders(version: int) -> None:
    """All topics, whichever way a version asks for them, and our own addresses."""
    reply = metadata(remembered(SMALL), version, None if version else [])
    assert reply is not None
    brokers = [(one.number("node_id"), one.text("host"), one.number("port")) for one in reply.records("brokers")]
    assert brokers == [(3, "bridge", 9103), (7, "bridge", 9107)]
    (topic,) = reply.records("topics")
    assert (topic.number("error_code"), topic.text("name")) == (0, SMALL.name)
    partitions = topic.records("partitions")
    assert [one.number("partition_index") for one in partitions] == [0, 1]
    assert {(one.number("error_code"), one.number("leader_id")) for one in partitions} == {(LEADER_NOT_AVAILABLE, -1)}


def test_no_topics_are_no_topics() -> None:
    """From version 1 on an empty list asks for the brokers alone."""
    reply = metadata(remembered(SMALL), 1, [])
    assert reply is not None
    assert not reply.records("topics")


def test_unknown_topics_may_exist() -> None:
    """By name and by id: errors after which a client asks again; a known id has its name."""
    by_id: list[Fields] = [{"name": None, "topic_id": topic_id} for topic_id in (SMALL.topic_id, UNKNOWN_ID)]
    reply = metadata(remembered(SMALL), 12, [*by_id, named(BIG)])
    assert reply is not None
    known, unknown_id, unknown = reply.records("topics")
    assert known.text("name") == SMALL.name
    assert (unknown_id.number("error_code"), unknown_id.blob("topic_id")) == (ErrorCode.UNKNOWN_TOPIC_ID, UNKNOWN_ID)
    assert (unknown.number("error_code"), unknown.text("name")) == (LEADER_NOT_AVAILABLE, BIG.name)


def test_too_much_is_left_to_the_broker() -> None:
    """Nobody waits while a hundred thousand partitions are written; what is within the bound is answered."""
    known = remembered(SMALL, BIG)
    assert metadata(known, 8, None) is None
    assert metadata(known, 8, [named(SMALL), named(BIG)]) is None
    assert metadata(known, 8, [named(BIG)] * 2) is None
    assert metadata(known, 8, [named(BIG)]) is not None


def test_a_request_costs_what_it_names() -> None:
    """25,000 times the same topic took ten seconds, as all that came before was summed up for each, for everybody; of a
    client that nobody has let in, as there is no broker yet.
    """
    known = replace(remembered(SMALL), addresses=dict.fromkeys(range(200), ADDRESSES[3]))
    flags = (
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
    )

    def naming(api_key: int, version: int, fields: Fields) -> Callable[[], object]:
        frame = frame_of(api_key, version, fields)
        header = read_request_header(frame)
        assert header is not None
        return partial(known.answer, header, frame, 10_000)

    sizes = (100, 200, 400, 800)
    topics: list[Fields] = [{"topics": [named(SMALL)] * size, **dict.fromkeys(flags, False)} for size in sizes]
    keys: list[Fields] = [{"key_type": 0, "coordinator_keys": [OURS] * size} for size in sizes]
    assert not growth_faults([naming(ApiKey.METADATA, 8, fields) for fields in topics])
    assert not growth_faults([naming(ApiKey.FIND_COORDINATOR, 4, fields) for fields in keys])


def test_other_apis_and_a_cluster_without_listeners_are_left_to_the_broker() -> None:
    """DescribeCluster carries addresses, too, but nobody's heartbeat waits for it."""
    nowhere = Remembered(addresses={}, topics=tuple, is_ours=lambda _: True)
    assert metadata(nowhere, 8, None) is None
    fields: Fields = {
        "include_cluster_authorized_operations": False,
        "endpoint_type": 1,
        "include_fenced_brokers": False,
    }
    assert ask(remembered(), ApiKey.DESCRIBE_CLUSTER, 0, fields) is None


def test_bad_bytes_and_too_many_names_are_refused() -> None:
    """The caller ends the connection."""
    frame = frame_of(ApiKey.FIND_COORDINATOR, 0, {"key": OURS})
    header = read_request_header(frame)
    assert header is not None
    with pytest.raises(MalformedFrame):
        remembered().answer(header, frame + b"more", 100)
    with pytest.raises(TooManyElements):
        ask(remembered(), ApiKey.FIND_COORDINATOR, 4, {"key_type": 0, "coordinator_keys": [OURS] * 101})
