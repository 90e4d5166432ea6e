"""Playing a round: the broker rebalances a group, and its clients hear nothing of it.

The bridge joins in the place of every member and, as the leader, gives each what it is to have (migration.md, 4).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import assert_never

from bridge.migration.moves.members import restate
from bridge.migration.moves.round_values import (
    TRANSITIONS,
    AnswerLost,
    AskingIds,
    AskInPlace,
    DeadlinePassed,
    Failed,
    JoinAnswered,
    Joining,
    Played,
    RemovalAnswered,
    RemoveMembers,
    RemovingStrangers,
    Round,
    RoundAbandoned,
    RoundEffect,
    RoundEvent,
    RoundFailure,
    RoundPlayer,
    RoundState,
    Running,
    SyncAnswered,
    Syncing,
    Table,
)
from translators.dialects.classic import (
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeavingMember,
    MemberAssignment,
    Protocol,
    SyncGroup,
)
from translators.dialects.consumer_protocol import CONSUMER, MalformedBlob
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, MemberId
from translators.machine import Step, checked_step

RETRY_MS = 25
"""How long a player waits before it asks again what was not answered, or answered too early."""
REJOIN_MS_A_PLAYER = 1
"""So much longer, for each player, nobody has been told anything before those join again who have joined: while answers
are read one after the other they would be asked for anew before the last is. A round of 500 never ended so.
"""
REASON = "epochbridge moves the group"
ASKED_AGAIN = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
"""Answers that say nothing about the player: a coordinator that moves, or a group that was converted meanwhile."""
JOINED_ANEW = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})
"""Answers to SyncGroup after which everybody joins anew: somebody came or went since."""

RoundStep = Step[RoundState, RoundEffect]


def begin(played: Round) -> RoundStep:
    """The first step of a round; it fails at once if a subscription can't be rewritten."""
    for player in played.players:
        try:
            _offers(played, player, played.generation)
        except MalformedBlob:
            ids = {one.member_id: one.broker_id for one in played.players}
            failed = Failed(failure=RoundFailure.UNREADABLE, ids=ids, open=frozenset(), member_id=player.member_id)
            return Step(failed)
    table = Table(ids={one.member_id: one.broker_id for one in played.players}, generation=played.generation)
    if played.strangers:
        return _remove(played, table, played.strangers)
    return _ask_ids(played, table)


def next_deadline(state: RoundState) -> int | None:
    """When `DeadlinePassed` is due, None for never."""
    match state:
        case RemovingStrangers():
            again_ms = state.again_ms
            return state.round.deadline_ms if again_ms is None else min(again_ms, state.round.deadline_ms)
        case Joining(rejoin_ms=int(rejoin_ms)):
            return min((state.round.deadline_ms, rejoin_ms, *state.table.paused.values()))
        case AskingIds() | Joining() | Syncing():
            return min((state.round.deadline_ms, *state.table.paused.values()))
        case Played() | Failed():
            return None
        case _:
            assert_never(state)


def _react(state: RoundState, event: RoundEvent, now_ms: int) -> RoundStep:
    match state:
        case RemovingStrangers() | AskingIds() | Joining() | Syncing():
            return _react_running(state, event, now_ms)
        case Failed():
            return Step(_hear_late(state, event))
        case Played():
            raise AssertionError(f"the table lets nothing happen to a round that was played, not {event!r}")
        case _:
            assert_never(state)


step = checked_step(TRANSITIONS, _react)
"""Let one event happen to a round: raises UnexpectedEvent for one that its state can't have."""


def _react_running(state: Running, event: RoundEvent, now_ms: int) -> RoundStep:
    if isinstance(event, RoundAbandoned):
        return _fail(state, RoundFailure.ABANDONED)
    if isinstance(event, DeadlinePassed) and now_ms >= state.round.deadline_ms:
        return _fail(state, RoundFailure.OUT_OF_TIME)
    match state:
        case RemovingStrangers():
            return _while_removing(state, event, now_ms)
        case AskingIds():
            return _while_asking(state, event, now_ms)
        case Joining():
            return _while_joining(state, event, now_ms)
        case Syncing():
            return _while_syncing(state, event, now_ms)
        case _:
            assert_never(state)


def _while_removing(state: RemovingStrangers, event: RoundEvent, now_ms: int) -> RoundStep:
    if isinstance(event, DeadlinePassed):
        return _remove(state.round, state.table, state.leaving) if _is_due(state.again_ms, now_ms) else Step(state)
    assert isinstance(event, RemovalAnswered), event
    code = ErrorCode.NETWORK_EXCEPTION if event.reply is None else event.reply.error
    if code in ASKED_AGAIN:
        return Step(replace(state, again_ms=now_ms + RETRY_MS))
    if code is not ErrorCode.NONE:
        return _fail(state, RoundFailure.REFUSED, code=code)
    return _ask_ids(state.round, state.table)


def _while_asking(state: AskingIds, event: RoundEvent, now_ms: int) -> RoundStep:
    if isinstance(event, DeadlinePassed):
        return _ask(state, _due(state.table, now_ms))
    if isinstance(event, AnswerLost):
        return Step(replace(state, table=_pause(state.table, event.member_id, now_ms)))
    assert isinstance(event, JoinAnswered), event
    reply, member_id = event.reply, event.member_id
    if reply.error in ASKED_AGAIN:
        return Step(replace(state, table=_pause(state.table, member_id, now_ms)))
    table = _answered(state.table, member_id)
    if reply.error not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
        return _fail(replace(state, table=table), RoundFailure.REFUSED, member_id, reply.error)
    table = replace(table, ids={**table.ids, member_id: reply.member_id})
    if _nameless(state.round, table):
        return Step(replace(state, table=table))
    return _join(state.round, table)


def _while_joining(state: Joining, event: RoundEvent, now_ms: int) -> RoundStep:
    match event:
        case DeadlinePassed():
            due = _due(state.table, now_ms)
            rejoining = _rejoining(state) if _is_due(state.rejoin_ms, now_ms) else frozenset()
            joined = {one: reply for one, reply in state.joined.items() if one not in rejoining}
            rejoin_ms = None if rejoining else state.rejoin_ms
            return _ask(replace(state, joined=joined, rejoin_ms=rejoin_ms), [*due, *rejoining])
        case AnswerLost(member_id) | SyncAnswered(member_id):
            # Also the SyncGroup of a generation that is over: the player joins as soon as its connection is free.
            return Step(replace(state, table=_pause(state.table, member_id, now_ms)))
        case JoinAnswered(member_id, reply):
            return _take_join(state, member_id, reply, now_ms)
        case _:
            raise AssertionError(f"the table lets no {event!r} happen while joining")


def _rejoining(state: Joining) -> frozenset[MemberId]:
    """Who has joined and joins again: everybody, or whoever was told an older generation if everybody is in."""
    if len(state.joined) < len(state.round.players):
        return frozenset(state.joined)
    newest = max(reply.generation for reply in state.joined.values())
    return frozenset(one for one, reply in state.joined.items() if reply.generation < newest)


def _take_join(state: Joining, member_id: MemberId, reply: JoinGroupReply, now_ms: int) -> RoundStep:
    is_early = reply.error is ErrorCode.NONE and reply.generation <= state.table.generation
    if is_early or reply.error in ASKED_AGAIN:
        return Step(replace(state, table=_pause(state.table, member_id, now_ms)))
    table = _answered(state.table, member_id)
    if reply.error is not ErrorCode.NONE:
        return _fail(replace(state, table=table), RoundFailure.REFUSED, member_id, reply.error)
    table = replace(table, ids={**table.ids, member_id: reply.member_id})
    joined = {**state.joined, member_id: reply}
    if len(joined) == len(state.round.players) and len({one.generation for one in joined.values()}) == 1:
        return _begin_generation(replace(state, table=replace(table, paused={}), joined=joined))
    # Until everybody is in, whoever is joins again: for all it knows, the group prepares another generation, and waits.
    # The same bytes once more change nothing where it does not.
    rejoin_ms = now_ms + RETRY_MS + REJOIN_MS_A_PLAYER * len(state.round.players)
    return Step(replace(state, table=table, joined=joined, rejoin_ms=rejoin_ms))


def _begin_generation(state: Joining) -> RoundStep:
    """Everybody is in: sync if one of the players leads, else remove who does."""
    players = {broker_id: member_id for member_id, broker_id in state.table.ids.items()}
    told = next(iter(state.joined.values()))
    table = replace(state.table, generation=told.generation)
    leader = players.get(MemberId(told.leader))
    if leader is None:
        return _remove(state.round, table, (MemberId(told.leader),))
    everybody = state.joined[leader].members
    syncing = Syncing(
        round=state.round,
        table=table,
        protocol_name=told.protocol_name or "",
        leader=leader,
        strangers=tuple(one.member_id for one in everybody if one.member_id not in players),
    )
    return _ask(syncing, [leader, *(one for one in table.ids if one != leader)])


def _while_syncing(state: Syncing, event: RoundEvent, now_ms: int) -> RoundStep:
    match event:
        case DeadlinePassed():
            return _ask(state, _due(state.table, now_ms))
        case AnswerLost(member_id):
            return Step(replace(state, table=_pause(state.table, member_id, now_ms)))
        case SyncAnswered(member_id, reply):
            if reply.error in JOINED_ANEW:
                return _join(state.round, _answered(state.table, member_id))
            if reply.error in ASKED_AGAIN:
                return Step(replace(state, table=_pause(state.table, member_id, now_ms)))
            state = replace(state, table=_answered(state.table, member_id), synced=state.synced | {member_id})
            if reply.error is not ErrorCode.NONE:
                return _fail(state, RoundFailure.REFUSED, member_id, reply.error)
            if reply.assignment != _player(state.round, member_id).give:
                return _fail(state, RoundFailure.GIVEN_OTHERWISE, member_id)
            if len(state.synced) < len(state.round.players):
                return Step(state)
            return Step(Played(generation=state.table.generation, ids=state.table.ids, strangers=state.strangers))
        case _:
            raise AssertionError(f"the table lets no {event!r} happen while syncing")


# ---------------------------------------------------------------------- who asks what


def _remove(played: Round, table: Table, leaving: tuple[MemberId, ...]) -> RoundStep:
    """Members that are no players leave: they come back as newcomers, and nobody waits for them."""
    entries = tuple(LeavingMember(member_id=one, reason=REASON) for one in leaving)
    removing = RemovingStrangers(round=played, table=table, leaving=leaving)
    return Step(removing, (RemoveMembers(LeaveGroup(group_id=played.group_id, members=entries)),))


def _nameless(played: Round, table: Table) -> list[MemberId]:
    """Players without an id who have to ask for one; a static one is let in without."""
    return [
        one.member_id for one in played.players if one.instance_id is None and table.ids[one.member_id] == NO_MEMBER_ID
    ]


def _ask_ids(played: Round, table: Table) -> RoundStep:
    nameless = _nameless(played, table)
    return _ask(AskingIds(round=played, table=table), nameless) if nameless else _join(played, table)


def _join(played: Round, table: Table) -> RoundStep:
    """Everybody joins whose connection is free; the others when it is."""
    free = [one.member_id for one in played.players if one.member_id not in table.open]
    return _ask(Joining(round=played, table=replace(table, paused={}), joined={}), free)


def _due(table: Table, now_ms: int) -> list[MemberId]:
    return [one for one, at_ms in table.paused.items() if at_ms <= now_ms]


def _ask(state: AskingIds | Joining | Syncing, members: Iterable[MemberId]) -> RoundStep:
    asking = tuple(members)
    paused = {one: at_ms for one, at_ms in state.table.paused.items() if one not in asking}
    table = replace(state.table, open=state.table.open.union(asking), paused=paused)
    state = replace(state, table=table)
    known = {one.member_id: one for one in state.round.players}
    return Step(state, tuple(AskInPlace(one, _request(state, known[one], known)) for one in asking))


def _request(
    state: AskingIds | Joining | Syncing, player: RoundPlayer, players: Mapping[MemberId, RoundPlayer]
) -> JoinGroup | SyncGroup:
    played, table = state.round, state.table
    if not isinstance(state, Syncing):
        return JoinGroup(
            group_id=played.group_id,
            member_id=table.ids[player.member_id],
            instance_id=player.instance_id,
            protocol_type=played.protocol_type,
            protocols=_offers(played, player, table.generation),
            session_timeout_ms=player.session_timeout_ms,
            rebalance_timeout_ms=player.rebalance_timeout_ms,
            reason=REASON,
        )
    assignments: tuple[MemberAssignment, ...] = ()
    if player.member_id == state.leader:
        given = tuple(MemberAssignment(table.ids[one], players[one].give) for one in table.ids)
        assignments = given + tuple(MemberAssignment(one, played.strangers_get) for one in state.strangers)
    return SyncGroup(
        group_id=played.group_id,
        generation=table.generation,
        member_id=table.ids[player.member_id],
        instance_id=player.instance_id,
        protocol_type=played.protocol_type,
        protocol_name=state.protocol_name,
        assignments=assignments,
        names_protocol=True,
    )


def _offers(played: Round, player: RoundPlayer, generation: int) -> tuple[Protocol, ...]:
    if played.protocol_type != CONSUMER:
        return player.protocols
    return restate(player.protocols, player.owned, generation)


def _player(played: Round, member_id: MemberId) -> RoundPlayer:
    return next(one for one in played.players if one.member_id == member_id)


def _answered(table: Table, member_id: MemberId) -> Table:
    return replace(table, open=table.open - {member_id})


def _pause(table: Table, member_id: MemberId, now_ms: int) -> Table:
    return replace(_answered(table, member_id), paused={**table.paused, member_id: now_ms + RETRY_MS})


def _is_due(at_ms: int | None, now_ms: int) -> bool:
    return at_ms is not None and at_ms <= now_ms


# ---------------------------------------------------------------------- its end before its time


def _fail(
    state: Running, failure: RoundFailure, member_id: MemberId | None = None, code: ErrorCode = ErrorCode.NONE
) -> RoundStep:
    """Give up: who was new to the broker leaves it, everybody else stays what the broker takes it for."""
    played, table = state.round, state.table
    newcomers = tuple(
        LeavingMember(member_id=table.ids[one.member_id], instance_id=one.instance_id, reason=REASON)
        for one in played.players
        if one.broker_id == NO_MEMBER_ID and (one.instance_id is not None or table.ids[one.member_id])
    )
    failed = Failed(failure=failure, ids=table.ids, open=table.open, member_id=member_id, code=code)
    if not newcomers:
        return Step(failed)
    return Step(failed, (RemoveMembers(LeaveGroup(group_id=played.group_id, members=newcomers)),))


def _hear_late(state: Failed, event: RoundEvent) -> Failed:
    """An answer that nobody waits for any more: its connection is free again."""
    match event:
        case JoinAnswered(member_id) | SyncAnswered(member_id) | AnswerLost(member_id):
            return replace(state, open=state.open - {member_id})
        case RemovalAnswered() | DeadlinePassed() | RoundAbandoned():
            return state
        case _:
            assert_never(event)
