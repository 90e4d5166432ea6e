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
    MemberSubscribed,
    OperatorActed,
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
CHANGES_MAX = 64
LATEST_MAX = 32


def keep_past(events: Sequence[Event]) -> list[Event]:
    """The latest events, and the latest changes whatever has followed them, in their order."""
    latest = events[-LATEST_MAX:]
    earlier = [event for event in events[:-LATEST_MAX] if isinstance(event.fact, CHANGES)]
    return [*earlier[-CHANGES_MAX:], *latest]
