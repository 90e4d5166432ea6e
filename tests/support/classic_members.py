"""Classic members to test with: requests as clients send them, and states as the machine holds them."""

from dataclasses import replace

from translators.classic_member.events import Answered, Ask, HeartbeatReceived, JoinReceived, Reply, SyncReceived
from translators.classic_member.joining import hold_ms
from translators.classic_member.profile import Profile, read_profile
from translators.classic_member.states import (
    Call,
    CompletingRebalance,
    Fenced,
    Leaving,
    MemberLimits,
    Membership,
    NotCalled,
    Parked,
    PreparingRebalance,
    Seat,
    Silent,
    Stable,
    Talk,
)
from translators.classic_member.tenure import NO_PARTITIONS, Partitions, Tenure, Vacant
from translators.dialects import classic
from translators.dialects.consumer_protocol import Subscription, encode_assignment, encode_subscription
from translators.dialects.coordinator import DepartReason, Farewell, Granted, Inquiry, Refused
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId, InstanceId, MemberId, RequestRef, TopicName, TopicPartition

GROUP = GroupId("orders")
MEMBER = MemberId("member-1")
FRESH = MemberId("fresh-1")
NOBODY = MemberId("")
INSTANCE = InstanceId("seat-1")
LIMITS = MemberLimits()
SEAT = Seat(group_id=GROUP, member_id=MEMBER, instance_id=None, limits=LIMITS)
TOPIC = TopicName("orders")
SESSION_MS = 45_000
REBALANCE_MS = 60_000
NOW = 1_000_000
EPOCH = 7
GENERATION = 3
A, B, C, D = (TopicPartition(TOPIC, number) for number in range(4))


def parts(*partitions: TopicPartition) -> Partitions:
    """Give a set of partitions."""
    return frozenset(partitions)


def ref(sequence: int = 1) -> RequestRef:
    """Give the place of an answer."""
    return RequestRef(0, 1, sequence)


def protocol(name: str, owned: Partitions | None = None) -> classic.Protocol:
    """Give a protocol with a subscription of the version that can say what is owned."""
    subscription = Subscription(version=0 if owned is None else 1, topics=(TOPIC,), owned=owned)
    return classic.Protocol(name, encode_subscription(subscription))


def join_request(*names: str, member_id: MemberId = MEMBER, owned: Partitions | None = None) -> classic.JoinGroup:
    """Give a JoinGroup as a client of today sends it; the default client is eager and uses the range assignor."""
    return classic.JoinGroup(
        group_id=GROUP,
        member_id=member_id,
        instance_id=None,
        protocol_type="consumer",
        protocols=tuple(protocol(name, owned) for name in names or ("range",)),
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
    )


def joined(
    *names: str, sequence: int = 1, member_id: MemberId = MEMBER, owned: Partitions | None = None
) -> JoinReceived:
    """Give the event of such a JoinGroup."""
    return JoinReceived(ref(sequence), join_request(*names, member_id=member_id, owned=owned), FRESH)


def resubscribed(sequence: int = 1) -> JoinReceived:
    """Give the event of a JoinGroup that wants one topic more."""
    event = joined(sequence=sequence)
    wider = encode_subscription(Subscription(version=0, topics=(TOPIC, TopicName("more")), owned=None))
    return replace(event, request=replace(event.request, protocols=(classic.Protocol("range", wider),)))


def synced(generation: int = GENERATION, sequence: int = 1) -> SyncReceived:
    """Give the event of a SyncGroup."""
    request = classic.SyncGroup(group_id=GROUP, generation=generation, member_id=MEMBER, instance_id=None)
    return SyncReceived(ref(sequence), request)


def beat(generation: int = GENERATION, sequence: int = 1) -> HeartbeatReceived:
    """Give the event of a Heartbeat."""
    return HeartbeatReceived(ref(sequence), classic.Heartbeat(GROUP, generation, MEMBER, None))


def granted(
    assigned: Partitions | None,
    pending: Partitions | None = NO_PARTITIONS,
    epoch: int = EPOCH,
    interval_ms: int | None = None,
) -> Answered:
    """Give a coordinator's answer."""
    return Answered(Granted(member_epoch=epoch, assigned=assigned, pending=pending, heartbeat_interval_ms=interval_ms))


def refused(code: ErrorCode) -> Answered:
    """Give a coordinator's refusal."""
    return Answered(Refused(code))


def profile(*names: str, owned: Partitions | None = None) -> Profile:
    """Give what such a JoinGroup says of its client."""
    read = read_profile(join_request(*names, owned=owned))
    assert not isinstance(read, Refusal)
    return read


def membership(
    assigned: Partitions = NO_PARTITIONS, pending: Partitions | None = NO_PARTITIONS, epoch: int = EPOCH
) -> Membership:
    """Give an eager member as its coordinator knows it."""
    return Membership(seat=SEAT, profile=profile(), epoch=epoch, granted=assigned, pending=pending)


def tenure(*partitions: TopicPartition, generation: int = GENERATION, since: int | None = None) -> Tenure:
    """Give a hand-out whose partitions are the client's own since generation `since`."""
    first = generation if since is None else since
    return Tenure(generation=generation, handed=parts(*partitions), since=dict.fromkeys(partitions, first))


def stable(*partitions: TopicPartition, call: Call | None = None, talk: Talk | None = None) -> Stable:
    """Give an eager member at work."""
    return Stable(
        membership=membership(parts(*partitions)),
        tenure=tenure(*partitions),
        call=call or NotCalled(),
        talk=talk or Silent(),
        session_deadline_ms=NOW + SESSION_MS,
    )


def cooperative(state: Stable) -> Stable:
    """Give the same member with a client of the cooperative assignor."""
    profiled = replace(state.membership, profile=profile("cooperative-sticky", owned=state.tenure.handed))
    return replace(state, membership=profiled)


def completing(*partitions: TopicPartition, talk: Talk | None = None) -> CompletingRebalance:
    """Give an eager member that has its generation."""
    return CompletingRebalance(
        membership=membership(parts(*partitions)),
        tenure=tenure(*partitions),
        using=NO_PARTITIONS,
        talk=talk or Silent(),
        session_deadline_ms=NOW + SESSION_MS,
        sync_deadline_ms=NOW + REBALANCE_MS,
    )


def preparing(
    talk: Talk, held: Tenure | Vacant | None = None, assigned: Partitions = NO_PARTITIONS, epoch: int = EPOCH
) -> PreparingRebalance:
    """Give an eager member whose JoinGroup is parked since NOW."""
    former = tenure(A, B) if held is None else held
    member = membership(assigned, epoch=epoch)
    return PreparingRebalance(
        membership=member,
        parked=Parked(ref(), knows_its_id=True),
        tenure=former,
        using=NO_PARTITIONS,
        talk=talk,
        hold_until_ms=NOW + hold_ms(member.profile, former, LIMITS.eager_join_hold_max_ms),
        give_up_at_ms=NOW + REBALANCE_MS,
    )


def leaving(reason: DepartReason, talk: Talk) -> Leaving:
    """Give a member on its way out since NOW."""
    return Leaving(seat=SEAT, reason=reason, talk=talk, give_up_at_ms=NOW + LIMITS.leave_wait_max_ms)


def fenced(code: ErrorCode, talk: Talk | None = None) -> Fenced:
    """Give a member that its coordinator dropped NOW."""
    return Fenced(
        seat=SEAT,
        code=code,
        tenure=Vacant(GENERATION),
        talk=talk or Silent(),
        session_deadline_ms=NOW + SESSION_MS,
    )


def inquiry(
    owned: Partitions = NO_PARTITIONS,
    epoch: int = EPOCH,
    member_id: MemberId = MEMBER,
    claimed: Partitions = NO_PARTITIONS,
    assignor: str | None = "range",
) -> Ask:
    """Give the question that a member without instance id and rack asks."""
    return Ask(
        Inquiry(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=None,
            rack_id=None,
            topics=frozenset({TOPIC}),
            rebalance_timeout_ms=REBALANCE_MS,
            assignor=assignor,
            owned=owned,
            claimed=claimed,
        )
    )


def farewell(reason: DepartReason) -> Ask:
    """Give what a machine says when its member leaves for this reason."""
    return Ask(Farewell(group_id=GROUP, member_id=MEMBER, member_epoch=-1, instance_id=None, reason=reason))


FAREWELL = farewell(DepartReason.LEFT)


def join_reply(generation: int, sequence: int = 1, name: str = "range") -> Reply:
    """Give the answer that ends a join well: no leader, no members."""
    return Reply(
        ref(sequence),
        classic.JoinGroupReply(
            error=ErrorCode.NONE,
            member_id=MEMBER,
            generation=generation,
            protocol_type="consumer",
            protocol_name=name,
            leader="",
            members=(),
        ),
    )


def join_error(code: ErrorCode, member_id: MemberId = MEMBER, sequence: int = 1) -> Reply:
    """Give the answer that ends a join badly."""
    return Reply(ref(sequence), classic.JoinGroupReply(error=code, member_id=member_id))


def sync_reply(*partitions: TopicPartition, sequence: int = 1, name: str = "range", version: int = 0) -> Reply:
    """Give the answer that hands partitions out, in the version of the member's subscription."""
    return Reply(
        ref(sequence),
        classic.SyncGroupReply(
            error=ErrorCode.NONE,
            protocol_type="consumer",
            protocol_name=name,
            assignment=encode_assignment(parts(*partitions), version),
        ),
    )


def sync_error(code: ErrorCode, sequence: int = 1) -> Reply:
    """Give a refusal of a SyncGroup."""
    return Reply(ref(sequence), classic.SyncGroupReply(error=code))


def beat_reply(code: ErrorCode, sequence: int = 1) -> Reply:
    """Give the answer to a Heartbeat."""
    return Reply(ref(sequence), classic.HeartbeatReply(code))
