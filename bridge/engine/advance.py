"""The engine's one entry: commands in, an outcome out, in phases that let whatever is queued share one target.

It must not know protocols.
"""

from collections.abc import Iterator, Sequence
from functools import singledispatch

from bridge.engine.catalog import take_pattern, take_topics
from bridge.engine.classic.heartbeats import take_heartbeat as take_classic_heartbeat
from bridge.engine.classic.joining import take_join
from bridge.engine.classic.syncing import take_sync
from bridge.engine.classic.unloading import unload_classic_groups
from bridge.engine.commands import (
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
    MemberHeartbeat,
    PassDeadlines,
    RemoveMembers,
    ResolveRegularExpression,
    UnloadClassicGroups,
)
from bridge.engine.commits import end_commit, take_commit
from bridge.engine.consumer.answer import answer, next_current, refused, step_records
from bridge.engine.consumer.heartbeats import take_heartbeat
from bridge.engine.consumer.retargeting import retarget_groups
from bridge.engine.convert.downgrade import notice_due, take_seats
from bridge.engine.convert.orders import take_order
from bridge.engine.deletion import take_deletion
from bridge.engine.expiry import pass_deadlines
from bridge.engine.leaving import take_leave, take_removal
from bridge.engine.model import Ask
from bridge.engine.outcome import Outcome
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


@singledispatch
def _take(command: object, turn: Turn) -> None:
    raise TypeError(
        f"EB-ENGINE-006: no decision for command {command!r} at {turn.now_ms} ms; add one to bridge.engine.advance"
    )


@_take.register
def _(command: MemberHeartbeat, turn: Turn) -> None:
    take_heartbeat(turn, command)


@_take.register
def _(command: RemoveMembers, turn: Turn) -> None:
    take_removal(turn, command)


@_take.register
def _(command: ClassicJoin, turn: Turn) -> None:
    take_join(turn, command)


@_take.register
def _(command: ClassicSync, turn: Turn) -> None:
    take_sync(turn, command)


@_take.register
def _(command: ClassicHeartbeat, turn: Turn) -> None:
    take_classic_heartbeat(turn, command)


@_take.register
def _(command: ClassicLeave, turn: Turn) -> None:
    take_leave(turn, command)


@_take.register
def _(command: ConvertGroup, turn: Turn) -> None:
    take_order(turn, command)


@_take.register
def _(command: BecomeClassic, turn: Turn) -> None:
    take_seats(turn, command)


@_take.register
def _(_command: UnloadClassicGroups, turn: Turn) -> None:
    unload_classic_groups(turn)


@_take.register
def _(command: ChangeTopics, turn: Turn) -> None:
    take_topics(turn, command)


@_take.register
def _(command: ResolveRegularExpression, turn: Turn) -> None:
    take_pattern(turn, command)


@_take.register
def _(command: BeginCommit, turn: Turn) -> None:
    take_commit(turn, command)


@_take.register
def _(command: EndCommit, turn: Turn) -> None:
    end_commit(turn, command)


@_take.register
def _(command: DeleteGroup, turn: Turn) -> None:
    take_deletion(turn, command)


@_take.register
def _(_command: PassDeadlines, turn: Turn) -> None:
    pass_deadlines(turn)
