"""An admin's word on the settings of a group: judged as Kafka's controller does, and in force at once."""

from collections import Counter
from collections.abc import Iterable

from bridge.engine.commands import AlterGroupConfigs, Speaks
from bridge.engine.consumer.reconciliation import session_timeout_ms
from bridge.engine.consumer.target import choose_assignor
from bridge.engine.model import DeadlineKey, DeadlineKind
from bridge.engine.records import DeadlineSet, GroupConfigured
from bridge.engine.settings import GroupConfigs, alter, check, configured_settings, is_elsewhere
from bridge.engine.state import Group, Shard
from bridge.engine.turn import Turn
from translators.dialects.configs import GROUP, Alteration, AlteredResource, Operation, Resource
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import GroupId
from translators.dialects.kept_names import NAME_CHARS_MAX

NOTHING = GroupConfigs(())


def take_alteration(turn: Turn, command: AlterGroupConfigs) -> None:
    """Alter the settings of a group, or only say whether they could be."""
    resource = Resource(GROUP, command.group_id)
    judged = judge_alteration(turn.state, command)
    if isinstance(judged, Refusal):
        turn.reply(
            command.ref, AlteredResource(resource=resource, error=judged.code, error_message=judged.reason or None)
        )
        return
    if not command.validate_only and judged != turn.state.configs.get(command.group_id, NOTHING):
        _configure(turn, command.group_id, judged)
    turn.reply(command.ref, AlteredResource(resource=resource))


def judge_alteration(state: Shard, command: AlterGroupConfigs) -> GroupConfigs | Refusal:
    """What a group would have of its own; what is said of other kinds of groups is the broker's to judge."""
    malformed = _malformed(command)
    if malformed is not None:
        return malformed
    base = configured_settings(state.settings, command.group_id)
    known = state.configs.get(command.group_id, NOTHING)
    ours = [one for one in command.alterations if not is_elsewhere(one.name)]
    altered = alter({} if command.replaces_all else dict(known.values), ours, base)
    if isinstance(altered, Refusal):
        return altered
    configs = check(altered, base, state.assignors)
    if isinstance(configs, Refusal) or not configs.values or known.values:
        return configs
    if len(command.group_id) > NAME_CHARS_MAX:
        # 10,000 of 32 kB, as Kafka lets names be, are a third of a journal, and no member's share counts them.
        reason = (
            f"Only groups whose names have at most {NAME_CHARS_MAX} characters may have settings of their own; this has"
            f" {len(command.group_id)}."
        )
        return Refusal(ErrorCode.POLICY_VIOLATION, reason)
    most = state.settings.group_configs_max
    if len(state.configs) < most:
        return configs
    reason = (
        f"{counted(len(state.configs), 'group has settings of its own', 'groups have settings of their own')},"
        f" at most {most} may (group.configs.max)"
    )
    return Refusal(ErrorCode.POLICY_VIOLATION, reason)


def _malformed(command: AlterGroupConfigs) -> Refusal | None:
    """What Kafka refuses before it looks at names and values."""
    lacking = [one.name for one in command.alterations if one.value is None and one.operation != Operation.DELETE]
    if lacking:
        return _refused(f"Null value not supported for : {quote(','.join(lacking))}")
    if _has_doubles(command.alterations):
        return _refused("Error due to duplicate config keys")
    return None if command.group_id else _refused("Default group resources are not allowed.")


def _has_doubles(alterations: Iterable[Alteration]) -> bool:
    return any(count > 1 for count in Counter(one.name for one in alterations).values())


def _refused(reason: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, reason)


def _configure(turn: Turn, group_id: GroupId, configs: GroupConfigs) -> None:
    """Put settings in force: sessions that run end as if they had always been so long, and another default assignor, or
    a shorter wait for the next target, counts at once.
    """
    state = turn.state
    group = state.groups.get(group_id)
    if group is None:
        turn.write(GroupConfigured(group_id, configs.values))
        return
    former_ms, assignor = session_timeout_ms(state, group), choose_assignor(state, group)
    turn.write(GroupConfigured(group_id, configs.values))
    _move_sessions(turn, group, session_timeout_ms(state, group) - former_ms)
    turn.touch(group_id)
    if group.members and choose_assignor(state, group) != assignor:
        turn.move_epoch(group)


def _move_sessions(turn: Turn, group: Group, by_ms: int) -> None:
    if not by_ms:
        return
    due = turn.state.deadlines.due
    for member_id, member in group.members.items():
        key = DeadlineKey(DeadlineKind.SESSION, group.group_id, member_id)
        if member.subscription.speaks is Speaks.CONSUMER and key in due:
            turn.write(DeadlineSet(key, due[key] + by_ms))
