"""What has to be known before a join may be decided: that the broker has no members of the group, and its topics.

It must not know members, machines or the engine's state.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import trio

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.topics import TopicWatcher
from bridge.ports import Broker, BrokerUnreachable
from translators.classic_member.profile import Profile, read_profile
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import JOIN_EPOCH, GroupId, TopicName

LOOK_TIMEOUT_MS = 5_000
"""How long a join may wait for the broker's word before its client is told to try again."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is not known yet of a join."""

    group_id: GroupId
    asks_members: bool
    asks_topics: bool

    def __bool__(self) -> bool:
        """Whether anything has to be asked at all."""
        return self.asks_members or self.asks_topics


class Gate:
    """Asks the broker once a group for foreign members, and for topics that nobody has seen (decision 5)."""

    def __init__(self, broker: Broker, catalog: Catalog, topics: TopicWatcher) -> None:
        self._broker = broker
        self._catalog = catalog
        self._topics = topics
        self._cleared: set[GroupId] = set()
        self.bypassed: dict[GroupId, str] = {}

    def questions(self, request: JoinGroup | ConsumerGroupHeartbeat) -> Questions:
        """What has to be asked before this request may be decided."""
        wanted = wanted_topics(request)
        asks_topics = not self._catalog.knows(wanted) and not self._topics.is_fresh()
        return Questions(request.group_id, request.group_id not in self._cleared, asks_topics)

    def forget(self, group_id: GroupId) -> None:
        """The group is empty: ask again before its next first member."""
        self._cleared.discard(group_id)

    def report_foreign(self, group_id: GroupId, reason: str) -> None:
        """The broker turned out to have members of the group."""
        self._cleared.discard(group_id)
        self.bypassed[group_id] = reason

    async def ask(self, questions: Questions) -> Refusal | None:
        """Ask what has to be asked; the refusal if the join can't be served now."""
        try:
            with trio.fail_after(LOOK_TIMEOUT_MS / 1000):
                if questions.asks_topics:
                    await self._topics.look()
                if questions.asks_members:
                    return await self._ask_members(questions.group_id)
        except BrokerUnreachable as problem:
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem))
        except trio.TooSlowError:
            reason = f"the broker did not answer within {LOOK_TIMEOUT_MS} ms"
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        return None

    async def _ask_members(self, group_id: GroupId) -> Refusal | None:
        described = await self._broker.describe_group(group_id)
        if described.members:
            names = ", ".join(sorted({member.client_id for member in described.members})[:5])
            reason = f"{len(described.members)} members talk to the broker directly (client ids {names})"
            self.bypassed[group_id] = reason
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        self.bypassed.pop(group_id, None)
        self._cleared.add(group_id)
        return None


def wanted_topics(request: JoinGroup | ConsumerGroupHeartbeat) -> Iterable[TopicName]:
    """The topics that a request subscribes to by name."""
    if isinstance(request, ConsumerGroupHeartbeat):
        return request.subscribed_topic_names or ()
    profile = read_profile(request)
    return profile.topics if isinstance(profile, Profile) else ()


def is_join(request: object) -> bool:
    """Whether a request may bring a new member or a new subscription."""
    if isinstance(request, ConsumerGroupHeartbeat):
        return request.member_epoch == JOIN_EPOCH or bool(request.subscribed_topic_names)
    return isinstance(request, JoinGroup)
