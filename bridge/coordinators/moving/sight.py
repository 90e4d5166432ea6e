"""What only a look at the broker tells of a group before it is moved: topics that its clients may not see, and offsets
that somebody commits by another way than this bridge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import trio

from bridge.coordinators.catalog import Catalog
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder
from bridge.migration.route import Road
from bridge.ports import Broker, BrokerUnreachable
from bridge.session.contracts import Access, BrokerAccess
from bridge.wire.apis import ApiKey
from translators.dialects.consumer_protocol import MalformedBlob
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition, Via
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import (
    FetchedGroup,
    GroupOffsets,
    OffsetCommit,
    OffsetFetch,
    OffsetFetchReply,
    TopicOffsets,
    TxnOffsetCommit,
)

LOOK_S = 1.0
"""How long committed offsets are compared with what is committed here: a producer of transactions that commits less
often than this may not be seen.
"""
LOOKS_MAX = 4
"""Looks behind a change that nobody asked for here: the first may have been on its way when the look began."""
COMMITS_S = 10.0
"""How long the look at commits may take in all, of a broker that answers late; nothing is known then."""
TOPICS_S = 2.0
"""How long brokers may take to say which topics clients may see; of whom they don't, nothing is known."""
OFFSET_FETCH_UNTIL = 7
"""The last version that asks for one group and names topics."""

_HEARD_ROADS = frozenset({Road.PASS, Road.MAPPED})
"""On which commits go to the broker in their client's name."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen; nothing where nobody could be asked."""

    hidden_topics: Mapping[MemberId, tuple[TopicName, ...]] = field(default_factory=dict)
    has_foreign_commits: bool = False


NOTHING_SEEN = Sight()

# ------------------------------------------------------------------------------------------- commits by another way


class HeardCommits:
    """The commits of one group that went to its broker since somebody began to listen."""

    def __init__(self) -> None:
        self._offsets: dict[TopicPartition, set[int]] = {}
        self._transactional: set[TopicPartition] = set()
        self._is_unsure = False

    def hear(self, commit: OffsetCommit | TxnOffsetCommit, catalog: Catalog) -> None:
        """A commit goes to the broker."""
        for topic in commit.topics:
            name = catalog.name_for(topic.name, topic.topic_id)
            self._is_unsure = self._is_unsure or not name
            for item in topic.partitions:
                partition = TopicPartition(name, item.partition)
                if isinstance(commit, TxnOffsetCommit):
                    # It counts once its transaction is over, which may be long after, or never.
                    self._transactional.add(partition)
                self._offsets.setdefault(partition, set()).add(item.offset)

    def explain(self, partition: TopicPartition, offset: int) -> bool:
        """Whether it may be by what was heard that this is committed now."""
        return self._is_unsure or partition in self._transactional or offset in self._offsets.get(partition, ())


class CommitEars:
    """Hears commits of those groups that are looked at; of others, and at other times, nothing is read."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._listening: dict[GroupId, list[HeardCommits]] = {}

    def listens_to(self, group_ids: Iterable[GroupId]) -> bool:
        """Whether commits of one of these are to be read."""
        return bool(self._listening) and any(one in self._listening for one in group_ids)

    def hear(self, request: object) -> None:
        """Whatever goes to the broker."""
        if isinstance(request, OffsetCommit | TxnOffsetCommit):
            for heard in self._listening.get(request.group_id, ()):
                heard.hear(request, self._catalog)

    @contextmanager
    def listen(self, group_id: GroupId) -> Iterator[HeardCommits]:
        """Hear the commits of a group until the end of the block."""
        heard = HeardCommits()
        self._listening.setdefault(group_id, []).append(heard)
        try:
            yield heard
        finally:
            self._listening[group_id].remove(heard)
            if not self._listening[group_id]:
                del self._listening[group_id]


async def has_foreign_commits(
    broker: Broker, ears: CommitEars, group_id: GroupId, partitions: frozenset[TopicPartition]
) -> bool:
    """Whether what is committed for these partitions changes without a commit that went by this bridge.

    One such change is no proof, as its commit may have been sent before anybody listened; another one behind a whole
    look is, of the same partition or of another.
    """
    with ears.listen(group_id) as heard:
        try:
            before = _offsets(await broker.fetch_offsets(group_id))
            for number in range(LOOKS_MAX):
                await trio.sleep(LOOK_S)
                now = _offsets(await broker.fetch_offsets(group_id))
                moved = [one for one in partitions if now.get(one, -1) != before.get(one, -1)]
                unexplained = [one for one in moved if not heard.explain(one, now.get(one, -1))]
                if bool(unexplained) is bool(number):
                    return bool(number)
                before = now
        except BrokerUnreachable:
            pass
    return False


def _offsets(fetched: FetchedGroup) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, item.partition): item.offset for topic in fetched.topics for item in topic.partitions
    }


# ------------------------------------------------------------------------------------------------------ hidden topics


async def find_hidden_topics(
    access: Access, group_id: GroupId, wanted: Mapping[MemberId, tuple[Via, tuple[TopicName, ...]]]
) -> Mapping[MemberId, tuple[TopicName, ...]]:
    """Which of its topics each member may not DESCRIBE, by the word of its broker on its own connection; only members
    that have such topics.
    """
    hidden: dict[MemberId, tuple[TopicName, ...]] = {}
    open_questions = set(wanted)
    done = trio.Event()

    def take(member_id: MemberId, found: tuple[TopicName, ...]) -> None:
        open_questions.discard(member_id)
        if found:
            hidden[member_id] = found
        if not open_questions:
            done.set()

    for member_id, (via, topics) in wanted.items():
        _ask_which_are_hidden(access(via), group_id, topics, partial(take, member_id))
    if wanted:
        with trio.move_on_after(TOPICS_S):
            await done.wait()
    return dict(hidden)


def _ask_which_are_hidden(
    way: BrokerAccess,
    group_id: GroupId,
    topics: tuple[TopicName, ...],
    take: Callable[[tuple[TopicName, ...]], None],
) -> None:
    """A fetch of offsets changes nothing, and is answered by the coordinator, which every member is connected to."""
    highest = way.highest_version(ApiKey.OFFSET_FETCH)
    if highest is None:
        take(())
        return
    wanted = tuple(TopicOffsets(name=name, partitions=(0,)) for name in topics)
    question = OffsetFetch(groups=(GroupOffsets(group_id=group_id, topics=wanted),))
    way.ask(None, question, lambda reply: take(_hidden_in(reply)), min(highest, OFFSET_FETCH_UNTIL))


def _hidden_in(reply: GroupReply | None) -> tuple[TopicName, ...]:
    groups = reply.groups if isinstance(reply, OffsetFetchReply) else ()
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    found = {one.name for group in groups for one in group.topics if any(it.error is denied for it in one.partitions)}
    return tuple(sorted(found))


# ------------------------------------------------------------------------------------------------------------ a look


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Looks at groups that are about to be moved.

    `via_of` says by which connection a member was heard last, None of whom nobody heard here. `road_of` says which road
    a member takes: of those that do not pass the bridge commits itself, which the ears do not hear.
    """

    broker: Broker
    ears: CommitEars
    access: Access
    via_of: Callable[[GroupId, MemberId], Via | None]
    road_of: Callable[[GroupId, MemberId], Road]

    async def see(self, order: MoveOrder, origin: Road, members: Mapping[MemberId, ClassicMember]) -> Sight:
        """What there is to see of members that are heard here: of others nobody knows by which way they speak."""
        vias = {one: self.via_of(order.group_id, one) for one in members}
        here = {one: (via, members[one]) for one, via in vias.items() if via is not None}
        hidden: dict[MemberId, tuple[TopicName, ...]] = {}
        is_foreign: list[bool] = []

        async def look_at_topics() -> None:
            wanted = {one: (via, _topics(member)) for one, (via, member) in here.items()}
            hidden.update(
                await find_hidden_topics(self.access, order.group_id, {one: it for one, it in wanted.items() if it[1]})
            )

        passing = [it for one, (_, it) in here.items() if self.road_of(order.group_id, one) in _HEARD_ROADS]
        partitions = frozenset(one for member in passing for one in member.using)

        async def look_at_commits() -> None:
            with trio.move_on_after(COMMITS_S):
                is_foreign.append(await has_foreign_commits(self.broker, self.ears, order.group_id, partitions))

        async with trio.open_nursery() as nursery:
            if order.destination is Road.UPSTREAM:
                nursery.start_soon(look_at_topics)
            # On the way back to pass nobody's commits change hands: they are the broker's before and after.
            if origin is Road.PASS and order.destination is not Road.PASS and partitions:
                nursery.start_soon(look_at_commits)
        return Sight(hidden, any(is_foreign))


def _topics(member: ClassicMember) -> tuple[TopicName, ...]:
    try:
        return tuple(member.subscription().topics)
    except MalformedBlob:
        return ()
