"""What to remember of a group's events, so that its next rebalance can be explained.

It must not know causes: whatever changes who is in a group, or how, may be one.
"""

from collections.abc import Sequence

from bridge.telemetry.schema.facts import (
    BridgeStarted,
    CoordinatorMoved,
    GroupConverted,
    GroupCreated,
    GroupRevived,
    MemberJoined,
    MemberLeft,
    MemberRejoined,
    MemberSubscribed,
    OperatorActed,
    PhaseEnded,
    RebalanceBegan,
    RebalanceEnded,
    TargetComputed,
    TopicsChanged,
)
from bridge.telemetry.schema.stamps import Event

CHANGES = (
    BridgeStarted
    | CoordinatorMoved
    | GroupConverted
    | GroupCreated
    | GroupRevived
    | MemberJoined
    | MemberLeft
    | MemberSubscribed
    | OperatorActed
    | RebalanceBegan
    | RebalanceEnded
    | TargetComputed
    | TopicsChanged
)
_CHANGES = frozenset(CHANGES.__args__)
_OPENING = frozenset((MemberRejoined, PhaseEnded))
CHANGES_MAX = 80
OPENING_EVENTS = 3
LATEST_MAX = 32


def keep_past(events: Sequence[Event]) -> list[Event]:
    """The latest events, and the latest changes whatever has followed them, in their order.

    Changes are kept with who opened a rebalance, and what that was about to end.
    """
    latest, earlier = events[-LATEST_MAX:], events[:-LATEST_MAX]
    kept: list[Event] = []
    since_opening = OPENING_EVENTS
    for event in earlier:
        # Thousands of events of one large rebalance come by here at once: a look-up costs less than an isinstance.
        kind = type(event.fact)
        since_opening = 0 if kind is RebalanceBegan else since_opening + 1
        if kind in _CHANGES or (since_opening <= OPENING_EVENTS and kind in _OPENING):
            kept.append(event)
    return [*kept[-CHANGES_MAX:], *latest]
