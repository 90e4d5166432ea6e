"""How it is found out whether brokers take over a member: the questions of a probe, and what its answers mean.

A member of the bridge's own joins a group of the bridge's own by the classic protocol, and then says it is one of the
consumer protocol. It reads no topic, and leaves again. Whoever has the answers so far asks what comes next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.migration.abilities import TakeOverWay
from translators.dialects.admin import DeleteGroups
from translators.dialects.classic import (
    Heartbeat,
    HeartbeatReply,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
    SyncGroupReply,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatReply
from translators.dialects.consumer_protocol import CONSUMER, Subscription, encode_assignment, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, NO_MEMBER_ID, GroupId, MemberId
from translators.dialects.messages import GroupReply, GroupRequest

PROBE_GROUP_PREFIX = "__epochbridge-probe-"
"""What groups of probes are called; a login of the bridge's own needs READ on them."""
ASSIGNOR = "range"
SESSION_MS, REBALANCE_MS = 45_000, 60_000
QUESTIONS_MAX = 8
_NO_TOPICS = encode_subscription(Subscription(version=1, topics=(), owned=frozenset()))
_NOTHING = encode_assignment(frozenset())
_GONE = (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INVALID_REQUEST)
_NO_RIGHTS = (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe: its group, which nobody else has, and the id of the member that converts it, if one has to."""

    group_id: GroupId
    scout_id: MemberId


@dataclass(frozen=True, slots=True)
class ProbeFinding:
    """What a probe found; `fault` says why it found nothing, "" if it did."""

    takeover: TakeOverWay
    fault: str = ""


def next_question(probe: Probe, answers: Sequence[GroupReply]) -> GroupRequest | ProbeFinding:
    """What is to be asked after these answers, the last of which came to the last question; or what they mean."""
    joined = [answer for answer in answers if isinstance(answer, JoinGroupReply)]
    beats = [answer for answer in answers if isinstance(answer, ConsumerGroupHeartbeatReply)]
    match answers:
        case []:
            return _join(probe, NO_MEMBER_ID)
        case [*_, JoinGroupReply(error=ErrorCode.MEMBER_ID_REQUIRED)] if len(joined) == 1:
            return _join(probe, joined[0].member_id)
        case [*_, JoinGroupReply(error=ErrorCode.NONE) as join]:
            return _sync(probe, join)
        case [*_, SyncGroupReply(error=ErrorCode.NONE)]:
            return _beat(probe, joined[-1].member_id, JOIN_EPOCH)
        case [*_, ConsumerGroupHeartbeatReply() as beat]:
            return _after_beat(probe, joined[-1], beat, len(beats))
        case [*_, HeartbeatReply(error=ErrorCode.NONE)]:
            return _beat(probe, joined[-1].member_id, joined[-1].generation)
        case [*_, HeartbeatReply(error=ErrorCode.REBALANCE_IN_PROGRESS)]:
            return ProbeFinding(TakeOverWay.WHOLE_GROUP)
        case _:
            return _failed(answers[-1])


def farewells(probe: Probe, answers: Sequence[GroupReply]) -> tuple[GroupRequest, ...]:
    """What takes everything away again that a probe with these answers left behind, the group in the end.

    A login without the right DELETE on it can't do that: then its broker forgets the empty group by itself, within
    `offsets.retention.check.interval.ms` there.
    """
    members = [answer.member_id for answer in answers if isinstance(answer, JoinGroupReply) and answer.member_id]
    beats = [answer for answer in answers if isinstance(answer, ConsumerGroupHeartbeatReply)]
    if not members:
        return ()
    leaving = LeaveGroup(
        group_id=probe.group_id, members=(LeavingMember(member_id=members[-1], reason="the probe is over"),)
    )
    scout = _beat(probe, probe.scout_id, LEAVE_EPOCH)
    is_converted = len(beats) > 1 and beats[1].error is ErrorCode.NONE
    return (leaving, *((scout,) if is_converted else ()), DeleteGroups((probe.group_id,)))


def _after_beat(
    probe: Probe, join: JoinGroupReply, beat: ConsumerGroupHeartbeatReply, count: int
) -> GroupRequest | ProbeFinding:
    """The first beat is the member's own at epoch 0, the second the scout's, the third the member's at its epoch."""
    if beat.error is ErrorCode.NONE:
        if count == 1:
            return ProbeFinding(TakeOverWay.IN_PLACE)
        if count > 2:
            return ProbeFinding(TakeOverWay.BY_SCOUT)
        return Heartbeat(probe.group_id, join.generation, join.member_id, None)
    if beat.error is ErrorCode.FENCED_MEMBER_EPOCH and count == 1:
        return _beat(probe, probe.scout_id, JOIN_EPOCH)
    if beat.error is ErrorCode.GROUP_ID_NOT_FOUND:
        return ProbeFinding(TakeOverWay.UNKNOWN, "brokers refuse to convert a group (69)")
    return ProbeFinding(TakeOverWay.IMPOSSIBLE) if beat.error in _GONE else _failed(beat)


def _failed(answer: GroupReply) -> ProbeFinding:
    error: object = getattr(answer, "error", None)
    if error in _NO_RIGHTS:
        return ProbeFinding(TakeOverWay.UNKNOWN, f"the bridge's login has no READ on groups {PROBE_GROUP_PREFIX}*")
    told = error.name if isinstance(error, ErrorCode) else "what was not expected"
    return ProbeFinding(TakeOverWay.UNKNOWN, f"{type(answer).__name__} said {told}")


def _join(probe: Probe, member_id: MemberId) -> JoinGroup:
    return JoinGroup(
        group_id=probe.group_id,
        member_id=member_id,
        instance_id=None,
        protocol_type=CONSUMER,
        protocols=(Protocol(ASSIGNOR, _NO_TOPICS),),
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
    )


def _sync(probe: Probe, join: JoinGroupReply) -> SyncGroup:
    return SyncGroup(
        group_id=probe.group_id,
        generation=join.generation,
        member_id=join.member_id,
        instance_id=None,
        protocol_type=CONSUMER,
        protocol_name=join.protocol_name,
        assignments=(MemberAssignment(join.member_id, _NOTHING),),
        names_protocol=True,
    )


def _beat(probe: Probe, member_id: MemberId, epoch: int) -> ConsumerGroupHeartbeat:
    is_leaving = epoch == LEAVE_EPOCH
    return ConsumerGroupHeartbeat(
        group_id=probe.group_id,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=-1 if is_leaving else REBALANCE_MS,
        subscribed_topic_names=None if is_leaving else (),
        owned=None if is_leaving else frozenset(),
    )
