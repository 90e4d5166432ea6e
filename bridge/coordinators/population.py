"""Which groups there are, and in which of them somebody lives: for those who look after groups in the background.

It must not know members or what is done for a group.
"""

from bridge.engine.classic.model import Phase
from bridge.engine.queries import has_members
from bridge.engine.state import Shard
from translators.dialects.ids import GroupId


def has_groups(shard: Shard) -> bool:
    """Whether there is any group, so that topics are worth watching."""
    return bool(shard.groups or shard.classic_groups)


def idle_groups(shard: Shard) -> frozenset[GroupId]:
    """The groups that nobody is in, waits for or commits to at this moment."""
    busy = {group_id for group_id, flights in shard.group_flights.items() if flights}
    empty = (one.group_id for one in shard.groups.values() if not one.members and not one.parked)
    left = (one.group_id for one in shard.classic_groups.values() if one.phase is Phase.EMPTY and not one.pending)
    return frozenset((*empty, *left)) - busy


def live_groups(shard: Shard) -> tuple[GroupId, ...]:
    """The groups that have members, whose offsets must not expire (decision 1)."""
    return tuple(group_id for group_id in (*shard.groups, *shard.classic_groups) if has_members(shard, group_id))
