"""What classic groups that were rebuilt from the journal need before they serve.

It must not know how the records were kept.
"""

from bridge.engine.classic.group import ClassicGroup
from bridge.engine.classic.rebalancing import prepare_rebalance
from bridge.engine.classic.seats import extend_session
from bridge.engine.settings import settings_of
from bridge.engine.turn import Turn


def resume_classic(turn: Turn, group: ClassicGroup) -> None:
    """Give every member its own full session (K1.71); rebalance a group that is too large, or that lost a member after
    its last sync: what it held would have no owner.

    Parked requests, promised ids and the rest of a rebalance that ran are lost (K7.31), but no protocol that a member
    offers: its next plain rejoin still matches (Kafka keeps the chosen one only, K1.72).
    """
    for member in group.members.values():
        extend_session(turn, group, member)
    is_too_large = len(group.members) > settings_of(turn.state.settings, group.group_id).group_max_size
    if group.has_lost_member or is_too_large:
        prepare_rebalance(turn, group)
