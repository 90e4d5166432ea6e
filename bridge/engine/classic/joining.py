"""JoinGroup on a classic group: refused, told its id, answered at once, parked until everybody is there, or put on the
seat of the static member that it replaces (KIP-345, KIP-814).
"""

from dataclasses import replace

from bridge.engine.classic.barriers import (
    choose_protocol,
    hold_hand_out,
    list_members,
    rebalance_or_complete,
    supports,
    try_complete,
)
from bridge.engine.classic.seats import (
    Seating,
    extend_session,
    forget_member,
    judge_identity,
    park_join,
    refuse_join,
    removed,
    to_member,
    welcome,
)
from bridge.engine.commands import ClassicJoin
from bridge.engine.model import Phase
from bridge.engine.outcome import RemovalCause
from bridge.engine.queries import group_type
from bridge.engine.records import (
    ClassicGroupCreated,
    ClassicMemberReplaced,
    ClassicMemberSeated,
    DeadlineSet,
    GroupDeleted,
    JoinDelayChanged,
    MemberIdPromised,
    MemberIdWithdrawn,
)
from bridge.engine.state import ClassicGroup, Shard, session_key, settings_of
from bridge.engine.turn import Turn
from translators.dialects.classic import JoinGroup, JoinGroupReply, SyncGroupReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId, classic_member_id

PROMISED_MAX = 10_000
"""How many ids a group has promised at once. The oldest promise makes room for the next, and whoever it was made to is
told to join anew: a hundred bytes had an id kept for up to half an hour, and nobody was ever refused.
"""


def take_join(turn: Turn, command: ClassicJoin) -> None:
    """Carry out a JoinGroup; a group that does not exist, or is an empty consumer group, begins with it.

    What is refused is refused before anything is deleted: an empty consumer group survives a join that fails (Kafka
    loses it, K1.10).
    """
    request = command.request
    refusal = judge_front(turn.state, request) or judge_birth(turn.state, request)
    if refusal is not None:
        _found_empty(turn, request, refusal)
        turn.reply(command.ref, refusal)
        return
    group = turn.state.classic_groups.get(request.group_id) or _create(turn, request)
    if not has_room(turn, group, request):
        _turn_away(turn, group, command)
    elif not supports(group, request):
        turn.reply(command.ref, refuse_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
    elif request.member_id:
        _take_known(turn, group, command)
    else:
        _take_new(turn, group, command)


def _found_empty(turn: Turn, request: JoinGroup, refusal: JoinGroupReply) -> None:
    """A newcomer whose protocols are refused leaves an Empty group where there was none (K1.11)."""
    is_new = group_type(turn.state, request.group_id) is None
    if is_new and refusal.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
        turn.write(ClassicGroupCreated(request.group_id))


def judge_front(state: Shard, request: JoinGroup) -> JoinGroupReply | None:
    """The refusal that needs no group: its name, and the bounds of the session timeout (K1.6)."""
    if not request.group_id:
        return refuse_join(ErrorCode.INVALID_GROUP_ID, request.member_id)
    settings = settings_of(state, request.group_id)
    shortest_ms, longest_ms = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
    if not shortest_ms <= request.session_timeout_ms <= longest_ms:
        return refuse_join(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
    return None


def judge_birth(state: Shard, request: JoinGroup) -> JoinGroupReply | None:
    """The refusal where there is no live classic group: only a newcomer with a protocol begins one (K1.8 to K1.15)."""
    group = state.classic_groups.get(request.group_id)
    if group is not None:
        is_dead = group.phase is Phase.DEAD
        return refuse_join(ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id) if is_dead else None
    consumer_group = state.groups.get(request.group_id)
    if consumer_group is not None and consumer_group.members:
        return refuse_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if request.member_id:
        return refuse_join(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
    if not (request.protocol_type and request.protocols):
        return refuse_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return None


def has_room(turn: Turn, group: ClassicGroup, request: JoinGroup) -> bool:
    """Whether a joiner may come in (K1.12); promised ids don't count (K1.14).

    A static member that comes back without an id has its seat, also in a full group (Kafka looks at the id only,
    K1.13).
    """
    most = settings_of(turn.state, group.group_id).group_max_size
    member_id = request.member_id
    if not member_id and request.instance_id is not None:
        member_id = group.instances.get(request.instance_id, member_id)
    if group.phase is Phase.EMPTY:
        return True
    if group.phase is Phase.PREPARING_REBALANCE:
        return member_id in group.joining or len(group.joining) < most
    return member_id in group.members or len(group.members) < most


def _create(turn: Turn, request: JoinGroup) -> ClassicGroup:
    group_id = request.group_id
    if group_id in turn.state.groups:
        turn.write(GroupDeleted(group_id))
        turn.forget(group_id)
    turn.write(ClassicGroupCreated(group_id))
    return turn.state.classic_groups[group_id]


def _turn_away(turn: Turn, group: ClassicGroup, command: ClassicJoin) -> None:
    """No room: whoever asks also loses the seat or the promise it had, and nobody waits for it any more (K1.12; Kafka
    4.3 lets the others wait for the timer, K11.4 table row 3).
    """
    member_id = command.request.member_id
    if member_id in group.members:
        forget_member(turn, group, member_id, RemovalCause.GROUP_FULL)
    elif member_id in group.pending:
        turn.write(MemberIdWithdrawn(group.group_id, member_id))
    turn.reply(command.ref, refuse_join(ErrorCode.GROUP_MAX_SIZE_REACHED))
    try_complete(turn, group)


def _take_new(turn: Turn, group: ClassicGroup, command: ClassicJoin) -> None:
    """A newcomer: seated, told its id first (KIP-394), or back on its static seat (K1.17 to K1.21)."""
    request = command.request
    member_id = classic_member_id(command.identity.client_id, request.instance_id, command.fresh_id)
    seating = Seating(command.ref, request, command.identity, member_id)
    former_id = None if request.instance_id is None else group.instances.get(request.instance_id)
    if former_id is not None:
        replace_static(turn, group, seating, former_id)
    elif request.instance_id is None and request.needs_member_id:
        if len(group.pending) >= PROMISED_MAX:
            turn.write(MemberIdWithdrawn(group.group_id, next(iter(group.pending))))
        at_ms = turn.now_ms + request.session_timeout_ms
        turn.write(
            MemberIdPromised(group.group_id, member_id), DeadlineSet(session_key(group.group_id, member_id), at_ms)
        )
        turn.reply(command.ref, refuse_join(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    else:
        _seat(turn, group, seating)


def _seat(turn: Turn, group: ClassicGroup, seating: Seating) -> None:
    """Add a newcomer and let it wait for the others (K1.22)."""
    member_id = seating.member_id
    delay = group.delay
    if delay is not None and not delay.has_newcomers:
        turn.write(JoinDelayChanged(group.group_id, replace(delay, has_newcomers=True)))
    protocol_type = group.roster.protocol_type if group.members else seating.request.protocol_type
    member = to_member(seating)
    turn.write(
        ClassicMemberSeated(
            group_id=group.group_id,
            member=member,
            protocol_type=protocol_type,
            leader=group.roster.leader or member_id,
            is_new=True,
        )
    )
    extend_session(turn, group, member)
    park_join(turn, group, member_id, seating.ref)
    rebalance_or_complete(turn, group)


def _take_known(turn: Turn, group: ClassicGroup, command: ClassicJoin) -> None:
    """Somebody who names its id: a promise kept, a stranger, or a member (K1.23)."""
    request = command.request
    member_id = request.member_id
    seating = Seating(command.ref, request, command.identity, member_id)
    if member_id in group.pending:
        if request.instance_id is not None:
            turn.reply(command.ref, refuse_join(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        turn.write(MemberIdWithdrawn(group.group_id, member_id))
        _seat(turn, group, seating)
        return
    code = judge_identity(group, member_id, request.instance_id)
    if code is not ErrorCode.NONE:
        turn.reply(command.ref, refuse_join(code, member_id))
    elif _has_news(group, request):
        _rejoin(turn, group, seating)
    else:
        leads = group.phase is Phase.COMPLETING_REBALANCE and group.roster.leader == member_id
        turn.reply(command.ref, welcome(group, member_id, list_members(group) if leads else ()))


def _has_news(group: ClassicGroup, request: JoinGroup) -> bool:
    """Whether a member's JoinGroup asks for a rebalance or takes part in one (K1.25 to K1.27); else it only missed its
    answer.
    """
    if group.phase is Phase.PREPARING_REBALANCE:
        return True
    if group.phase is Phase.STABLE and request.member_id == group.roster.leader:
        return True
    return request.protocols != group.members[request.member_id].protocols


def _rejoin(turn: Turn, group: ClassicGroup, seating: Seating) -> None:
    member_id, request = seating.member_id, seating.request
    member = replace(
        group.members[member_id],
        protocols=request.protocols,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
    )
    roster = group.roster
    turn.write(
        ClassicMemberSeated(
            group_id=group.group_id,
            member=member,
            protocol_type=roster.protocol_type,
            leader=roster.leader or member_id,
            is_new=False,
        )
    )
    park_join(turn, group, member_id, seating.ref)
    rebalance_or_complete(turn, group)


def replace_static(turn: Turn, group: ClassicGroup, seating: Seating, former_id: MemberId) -> None:
    """Put the newcomer on the seat: a Stable group whose protocol stays goes on without a rebalance (K1.40 to K1.43).

    What the former holder has parked is answered FENCED_INSTANCE_ID. The seat goes on showing the client id and host
    of who took it first, as in Kafka; unlike there, a seat in its first join keeps the time of a newcomer, and a longer
    session counts at once. A shorter one counts from the newcomer's first heartbeat, as in Kafka.
    """
    former_leader = group.roster.leader
    _swap(turn, group, seating, former_id)
    if group.phase is Phase.STABLE and _keeps_protocol(group):
        hold_hand_out(turn, group, seating.member_id)
        _answer(turn, group, seating, former_leader)
        return
    park_join(turn, group, seating.member_id, seating.ref)
    rebalance_or_complete(turn, group)


def _swap(turn: Turn, group: ClassicGroup, seating: Seating, former_id: MemberId) -> None:
    former = group.members[former_id]
    joining, syncing = group.joining.get(former_id), group.syncing.get(former_id)
    if joining is not None:
        turn.reply(joining, refuse_join(ErrorCode.FENCED_INSTANCE_ID, former_id))
    if syncing is not None:
        turn.reply(syncing, SyncGroupReply(error=ErrorCode.FENCED_INSTANCE_ID))
    member = replace(to_member(seating), assignment=former.assignment, identity=former.identity)
    turn.write(ClassicMemberReplaced(group.group_id, former_id, member))
    # Kafka's timer runs on for the former's time until the newcomer beats; longer than that nobody has to wait.
    longer_ms = max(former.session_timeout_ms, member.session_timeout_ms)
    extend_session(turn, group, replace(member, session_timeout_ms=longer_ms))
    turn.notices.append(removed(group, former, RemovalCause.REPLACED))


def _keeps_protocol(group: ClassicGroup) -> bool:
    """Names only: another subscription under the same protocol is no reason to rebalance (K1.42)."""
    return choose_protocol(group.offers, group.roster.protocol_name) == group.roster.protocol_name


def _answer(turn: Turn, group: ClassicGroup, seating: Seating, former_leader: MemberId | None) -> None:
    """From version 9 on a leader is told so and to compute nothing; before, it is shown its old id and so follows."""
    member_id = seating.member_id
    if seating.request.skips_assignment:
        leads = group.roster.leader == member_id
        reply = welcome(group, member_id, list_members(group) if leads else (), skip_assignment=leads)
    else:
        reply = replace(welcome(group, member_id), leader=former_leader or "")
    turn.reply(seating.ref, reply)
