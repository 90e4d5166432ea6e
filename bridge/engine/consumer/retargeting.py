"""When groups get a new target within a turn, and what becomes of those who asked when the assignor fails.

It must not know assignors' workings.
"""

from collections.abc import Sequence
from dataclasses import replace

from bridge.engine.consumer.answer import refused
from bridge.engine.consumer.grace import kept_until_ms
from bridge.engine.consumer.hints import find_hints, gather_claims
from bridge.engine.consumer.target import FailedTarget, compute_target, target_allowed_at
from bridge.engine.loads import remember_target
from bridge.engine.model import Ask, DeadlineKey, DeadlineKind, Subscription
from bridge.engine.outcome import AssignorFailed, TargetChanged
from bridge.engine.records import DeadlineSet, MemberForgotten, MemberSubscribed, SeatsGivenUp
from bridge.engine.settings import settings_of
from bridge.engine.state import Group
from bridge.engine.turn import Turn
from translators.dialects.errors import ErrorCode, Refusal


def retarget_groups(turn: Turn) -> None:
    """Compute one target for each touched group that is behind its epoch and may have one now (K2.26, decisions 9 and
    13).
    """
    claims = gather_claims(turn.asks) if turn.touched else {}
    for group_id in turn.touched:
        group = turn.state.groups[group_id]
        if group.epoch > group.assignment_epoch and group.delay is None:
            _retarget_when_allowed(turn, group, claims.get(group_id, ()))
    turn.touched.clear()


def _retarget_when_allowed(turn: Turn, group: Group, claiming: Sequence[Ask]) -> None:
    key = DeadlineKey(DeadlineKind.TARGET, group.group_id)
    allowed_ms = max(target_allowed_at(turn.state, group), kept_until_ms(group))
    if group.members and turn.now_ms < allowed_ms:
        if turn.state.deadlines.due.get(key) != allowed_ms:
            turn.write(DeadlineSet(key, allowed_ms))
        return
    retry_ms = turn.state.deadlines.due.get(key, turn.now_ms)
    if turn.now_ms < retry_ms and group.group_id not in turn.moved:
        return
    _retarget(turn, group, key, claiming)


def _retarget(turn: Turn, group: Group, key: DeadlineKey, claiming: Sequence[Ask]) -> None:
    if group.kept:
        turn.write(SeatsGivenUp(group.group_id))
    hints = find_hints(turn.state, group, claiming)
    target = compute_target(turn.state, group, turn.now_ms, hints)
    if isinstance(target, FailedTarget):
        turn.notices.append(AssignorFailed(group.group_id, target.assignor, target.reason))
        _turn_back(turn, group)
        retry_ms = settings_of(turn.state.settings, group.group_id).assignor_retry_ms
        turn.write(DeadlineSet(key, turn.now_ms + retry_ms))
        return
    turn.write(*target.records)
    remember_target(turn.state, group)
    if target.changed:
        turn.notices.append(TargetChanged(group.group_id, target.changed))


def _turn_back(turn: Turn, group: Group) -> None:
    """Undo what those who asked changed about their membership, and answer them -1; the others keep their target
    (K2.28).
    """
    staying: list[Ask] = []
    for ask in turn.asks:
        is_here = ask.group_id == group.group_id and ask.member_id in group.members
        if not (is_here and ask.has_new_topics):
            staying.append(ask)
            continue
        if ask.before is None:
            turn.write(MemberForgotten(group.group_id, ask.member_id))
        else:
            turn.write(MemberSubscribed(group.group_id, _restore(ask, ask.before)))
        turn.reply(ask.ref, refused(_FAILED))
    turn.asks[:] = staying


def _restore(ask: Ask, before: Subscription) -> Subscription:
    """What the seat wanted before; whose seat it is stays, also when it was just taken over."""
    return replace(before, member_id=ask.member_id)


_FAILED = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "The group's assignor failed; the bridge's log has the reason.")
