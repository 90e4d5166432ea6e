"""An operator's order to convert a group: checked, done or only tried.

It must not know how a conversion is written.
"""

from bridge.engine.commands import ConvertGroup, GroupType
from bridge.engine.convert.readiness import find_departure_fault
from bridge.engine.convert.upgrade import plan_upgrade, upgrade
from bridge.engine.outcome import ConversionCause, Converted, DowngradeDue, NotConverted
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
    plan = plan_upgrade(turn.state, command.group_id)
    if isinstance(plan, NotConverted):
        turn.reply(command.ref, plan)
        return
    if not command.is_dry_run:
        upgrade(turn, plan, ConversionCause.OPERATOR)
    converted = Converted(command.group_id, GroupType.CONSUMER, len(plan.group.members), plan.rebalances)
    turn.reply(command.ref, converted)
