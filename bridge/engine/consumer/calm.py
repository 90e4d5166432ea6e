"""A heartbeat that says and hears nothing new: its member's session goes on, without a turn of the engine."""

from bridge.engine.apply import apply
from bridge.engine.commands import Speaks
from bridge.engine.consumer.reconciliation import heartbeat_interval_ms, is_settled, session_timeout_ms
from bridge.engine.model import DeadlineKey, DeadlineKind, Member
from bridge.engine.records import DeadlineSet
from bridge.engine.state import Group, Shard
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import JOIN_EPOCH, ClientIdentity


def take_calm_heartbeat(state: Shard, request: ConsumerGroupHeartbeat, client: ClientIdentity, now_ms: int) -> bool:
    """Let a KIP-848 member's heartbeat count that `advance` would answer with no error, the member's own epoch and no
    assignment, and that would move its session deadline and change nothing else; O(1).

    For any other False, and nothing has happened: it is to be carried out by `advance`.
    """
    group = state.groups.get(request.group_id)
    member = None if group is None else group.members.get(request.member_id)
    if group is None or member is None or not _is_calm(state, group, member, request, client):
        return False
    key = DeadlineKey(DeadlineKind.SESSION, request.group_id, request.member_id)
    apply(state, DeadlineSet(key, now_ms + session_timeout_ms(state, group)))
    return True


def _is_calm(
    state: Shard, group: Group, member: Member, request: ConsumerGroupHeartbeat, client: ClientIdentity
) -> bool:
    current, subscription = member.current, member.subscription
    return (
        request.member_epoch == current.epoch > JOIN_EPOCH
        and _is_short(request)
        and subscription.speaks is Speaks.CONSUMER
        # Who takes over a static seat, or comes from elsewhere, is somebody new to those who describe the group.
        and request.instance_id in (None, subscription.instance_id)
        and (subscription.identity is client or subscription.identity == client)
        # A target that is still to be computed may come due with this very heartbeat (`assignment.interval.ms`).
        and group.epoch == group.assignment_epoch
        and is_settled(group, subscription.member_id, current)
        # The answer before said another interval, since when an admin or the configuration changed it.
        and group.told_intervals.get(subscription.member_id) == heartbeat_interval_ms(state, group)
        and (subscription.pattern is None or _is_resolved(state, subscription.pattern))
    )


def _is_short(request: ConsumerGroupHeartbeat) -> bool:
    """Whether everything is absent that did not change, as Java and librdkafka send nearly all of their heartbeats."""
    return (
        request.owned is None
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == -1
        and request.rack_id is None
        and request.server_assignor is None
    )


def _is_resolved(state: Shard, pattern: str) -> bool:
    """A pattern that is not resolved is asked for again with each heartbeat, and one that can't be read is refused."""
    resolved = state.patterns.get(pattern)
    return resolved is not None and resolved.error is None
