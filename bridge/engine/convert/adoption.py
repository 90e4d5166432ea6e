"""A group changes its coordinator: it is taken in as a broker has it, or given up; nobody has to join again."""

from bridge.engine.commands import AdoptGroup, GiveUpGroup, GroupType
from bridge.engine.convert.downgrade import seated_member
from bridge.engine.convert.readiness import too_large
from bridge.engine.convert.upgrade import Plan, plan_upgrade, upgrade
from bridge.engine.model import ShownGeneration
from bridge.engine.outcome import ConversionCause, Converted, GroupGivenUp, NotConverted, Unready
from bridge.engine.queries import group_type, judge_deletion
from bridge.engine.records import (
    ClassicGenerationsAliased,
    ClassicGroupCreated,
    ClassicGroupSynced,
    DeadlineSet,
    GroupDeleted,
)
from bridge.engine.state import Shard, session_key, settings_of
from bridge.engine.turn import Turn
from translators.dialects.consumer_protocol import CONSUMER
from translators.dialects.errors import ErrorCode, quote


def take_adoption(turn: Turn, command: AdoptGroup) -> None:
    """Begin a group with members that work already: Stable, in the generation that they know.

    Where groups begin as consumer groups it becomes one at once, if nobody's assignment has to change for that.
    """
    fault = find_adoption_fault(turn.state, command)
    if fault is not None:
        turn.reply(command.ref, fault)
        return
    _write(turn, command)
    kind = GroupType.CLASSIC
    if not settings_of(turn.state, command.group_id).group_begins_classic:
        plan = plan_upgrade(turn.state, command.group_id)
        if isinstance(plan, Plan) and not plan.rebalances:
            upgrade(turn, plan, ConversionCause.OPERATOR)
            kind = GroupType.CONSUMER
    turn.reply(command.ref, Converted(command.group_id, kind, len(command.seats), rebalances=False))


def find_adoption_fault(state: Shard, command: AdoptGroup) -> NotConverted | None:
    """Why a group can't be taken in: there is one of its name that has members, or too many come, or a member can't be
    in a group of this protocol.
    """
    group_id = command.group_id
    if judge_deletion(state, group_id) is ErrorCode.NON_EMPTY_GROUP:
        text = f"group {quote(group_id)} has members here already"
        return NotConverted(group_id, GroupType.CLASSIC, Unready.SAME_TYPE, text)
    lacking = [one.member_id for one in command.seats if command.protocol_name not in {p.name for p in one.protocols}]
    if lacking:
        text = f"member {quote(lacking[0])} does not offer protocol {quote(command.protocol_name)!r}"
        return NotConverted(group_id, GroupType.CLASSIC, Unready.NO_COMMON_PROTOCOL, text)
    most = settings_of(state, group_id).group_max_size
    return too_large(group_id, GroupType.CLASSIC, len(command.seats), most)


def _write(turn: Turn, command: AdoptGroup) -> None:
    group_id, seats = command.group_id, command.seats
    if group_type(turn.state, group_id) is not None:
        turn.write(GroupDeleted(group_id))
        turn.forget(group_id)
    turn.write(
        ClassicGroupCreated(group_id),
        ClassicGroupSynced(
            group_id=group_id,
            generation=command.generation,
            protocol_type=CONSUMER,
            protocol_name=command.protocol_name,
            leader=command.leader,
            members=tuple(seated_member(seat, command.protocol_name) for seat in seats),
        ),
        ClassicGenerationsAliased(
            group_id,
            tuple(
                ShownGeneration(seat.member_id, seat.generation)
                for seat in seats
                if seat.generation != command.generation
            ),
        ),
    )
    for seat in seats:
        turn.write(DeadlineSet(session_key(group_id, seat.member_id), seat.session_deadline_ms))


def give_up(turn: Turn, command: GiveUpGroup) -> None:
    """Forget a group that has another coordinator now, with all of its members, and say nothing to them."""
    group_id = command.group_id
    kind = group_type(turn.state, group_id)
    if kind is None:
        text = f"no group {quote(group_id)} is known here"
        turn.reply(command.ref, NotConverted(group_id, GroupType.CLASSIC, Unready.UNKNOWN_GROUP, text))
        return
    classic = turn.state.classic_groups.get(group_id)
    count = len(turn.state.groups[group_id].members if classic is None else classic.members)
    turn.write(GroupDeleted(group_id))
    turn.forget(group_id)
    turn.notices.append(GroupGivenUp(group_id))
    turn.reply(command.ref, Converted(group_id, kind, count, rebalances=False))
