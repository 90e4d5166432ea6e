"""A client of whom nothing is known: its first JoinGroup, and everything else that comes without one."""

from dataclasses import replace
from typing import assert_never

from translators.classic_member.effects import Effect
from translators.classic_member.events import (
    ClientEvent,
    ConnectionLost,
    HeartbeatReceived,
    JoinReceived,
    LeaveReceived,
    SyncReceived,
)
from translators.classic_member.joining import park, put_question
from translators.classic_member.profile import check_protocols, read_profile
from translators.classic_member.replies import refuse, refuse_join
from translators.classic_member.states import Absent, Membership, Seat, Silent, State
from translators.classic_member.tenure import NO_PARTITIONS, Vacant
from translators.dialects.consumer_protocol import COOPERATIVE
from translators.dialects.errors import ErrorCode, Refusal
from translators.machine import Step

MemberStep = Step[State, Effect]


def client_while_absent(state: Absent, event: ClientEvent, now_ms: int) -> MemberStep:
    """React to a client that is no member."""
    match event:
        case JoinReceived():
            return _join(state, event, now_ms)
        case HeartbeatReceived() | SyncReceived():
            return Step(state, (refuse(event, ErrorCode.UNKNOWN_MEMBER_ID),))
        case LeaveReceived() | ConnectionLost():
            return Step(state)
        case _:
            assert_never(event)


def _join(state: Absent, event: JoinReceived, now_ms: int) -> MemberStep:
    request = event.request
    refusal = check_protocols(request)
    if refusal is not None:
        return Step(state, (refuse(event, refusal.code),))
    if request.needs_member_id and request.instance_id is None and not request.member_id:
        return Step(state, (refuse_join(event.ref, ErrorCode.MEMBER_ID_REQUIRED, event.fresh_id),))
    profile = read_profile(request)
    if isinstance(profile, Refusal):
        return Step(state, (refuse(event, profile.code),))
    if profile.owned:
        if any(protocol.name == COOPERATIVE for protocol in request.protocols):
            # Its seat is lost and it goes on processing what others may own by now: it drops everything first.
            return Step(state, (refuse(event, ErrorCode.UNKNOWN_MEMBER_ID),))
        # By joining under eager assignors alone it has dropped everything, and would say the same list again.
        profile = replace(profile, owned=frozenset(), is_eager=True)
    seat = Seat(
        group_id=request.group_id,
        member_id=request.member_id or event.fresh_id,
        instance_id=request.instance_id,
        limits=state.limits,
    )
    joining = park(event, Membership(seat=seat, profile=profile), Vacant(), NO_PARTITIONS, now_ms)
    return put_question(joining, Silent())
