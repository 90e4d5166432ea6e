"""Who may be a member and what a heartbeat changes about it: admission, static seats, epochs, leaving."""

from dataclasses import dataclass, replace

from bridge.engine.commands import MemberHeartbeat, Speaks
from bridge.engine.model import FIRST_GROUP_EPOCH, Ask, Current, Member, Subscription
from bridge.engine.records import (
    CurrentAssigned,
    GroupCreated,
    MemberForgotten,
    MemberSubscribed,
    NativesForgotten,
    Record,
    TargetAssigned,
    TopicsHidden,
)
from bridge.engine.state import (
    NO_PARTITIONS,
    NO_TOPICS,
    Group,
    HiddenTopics,
    Shard,
    is_in_flight,
    settings_of,
    topic_names_of,
)
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import JOIN_EPOCH, STATIC_LEAVE_EPOCH, GroupId, InstanceId, MemberId, TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A heartbeat that is accepted: what changes, who asks, whose seat it takes, how far the group's epoch moves."""

    records: tuple[Record, ...]
    ask: Ask
    replaced: Member | None = None
    epoch_steps: int = 0


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a heartbeat belongs: the member itself, the one whose static seat it takes over, both, or neither (a
    newcomer).
    """

    member_id: MemberId
    member: Member | None = None
    replaced: Member | None = None


def admit(state: Shard, command: MemberHeartbeat) -> Admission | Refusal:
    """Decide a heartbeat that doesn't leave (K2.15 to K2.23, K2.30, K4.7 to K4.9)."""
    request = command.request
    group = state.groups.get(request.group_id)
    if group is None:
        if request.member_epoch != JOIN_EPOCH:
            return unknown_group(request.group_id, request.member_epoch)
        group = Group(group_id=request.group_id, epoch=FIRST_GROUP_EPOCH, assignment_epoch=FIRST_GROUP_EPOCH)
    seat = find_seat(group, command)
    gets_seat = isinstance(seat, Seat) and seat.replaced is not None
    if not has_room(state, group, request.member_id, request.instance_id if gets_seat else None):
        # Whoever does not get the seat that it names is told so too: Kafka looks at the id first.
        return full_group(settings_of(state, group.group_id).group_consumer_max_size)
    if isinstance(seat, Refusal):
        return seat
    if seat.member is not None:
        fenced = check_epoch(request, seat.member.current)
        if fenced is not None:
            return fenced
    return _seat_member(state, group, command, seat)


def has_room(state: Shard, group: Group, member_id: MemberId, instance_id: InstanceId | None) -> bool:
    """Whether who speaks under these ids may be in the group; looked at before who it is (K2.16, K4.3).

    A static seat may change hands in a full group, which Kafka refuses: the group does not grow.
    """
    is_seated = member_id in group.members or (instance_id is not None and instance_id in group.instances)
    return is_seated or len(group.members) < settings_of(state, group.group_id).group_consumer_max_size


def full_group(most: int) -> Refusal:
    """In Kafka's words (K2.16)."""
    reason = f"The consumer group has reached its maximum capacity of {most} members."
    return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, reason)


def unknown_group(group_id: GroupId, member_epoch: int) -> Refusal:
    """25 for whoever says that it is a member: it joins again, where 69 would end it for good (Java, librdkafka).

    Kafka tells 69 and can: it forgets no group that has members. Here the group may live on at the broker, or in the
    memory of a bridge that was there before. Who leaves is told 69, and is gone.
    """
    if member_epoch > JOIN_EPOCH:
        reason = f"Consumer group {quote(group_id)} is not known here, the member may be of before; join again."
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, reason)
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {quote(group_id)} not found.")


def find_seat(group: Group, command: MemberHeartbeat) -> Seat | Refusal:
    """Find the member that the heartbeat speaks for (K2.16, K2.17, K2.20, K2.21, K4.8, K4.9)."""
    request = command.request
    member_id = request.member_id or command.fresh_id
    if request.instance_id is not None:
        return _find_static_seat(group, command, member_id, request.instance_id)
    member = group.members.get(member_id)
    if member is None and request.member_epoch != JOIN_EPOCH:
        return _unknown_member(group, member_id)
    return Seat(member_id, member)


def _find_static_seat(
    group: Group, command: MemberHeartbeat, member_id: MemberId, instance_id: InstanceId
) -> Seat | Refusal:
    holder_id = group.instances.get(instance_id)
    insists_on_id = command.request.member_epoch != JOIN_EPOCH or (
        command.speaks is Speaks.CLASSIC and member_id != command.fresh_id
    )
    if holder_id is None:
        if insists_on_id:
            return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {quote(instance_id)} is unknown.")
        return Seat(member_id, group.members.get(member_id))
    holder = group.members[holder_id]
    if holder_id == member_id:
        return Seat(member_id, holder)
    if insists_on_id:
        return _fenced_instance(instance_id, member_id, holder_id)
    both_consumers = command.speaks is Speaks.CONSUMER and holder.subscription.speaks is Speaks.CONSUMER
    if both_consumers and holder.current.epoch != STATIC_LEAVE_EPOCH:
        return Refusal(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {quote(member_id)} with instance id {quote(instance_id)} cannot join the group because the"
            f" instance id is owned by {quote(holder_id)} member.",
        )
    return Seat(member_id, group.members.get(member_id), holder)


def check_epoch(request: ConsumerGroupHeartbeat, current: Current) -> Refusal | None:
    """Fence a wrong epoch (K2.18; K11.4 on 2.19: epoch 0 of a known member is always accepted).

    The previous epoch passes if the member lists what it owns and all of that is assigned to it: its last answer was
    lost.
    """
    epoch = request.member_epoch
    if epoch in (JOIN_EPOCH, current.epoch):
        return None
    if epoch == current.previous_epoch and epoch < current.epoch and _owns_what_it_was_given(request, current):
        return None
    return Refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        "The consumer group member has a "
        + ("greater" if epoch > current.epoch else "smaller")
        + f" member epoch ({epoch}) than the one known by the group coordinator ({current.epoch})."
        " The member must abandon all its partitions and rejoin.",
    )


def _owns_what_it_was_given(request: ConsumerGroupHeartbeat, current: Current) -> bool:
    """Also by topic: of one that a member names without partitions it has to have some (4.3.1)."""
    if request.owned is None or not request.owned <= current.assigned.keys():
        return False
    return request.bare_topics <= {partition.topic_id for partition in current.assigned}


def _seat_member(state: Shard, group: Group, command: MemberHeartbeat, seat: Seat) -> Admission | Refusal:
    known = seat.member or seat.replaced
    before = known.subscription if known is not None else None
    after = merge_subscription(before, seat.member_id, command)
    fault = _find_pattern_fault(state, after)
    if fault is not None:
        return fault
    hidden = _hidden_by(group, after, command.request)
    has_new_topics = _wants_other_topics(state, group, hidden, before, after)
    records: tuple[Record, ...] = ()
    if group.group_id not in state.groups:
        records = (GroupCreated(group.group_id, group.epoch),)
    elif group.lost_natives and not group.members and after.speaks is Speaks.CLASSIC:
        records = (NativesForgotten(group.group_id),)
    if seat.replaced is not None:
        records += take_seat(state, group, seat, after)
    elif after is not before and after != before:
        records += (MemberSubscribed(group.group_id, after),)
    if after.pattern is not None and hidden is not group.hidden:
        records += (TopicsHidden(group.group_id, after.pattern, hidden.get(after.pattern, NO_TOPICS)),)
    joins_two_seats = seat.replaced is not None and seat.member is not None
    request = command.request
    is_full = is_full_request(request)
    ask = Ask(
        ref=command.ref,
        group_id=group.group_id,
        member_id=seat.member_id,
        instance_id=request.instance_id,
        owned=request.owned,
        is_full=is_full,
        before=before,
        has_new_topics=has_new_topics,
        reported_epoch=request.member_epoch if command.speaks is Speaks.CONSUMER else 0,
        claimed=command.claimed,
        claimed_generation=command.claimed_generation,
    )
    steps = int(has_new_topics or joins_two_seats)
    if has_new_topics and _waits_for_pattern(state, group, hidden, before, after):
        steps += 1
    return Admission(records=records, ask=ask, replaced=seat.replaced, epoch_steps=steps)


def merge_subscription(before: Subscription | None, member_id: MemberId, command: MemberHeartbeat) -> Subscription:
    """What the member's subscription is after the heartbeat: absent fields keep their value (K2.22), an empty pattern
    clears it, and who speaks the classic protocol has none (K4.11).
    """
    request = command.request
    if before is not None and _tells_nothing_new(before, member_id, command):
        return before
    if before is None:
        before = Subscription(member_id=member_id, identity=command.identity, speaks=command.speaks)
    names = request.subscribed_topic_names
    pattern = request.subscribed_topic_regex
    if command.speaks is Speaks.CLASSIC:
        # Whose static seat it takes, or what it was itself until now, may have had one: no classic client reads it.
        pattern = ""
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        before,
        member_id=member_id,
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        identity=command.identity,
        speaks=command.speaks,
        names=before.names if names is None else frozenset(names),
        pattern=before.pattern if pattern is None else pattern or None,
        assignor=before.assignor if request.server_assignor is None else request.server_assignor,
    )


def _tells_nothing_new(before: Subscription, member_id: MemberId, command: MemberHeartbeat) -> bool:
    """Whether this is the plain heartbeat, which nearly all are: it must cost next to nothing."""
    request = command.request
    return (
        request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == -1
        and request.rack_id is None
        and request.server_assignor is None
        and request.instance_id in (None, before.instance_id)
        and before.member_id == member_id
        and before.speaks is command.speaks
        and before.identity == command.identity
    )


def take_seat(state: Shard, group: Group, seat: Seat, new: Subscription) -> tuple[Record, ...]:
    """A static seat is taken: a newcomer inherits it, a member that has a seat of its own only ends the other."""
    if seat.replaced is None:
        return ()
    if seat.member is None:
        return replace_seat(state, group, seat.replaced, new)
    old_id = seat.replaced.subscription.member_id
    return (MemberForgotten(group.group_id, old_id), MemberSubscribed(group.group_id, new))


def replace_seat(state: Shard, group: Group, old: Member, new: Subscription) -> tuple[Record, ...]:
    """A static seat changes hands with its target and what it holds (K2.30).

    Partitions of which the old member still has a commit on its way are left behind: they come when the commit has
    ended (decision 2).
    """
    old_id = old.subscription.member_id
    assigned = {
        partition: epoch
        for partition, epoch in old.current.assigned.items()
        if not is_in_flight(state, group.group_id, partition)
    }
    current = replace(old.current, epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH, assigned=assigned)
    return (
        MemberForgotten(group.group_id, old_id),
        MemberSubscribed(group.group_id, new),
        TargetAssigned(group.group_id, new.member_id, group.target.get(old_id, NO_PARTITIONS)),
        CurrentAssigned(group.group_id, new.member_id, current),
    )


def is_full_request(request: ConsumerGroupHeartbeat) -> bool:
    """Whether the answer must carry the assignment even if it didn't change (K2.42)."""
    if request.member_epoch == JOIN_EPOCH:
        return True
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return request.rebalance_timeout_ms != -1 and subscribes and request.owned is not None


def find_leaver(group: Group, member_id: MemberId, instance_id: InstanceId | None) -> Member | Refusal:
    """The member that leaves, whatever its epoch (K2.12, K2.13, K4.40 with 11.4)."""
    if instance_id is None:
        member = group.members.get(member_id)
        return _unknown_member(group, member_id) if member is None else member
    holder_id = group.instances.get(instance_id)
    if holder_id is None:
        return Refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {quote(instance_id)} is unknown.")
    if holder_id != member_id:
        return _fenced_instance(instance_id, member_id, holder_id)
    return group.members[holder_id]


def _find_pattern_fault(state: Shard, subscription: Subscription) -> Refusal | None:
    resolved = None if subscription.pattern is None else state.patterns.get(subscription.pattern)
    if subscription.pattern is None or resolved is None or resolved.error is None:
        return None
    return unreadable_pattern(subscription.pattern, resolved.error)


def unreadable_pattern(pattern: str, error: str) -> Refusal:
    """In Kafka's words (K2.4)."""
    told = f"SubscribedTopicRegex `{quote(pattern)}` is not a valid regular expression: {quote(error)}."
    return Refusal(ErrorCode.INVALID_REGULAR_EXPRESSION, told)


def _hidden_by(group: Group, after: Subscription, request: ConsumerGroupHeartbeat) -> HiddenTopics:
    """What is hidden from the group once this is carried out; its own where nobody was asked, or that is known.

    Whose static seat is taken may be the only one who has the pattern, with whom what is hidden would go.
    """
    if request.hidden is None or after.pattern is None:
        return group.hidden
    is_known = group.hidden.get(after.pattern, NO_TOPICS) == request.hidden
    if is_known and not (request.hidden and request.instance_id is not None):
        return group.hidden
    return {**group.hidden, after.pattern: request.hidden}


def _wants_other_topics(
    state: Shard, group: Group, hidden: HiddenTopics, before: Subscription | None, after: Subscription
) -> bool:
    """Whether the group's epoch must move: names or pattern changed, or what is hidden; a newcomer with topics changes
    them (K2.23). So does a pattern that is given up, whatever it matched (4.3.1), or come to.
    """
    if before is after and hidden is group.hidden:
        return False
    wanted = topic_names_of(state, hidden, after)
    comes_to_pattern = _comes_to_pattern(state, group, hidden, before, after)
    if before is None:
        return bool(wanted) or comes_to_pattern or topic_names_of(state, group.hidden, after) != wanted
    gives_pattern_up = before.pattern is not None and after.pattern is None
    is_told_otherwise = gives_pattern_up or comes_to_pattern or before.names != after.names
    return is_told_otherwise or topic_names_of(state, group.hidden, before) != wanted


def _comes_to_pattern(
    state: Shard, group: Group, hidden: HiddenTopics, before: Subscription | None, after: Subscription
) -> bool:
    """Whether a member has a pattern that it had not, and that others have, or that matches something, be it what it
    had by another one: Kafka deals out anew then (4.3.1).
    """
    pattern = after.pattern
    resolved = None if pattern is None else state.patterns.get(pattern)
    if pattern is None or resolved is None or (before is not None and before.pattern == pattern):
        return False
    return pattern in group.patterns or bool(resolved.topics - hidden.get(pattern, NO_TOPICS))


def _waits_for_pattern(
    state: Shard, group: Group, hidden: HiddenTopics, before: Subscription | None, after: Subscription
) -> bool:
    """Whether names change together with a pattern that nobody has yet: Kafka deals out by the names at once, and once
    more when it knows what the pattern matches, if that is anything (4.3.1). Here both come in one answer.
    """
    named = frozenset[TopicName]() if before is None else before.names
    return (
        after.names != named
        and after.pattern not in group.patterns
        and _comes_to_pattern(state, group, hidden, before, after)
    )


def _unknown_member(group: Group, member_id: MemberId) -> Refusal:
    return Refusal(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {quote(member_id)} is not a member of group {quote(group.group_id)}."
    )


def _fenced_instance(instance_id: InstanceId, member_id: MemberId, holder_id: MemberId) -> Refusal:
    return Refusal(
        ErrorCode.FENCED_INSTANCE_ID,
        f"Static member {quote(member_id)} with instance id {quote(instance_id)} was fenced by member"
        f" {quote(holder_id)}.",
    )
