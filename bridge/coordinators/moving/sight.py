"""What only a look tells of a group before it is moved: who of its members comes by this bridge, topics that clients
may not see, and offsets that somebody commits by another way.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import trio

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.hidden_topics import Hidden, ask_which_are_hidden
from bridge.coordinators.moving.proof import GATHER_S
from bridge.migration.moves.members import ClassicMember
from bridge.migration.orders import MoveOrder, Obstacle
from bridge.migration.route import Road
from bridge.ports import Broker, BrokerUnreachable
from bridge.session.contracts import Access
from bridge.session.old_commits import OldCommits
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer_protocol import MalformedBlob
from translators.dialects.errors import ErrorCode, quote
from translators.dialects.ids import NO_MEMBER_ID, GroupId, MemberId, TopicName, TopicPartition, Via
from translators.dialects.kept_names import kept_name
from translators.dialects.offsets import (
    FetchedGroup,
    OffsetCommit,
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

HEAR_S = GATHER_S
"""How long a look waits for the next word of members that nobody heard here, as behind a restart of the bridge; who has
said nothing by then comes by another way, or not any more.
"""
WAYS_MAX = 10_000
"""Members with their connections, of a group that is about to be moved: whoever names one may be nobody."""
PAUSE_S = 0.1
"""How often it is looked whether they were heard."""

_HEARD_ROADS = frozenset({Road.PASS, Road.MAPPED})
"""On which commits go to the broker in their client's name."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen; what could not be looked at is said, and is not the same as nothing.

    `unheard` said nothing here while they were waited for. `unasked` are members of which nobody told which topics they
    may not describe. `has_foreign_commits` is None where committed offsets could not be compared. `old_commits` are
    members whose clients were heard to commit in a version that Kafka 4 does not take.
    """

    hidden_topics: Mapping[MemberId, tuple[TopicName, ...]] = field(default_factory=dict)
    has_foreign_commits: bool | None = False
    unheard: frozenset[MemberId] = frozenset()
    unasked: frozenset[MemberId] = frozenset()
    old_commits: frozenset[MemberId] = frozenset()


NOTHING_SEEN = Sight()
Tell = Callable[[tuple[Obstacle, ...]], None]
"""Hears at once what a look waits for, and () when it waits no longer."""

# ------------------------------------------------------------------------------------------- what passes meanwhile


class Overheard:
    """What of one group went to its broker since somebody began to listen: commits, and who spoke by which way."""

    def __init__(self, members: Collection[MemberId], partitions: Collection[TopicPartition]) -> None:
        self.vias: dict[MemberId, Via] = {}
        # Of others nothing is kept: what passes was judged by no broker yet.
        self._members = members
        self._partitions = partitions
        self._offsets: dict[TopicPartition, set[int]] = {}
        self._transactional: set[TopicPartition] = set()
        self._is_unsure = False

    def hear(self, via: Via, request: Heartbeat | OffsetCommit | TxnOffsetCommit, catalog: Catalog) -> None:
        """A heartbeat or a commit goes to the broker; a transaction's offsets come by their producer's connection."""
        if not isinstance(request, TxnOffsetCommit) and request.member_id in self._members:
            self.vias[request.member_id] = via
        if not isinstance(request, Heartbeat):
            self._hear_commit(request, catalog)

    def _hear_commit(self, commit: OffsetCommit | TxnOffsetCommit, catalog: Catalog) -> None:
        for topic in commit.topics:
            name = catalog.name_for(topic.name, topic.topic_id)
            self._is_unsure = self._is_unsure or not name
            for item in topic.partitions:
                partition = TopicPartition(name, item.partition)
                if partition not in self._partitions:
                    continue
                if isinstance(commit, TxnOffsetCommit):
                    # It counts once its transaction is over, which may be long after, or never.
                    self._transactional.add(partition)
                self._offsets.setdefault(partition, set()).add(item.offset)

    def explain(self, partition: TopicPartition, offset: int) -> bool:
        """Whether it may be by what was heard that this is committed now."""
        return self._is_unsure or partition in self._transactional or offset in self._offsets.get(partition, ())


class WaysHeard:
    """By which connections members of one group came since somebody began to listen."""

    def __init__(self) -> None:
        # Of who names somebody that is not there nothing is known but that it may give itself 32 kB, 10,000 times.
        self._heard: set[tuple[str, Via]] = set()

    def hear(self, via: Via, request: Heartbeat | OffsetCommit | TxnOffsetCommit, _catalog: Catalog) -> None:
        """A heartbeat or a commit goes to the broker; a transaction's offsets need not say whose they are."""
        if len(self._heard) < WAYS_MAX:
            self._heard.add((kept_name(request.member_id), via))

    def of(self, members: Collection[MemberId]) -> Collection[tuple[MemberId, Via]]:
        """Those of these members, with those that name nobody; of others nobody knows whether they are there."""
        names = {kept_name(one): one for one in members} | {NO_MEMBER_ID: NO_MEMBER_ID}
        return [(names[one], via) for one, via in self._heard if one in names]


class GroupEars:
    """Hears those groups that are looked at; of others, and at other times, nothing is read."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._listening: dict[GroupId, list[Overheard | WaysHeard]] = {}

    def listens_to(self, group_ids: Iterable[GroupId]) -> bool:
        """Whether heartbeats and commits of one of these are to be read."""
        return bool(self._listening) and any(one in self._listening for one in group_ids)

    def hear(self, via: Via, request: object) -> None:
        """Whatever goes to the broker, in its client's words."""
        if isinstance(request, Heartbeat | OffsetCommit | TxnOffsetCommit):
            for overheard in self._listening.get(request.group_id, ()):
                overheard.hear(via, request, self._catalog)

    @contextmanager
    def listen(
        self,
        group_id: GroupId,
        members: Collection[MemberId] = frozenset(),
        partitions: Collection[TopicPartition] = frozenset(),
    ) -> Iterator[Overheard]:
        """Hear a group until the end of the block: by which ways these members come, and commits for these
        partitions.
        """
        overheard = Overheard(members, partitions)
        with self._heard_by(group_id, overheard):
            yield overheard

    @contextmanager
    def note_ways(self, group_id: GroupId) -> Iterator[WaysHeard]:
        """Hear until the end of the block by which ways anybody of a group comes."""
        ways = WaysHeard()
        with self._heard_by(group_id, ways):
            yield ways

    @contextmanager
    def _heard_by(self, group_id: GroupId, ear: Overheard | WaysHeard) -> Iterator[None]:
        self._listening.setdefault(group_id, []).append(ear)
        try:
            yield
        finally:
            self._listening[group_id].remove(ear)
            if not self._listening[group_id]:
                del self._listening[group_id]


# ------------------------------------------------------------------------------------------- commits by another way


async def has_foreign_commits(
    broker: Broker, ears: GroupEars, group_id: GroupId, partitions: frozenset[TopicPartition]
) -> bool | None:
    """Whether what is committed for these partitions changes without a commit that went by this bridge; None: the
    broker did not tell.

    One such change is no proof, as its commit may have been sent before anybody listened; another one behind a whole
    look is, of the same partition or of another.
    """
    with ears.listen(group_id, partitions=partitions) as heard:
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
            return None
    return False


def _offsets(fetched: FetchedGroup) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, item.partition): item.offset for topic in fetched.topics for item in topic.partitions
    }


# ------------------------------------------------------------------------------------------------------ hidden topics


async def find_hidden_topics(
    access: Access, group_id: GroupId, wanted: Mapping[MemberId, tuple[Via, tuple[TopicName, ...]]]
) -> tuple[Mapping[MemberId, tuple[TopicName, ...]], frozenset[MemberId]]:
    """Which of its topics each member may not DESCRIBE, by the word of its broker on its own connection: only members
    that have such topics; and the members of which nobody told.
    """
    hidden: dict[MemberId, tuple[TopicName, ...]] = {}
    open_questions, unasked = set(wanted), set(wanted)
    done = trio.Event()

    def take(member_id: MemberId, found: Hidden | ErrorCode) -> None:
        open_questions.discard(member_id)
        if not isinstance(found, ErrorCode):
            unasked.discard(member_id)
            if found:
                hidden[member_id] = found
        if not open_questions:
            done.set()

    for member_id, (via, topics) in wanted.items():
        ask_which_are_hidden(access(via), group_id, topics, partial(take, member_id))
    if wanted:
        with trio.move_on_after(TOPICS_S):
            await done.wait()
    return dict(hidden), frozenset(unasked)


# ------------------------------------------------------------------------------------------------------------ a look


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Looks at groups that are about to be moved.

    `via_of` says by which connection a member was heard last, None of whom nobody heard here. `road_of` says which road
    a member takes: of those that do not pass the bridge commits itself, which the ears do not hear.
    """

    broker: Broker
    ears: GroupEars
    access: Access
    via_of: Callable[[GroupId, MemberId], Via | None]
    road_of: Callable[[GroupId, MemberId], Road]
    old_commits: OldCommits = field(default_factory=OldCommits)

    async def see(self, order: MoveOrder, origin: Road, members: Mapping[MemberId, ClassicMember], tell: Tell) -> Sight:
        """What there is to see of these members, who have a part in the order: topics and commits only of those that
        are moved.
        """
        is_to_upstream = order.destination is Road.UPSTREAM
        # On the way back to pass nobody's commits change hands: they are the broker's before and after.
        is_from_pass = origin is Road.PASS and order.destination is not Road.PASS
        if not (is_to_upstream or is_from_pass):
            return Sight(old_commits=self._with_old_commits(members))
        vias = await self._hear(order.group_id, members, tell)
        silent = self._passing(order.group_id, members) - vias.keys()
        # A mapped member has its seat by this bridge, however long it is silent.
        unheard = frozenset(
            one
            for one in silent
            if self.via_of(order.group_id, one) is None and self.road_of(order.group_id, one) is not Road.MAPPED
        )
        moved = {one: it for one, it in members.items() if one not in unheard and order.concerns(one)}
        hidden: dict[MemberId, tuple[TopicName, ...]] = {}
        unasked: set[MemberId] = set()
        is_foreign: list[bool | None] = []

        async def look_at_topics() -> None:
            topics = {one: _topics(member) for one, member in moved.items()}
            wanted = {one: (vias[one], topics[one]) for one in moved if topics[one] and one in vias}
            found, silent = await find_hidden_topics(self.access, order.group_id, wanted)
            hidden.update(found)
            unasked.update(silent | {one for one in moved if topics[one] and one not in vias})

        passing = self._passing(order.group_id, moved)
        partitions = frozenset(partition for one in passing for partition in moved[one].using)

        async def look_at_commits() -> None:
            with trio.move_on_after(COMMITS_S):
                is_foreign.append(await has_foreign_commits(self.broker, self.ears, order.group_id, partitions))
            if not is_foreign:
                is_foreign.append(None)

        async with trio.open_nursery() as nursery:
            if is_to_upstream:
                nursery.start_soon(look_at_topics)
            if is_from_pass and partitions:
                nursery.start_soon(look_at_commits)
        return Sight(hidden, is_foreign[0] if is_foreign else False, unheard, frozenset(unasked))

    def _with_old_commits(self, members: Mapping[MemberId, ClassicMember]) -> frozenset[MemberId]:
        clients = {member_id: member.client for member_id, member in members.items()}
        are_of = self.old_commits.are_of
        return frozenset(one for one, client in clients.items() if are_of(client.client_id, client.client_host))

    async def _hear(self, group_id: GroupId, members: Collection[MemberId], tell: Tell) -> Mapping[MemberId, Via]:
        """By which connection each member can be asked, if that is known: of those that pass the next word is waited
        for before one is taken for somebody who comes by another way.
        """
        passing = self._passing(group_id, members)
        with self.ears.listen(group_id, members) as overheard:
            found = self._reachable(group_id, members, overheard)
            if passing <= found.keys():
                return found
            tell((_waited_for(group_id, passing - found.keys()),))
            with trio.move_on_after(HEAR_S):
                while not passing <= found.keys():
                    await trio.sleep(PAUSE_S)
                    found = self._reachable(group_id, members, overheard)
            tell(())
            return found

    def _passing(self, group_id: GroupId, members: Iterable[MemberId]) -> set[MemberId]:
        return {one for one in members if self.road_of(group_id, one) in _HEARD_ROADS}

    def _reachable(self, group_id: GroupId, members: Iterable[MemberId], overheard: Overheard) -> dict[MemberId, Via]:
        found: dict[MemberId, Via] = {}
        for member_id in members:
            # What was overheard was judged by no broker: whoever is known to be the member goes before it.
            vias = (self.via_of(group_id, member_id), overheard.vias.get(member_id))
            via = next((one for one in vias if one is not None and self.access(one).connection >= 0), None)
            if via is not None:
                found[member_id] = via
        return found


def _waited_for(group_id: GroupId, silent: Collection[MemberId]) -> Obstacle:
    return Obstacle(
        "EB-MOVE-209",
        f"of {quote(group_id)} no connection is known of {len(silent)} of its members, {quote(min(silent))} among them,"
        f" as behind a restart of the bridge; the next heartbeats are waited for, {HEAR_S:.0f} s at most",
        "nothing; who is not heard by then comes by another way, or not any more",
    )


def _topics(member: ClassicMember) -> tuple[TopicName, ...]:
    try:
        return tuple(member.subscription().topics)
    except MalformedBlob:
        return ()
