"""Topics and patterns as the cluster has them now, and which groups that concerns."""

from collections.abc import Iterable

from bridge.engine.classic.barriers import prepare_rebalance
from bridge.engine.commands import ChangeTopics, ForgetRegularExpressions, ResolveRegularExpression
from bridge.engine.convert.readiness import translatable_offer
from bridge.engine.model import Phase
from bridge.engine.records import RegularExpressionForgotten, RegularExpressionResolved, TopicGone, TopicSeen
from bridge.engine.state import ClassicGroup, groups_subscribed_to
from bridge.engine.turn import Turn
from translators.dialects.consumer_protocol import decode_subscription
from translators.dialects.ids import GroupId, TopicName


def take_topics(turn: Turn, command: ChangeTopics) -> None:
    """Note topics that appeared, changed or went; groups that subscribe to one of them get a new epoch at once.

    Kafka waits for the next heartbeat of a member (K2.24): parked and idle members would wait with it.
    """
    state = turn.state
    names: set[TopicName] = set()
    for topic_id in command.removed:
        gone = state.topics.get(topic_id)
        if gone is not None:
            names.add(gone.name)
            turn.write(TopicGone(topic_id))
    for topic in command.topics:
        if state.topics.get(topic.topic_id) != topic:
            names.add(topic.name)
            turn.write(TopicSeen(topic))
    _move_epochs(turn, groups_subscribed_to(state, names))
    for group in list(state.classic_groups.values()):
        if _has_nobody_to_look(group) and not names.isdisjoint(_topics_of(group)):
            prepare_rebalance(turn, group)


def _has_nobody_to_look(group: ClassicGroup) -> bool:
    """A group that turned classic has no leader before its first rebalance, and no client but a leader looks."""
    return group.phase is Phase.STABLE and group.roster.leader is None


def _topics_of(group: ClassicGroup) -> frozenset[TopicName]:
    """What its members subscribe to by the protocols that were translated, most of them in the same bytes."""
    offers = [translatable_offer(member, group.roster.protocol_name) for member in group.members.values()]
    said = {offer.metadata for offer in offers if offer is not None}
    return frozenset(name for metadata in said for name in decode_subscription(metadata).topics)


def take_pattern(turn: Turn, command: ResolveRegularExpression) -> None:
    """Note what a pattern matches; groups that use it get a new epoch if that is something else than before."""
    state = turn.state
    known = state.patterns.get(command.pattern)
    if known is not None and (known.topics, known.error) == (command.topics, command.error):
        return
    before = frozenset() if known is None else known.topics
    turn.write(RegularExpressionResolved(command.pattern, command.topics, command.error))
    if before != command.topics:
        _move_epochs(turn, state.pattern_users.get(command.pattern, ()))


def forget_patterns(turn: Turn, command: ForgetRegularExpressions) -> None:
    """Forget those that nobody has: a member may have come with one since that was ordered."""
    for pattern in sorted(command.patterns & turn.state.unused_patterns):
        turn.write(RegularExpressionForgotten(pattern))


def _move_epochs(turn: Turn, group_ids: Iterable[GroupId]) -> None:
    for group_id in sorted(group_ids):
        turn.move_epoch(turn.state.groups[group_id])
