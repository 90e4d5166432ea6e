"""An operator's order to convert a group: checked, done or only tried.

It must not know how a conversion is written.
"""

from bridge.engine.commands import ConvertGroup, GroupType
from bridge.engine.convert.readiness import find_departure_fault, find_upgrade_fault
from bridge.engine.convert.upgrade import rebalances_with, upgrade
from bridge.engine.outcome import ConversionCause, Converted, DowngradeDue
from bridge.engine.turn import Turn


def take_order(turn: Turn, command: ConvertGroup) -> None:
    """Convert to consumer at once; to classic the seats of the translated members are needed first."""
    if command.to is GroupType.CONSUMER:
        _order_upgrade(turn, command)
        return
    fault = find_departure_fault(turn.state, command.group_id)
    if fault is not None:
        turn.reply(command.ref, fault)
    else:
        turn.notices.append(DowngradeDue(command.group_id, command.ref, command.is_dry_run))


def _order_upgrade(turn: Turn, command: ConvertGroup) -> None:
    group_id = command.group_id
    fault = find_upgrade_fault(turn.state, group_id)
    if fault is not None:
        turn.reply(command.ref, fault)
        return
    classic = turn.state.classic_groups[group_id]
    count, rebalances = len(classic.members), rebalances_with(turn.state, classic)
    if not command.is_dry_run:
        upgrade(turn, group_id, ConversionCause.OPERATOR)
    turn.reply(command.ref, Converted(group_id, GroupType.CONSUMER, count, rebalances))
