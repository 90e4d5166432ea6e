"""What is decided about each request of a connection."""

import sys
from dataclasses import replace
from types import FrameType

import pytest

from bridge.migration.route import Road, Router, Rule
from bridge.session.broker_addresses import Address
from bridge.session.client_session import (
    Answered,
    ClientSession,
    Decision,
    LoggingIn,
    NameTaken,
    Offered,
    Relayed,
    Rewritten,
    Rules,
    Submitted,
)
from bridge.session.close_reasons import CloseReason
from bridge.session.contracts import Hear, PassingRequest
from bridge.session.group_requests import KnownGroups, Unplaced
from bridge.session.limits import KEPT_PARTITION_BYTES, READ_ELEMENT_BYTES, Limits
from bridge.session.old_commits import OldCommits
from bridge.session.remembered_answers import Remembered
from bridge.session.requests import Head, Rejected
from bridge.wire.api_versions import ApiVersionsAnswer, read_api_versions
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import decode_reply, encode_reply, encode_request
from bridge.wire.frames import RequestHeader, read_request_header, response_frame
from bridge.wire.group_names import refuse_other_kind
from bridge.wire.packing import INT32
from bridge.wire.sasl import Credentials, Mechanism, authenticate_request, plain_token
from bridge.wire.versions import KNOWN, VersionRange, offer
from tests.support.embedded_world import join_request
from tests.support.proxy import SeenGroups
from tests.support.scripted_broker import request
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, JoinGroupReply, Protocol
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberId, RequestRef, TopicName
from translators.dialects.offsets import OffsetCommit, PartitionCommit, TopicCommit

OURS, THEIRS, MEMBER = GroupId("embedded-x"), GroupId("other"), MemberId("m")
RULES = Rules(
    limits=Limits(inflight_requests_max=3, inflight_bytes_max=10), router=Router([Rule("embedded-*", Road.EMBEDDED)])
)
FIND_COORDINATOR = request(ApiKey.FIND_COORDINATOR, 0, 1, b"\x00\x01g")
OLD_BROKER = {key: versions for key, versions in KNOWN.items() if key < ApiKey.CONSUMER_GROUP_HEARTBEAT}


def offered(rewrites: bool = False) -> Offered:
    """What clients of a broker without KIP-848 are offered."""
    table = offer(OLD_BROKER, rewrites_node_endpoints=rewrites, has_embedded_rule=True)
    return Offered(broker=OLD_BROKER, answer=ApiVersionsAnswer(versions=table))


def session(passing: SeenGroups | None = None) -> ClientSession:
    """A fresh session."""
    return ClientSession(RULES, 1, "10.0.0.9", passing or SeenGroups())


def decide(one: ClientSession, frame: bytes, *, rewrites: bool = False) -> Decision:
    """Cut a whole frame and decide on it."""
    head = one.requests.cut(memoryview(frame), 0)
    assert isinstance(head, Head)
    one.requests.pass_on(head.left)
    return one.decide(head, offered(rewrites))


def header_of(frame: bytes) -> RequestHeader:
    """The header of a whole request."""
    header = read_request_header(frame)
    assert header is not None
    return header


def beat(group_id: GroupId) -> bytes:
    """A heartbeat frame."""
    return encode_request(ApiKey.HEARTBEAT, 4, 7, "client", Heartbeat(group_id, 1, MEMBER, None))


def test_data_path_is_relayed_and_addresses_are_rewritten() -> None:
    """Fetch and Produce stream; Metadata, FindCoordinator and DescribeCluster are held for their addresses."""
    one = session()
    assert isinstance(decide(one, request(ApiKey.FETCH, 15, 1)), Relayed)
    assert decide(one, request(ApiKey.PRODUCE, 7, 2, b"\xff\xff\x00\x00")) == Relayed(None)
    assert isinstance(decide(one, request(ApiKey.PRODUCE, 7, 2, b"\xff\xff\x00\x01")), Relayed)
    for key in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER):
        assert isinstance(decide(one, request(key, 1, 3)), Rewritten)
    assert len(one.outbox) == 5


@pytest.mark.parametrize(
    ("frame", "calls_max"),
    [(beat(OURS), 27), (beat(THEIRS), 27), (request(ApiKey.FETCH, 12, 1), 27)],
    ids=["embedded heartbeat", "passing heartbeat", "fetch"],
)
def test_ordinary_request_takes_few_calls(frame: bytes, calls_max: int) -> None:
    """What every request costs everybody: functions of the bridge from its bytes to its answer's place."""
    one, known, view = session(), offered(), memoryview(frame)
    called: list[str] = []

    def note(caller: FrameType, event: str, _: object) -> None:
        if event == "call" and "/bridge/" in caller.f_code.co_filename and "/tests/" not in caller.f_code.co_filename:
            called.append(caller.f_code.co_qualname)

    for _ in range(2):
        called.clear()
        sys.setprofile(note)
        try:
            head = one.requests.cut(view, 0)
            assert isinstance(head, Head)
            one.decide(head, known)
        finally:
            sys.setprofile(None)
    assert 0 < len(called) <= calls_max, called


def test_versions_with_node_endpoints_are_rewritten_only_when_offered() -> None:
    """KIP-951: Fetch 16 is not offered by default, and held for its addresses when it is."""
    fetch = request(ApiKey.FETCH, 16, 1, bytes(20))
    refused = decide(session(), fetch)
    assert isinstance(refused, Rejected)
    assert refused.reason is CloseReason.UNSUPPORTED_VERSION
    assert isinstance(decide(session(), fetch, rewrites=True), Rewritten)


def test_answers_that_are_held_are_asked_for_no_larger_than_they_may_be() -> None:
    """Java asks for 50 MiB, of which 32 are held by default: the connection would be closed again and again."""
    most = RULES.limits.rewritten_answer_bytes_max // 4 * 3
    start, end = bytes(8), bytes(9)
    for asked, sent in ((most, None), (most + 1, most), (-1, most)):
        frame = request(ApiKey.FETCH, 16, 1, start + INT32.pack(asked) + end)
        decision = decide(session(), frame, rewrites=True)
        assert isinstance(decision, Rewritten)
        assert decision.data == (None if sent is None else request(ApiKey.FETCH, 16, 1, start + INT32.pack(sent) + end))


def test_group_requests_go_by_their_road() -> None:
    """Road pass is relayed and observed, road embedded submitted."""
    passing = SeenGroups()
    one = session(passing)
    assert isinstance(decide(one, beat(THEIRS)), Relayed)
    assert passing.seen == {(ApiKey.HEARTBEAT, THEIRS)}
    submitted = decide(one, beat(OURS))
    assert isinstance(submitted, Submitted)
    assert submitted.request == Heartbeat(OURS, 1, MEMBER, None)
    assert not one.outbox.holds_upstream


def test_consumer_heartbeat_of_a_pass_group_on_an_old_broker_is_refused_in_its_own_words() -> None:
    """68 is offered for embedded groups; a pass group gets UNSUPPORTED_VERSION, not an end (decision 18)."""
    message = ConsumerGroupHeartbeat(group_id=THEIRS, member_id=MEMBER, member_epoch=0)
    one = session()
    frame = encode_request(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 7, "client", message)
    assert isinstance(decide(one, frame), Answered)
    (answer,) = one.outbox.take_ready()
    _, reply = decode_reply(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, answer[4:])
    assert getattr(reply, "error", None) is ErrorCode.UNSUPPORTED_VERSION


def test_api_versions_is_answered_here_and_introduces_the_client() -> None:
    """KIP-511: library and version are remembered for the views."""
    one = session()
    frame = request(ApiKey.API_VERSIONS, 3, 9, b"\x08my-test\x041.2\x00", client_id="me")
    assert isinstance(decide(one, frame), Answered)
    (answer,) = one.outbox.take_ready()
    assert read_api_versions(3, answer, 8).versions == offered().answer.versions
    assert one.identity == ClientIdentity(
        client_id="me", client_host="10.0.0.9", software_name="my-test", software_version="1.2"
    )


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (request(ApiKey.API_VERSIONS, 99, 9, b"whatever"), ErrorCode.UNSUPPORTED_VERSION),
        (request(ApiKey.API_VERSIONS, -1, 9, b""), ErrorCode.UNSUPPORTED_VERSION),
        (request(ApiKey.API_VERSIONS, -32768, 9, b"whatever"), ErrorCode.UNSUPPORTED_VERSION),
        (request(ApiKey.API_VERSIONS, 3, 9, b"\x03-x\x021\x00"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_api_versions_beyond_us_is_answered_with_an_error(frame: bytes, error: ErrorCode) -> None:
    """KIP-511: a version above ours gets the body of version 0 and our range; bad names get INVALID_REQUEST."""
    one = session()
    assert isinstance(decide(one, frame), Answered)
    (answer,) = one.outbox.take_ready()
    assert int.from_bytes(answer[8:10], "big") == error


def test_memory_stands_in_for_a_broker_that_was_not_heard_yet() -> None:
    """Only a whole request is answered from it; what it leaves to the broker waits for that one, in its place."""
    known = Remembered(addresses={1: Address("bridge", 9101)}, topics=tuple, is_ours=lambda _: True)
    recalled = replace(offered(), remembered=known)
    one = session()
    found = Head(header_of(FIND_COORDINATOR), FIND_COORDINATOR, 0)
    assert isinstance(one.decide(found, recalled), Answered)
    assert isinstance(one.decide(found._replace(left=1), recalled), Rewritten)
    assert isinstance(one.decide(found, offered()), Rewritten)
    assert isinstance(one.decide(found._replace(data=FIND_COORDINATOR[:-1]), recalled), Rejected)
    cluster = request(ApiKey.DESCRIBE_CLUSTER, 0, 1)
    assert isinstance(one.decide(Head(header_of(cluster), cluster, 0), recalled), Rewritten)


def test_sasl_is_relayed_and_remembered_in_its_raw_form_too() -> None:
    """SaslHandshake 0 is followed by tokens without frames, which become what version 1 has in their place."""
    one = session()
    assert isinstance(decide(one, request(ApiKey.SASL_HANDSHAKE, 1, 1)), LoggingIn)
    assert isinstance(decide(one, request(ApiKey.SASL_AUTHENTICATE, 2, 1)), LoggingIn)
    assert one.says_it_authenticates
    raw = session()
    assert isinstance(decide(raw, request(ApiKey.SASL_HANDSHAKE, 0, 1, b"\x00\x05PLAIN")), LoggingIn)
    assert isinstance(decide(raw, b"\x00\x00\x00\x05\x00me\x00x"), LoggingIn)
    assert raw.says_it_authenticates
    assert [(slot.api_key, slot.api_version) for slot in (raw.outbox.head,) if slot] == [(ApiKey.SASL_HANDSHAKE, 1)]


def test_reply_is_encoded_for_the_version_and_id_of_its_request() -> None:
    """The slot remembers what an answer frame must be, so replies have no versions."""
    one = session()
    submitted = decide(one, beat(OURS))
    assert isinstance(submitted, Submitted)
    assert decode_reply(ApiKey.HEARTBEAT, 4, one.encode(submitted.slot, HeartbeatReply(ErrorCode.NONE))[4:]) == (
        7,
        HeartbeatReply(ErrorCode.NONE),
    )
    joined = JoinGroupReply(error=ErrorCode.NONE, member_id=MEMBER, generation=1, protocol_name="range")
    slot = one.outbox.reserve(ApiKey.JOIN_GROUP, 5, 8)
    assert decode_reply(ApiKey.JOIN_GROUP, 5, one.encode(slot, joined)[4:]) == (8, joined)


def test_session_is_full_at_its_limits_and_quiet_when_nothing_is_due() -> None:
    """Requests and bytes of finished answers are both bounded."""
    one = session()
    assert one.is_quiet
    slots = [one.outbox.reserve(ApiKey.HEARTBEAT, 3, number) for number in range(3)]
    assert (one.is_full, one.is_quiet) == (True, False)
    for slot in reversed(slots):
        one.outbox.fill(slot, b"12345")
    assert one.bytes_held == 15
    one.outbox.take_ready()
    assert (one.is_full, one.is_quiet, one.bytes_held) == (False, True, 0)


def test_question_takes_the_client_s_version_or_the_highest_common_one() -> None:
    """Down-converted when the broker offers less; never asked when it has no version (decision 4)."""
    one = session()
    slot = one.outbox.reserve(ApiKey.OFFSET_COMMIT, 9, 1)
    low = Offered(broker={ApiKey.OFFSET_COMMIT: VersionRange(0, 8)}, answer=ApiVersionsAnswer())
    assert one.version_to_ask(slot, ApiKey.OFFSET_COMMIT, offered()) == 9
    assert one.version_to_ask(slot, ApiKey.OFFSET_COMMIT, low) == 8
    assert one.version_to_ask(None, ApiKey.OFFSET_COMMIT, offered()) == 10
    assert one.version_to_ask(slot, ApiKey.OFFSET_FETCH, low) is None


def test_question_is_never_older_than_what_can_be_written() -> None:
    """A commit of version 1, which names topics by name, is said again in 2, also where the broker speaks 1 and 10."""
    one = session()
    slot = one.outbox.reserve(ApiKey.OFFSET_COMMIT, 1, 1)
    assert one.version_to_ask(slot, ApiKey.OFFSET_COMMIT, offered()) == 2
    newer = Offered(broker={ApiKey.OFFSET_COMMIT: VersionRange(3, 10)}, answer=ApiVersionsAnswer())
    assert one.version_to_ask(slot, ApiKey.OFFSET_COMMIT, newer) == 10


@pytest.mark.parametrize(("group_id", "version", "is_old"), [(OURS, 1, True), (OURS, 2, False), (THEIRS, 1, False)])
def test_client_that_commits_in_a_version_before_the_first_is_remembered(
    group_id: GroupId, version: int, is_old: bool
) -> None:
    """Of a group that the bridge coordinates: what passes is between the client and its broker."""
    heard = OldCommits()
    one = ClientSession(replace(RULES, old_commits=heard), 1, "10.0.0.9", SeenGroups())
    # Version 2 has a retention in front of its topics, which none are named here.
    retention = b"\xff" * (8 if version == 2 else 0)
    named = len(group_id).to_bytes(2, "big") + group_id.encode()
    body = named + b"\x00\x00\x00\x01\x00\x01m" + retention + bytes(4)
    decide(one, request(ApiKey.OFFSET_COMMIT, version, 7, body, client_id="sarama"))
    assert heard.are_of("sarama", "10.0.0.9") is is_old


def test_answer_that_somebody_wants_to_see_is_held_and_shown() -> None:
    """Otherwise it streams, as without anybody listening."""
    passing = SeenGroups()
    assert isinstance(decide(session(passing), beat(THEIRS)), Relayed)
    passing.listens = True
    decision = decide(session(passing), beat(THEIRS))
    assert isinstance(decision, Rewritten)
    assert (decision.slot.streams, decision.hear) == (False, passing.answers.append)


class ReadGroups(SeenGroups):
    """Reads what passes, as whoever follows groups does, and has it until the answer is there."""

    def overhear(
        self, ref: RequestRef, request: PassingRequest, client: ClientIdentity, broker_id: int | None
    ) -> Hear | None:
        """Remember the answer, too."""
        read = request.read()
        if isinstance(read, JoinGroup):
            read.subscription(read.protocols[0])
        return self.answers.append


def commit(partitions: int) -> OffsetCommit:
    """A commit of a group that passes."""
    named = tuple(PartitionCommit(partition=number, offset=1) for number in range(partitions))
    topics = (TopicCommit(name=TopicName("t"), partitions=named),)
    return OffsetCommit(group_id=THEIRS, generation=1, member_id=MEMBER, instance_id=None, topics=topics)


def join(topics: int) -> JoinGroup:
    """A member of that group joins."""
    names = tuple(TopicName(f"topic-{number}") for number in range(topics))
    said = encode_subscription(Subscription(version=0, topics=names, owned=frozenset(), user_data=None))
    return replace(join_request(MEMBER), group_id=THEIRS, protocols=(Protocol("range", said),))


def written(asked: OffsetCommit | JoinGroup) -> bytes:
    """As its client sends it."""
    api_key = ApiKey.JOIN_GROUP if isinstance(asked, JoinGroup) else ApiKey.OFFSET_COMMIT
    return encode_request(api_key, 7, 7, "client", asked)


def test_request_that_passes_counts_as_long_as_it_is_kept() -> None:
    """Whoever asked what its client ended by has it: 60 kB each, and of a connection a thousand are on their way."""
    one, frame = session(), written(commit(1_000))
    assert isinstance(decide(one, frame), Relayed)
    assert one.bytes_held == len(frame)
    one.outbox.end_stream()
    assert one.bytes_held == 0
    decide(one, written(commit(1)))
    assert one.bytes_held == 0, "little is not counted"


@pytest.mark.parametrize(
    ("asked", "read_bytes"),
    [(commit(1_000), 1_000 * KEPT_PARTITION_BYTES), (join(500), 500 * READ_ELEMENT_BYTES)],
    ids=["commit", "join"],
)
def test_request_that_passes_counts_with_what_was_read_of_it(asked: OffsetCommit | JoinGroup, read_bytes: int) -> None:
    """Where groups are followed it is there, decoded, until the broker has answered."""
    one, frame = session(ReadGroups()), written(asked)
    decision = decide(one, frame)
    assert isinstance(decision, Rewritten)
    assert one.bytes_held >= len(frame) + read_bytes
    one.outbox.fill(decision.slot, b"")
    assert one.bytes_held == 0


def test_fetch_is_shown_while_somebody_waits_for_it() -> None:
    """It is relayed all the same."""
    passing = SeenGroups()
    frame = request(ApiKey.FETCH, 11, 1, bytes(50))
    assert isinstance(decide(session(passing), frame), Relayed)
    passing.listens = True
    assert isinstance(decide(session(passing), frame), Relayed)
    assert passing.fetches == [frame]


def test_settings_that_are_too_large_to_be_looked_at_pass_with_a_word() -> None:
    """Where the bridge has groups: what such a request says of them would be lost without one."""
    frame = request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, 1, bytes(RULES.limits.group_frame_bytes_max))
    for rules, told in ((RULES, [ApiKey.INCREMENTAL_ALTER_CONFIGS]), (replace(RULES, router=Router([])), [])):
        passing = SeenGroups()
        one = ClientSession(rules, 1, "10.0.0.9", passing)
        assert isinstance(decide(one, frame[:200]), Relayed)
        assert passing.not_looked_at == told


@pytest.mark.parametrize("api_key", [ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT])
def test_heartbeat_of_another_kind_passes_unless_the_bridge_has_a_group_of_that_name(api_key: ApiKey) -> None:
    """One name is one group: Kafka refuses the second kind, and the broker knows nothing of our groups."""
    held: set[GroupId] = set()
    one = ClientSession(replace(RULES, known_groups=KnownGroups(holds=held.__contains__)), 1, "10.0.0.9", SeenGroups())
    answer = ApiVersionsAnswer(versions=offer(KNOWN, rewrites_node_endpoints=False, has_embedded_rule=True))
    frame = request(api_key, KNOWN[api_key].highest, 7, b"\x0bembedded-x" + bytes(9))

    def decided(data: bytes) -> Decision:
        head = one.requests.cut(memoryview(data), 0)
        assert isinstance(head, Head)
        one.requests.pass_on(head.left)
        return one.decide(head, Offered(broker=dict(KNOWN), answer=answer))

    assert isinstance(decided(frame), Rewritten)
    held.add(OURS)
    assert isinstance(decided(frame), NameTaken)
    assert isinstance(decided(frame.replace(b"embedded-x", b"embedded-y")), Rewritten)
    assert isinstance(decided(frame.replace(b"embedded-x", b"elsewhere!")), Relayed)
    assert isinstance(decided(request(api_key, KNOWN[api_key].highest, 7, b"\x7fshort")), Rejected)
    huge = request(api_key, KNOWN[api_key].highest, 7, b"\x0bembedded-x" + bytes(RULES.limits.group_frame_bytes_max))
    assert isinstance(decided(huge[:200]), Relayed)


@pytest.mark.parametrize("version", [3, 5])
def test_member_that_nobody_can_translate_is_known_by_the_id_it_is_given(version: int) -> None:
    """Before version 4 a broker gives it with the answer, later it tells it first; then all that it sends passes."""
    router, passing = Router([Rule("other", Road.UPSTREAM)]), SeenGroups()
    one = ClientSession(Rules(limits=Limits(), router=router), 1, "10.0.0.9", passing)
    worker = replace(join_request(""), group_id=THEIRS, protocols=(Protocol("acme", b""),))
    decision = decide(one, encode_request(ApiKey.JOIN_GROUP, version, 7, "client", worker))
    assert isinstance(decision, Rewritten)
    assert decision.hear is not None
    code = ErrorCode.NONE if version == 3 else ErrorCode.MEMBER_ID_REQUIRED
    decision.hear(encode_reply(ApiKey.JOIN_GROUP, version, 7, JoinGroupReply(error=code, member_id=MEMBER)))
    assert router.road(THEIRS, MEMBER) is Road.PASS
    assert passing.untranslated_joins == {THEIRS: 1}
    again = replace(worker, member_id=MEMBER)
    assert isinstance(decide(one, encode_request(ApiKey.JOIN_GROUP, version, 8, "client", again)), Relayed)
    refused = decide(one, encode_request(ApiKey.JOIN_GROUP, version, 9, "client", worker))
    assert isinstance(refused, Rewritten)
    assert refused.hear is not None
    refused.hear(encode_reply(ApiKey.JOIN_GROUP, version, 9, JoinGroupReply(error=code, member_id=MemberId(""))))
    refused.hear(b"\x00\x00\x00\x04\x00\x00\x00\x09")
    assert router.road(THEIRS, MemberId("")) is Road.UPSTREAM


@pytest.mark.parametrize(
    ("code", "road"),
    [
        (ErrorCode.NONE, Road.PASS),
        (ErrorCode.REBALANCE_IN_PROGRESS, Road.PASS),
        (ErrorCode.UNKNOWN_MEMBER_ID, Road.UPSTREAM),
        (ErrorCode.FENCED_INSTANCE_ID, Road.UPSTREAM),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Road.UPSTREAM),
        (ErrorCode.NOT_COORDINATOR, Road.UPSTREAM),
    ],
)
def test_id_that_nobody_has_makes_no_room_for_itself_among_those_that_pass(code: ErrorCode, road: Road) -> None:
    """It passes until its broker has answered, which says back the id that was claimed; whoever made up 20,000 put all
    others out of what is remembered, and each of those was told to join again.
    """
    router, claimed = Router([Rule("other", Road.UPSTREAM)]), MemberId("claimed")
    one = ClientSession(Rules(limits=Limits(), router=router), 1, "10.0.0.9", SeenGroups())
    claim = replace(join_request(""), group_id=THEIRS, protocols=(Protocol("acme", b""),), member_id=claimed)
    for correlation_id in (7, 8):
        router.return_member(THEIRS, claimed)
        decision = decide(one, encode_request(ApiKey.JOIN_GROUP, 5, correlation_id, "client", claim))
        assert isinstance(decision, Rewritten)
        assert decision.hear is not None
        assert router.road(THEIRS, claimed) is Road.PASS
        reply = JoinGroupReply(error=code, member_id=claimed)
        decision.hear(encode_reply(ApiKey.JOIN_GROUP, 5, correlation_id, reply))
        assert router.road(THEIRS, claimed) is road


def test_group_whose_name_somebody_claims_in_vain_stays_what_it_is() -> None:
    """A member id that nobody has is refused, and said back."""
    reported: list[tuple[GroupId, str]] = []
    rules = replace(RULES, report_kind=lambda *found: reported.append(found))
    one = ClientSession(rules, 1, "10.0.0.9", SeenGroups())
    worker = replace(join_request(""), group_id=OURS, protocol_type="connect", member_id=MEMBER)
    decision = decide(one, encode_request(ApiKey.JOIN_GROUP, 5, 7, "client", worker))
    assert isinstance(decision, Rewritten)
    assert decision.hear is not None
    for code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE):
        assert reported == []
        decision.hear(encode_reply(ApiKey.JOIN_GROUP, 5, 7, JoinGroupReply(error=code, member_id=MEMBER)))
    assert reported == [(OURS, "connect")]


@pytest.mark.parametrize(
    ("api_key", "kind"), [(ApiKey.SHARE_GROUP_HEARTBEAT, "share"), (ApiKey.STREAMS_GROUP_HEARTBEAT, "streams")]
)
def test_group_is_of_another_kind_once_the_broker_lets_somebody_in(api_key: ApiKey, kind: str) -> None:
    """Not before: who has no right to a group must not close its name to its rule."""
    reported: list[tuple[GroupId, str]] = []
    rules = replace(RULES, report_kind=lambda *found: reported.append(found))
    one = ClientSession(rules, 1, "10.0.0.9", SeenGroups())
    version = KNOWN[api_key].highest
    head = one.requests.cut(memoryview(request(api_key, version, 7, b"\x0bembedded-x\x02m" + bytes(20))), 0)
    assert isinstance(head, Head)
    answer = ApiVersionsAnswer(versions=offer(KNOWN, rewrites_node_endpoints=False, has_embedded_rule=True))
    decision = one.decide(head, Offered(broker=dict(KNOWN), answer=answer))
    assert isinstance(decision, Rewritten)
    assert decision.hear is not None
    decision.hear(refuse_other_kind(RequestHeader(0, api_key, version, 7, None, 0), OURS))
    decision.hear(b"\x00\x00\x00\x04\x00\x00\x00\x07")
    assert reported == []
    decision.hear(response_frame(api_key, version, 7, bytes(20)))
    assert reported == [(OURS, kind)]


@pytest.mark.parametrize(
    ("api_key", "body"),
    [
        (ApiKey.ALTER_SHARE_GROUP_OFFSETS, b"\x0bembedded-x\x01\x00"),
        (ApiKey.SHARE_GROUP_HEARTBEAT, b"\x0bembedded-x\x02m" + bytes(20)),
        (ApiKey.STREAMS_GROUP_HEARTBEAT, b"\x0bembedded-x\x02m" + bytes(20)),
    ],
)
def test_name_that_the_bridge_has_is_taken_for_every_other_kind(api_key: ApiKey, body: bytes) -> None:
    """The broker, which knows of no such group, would make one, and refuse every commit from then on; elsewhere they
    pass, and those that set offsets tell nothing of the group: of topics that are not there it makes none.

    What somebody is told waits for what he may: of 69 and 30 clients die, and an admin goes on.
    """
    version = KNOWN[api_key].highest
    frame = request(api_key, version, 7, body)
    offers = offer(KNOWN, rewrites_node_endpoints=False, has_embedded_rule=True)
    offered_now = Offered(broker=dict(KNOWN), answer=ApiVersionsAnswer(versions=offers))
    header = RequestHeader(0, api_key, version, 7, None, 0)

    def decided(known: KnownGroups) -> tuple[ClientSession, Decision]:
        one = ClientSession(replace(RULES, known_groups=known), 1, "10.0.0.9", SeenGroups())
        head = one.requests.cut(memoryview(frame), 0)
        assert isinstance(head, Head)
        return one, one.decide(head, offered_now)

    for code, is_end in (
        (ErrorCode.GROUP_ID_NOT_FOUND, True),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, True),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, False),
    ):
        one, taken = decided(KnownGroups(holds=lambda _: True))
        assert isinstance(taken, NameTaken)
        assert not taken.slot.answer
        ended = one.refuse_name(taken, code)
        assert taken.slot.answer == refuse_other_kind(header, OURS, code)
        assert (ended is not None) == (is_end and api_key != ApiKey.ALTER_SHARE_GROUP_OFFSETS)
    passing = Relayed if api_key == ApiKey.ALTER_SHARE_GROUP_OFFSETS else Rewritten
    assert isinstance(decided(KnownGroups())[1], passing)


def test_group_of_another_protocol_type_is_known_once_the_broker_lets_somebody_in() -> None:
    """Connect's workers."""
    reported: list[tuple[GroupId, str]] = []
    rules = replace(RULES, report_kind=lambda *found: reported.append(found))
    one = ClientSession(rules, 1, "10.0.0.9", SeenGroups())
    worker = replace(join_request(""), group_id=OURS, protocol_type="connect")
    decision = decide(one, encode_request(ApiKey.JOIN_GROUP, 5, 7, "client", worker))
    assert isinstance(decision, Rewritten)
    assert decision.hear is not None
    denied = JoinGroupReply(error=ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=MemberId(""))
    decision.hear(encode_reply(ApiKey.JOIN_GROUP, 5, 7, denied))
    assert reported == []
    named = JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED, member_id=MEMBER)
    decision.hear(encode_reply(ApiKey.JOIN_GROUP, 5, 7, named))
    assert reported == [(OURS, "connect")]


def test_request_of_a_group_that_is_to_be_looked_up_takes_no_place_before() -> None:
    """And is decided on again once it is known where its group lives, or refused if that can't be known."""
    rules = replace(RULES, known_groups=KnownGroups(is_known=lambda _: False))
    one = ClientSession(rules, 1, "10.0.0.9", SeenGroups())
    frame = encode_request(ApiKey.JOIN_GROUP, 5, 7, "client", replace(join_request("a"), group_id=OURS))
    assert decide(one, frame) == Unplaced((OURS,))
    assert len(one.outbox) == 0
    head = Head(header_of(frame), frame, 0)
    assert isinstance(one.decide(head, offered(), one.read_placed(head)), Submitted)
    refused = one.refuse(head, one.refusal(head, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert isinstance(refused, Answered)
    assert refused.slot.answer is not None
    _, reply = decode_reply(ApiKey.JOIN_GROUP, 5, memoryview(refused.slot.answer)[4:])
    assert isinstance(reply, JoinGroupReply)
    assert reply.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(("name", "road"), [("alice", Road.EMBEDDED), ("bob", Road.PASS)])
def test_login_decides_where_a_group_begins(name: str, road: Road) -> None:
    """Where a rule asks for the principal; a token that can't be read tells none."""
    router = Router((Rule("*", Road.EMBEDDED, principal="alice"),))
    one = ClientSession(replace(RULES, router=router), 1, "10.0.0.9", SeenGroups())
    credentials = Credentials(mechanism=Mechanism.PLAIN, username=name, password="word")
    decide(one, authenticate_request(plain_token(credentials), "me"))
    decide(one, authenticate_request(b"", "me")[:-2])
    join = encode_request(ApiKey.JOIN_GROUP, 5, 5, "client", join_request("a"))
    group_id = join_request("a").group_id
    assert decide(one, join) == Unplaced((group_id,), is_unclaimed=True), "whether he may READ it is not known yet"
    assert router.may_claim(group_id)
    one.claim(Head(header_of(join), join, 0))
    assert isinstance(decide(one, join), Submitted if road is Road.EMBEDDED else Relayed)
    assert router.road(group_id) is road
