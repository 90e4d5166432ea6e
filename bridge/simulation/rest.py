"""When a world is at rest, and what must be true of it then.

It must not know what happened before.
"""

from bridge.engine.model import MemberState
from bridge.simulation.actor import GROUP, Actor
from bridge.simulation.world import World
from translators.dialects.ids import MemberId, TopicPartition


def unrest(world: World) -> list[str]:
    """Everything that keeps a world from rest, in words; empty means that all is as it should be (liveness, 3.2)."""
    return [*_restless(world), *_misowned(world), *_disagreements(world)]


def _restless(world: World) -> list[str]:
    living = world.living()
    now_ms = world.timeline.now_ms
    return [f"{actor.role.name} is not settled" for actor in living if not actor.is_settled or now_ms < actor.wakes_ms]


def _misowned(world: World) -> list[str]:
    """Every partition of every subscribed topic is processed by exactly one client, which subscribes to it."""
    living = world.living()
    wanted = world.topics.partitions(topic for actor in living for topic in actor.role.topics)
    problems = []
    for partition in sorted(wanted):
        holders = world.ledger.holders(partition)
        if len(holders) != 1:
            problems.append(f"{partition} is processed by {[world.ledger.standings[one].name for one in holders]}")
    for actor in living:
        strange = [partition for partition in actor.owned if partition.topic not in actor.role.topics]
        problems += [f"{actor.role.name} processes {partition} unasked" for partition in strange]
    return problems


def _disagreements(world: World) -> list[str]:
    """The group has the living as members and nobody else, each with what it says it has."""
    group = world.shell.subject.shard.groups.get(GROUP)
    members = {} if group is None else group.members
    living: dict[MemberId, Actor] = {actor.member_id: actor for actor in world.living()}
    problems = [f"{member_id!r} is a member and no client" for member_id in members if member_id not in living]
    for member_id, actor in living.items():
        member = members.get(member_id)
        if member is None:
            problems.append(f"{actor.role.name} is no member")
            continue
        assigned: frozenset[TopicPartition] = world.topics.to_names(member.current.assigned)
        existing = actor.owned & world.topics.partitions(actor.role.topics)
        if assigned != existing or member.current.state is not MemberState.STABLE:
            seen = f"{sorted(existing)}, for the group {sorted(assigned)} and {member.current.state.name}"
            problems.append(f"{actor.role.name} has {seen}")
    return problems
