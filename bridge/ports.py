"""What one room asks of another, as Protocols: the shell's seams.

It must not know any room that offers or uses them.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from translators.dialects.admin import DescribedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.ids import GroupId, Topic
from translators.dialects.messages import GroupReply, GroupRequest
from translators.dialects.offsets import FetchedGroup, OffsetCommit, OffsetCommitReply

Condense = Callable[[Iterable[bytes]], Iterable[bytes]]
"""Fewer entries with the same meaning."""


@dataclass(frozen=True, slots=True)
class ClusterTopics:
    """Every topic of the cluster, and the cluster's id ("" where it has none)."""

    cluster_id: str
    topics: tuple[Topic, ...]


class BrokerUnreachable(Exception):
    """No broker answered; the text says which address, what was tried and what to do."""


class GroupRefused(BrokerUnreachable):
    """A broker answered that it does not let the bridge's own login at a group: no second try mends that."""


class Broker(Protocol):
    """The bridge's own way to the cluster, for what no client asked for; every method raises BrokerUnreachable."""

    async def fetch_topics(self) -> ClusterTopics:
        """All topics of the cluster with ids and partition counts."""
        ...

    async def describe_group(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        """The group as its broker knows it: a consumer group where the broker has one of that name, else classic.

        A share or streams group of that name is a classic one without members, whose protocol type is its kind.
        """
        ...

    async def ask_coordinator(self, request: GroupRequest) -> GroupReply:
        """The answer of the coordinator of the request's only group to what the bridge asks in its own name."""
        ...

    async def fetch_offsets(self, group_id: GroupId) -> FetchedGroup:
        """Every committed offset of a group, asked without a member."""
        ...

    async def commit_offsets(self, commit: OffsetCommit) -> OffsetCommitReply:
        """A commit sent to the group's coordinator."""
        ...


class JournalUnavailable(Exception):
    """Entries could not be made durable, none of them; the text says what happened and what to do."""


class JournalFull(JournalUnavailable):
    """There is no room for the entries; what was written before is safe."""


@runtime_checkable
class TellsGroups(Protocol):
    """Entries that tell which groups they concern, so that a journal can name what it lost."""

    @property
    def groups(self) -> Collection[GroupId]:
        """Each of them once."""
        ...


class Journal(Protocol):
    """Where durable entries go before the answers that depend on them; it does not know what they mean."""

    def append(self, entries: Collection[bytes]) -> Awaitable[None] | None:
        """Write all or none, after everything appended before; None means that they are durable already.

        Raises JournalUnavailable, at once or when awaited.
        """
        ...

    def replay(self) -> Iterator[bytes]:
        """Every entry in the order written."""
        ...

    def is_overgrown(self) -> bool:
        """Whether it has grown so much that compaction pays."""
        ...

    async def compact(self, condense: Condense) -> None:
        """Put what `condense` makes of the entries in their place, while others are appended; changes all or nothing.

        `condense` runs in another thread. Raises JournalUnavailable.
        """
        ...

    def close(self) -> None:
        """Let go of it; nothing may be asked of it any more."""
        ...


class Clock(Protocol):
    """The only source of time."""

    def now_ms(self) -> int:
        """Milliseconds that never go back."""
