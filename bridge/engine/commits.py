"""Which commits and offset fetches a group lets through, and which partitions they hold up."""

from bridge.engine.classic.barriers import hand_out_if_drained
from bridge.engine.classic.seats import extend_session, judge_identity
from bridge.engine.commands import BeginCommit, EndCommit, Speaks
from bridge.engine.model import Member, Phase
from bridge.engine.queries import looks_classic
from bridge.engine.records import CommitBegun, CommitEnded
from bridge.engine.state import ClassicGroup, Group, Partitions, Shard
from bridge.engine.turn import Turn
from translators.dialects.consumer_protocol import NO_GENERATION
from translators.dialects.coordinator import CommitAdmitted, CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_TOPIC_ID, GroupId, MemberId, TopicId, TopicIdPartition
from translators.dialects.offsets import OffsetCommit, TopicCommit, TxnOffsetCommit

Commit = OffsetCommit | TxnOffsetCommit


def take_commit(turn: Turn, command: BeginCommit) -> None:
    """Let a commit through, its partitions held up until it ends, or refuse it."""
    state, request = turn.state, command.request
    code = judge_commit(state, request, turn.now_ms)
    if code is not ErrorCode.NONE:
        turn.reply(command.ref, CommitRefused(code))
        return
    commit_id = state.last_commit_id + 1
    turn.write(CommitBegun(commit_id, request.group_id, known_partitions(state, request)))
    classic = state.classic_groups.get(request.group_id)
    if classic is not None:
        note_sign_of_life(turn, classic, request)
    turn.reply(command.ref, CommitAdmitted(commit_id))


def end_commit(turn: Turn, command: EndCommit) -> None:
    """A commit is over; an id that is not known, from before a restart perhaps, does nothing."""
    flight = turn.state.flights.get(command.commit_id)
    if flight is not None:
        turn.write(CommitEnded(command.commit_id))
        hand_out_if_drained(turn, flight.group_id)


def judge_commit(state: Shard, request: Commit, now_ms: int) -> ErrorCode:
    """The code for a whole commit (K5.3, K5.9 to K5.17 with 11.4; K5.4 to K5.7 on classic groups)."""
    if isinstance(request, TxnOffsetCommit) and not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    classic = state.classic_groups.get(request.group_id)
    if classic is not None:
        return judge_classic_commit(classic, request)
    group = state.groups.get(request.group_id)
    if group is None:
        return _judge_without_group(state, request, now_ms)
    if request.generation < 0 and not group.members:
        return ErrorCode.NONE
    is_classic = looks_classic(state, request.group_id)
    if _is_anonymous_transaction(request, is_classic=is_classic):
        return ErrorCode.NONE
    code = _judge_seat(group, request) if is_classic else ErrorCode.NONE
    if code is not ErrorCode.NONE:
        return code
    member = group.members.get(request.member_id)
    return ErrorCode.UNKNOWN_MEMBER_ID if member is None else _judge_member(state, request, member)


def _judge_seat(group: Group, request: Commit) -> ErrorCode:
    """Kafka looks at seats in classic groups only (K5.5): elsewhere who lost its own to another joins anew (K5.9)."""
    if request.instance_id is None:
        return ErrorCode.NONE
    holder = group.instances.get(request.instance_id)
    if holder is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if holder == request.member_id else ErrorCode.FENCED_INSTANCE_ID


def _judge_member(state: Shard, request: Commit, member: Member) -> ErrorCode:
    if _needs_newer_version(request, member):
        return ErrorCode.UNSUPPORTED_VERSION
    if may_commit(state, request, member):
        return ErrorCode.NONE
    if isinstance(request, TxnOffsetCommit):
        return ErrorCode.ILLEGAL_GENERATION
    return _wrong_epoch(member)


def may_commit(state: Shard, request: Commit, member: Member) -> bool:
    """Whether the epoch is right: the member's own, or an older one under which it already had every partition it
    commits.

    Each partition remembers the epoch at which it was assigned (K5.11 with 11.4, decision 3). Under its own epoch a
    member may commit what nobody else has; Kafka lets it commit all, but here a commit may have waited for another one
    while its partition changed hands (decision 2).
    """
    current = member.current
    if request.generation == current.epoch:
        owners, member_id = state.groups[request.group_id].owners, member.subscription.member_id
        return all(owners.get(partition, member_id) == member_id for partition in known_partitions(state, request))
    if request.generation > current.epoch or request.generation < 0:
        return False
    held = {**current.pending_revocation, **current.assigned}
    for topic in request.topics:
        topic_id = _topic_id(state, topic)
        for entry in topic.partitions:
            assigned_at = None if topic_id is None else held.get(TopicIdPartition(topic_id, entry.partition))
            if assigned_at is None or assigned_at > request.generation:
                return False
    return True


def known_partitions(state: Shard, request: Commit) -> Partitions:
    """The partitions of a commit, by topic id; topics that the catalog doesn't know can't be anybody's."""
    return frozenset(
        TopicIdPartition(topic_id, entry.partition)
        for topic in request.topics
        if (topic_id := _topic_id(state, topic)) is not None
        for entry in topic.partitions
    )


def check_fetch(state: Shard, group_id: GroupId, member_id: MemberId | None, epoch: int) -> ErrorCode:
    """Whether an OffsetFetch may go to the broker (K5.19, K5.20 with 11.4): the exact epoch, or no identity at all.

    A classic group asks nothing.
    """
    group = state.groups.get(group_id)
    if group is None:
        return ErrorCode.NONE
    if member_id is None:
        return ErrorCode.NONE if epoch < 0 else ErrorCode.UNKNOWN_SERVER_ERROR
    return _check_member(group, member_id, epoch)


def _check_member(group: Group, member_id: MemberId, epoch: int) -> ErrorCode:
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if epoch == member.current.epoch else _wrong_epoch(member)


def _judge_without_group(state: Shard, request: Commit, now_ms: int) -> ErrorCode:
    if request.generation < 0:
        return ErrorCode.NONE
    # As with heartbeats: the member may be one of before, and 69 would end it (Kafka's word from version 9 on).
    if now_ms < state.no_assignment_before_ms:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if isinstance(request, OffsetCommit) and request.knows_member_epoch:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.ILLEGAL_GENERATION


def _is_anonymous_transaction(request: Commit, *, is_classic: bool) -> bool:
    """A producer that was given no group metadata: any other number or an instance id names somebody (K5.17); in a
    classic group every number below zero says nothing (K5.6).
    """
    says_nothing = request.generation < 0 if is_classic else request.generation == NO_GENERATION
    is_nobody = not request.member_id and request.instance_id is None and says_nothing
    return is_nobody and isinstance(request, TxnOffsetCommit)


def _needs_newer_version(request: Commit, member: Member) -> bool:
    if isinstance(request, TxnOffsetCommit) or request.knows_member_epoch:
        return False
    return member.subscription.speaks is Speaks.CONSUMER


def _wrong_epoch(member: Member) -> ErrorCode:
    if member.subscription.speaks is Speaks.CLASSIC:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH


def _topic_id(state: Shard, topic: TopicCommit) -> TopicId | None:
    if topic.topic_id != NO_TOPIC_ID:
        return topic.topic_id
    return state.topic_ids.get(topic.name)


def judge_classic_commit(group: ClassicGroup, request: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
    """The code for a whole commit (K5.4 to K5.7).

    The exact generation only: what partitions a member held in older ones is in bytes that only clients read.
    """
    if group.phase is Phase.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if request.generation < 0 and group.phase is Phase.EMPTY:
        return ErrorCode.NONE
    is_plain = isinstance(request, OffsetCommit)
    if request.generation < 0 and not request.member_id and request.instance_id is None:
        return ErrorCode.UNKNOWN_MEMBER_ID if is_plain else ErrorCode.NONE
    code = judge_identity(group, request.member_id, request.instance_id)
    if code is not ErrorCode.NONE:
        return code
    if request.generation != group.generation_of(request.member_id):
        return ErrorCode.ILLEGAL_GENERATION
    is_completing = group.phase is Phase.COMPLETING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_plain and is_completing else ErrorCode.NONE


def note_sign_of_life(turn: Turn, group: ClassicGroup, request: OffsetCommit | TxnOffsetCommit) -> None:
    """A plain commit that was let through extends its member's session (K5.8)."""
    member = group.members.get(request.member_id)
    if member is not None and isinstance(request, OffsetCommit):
        extend_session(turn, group, member)
