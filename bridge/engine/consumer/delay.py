"""The wait for more members when a group begins: who is parked, how long, and how the wait grows."""

from dataclasses import replace

from bridge.engine.commands import Speaks
from bridge.engine.model import Ask, DeadlineKey, DeadlineKind, InitialDelay
from bridge.engine.records import AskParked, DeadlineSet, DelayChanged, Record
from bridge.engine.settings import settings_of
from bridge.engine.state import Group, Shard, held_until_ms
from translators.dialects.ids import GroupId


def park(state: Shard, group: Group, ask: Ask, was_empty: bool, now_ms: int) -> tuple[Record, ...]:
    """The records that park a joiner's ask, none if it is answered now (decisions 9 and 13).

    Only CLASSIC joiners wait: at the start of an empty group, while such a wait lasts, and while no target may be
    computed yet.
    """
    subscription = group.members[ask.member_id].subscription
    if subscription.speaks is not Speaks.CLASSIC:
        return ()
    if group.delay is not None:
        return (*_note_newcomer(group, ask), AskParked(ask))
    wait_ms = held_until_ms(state, group.group_id) - now_ms
    delay_ms = settings_of(state.settings, group.group_id).group_initial_rebalance_delay_ms if was_empty else 0
    if max(wait_ms, delay_ms) <= 0:
        return ()
    if wait_ms >= delay_ms:
        return _begin(group, ask, InitialDelay(remaining_ms=0, last_delay_ms=wait_ms), now_ms)
    remaining_ms = max(subscription.rebalance_timeout_ms - delay_ms, 0)
    return _begin(group, ask, InitialDelay(remaining_ms=remaining_ms, last_delay_ms=delay_ms), now_ms)


def pass_delay(state: Shard, group: Group, now_ms: int) -> tuple[Record, ...]:
    """What happens when a wait is over: one more step if newcomers came and time is left, else the end (K1.30)."""
    delay = group.delay
    if delay is None or not (delay.has_newcomers and delay.remaining_ms):
        return (DelayChanged(group.group_id, None),)
    step_ms = min(settings_of(state.settings, group.group_id).group_initial_rebalance_delay_ms, delay.remaining_ms)
    longer = InitialDelay(remaining_ms=max(delay.remaining_ms - step_ms, 0), last_delay_ms=step_ms)
    return (DelayChanged(group.group_id, longer), DeadlineSet(delay_key(group.group_id), now_ms + step_ms))


def delay_key(group_id: GroupId) -> DeadlineKey:
    """The key of a group's initial delay."""
    return DeadlineKey(DeadlineKind.INITIAL_DELAY, group_id)


def _begin(group: Group, ask: Ask, delay: InitialDelay, now_ms: int) -> tuple[Record, ...]:
    at_ms = now_ms + delay.last_delay_ms
    return (DelayChanged(group.group_id, delay), DeadlineSet(delay_key(group.group_id), at_ms), AskParked(ask))


def _note_newcomer(group: Group, ask: Ask) -> tuple[Record, ...]:
    """Members that join again don't lengthen the wait, newcomers do."""
    if group.delay is None or group.delay.has_newcomers or ask.before is not None:
        return ()
    return (DelayChanged(group.group_id, replace(group.delay, has_newcomers=True)),)
