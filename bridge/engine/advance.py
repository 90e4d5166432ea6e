"""The engine's one entry: commands in, an outcome out, in phases that let whatever is queued share one target."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from bridge.engine.catalog import forget_patterns, take_pattern, take_topics
from bridge.engine.classic.barriers import take_sync
from bridge.engine.classic.joining import take_join
from bridge.engine.classic.seats import take_heartbeat as take_classic_heartbeat
from bridge.engine.commands import (
    AdoptGroup,
    AlterGroupConfigs,
    BecomeClassic,
    BeginCommit,
    ChangeTopics,
    ClassicHeartbeat,
    ClassicJoin,
    ClassicLeave,
    ClassicSync,
    Command,
    ConvertGroup,
    DeleteGroup,
    EndCommit,
    EndSessions,
    ForgetRegularExpressions,
    GiveUpGroup,
    MemberHeartbeat,
    PassDeadlines,
    RemoveMembers,
    ResolveRegularExpression,
    UnloadClassicGroups,
)
from bridge.engine.commits import end_commit, take_commit
from bridge.engine.configuring import take_alteration
from bridge.engine.consumer.heartbeats import take_heartbeat
from bridge.engine.consumer.reconciliation import answer, next_current, refused, step_records
from bridge.engine.consumer.retargeting import retarget_groups
from bridge.engine.convert.adoption import give_up, take_adoption
from bridge.engine.convert.downgrade import notice_due, take_seats
from bridge.engine.convert.upgrade import take_order
from bridge.engine.leaving import pass_deadlines, take_leave, take_removal
from bridge.engine.model import Ask
from bridge.engine.outcome import Outcome
from bridge.engine.queries import take_deletion
from bridge.engine.recovery import end_sessions, unload_classic_groups
from bridge.engine.state import Shard
from bridge.engine.turn import Turn
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import GroupId, MemberId


def advance(state: Shard, commands: Sequence[Command], now_ms: int) -> Outcome:
    """Carry out commands in turn, at `now_ms` of the shell's clock.

    The state changes only through the outcome's records, which were applied when this returns. Joins, changes and
    leaves of one call compute one target per group; a second command of the same member sees the first one done.
    """
    turn = Turn(state, now_ms)
    for run in _split(commands):
        for command in run:
            _take(command, turn)
        retarget_groups(turn)
        _answer_asks(turn)
        turn.moved.clear()
    notice_due(turn)
    return turn.finish()


def _split(commands: Sequence[Command]) -> Iterator[list[Command]]:
    """Cut a batch so that no member speaks twice in one run."""
    run: list[Command] = []
    speakers: set[tuple[GroupId, MemberId]] = set()
    for command in commands:
        if isinstance(command, MemberHeartbeat):
            speaker = (command.request.group_id, command.request.member_id or command.fresh_id)
            if speaker in speakers:
                yield run
                run, speakers = [], set()
            speakers.add(speaker)
        run.append(command)
    if run:
        yield run


def _answer_asks(turn: Turn) -> None:
    for ask in turn.asks:
        _answer_ask(turn, ask)
    turn.asks.clear()


def _answer_ask(turn: Turn, ask: Ask) -> None:
    group = turn.state.groups.get(ask.group_id)
    member = None if group is None else group.members.get(ask.member_id)
    if group is None or member is None:
        turn.reply(ask.ref, refused(_gone(ask)))
        return
    before = member.current
    new = next_current(turn.state, group, ask)
    turn.write(*step_records(turn.state, group, ask, new, turn.now_ms))
    turn.reply(ask.ref, answer(turn.state, group, ask, before))


def _gone(ask: Ask) -> Refusal:
    """The member went while its ask waited: expired, removed, or its seat taken."""
    return Refusal(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {quote(ask.member_id)} left group {quote(ask.group_id)} meanwhile."
    )


def _take(command: Command, turn: Turn) -> None:  # noqa: C901  # one case a kind
    match command:
        case MemberHeartbeat():
            take_heartbeat(turn, command)
        case ClassicHeartbeat():
            take_classic_heartbeat(turn, command)
        case BeginCommit():
            take_commit(turn, command)
        case EndCommit():
            end_commit(turn, command)
        case ClassicJoin():
            take_join(turn, command)
        case ClassicSync():
            take_sync(turn, command)
        case PassDeadlines():
            pass_deadlines(turn)
        case RemoveMembers():
            take_removal(turn, command)
        case ClassicLeave():
            take_leave(turn, command)
        case ChangeTopics():
            take_topics(turn, command)
        case ResolveRegularExpression():
            take_pattern(turn, command)
        case ForgetRegularExpressions():
            forget_patterns(turn, command)
        case ConvertGroup():
            take_order(turn, command)
        case BecomeClassic():
            take_seats(turn, command)
        case AdoptGroup():
            take_adoption(turn, command)
        case GiveUpGroup():
            give_up(turn, command)
        case UnloadClassicGroups():
            unload_classic_groups(turn)
        case EndSessions():
            end_sessions(turn, command)
        case DeleteGroup():
            take_deletion(turn, command)
        case AlterGroupConfigs():
            take_alteration(turn, command)
        case _:
            assert_never(command)
