"""What passes is read from its bytes, only as far as somebody cares, and never held back by what can't be read."""

import gc
import struct
import sys
from dataclasses import replace
from types import FrameType

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

from bridge.session import contracts
from bridge.session.contracts import Hear, PassingRequest
from bridge.telemetry.observing import Guard
from bridge.telemetry.passing import ObservedPassing
from bridge.telemetry.schema.facts import CommitPassed, CoordinatorMoved, PartitionsAssigned
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import Request, encode_reply, encode_request
from bridge.wire.frames import RequestHeader, read_request_header
from tests.support.heard import Ears
from tests.support.oracle_frames import request_bytes
from tests.support.owned_group import CLIENT, GROUP
from tests.support.passing_words import TOPIC_ID, beat, beaten, join, joined, report, reported, sync, synced
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, RequestRef, Topic, TopicName
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import (
    CommittedPartition,
    CommittedTopic,
    OffsetCommit,
    OffsetCommitReply,
    PartitionCommit,
    TopicCommit,
)

CALLS_MAX = 9
VERSIONS = {
    ApiKey.JOIN_GROUP: 7,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.HEARTBEAT: 4,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 1,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.OFFSET_COMMIT: 8,
}


class Listener:
    def __init__(self) -> None:
        self.ears = Ears()
        self.guard = Guard()
        self.looks = 0
        self.passing = ObservedPassing(self.ears.follower, self.guard, self.ears.topics, lambda: 7, self._look)

    def _look(self) -> None:
        self.looks += 1

    def hear(
        self, api_key: ApiKey, request: GroupRequest, correlation_id: int = 1, broker_id: int | None = None
    ) -> Hear | None:
        frame = encode_request(api_key, VERSIONS[api_key], correlation_id, CLIENT.client_id, request)
        return self.passing.overhear(
            RequestRef(0, 1, correlation_id), PassingRequest(_header(frame), frame, (GROUP,)), CLIENT, broker_id
        )

    def pass_by(self, api_key: ApiKey, request: GroupRequest, reply: GroupReply, correlation_id: int = 1) -> None:
        hear = self.hear(api_key, request, correlation_id)
        assert hear is not None
        hear(encode_reply(api_key, VERSIONS[api_key], correlation_id, reply))


def _header(frame: bytes) -> RequestHeader:
    header = read_request_header(frame, 1_000_000)
    assert header is not None
    return header


def _joined() -> Listener:
    listener = Listener()
    listener.pass_by(ApiKey.JOIN_GROUP, join("a"), joined("a", 1, leader="a", members=("a",)))
    listener.pass_by(ApiKey.SYNC_GROUP, sync("a", 1, {"a": (0,)}), synced(0))
    return listener


def test_requests_and_answers_are_followed_from_their_bytes() -> None:
    """From the frame of the request to the facts."""
    listener = _joined()
    assert listener.guard.bugs == 0
    assert listener.ears.log.lines()[-2:] == ["rebalance-ended completed", "rebalance-explained"]


def test_heartbeat_like_the_last_one_is_not_even_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary heartbeat differs in its correlation id and nothing else."""
    listener = _joined()
    listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 1)
    monkeypatch.setattr(contracts, "decode_request", None)
    for number in range(5):
        listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), number)
    assert listener.guard.bugs == 0
    listener.passing.disconnected(1)
    listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 100)
    assert listener.guard.bugs == 1


def test_long_heartbeats_are_not_kept() -> None:
    """A stranger may send one of a megabyte on each connection; the ordinary one behind it is read again."""
    listener = _joined()
    for member_id in ("a", "m" * 30_000, "a"):
        listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 1)
        listener.pass_by(ApiKey.HEARTBEAT, beat(member_id, 1), beaten(), 1)
        assert sum(len(part) for one in listener.passing._beats.values() for part in one) < 1_000
    assert listener.guard.bugs == 0


def test_heartbeat_like_the_last_one_takes_few_calls() -> None:
    """Every heartbeat that passes costs this: functions of Python, those that make its values included."""
    listener = _joined()
    listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 1)
    frame = encode_request(ApiKey.HEARTBEAT, 4, 2, CLIENT.client_id, beat("a", 1))
    answer, header, ref = encode_reply(ApiKey.HEARTBEAT, 4, 2, beaten()), _header(frame), RequestRef(0, 1, 2)
    called: list[str] = []

    def note(caller: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.append(caller.f_code.co_qualname)

    gc.disable()  # What others left behind may have functions that are called when it goes.
    sys.setprofile(note)
    try:
        hear = listener.passing.overhear(ref, PassingRequest(header, frame, (GROUP,)), CLIENT, None)
        assert hear is not None
        hear(answer)
    finally:
        sys.setprofile(None)
        gc.enable()
    assert 0 < len(called) <= CALLS_MAX, called


def test_answer_after_its_connection_is_gone_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would ever throw it away."""
    listener = _joined()
    hear = listener.hear(ApiKey.HEARTBEAT, beat("a", 1))
    assert hear is not None
    listener.passing.disconnected(1)
    hear(encode_reply(ApiKey.HEARTBEAT, 4, 1, beaten()))
    monkeypatch.setattr(contracts, "decode_request", None)
    listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 1)
    assert listener.guard.bugs == 1


def test_heartbeat_like_the_last_one_is_a_sign_of_life_all_the_same() -> None:
    """So is any Fetch of its client: a frozen process is known by their absence."""
    listener = _joined()
    heard = listener.ears.follower.writer.last_heard
    listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 1)
    heard.spoke(1, 0)
    assert not listener.passing.awaits_fetch(replace(CLIENT, client_id="nobody"))
    inputs = next(iter(listener.ears.follower.groups.values())).members[MemberId("a")].inputs
    assert heard.fetched_us(inputs) is None
    listener.pass_by(ApiKey.HEARTBEAT, beat("a", 1), beaten(), 2)
    listener.passing.awaits_fetch(CLIENT)
    assert (heard.spoke_us(1), heard.fetched_us(inputs)) == (7, 7)


def test_other_group_requests_are_relayed_unread() -> None:
    """Admins' views have no place in the log."""
    listener = Listener()
    frame = b"\x00" * 40
    header = _header(request_bytes(FetchRequest(version=4, topics=[])))
    assert listener.passing.overhear(RequestRef(0, 1, 1), PassingRequest(header, frame), CLIENT, None) is None


def test_what_cannot_be_read_is_counted_and_relayed() -> None:
    """The broker is to judge it, not the log."""
    listener = Listener()
    frame = encode_request(ApiKey.JOIN_GROUP, 7, 1, "c", join("a"))
    cut = frame[:-9]
    cut = struct.pack(">i", len(cut) - 4) + cut[4:]
    assert listener.passing.overhear(RequestRef(0, 1, 1), PassingRequest(_header(cut), cut), CLIENT, None) is None
    hear = listener.hear(ApiKey.JOIN_GROUP, join("a"))
    assert hear is not None
    hear(b"\x00\x00\x00\x04\x00\x00\x00\x01")
    assert (listener.passing.unread, listener.guard.bugs) == (2, 0)


def test_heartbeats_wait_for_the_names_of_topics() -> None:
    """KIP-848 names topics by id; whoever knows the names is asked first, and nothing changes its order or time."""
    listener = Listener()
    api = ApiKey.CONSUMER_GROUP_HEARTBEAT
    listener.pass_by(api, report("a", 0), reported(1, (0,)), 1)
    listener.pass_by(api, report("b", 0), reported(2, ()), 2)
    assert (listener.ears.log.lines(), listener.looks) == ([], 2)
    listener.ears.topics.change([Topic(TOPIC_ID, TopicName("t"), 1)], ())
    listener.passing.learned()
    (assigned,) = listener.ears.log.of(PartitionsAssigned)
    assert isinstance(assigned, PartitionsAssigned)
    assert (assigned.member_id, assigned.partitions) == ("a", ("t-0",))
    assert listener.ears.log.lines("b")[0] == "member-joined"


def test_fetch_is_read_while_its_client_is_waited_for() -> None:
    """And not a moment longer."""
    listener = _joined()
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(version=4, partition=0, fetch_offset=0, partition_max_bytes=1)
    frame = request_bytes(FetchRequest(version=4, topics=[topic(version=4, topic="t", partitions=[partition])]))
    assert listener.passing.awaits_fetch(CLIENT)
    listener.passing.fetched(_header(frame), frame, CLIENT)
    assert listener.ears.log.lines()[-2:] == ["partitions-fetched t-0", "ends fetching"]
    assert not listener.passing.awaits_fetch(CLIENT)


def test_other_broker_that_answers_for_a_group_is_its_coordinator_now() -> None:
    """Not one that says that it is not, or not yet."""
    listener = _joined()
    answers = [(1, ErrorCode.NONE), (2, ErrorCode.NOT_COORDINATOR), (1, ErrorCode.NONE), (2, ErrorCode.NONE)]
    for number, (broker_id, error) in enumerate(answers):
        hear = listener.hear(ApiKey.HEARTBEAT, beat("a", 1), number, broker_id)
        assert hear is not None
        listener.passing.disconnected(1)
        hear(encode_reply(ApiKey.HEARTBEAT, 4, number, beaten(error)))
    moved = [fact.broker for fact in listener.ears.log.of(CoordinatorMoved) if isinstance(fact, CoordinatorMoved)]
    assert moved == ["2"]


@pytest.mark.parametrize(("partitions", "read"), [(10, [0, 1, 2]), (10_000, [0])])
def test_large_commits_are_read_while_one_is_waited_for(
    partitions: int, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To read 24,000 partitions takes a tenth of a second, every time that their consumer commits."""
    listener, seen, reads = _joined(), list[int](), PassingRequest.read
    items = tuple(PartitionCommit(partition=number, offset=7) for number in range(partitions))
    commit = OffsetCommit(
        group_id=GROUP,
        generation=1,
        member_id=MemberId("a"),
        instance_id=None,
        topics=(TopicCommit(name=TopicName("t"), partitions=items),),
    )
    done = tuple(CommittedPartition(number, ErrorCode.NONE) for number in range(partitions))
    reply = OffsetCommitReply(topics=(CommittedTopic(name=TopicName("t"), partitions=done),))

    def note(request: PassingRequest) -> Request:
        seen.append(request.header.correlation_id)
        return reads(request)

    monkeypatch.setattr(PassingRequest, "read", note)
    heard = listener.ears.follower.writer.last_heard
    for number in range(3):
        heard.spoke(1, 0)
        hear = listener.hear(ApiKey.OFFSET_COMMIT, commit, number)
        assert heard.spoke_us(1) == 7, "a sign of life, read or not"
        if hear is not None:
            hear(encode_reply(ApiKey.OFFSET_COMMIT, 8, number, reply))
    assert seen == read
    assert len(listener.ears.log.of(CommitPassed)) == 1
