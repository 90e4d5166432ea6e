"""What must be true of a classic group at any moment, whatever has happened to it."""

from bridge.engine.model import Phase, names_of
from bridge.engine.state import ClassicGroup, Shard, join_key, session_key, sync_key


def check_indexes(group: ClassicGroup) -> None:
    """Instances and offers are those of the members."""
    members = group.members.values()
    assert group.instances == {one.instance_id: one.member_id for one in members if one.instance_id is not None}
    offers = [names_of(one.protocols) for one in members]
    assert group.offers == {one: offers.count(one) for one in offers}


def check_phase(group: ClassicGroup) -> None:
    """Empty has nobody; who leads, waits or is waited for is a member; a settled group is the one that survives."""
    members = group.members.keys()
    assert members >= group.joining.keys() | group.syncing.keys() | group.unsynced.keys() | group.newcomers
    assert members.isdisjoint(group.pending)
    assert (group.roster.leader in members) == bool(members)
    if group.phase in (Phase.EMPTY, Phase.STABLE):
        assert group.roster == group.synced
        assert bool(members) == (group.phase is Phase.STABLE)
    assert not group.joining or group.phase is Phase.PREPARING_REBALANCE
    assert group.last_generation >= max(group.roster.generation, group.synced.generation)


def check_deadlines(group: ClassicGroup, state: Shard) -> None:
    """Whoever is not parked has a session, and every barrier has its deadline."""
    due = state.deadlines.due
    unwatched = {one for one in (*group.members, *group.pending) if session_key(group.group_id, one) not in due}
    assert unwatched <= group.joining.keys() | group.syncing.keys()
    assert (join_key(group.group_id) in due) == (group.phase is Phase.PREPARING_REBALANCE)
    assert (sync_key(group.group_id) in due) == bool(group.unsynced)


def check_waits(group: ClassicGroup, state: Shard) -> None:
    """A join phase with everybody there is over, unless it is the first; a sync waits for the leader or for commits."""
    if group.phase is Phase.PREPARING_REBALANCE and group.delay is None:
        assert len(group.joining) < len(group.members) or group.pending
    if group.syncing and group.phase is Phase.COMPLETING_REBALANCE:
        assert group.roster.leader not in group.syncing
    if group.syncing and group.phase is Phase.STABLE:
        assert group.draining & state.flights.keys()
