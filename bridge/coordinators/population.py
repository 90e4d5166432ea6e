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


def idle_groups(shard: Shard) -> tuple[GroupId, ...]:
    """The groups that nobody is in, waits for or commits to at this moment."""
    return tuple(group_id for group_id in (*shard.groups, *shard.classic_groups) if is_idle(shard, group_id))


def is_idle(shard: Shard, group_id: GroupId) -> bool:
    """Whether there is such a group, and nobody is in it, waits for it or commits to it; O(1)."""
    if shard.group_flights.get(group_id):
        return False
    group, classic = shard.groups.get(group_id), shard.classic_groups.get(group_id)
    if group is not None:
        return not group.members and not group.parked
    return classic is not None and classic.phase is Phase.EMPTY and not classic.pending


def live_groups(shard: Shard) -> tuple[GroupId, ...]:
    """The groups that have members, whose offsets must not expire (decision 1)."""
    return tuple(group_id for group_id in (*shard.groups, *shard.classic_groups) if has_members(shard, group_id))
