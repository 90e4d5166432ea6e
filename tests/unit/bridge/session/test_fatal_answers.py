"""Which answers end a client for good: every code of every api is in the table, with what to do about it."""

import pytest

from bridge.migration.route import Road, Router, Rule
from bridge.session.client_session import ClientSession, Offered, Relayed, Rewritten, Rules, Submitted
from bridge.session.fatal_answers import FIRST_BY_EPOCH, LIVED_THROUGH, REMEDIES, Ended, ending_in_frame, ends
from bridge.session.group_requests import ASKS_OF_MEMBERS
from bridge.session.limits import Limits
from bridge.session.requests import Head
from bridge.wire.api_versions import ApiVersionsAnswer
from bridge.wire.apis import ApiKey
from bridge.wire.codec.registry import SUPPORTED, Reply, Request, encode_reply, encode_request
from bridge.wire.frames import response_frame
from bridge.wire.group_names import is_of_other_kind, keeps_member
from bridge.wire.packing import INT16, INT32
from bridge.wire.versions import KNOWN, offer
from tests.support.embedded_world import commit_request, committed, join_request, native_join
from tests.support.owned_group import GROUP
from tests.support.proxy import SeenGroups
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS, ErrorCode
from translators.dialects.ids import MemberId
from translators.dialects.offsets import FetchedGroup, OffsetFetchReply

KILLERS = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
CLASSIC_APIS = (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT)
MEMBER = MemberId("m")
BEAT = Heartbeat(GROUP, 1, MEMBER, None)
SYNC = SyncGroup(group_id=GROUP, generation=1, member_id=MEMBER, instance_id=None)


def last_version(api_key: ApiKey) -> int:
    """The newest version that the bridge offers."""
    return KNOWN[api_key].highest


def test_every_api_by_which_members_live_is_in_the_table() -> None:
    """One that is missing would end clients without a word."""
    of_other_kinds = {api_key for api_key in ApiKey if is_of_other_kind(api_key) and keeps_member(api_key)}
    assert set(LIVED_THROUGH) == {*ASKS_OF_MEMBERS, *of_other_kinds}


def test_every_code_that_ends_anybody_has_a_remedy() -> None:
    """And no other: what a client lives through needs nobody."""
    ending = {code for api_key in LIVED_THROUGH for code in ErrorCode if ends(api_key, 0, code)}
    assert ending == set(REMEDIES)
    assert all(remedy.strip() for remedy in REMEDIES.values())


@pytest.mark.parametrize("code", KILLERS)
@pytest.mark.parametrize("api_key", [*CLASSIC_APIS, ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT])
def test_what_was_seen_to_end_clients_ends_them(api_key: ApiKey, code: ErrorCode) -> None:
    """Not one line in the log said so (issue 19)."""
    assert ends(api_key, last_version(api_key), code)


def test_classic_client_ends_of_codes_that_it_does_not_know() -> None:
    """Codes of 100 and more (clients.md, 6); a KIP-848 member's commit knows them from version 9 on."""
    strange = [code for code in ErrorCode if code >= FIRST_CODE_UNKNOWN_TO_CLASSIC_CLIENTS]
    assert all(ends(api_key, last_version(api_key), code) for api_key in CLASSIC_APIS for code in strange)
    for api_key, version in FIRST_BY_EPOCH.items():
        assert ends(api_key, version - 1, ErrorCode.STALE_MEMBER_EPOCH)
        assert not ends(api_key, version, ErrorCode.STALE_MEMBER_EPOCH)
        assert ends(api_key, version, ErrorCode.FENCED_INSTANCE_ID)


def test_nobody_ends_of_what_clients_come_again_after() -> None:
    """Nor of an api by which no member lives."""
    usual = (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
    assert not any(ends(api_key, 0, code) for api_key in LIVED_THROUGH for code in usual)
    assert not ends(ApiKey.FETCH, 0, ErrorCode.FENCED_INSTANCE_ID)
    assert not any(ends(ApiKey.LEAVE_GROUP, 0, code) for code in ErrorCode)


def replies(code: ErrorCode) -> list[tuple[ApiKey, Reply]]:
    """An answer of each api whose code is this."""
    return [
        (ApiKey.JOIN_GROUP, JoinGroupReply(error=code, member_id=MEMBER)),
        (ApiKey.SYNC_GROUP, SyncGroupReply(error=code, assignment=b"")),
        (ApiKey.HEARTBEAT, HeartbeatReply(code)),
        (ApiKey.CONSUMER_GROUP_HEARTBEAT, ConsumerGroupHeartbeatReply(error=code)),
        (ApiKey.OFFSET_COMMIT, committed(commit_request(), code)),
        (ApiKey.OFFSET_FETCH, OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=(), error=code),))),
    ]


def test_code_is_found_in_every_version_of_an_answer() -> None:
    """With and without a throttle time before it, and within a list."""
    code = ErrorCode.GROUP_AUTHORIZATION_FAILED
    for (api_key, fatal), (_, fine) in zip(replies(code), replies(ErrorCode.NONE), strict=True):
        # What is older than all that is read here passes with its answers (OffsetCommit 0 and 1).
        for version in range(SUPPORTED[api_key].lowest, min(9, SUPPORTED[api_key].highest) + 1):
            if api_key is ApiKey.OFFSET_FETCH and version < 2:
                # There the code is said of each partition.
                continue
            frame = encode_reply(api_key, version, 7, fatal)
            assert ending_in_frame(api_key, version, frame) is code, (api_key, version)
            assert ending_in_frame(api_key, version, encode_reply(api_key, version, 7, fine)) is None
    for api_key in (ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT):
        body = INT32.pack(0) + INT16.pack(code) + bytes(20)
        assert ending_in_frame(api_key, 0, response_frame(api_key, 0, 7, body)) is code


def test_answer_that_can_not_be_read_is_for_the_client_to_judge() -> None:
    """It is cut short, or says a code that nobody knows."""
    whole = encode_reply(ApiKey.HEARTBEAT, 4, 7, HeartbeatReply(ErrorCode.FENCED_INSTANCE_ID))
    assert ending_in_frame(ApiKey.HEARTBEAT, 4, whole) is ErrorCode.FENCED_INSTANCE_ID
    assert ending_in_frame(ApiKey.HEARTBEAT, 4, whole[:10]) is None
    strange = response_frame(ApiKey.HEARTBEAT, 4, 7, INT32.pack(0) + INT16.pack(9_999) + b"\x00")
    assert ending_in_frame(ApiKey.HEARTBEAT, 4, strange) is None
    assert ending_in_frame(ApiKey.OFFSET_COMMIT, 8, whole[:12]) is None
    assert ending_in_frame(ApiKey.FETCH, 4, whole) is None


@pytest.mark.parametrize("listens", [False, True])
@pytest.mark.parametrize(
    ("api_key", "version", "request_", "reply"),
    [
        (ApiKey.HEARTBEAT, 4, BEAT, HeartbeatReply(ErrorCode.FENCED_INSTANCE_ID)),
        (ApiKey.SYNC_GROUP, 5, SYNC, SyncGroupReply(error=ErrorCode.FENCED_INSTANCE_ID, assignment=b"")),
        (ApiKey.JOIN_GROUP, 5, join_request("m"), JoinGroupReply(error=ErrorCode.FENCED_INSTANCE_ID, member_id=MEMBER)),
        (
            *(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, native_join("m")),
            ConsumerGroupHeartbeatReply(error=ErrorCode.FENCED_INSTANCE_ID),
        ),
        (*(ApiKey.OFFSET_COMMIT, 8, commit_request(1, "m")), committed(commit_request(), ErrorCode.FENCED_INSTANCE_ID)),
    ],
)
def test_client_that_a_broker_or_the_bridge_ends_is_named(
    api_key: ApiKey, version: int, request_: Request, reply: Reply, listens: bool
) -> None:
    """On road pass by the bytes of the broker's answer, on the others by the answer that is made here."""
    table = offer(KNOWN, rewrites_node_endpoints=False, has_embedded_rule=True)
    offered = Offered(broker=dict(KNOWN), answer=ApiVersionsAnswer(versions=table))
    told: dict[Road, Ended | None] = {}
    for road in (Road.PASS, Road.EMBEDDED):
        passing = SeenGroups()
        passing.listens = listens
        rules = Rules(limits=Limits(), router=Router((Rule("*", road),)))
        one = ClientSession(rules, 1, "10.0.0.9", passing)
        head = one.requests.cut(memoryview(encode_request(api_key, version, 7, "client", request_)), 0)
        assert isinstance(head, Head)
        decision = one.decide(head, offered)
        if isinstance(decision, Relayed | Rewritten):
            assert decision.find_ending is not None
            ended = decision.find_ending(encode_reply(api_key, version, 7, reply))
        else:
            assert isinstance(decision, Submitted)
            decision.slot.asked = decision.request
            ended = one.find_ending(decision.slot, road, reply)
        told[road] = ended
    code = ErrorCode.FENCED_INSTANCE_ID
    assert told == {road: Ended(road, api_key, code, GROUP, MEMBER) for road in (Road.PASS, Road.EMBEDDED)}
