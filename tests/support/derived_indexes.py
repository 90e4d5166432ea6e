"""What the indexes of groups have to be, made anew from members, targets and flights by the words of `Group`, and whom
waits and deadlines may still name.

It must not know records, nor how the engine keeps them in step.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import assert_never

from bridge.engine.commands import Speaks
from bridge.engine.model import DeadlineKey, DeadlineKind, MemberState, Phase, names_of
from bridge.engine.state import ClassicGroup, Group, Shard
from translators.dialects.ids import MemberId, TopicIdPartition


def find_stale(state: Shard) -> list[str]:
    """The indexes that are not what they should be, by group and name."""
    stale: list[str] = []
    for group_id, group in state.groups.items():
        kept = _kept(group)
        stale += [f"{name} of {group_id}" for name, should in _derived(state, group).items() if kept[name] != should]
    for group_id, classic in state.classic_groups.items():
        stale += [f"{name} of classic {group_id}" for name in _find_stale_of_classic(classic)]
    for name, users in (("subscribers", state.subscribers), ("pattern users", state.pattern_users)):
        wanted = _users(state, is_pattern=name == "pattern users")
        stale += [] if {str(key): set(value) for key, value in users.items()} == wanted else [name]
    unused = state.patterns.keys() - state.pattern_users.keys()
    stale += [] if state.unused_patterns == unused else ["unused patterns"]
    return stale + [f"deadline {key}" for key in state.deadlines.due if not _has_somebody(state, key)]


def _kept(group: Group) -> Mapping[str, object]:
    return {
        "owners": group.owners,
        "target owners": group.target_owners,
        "grantable": group.grantable,
        "natives": group.natives,
        "instances": group.instances,
        "interests": group.name_sets,
        "names": group.names,
        "patterns": group.patterns,
        "votes": group.votes,
        "stable": group.stable_at,
    }


def _derived(state: Shard, group: Group) -> Mapping[str, object]:
    members = group.members
    subscriptions = [member.subscription for member in members.values()]
    flying = state.in_flight.get(group.group_id, {})
    owners = {
        partition: member_id
        for member_id, member in members.items()
        for partition in (*member.current.assigned, *member.current.pending_revocation)
    }
    targets = {partition: member_id for member_id, share in group.target.items() for partition in share}
    grantable: dict[MemberId, set[TopicIdPartition]] = {}
    for partition, member_id in targets.items():
        if partition not in owners and partition not in flying:
            grantable.setdefault(member_id, set()).add(partition)
    interests = Counter(one.names for one in subscriptions)
    return {
        "owners": owners,
        "target owners": targets,
        "grantable": grantable,
        "natives": sum(one.speaks is Speaks.CONSUMER for one in subscriptions),
        "instances": {one.instance_id: one.member_id for one in subscriptions if one.instance_id is not None},
        "interests": interests,
        "names": Counter(name for names in interests for name in names),
        "patterns": Counter(one.pattern for one in subscriptions if one.pattern is not None),
        "votes": Counter(one.assignor for one in subscriptions if one.assignor is not None),
        "stable": Counter(
            member.current.epoch for member in members.values() if member.current.state is MemberState.STABLE
        ),
    }


def _users(state: Shard, *, is_pattern: bool) -> dict[str, set[str]]:
    users: dict[str, set[str]] = {}
    for group_id, group in state.groups.items():
        for member in group.members.values():
            wanted = member.subscription
            names = [wanted.pattern] if is_pattern else wanted.names
            for name in names:
                if name is not None:
                    users.setdefault(str(name), set()).add(group_id)
    return users


def _find_stale_of_classic(group: ClassicGroup) -> list[str]:
    members = group.members.values()
    instances = {one.instance_id: one.member_id for one in members if one.instance_id is not None}
    stale = [] if group.instances == instances else ["instances"]
    stale += [] if group.offers == Counter(names_of(one.protocols) for one in members) else ["offers"]
    of_members: Mapping[str, Collection[MemberId]] = {
        "joining": group.joining,
        "syncing": group.syncing,
        "unsynced": group.unsynced,
        "newcomers": group.newcomers,
        "succeeding": group.succeeding,
        "aliases": group.aliases,
    }
    stale += [name for name, who in of_members.items() if not group.members.keys() >= set(who)]
    stale += [] if group.members.keys().isdisjoint(group.pending) else ["pending"]
    return stale + (["parked"] if group.phase is Phase.DEAD and (group.joining or group.syncing) else [])


def _has_somebody(state: Shard, key: DeadlineKey) -> bool:
    """Whether there is still somebody whose deadline it is."""
    group, classic = state.groups.get(key.group_id), state.classic_groups.get(key.group_id)
    match key.kind:
        case DeadlineKind.SESSION | DeadlineKind.REBALANCE:
            return group is not None and key.member_id in group.members
        case DeadlineKind.INITIAL_DELAY | DeadlineKind.TARGET:
            return group is not None
        case DeadlineKind.CLASSIC_SESSION:
            if classic is None or classic.phase is Phase.DEAD:
                return False
            return key.member_id in classic.members or key.member_id in classic.pending
        case DeadlineKind.CLASSIC_JOIN | DeadlineKind.CLASSIC_SYNC:
            return classic is not None and classic.phase is not Phase.DEAD
        case _:
            assert_never(key.kind)
