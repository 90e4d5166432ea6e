"""What a bridge asks of the group in which bridges meet, and what it makes of a broker's answers."""

from dataclasses import replace

import pytest
import trio
from trio.testing import MockClock

from bridge.coordinators.embedded.bridge_meeting import (
    PROTOCOL,
    READ_PAUSE_S,
    READ_TRIES,
    SESSION_MS,
    Claims,
    Meeting,
    Place,
    digest,
    encode,
)
from bridge.ports import BrokerUnreachable, GroupRefused
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeBroker
from translators.dialects.admin import DescribedGroup, DescribedMember, DescribeGroups, DescribeGroupsReply
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, InstanceId, MemberId

GROUP, ORDERS = GroupId("bridges"), GroupId("orders")
MINE = Claims(bridge="a", where="here", wanted=frozenset({digest(ORDERS)}))
OTHER = Claims(bridge="b", where="there", held=frozenset({digest(ORDERS)}))


class Broker(FakeBroker):
    """Answers as it is told to; `asked_of` is what it was asked."""

    def __init__(self, **codes: ErrorCode) -> None:
        super().__init__()
        self.codes = codes
        self.asked_of: list[Request] = []
        self.found = DescribedGroup(error=ErrorCode.NONE, group_id=GROUP, group_state="Empty")

    def code(self, name: str) -> ErrorCode:
        """What an answer says."""
        return self.codes.get(name, ErrorCode.NONE)

    async def ask_coordinator(self, request: Request) -> Reply:
        """See `ports.Broker`."""
        self.asked_of.append(request)
        await trio.lowlevel.checkpoint()
        if isinstance(request, JoinGroup):
            return JoinGroupReply(error=self.code("join"), member_id=MemberId("m"), generation=7)
        if isinstance(request, SyncGroup):
            return SyncGroupReply(error=self.code("sync"))
        if isinstance(request, Heartbeat):
            return HeartbeatReply(error=self.code("beat"))
        if isinstance(request, LeaveGroup):
            return LeaveGroupReply(error=ErrorCode.NONE)
        assert isinstance(request, DescribeGroups)
        return DescribeGroupsReply(groups=(replace(self.found, error=self.code("describe")),))


def meeting_at(broker: Broker) -> Meeting:
    """Bridge a's."""
    return Meeting(broker, Place(bridge="a", where="here", group_id=GROUP))


def seat(bridge: str, metadata: bytes) -> DescribedMember:
    """A member as it is described."""
    return DescribedMember(
        member_id=MemberId(f"{bridge}-1"),
        instance_id=InstanceId(bridge),
        client_id="epochbridge",
        client_host="/127.0.0.1",
        metadata=metadata,
        assignment=b"",
    )


async def test_claims_are_said_by_a_static_join_without_a_member_id() -> None:
    """Each time anew: that replaces what was said before, and a stable group is not rebalanced for it."""
    broker = Broker()
    meeting = meeting_at(broker)
    await meeting.enter(MINE)
    join, sync = broker.asked_of
    assert isinstance(join, JoinGroup)
    assert (join.instance_id, join.member_id, join.session_timeout_ms) == ("a", NO_MEMBER_ID, SESSION_MS)
    assert [(one.name, one.metadata) for one in join.protocols] == [(PROTOCOL, encode(MINE))]
    assert isinstance(sync, SyncGroup)
    assert (sync.member_id, sync.generation, sync.instance_id) == ("m", 7, "a")
    assert (meeting.said, meeting.is_said, meeting.has_said(ORDERS)) == (MINE, True, True)
    assert await meeting.beat() is ErrorCode.NONE
    await meeting.leave()
    *_, beat, left = broker.asked_of
    assert beat == Heartbeat(GROUP, 7, MemberId("m"), InstanceId("a"))
    assert isinstance(left, LeaveGroup)
    assert [member.instance_id for member in left.members] == ["a"]


@pytest.mark.parametrize(
    ("where", "code", "fault"),
    [
        ("join", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, BrokerUnreachable),
        ("join", ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupRefused),
        ("join", ErrorCode.INCONSISTENT_GROUP_PROTOCOL, GroupRefused),
        ("sync", ErrorCode.REBALANCE_IN_PROGRESS, BrokerUnreachable),
        ("describe", ErrorCode.NOT_COORDINATOR, BrokerUnreachable),
        ("describe", ErrorCode.GROUP_AUTHORIZATION_FAILED, GroupRefused),
    ],
)
async def test_what_passes_is_tried_again_and_the_rest_is_a_verdict(
    where: str, code: ErrorCode, fault: type[Exception]
) -> None:
    """And nothing counts as said before the broker has said so."""
    meeting = meeting_at(Broker(**{where: code}))
    with pytest.raises(BrokerUnreachable) as caught:
        await (meeting.read() if where == "describe" else meeting.enter(MINE))
    assert type(caught.value) is fault
    assert not meeting.is_said


async def test_others_are_heard_once_the_group_is_at_rest(autojump_clock: MockClock) -> None:
    """A broker shows nobody's words while somebody comes or goes; company it is all the same."""
    broker = Broker()
    meeting = meeting_at(broker)
    assert await meeting.read() == ()
    assert (meeting.has_company, meeting.said) == (False, None)
    own, other, stranger = seat("a", encode(MINE)), seat("b", encode(OTHER)), seat("x", b"?")
    broker.found = replace(broker.found, group_state="PreparingRebalance", members=(own, seat("b", b"")))
    began_s = trio.current_time()
    assert await meeting.read() is None
    assert trio.current_time() - began_s == pytest.approx(READ_TRIES * READ_PAUSE_S)
    assert (meeting.has_company, meeting.said) == (True, None)
    broker.found = replace(broker.found, group_state="Stable", members=(own, other, stranger))
    assert await meeting.read() == (OTHER,)
    assert await meeting.is_seat_taken()
    broker.found = replace(broker.found, members=(own,))
    assert await meeting.read() == ()
    assert (meeting.has_company, meeting.said) == (False, None)
    broker.found = replace(broker.found, members=(other,))
    assert not await meeting.is_seat_taken()
