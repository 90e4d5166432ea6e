"""Which topics that a pattern matches a group is not given: those that whoever had it resolved may not DESCRIBE.

As in Kafka it is asked once for a group and a pattern, with the rights of the member by which it came about: of the
first that comes with it, and of whoever is heard next when it matches something else, or some time has passed.
Heartbeats of a group at rest are answered without a look at it: which groups have something to ask is noted beside.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import trio

from bridge.coordinators.deadlines import Deadlines
from bridge.coordinators.hidden_topics import Hidden, ask_which_are_hidden
from bridge.engine.state import NO_TOPICS, Shard
from bridge.session.contracts import Access, BrokerAccess
from bridge.wire.apis import ApiKey
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import JOIN_EPOCH, GroupId, RequestRef, TopicName, Via
from translators.dialects.kept_names import KeptNames

ASK_S = 2.0
"""How long a broker may take to answer; a member that joins is told to come again then, others go on as they were."""
AGAIN_MS = 600_000
"""After so long it is asked anew, as Kafka resolves a pattern again (`group.consumer.regex.refresh.interval.ms`)."""
FRESH_MS = 10_000
"""So long what was found counts for whoever comes with a pattern that nobody in the group has yet, and nobody asks a
broker again that gave no answer: 1,000 members join at once, and none of them is in before its own turn.
"""
KEPT_MAX = 10_000
"""Of so many groups and patterns it is kept what was found; of others it is asked again."""
_SILENT = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "the broker did not say which of the topics that its pattern matches the client may DESCRIBE; check that it runs,"
    " the client tries again",
)
_DENIED = Refusal(
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    "the client may READ the group and not DESCRIBE it, so that its broker does not say which of the topics that its"
    " pattern matches it may DESCRIBE; take the DENY off, or subscribe to names",
)


class _Key(NamedTuple):
    group_id: GroupId
    pattern: str

    @property
    def name(self) -> str:
        """Under which is kept what was found."""
        return f"{len(self.group_id)} {self.group_id} {self.pattern}"


class _Found(NamedTuple):
    """What was asked about, when, and what of it is hidden: None where nothing is known but what the journal says, and
    where that is old enough to be in it.
    """

    topics: frozenset[TopicName]
    at_ms: int
    hidden: frozenset[TopicName] | None
    is_told: bool = True
    """Whether a broker said so."""

    def until_ms(self, *, is_used: bool) -> int:
        """How long it counts, for a pattern that somebody in the group has or one with which somebody comes."""
        return self.at_ms + (AGAIN_MS if is_used and self.is_told else FRESH_MS)


class PatternRights:
    """What brokers said of the topics that patterns match, to members of each group."""

    def __init__(self, shard: Shard, access: Access, now_ms: Callable[[], int]) -> None:
        self._shard = shard
        self._access = access
        self._now_ms = now_ms
        self._found: KeptNames[_Found] = KeptNames(KEPT_MAX)
        self._fresh: deque[tuple[int, _Key]] = deque()
        """What is still to be handed on, by when it was found."""
        self._running: dict[_Key, trio.Event] = {}
        """What tells that a broker was asked: whoever comes meanwhile waits for the same answer."""
        self._watched: Deadlines[GroupId] = Deadlines()
        self.overdue: set[GroupId] = set()
        """Groups of which a pattern is to be asked about: no heartbeat of theirs is answered without a look at it."""

    def next_due_ms(self) -> int | None:
        """When `pass_due` is to be called next."""
        return self._watched.next_ms()

    def pass_due(self, now_ms: int) -> None:
        """Find out which groups have something to ask; those that nobody answers for are looked at again soon."""
        for group_id in self._watched.take_due(now_ms, self._find_due_ms):
            self.overdue.add(group_id)
            self._watched.note(group_id, now_ms + FRESH_MS)

    def _find_due_ms(self, group_id: GroupId) -> int | None:
        self.overdue.discard(group_id)
        group = self._shard.groups.get(group_id)
        known = (self._found.get(_Key(group_id, pattern).name) for pattern in (() if group is None else group.patterns))
        return min((found.until_ms(is_used=True) for found in known if found is not None), default=None)

    def due(self, ref: RequestRef, request: ConsumerGroupHeartbeat) -> str:
        """The pattern that has to be asked about before this heartbeat is carried out; "" if there is none."""
        key = self._key(request)
        if key is None or self._way(ref).connection < 0:
            return ""
        resolved = self._shard.patterns.get(key.pattern)
        if resolved is None:
            # It is asked about as soon as it is resolved.
            return ""
        if not self._is_known(key, resolved.topics):
            return key.pattern
        self._watch(key)
        return ""

    def _watch(self, key: _Key) -> None:
        """Have its group looked at when what is known counts no more; only of groups that are there is that kept."""
        found = self._found.get(key.name)
        if found is not None and key.group_id in self._shard.groups:
            self._watched.note(key.group_id, found.until_ms(is_used=True))

    def with_hidden(self, request: ConsumerGroupHeartbeat) -> ConsumerGroupHeartbeat:
        """The heartbeat with what was found of its pattern."""
        key = self._key(request)
        found = None if key is None else self._found.get(key.name)
        hidden = None if key is None or found is None else self._hidden_from(key, found)
        return request if hidden is None else replace(request, hidden=hidden)

    async def look(
        self, ref: RequestRef, request: ConsumerGroupHeartbeat, topics: frozenset[TopicName]
    ) -> Refusal | None:
        """Find out which of the topics that its pattern matches are hidden; why the member is refused, if it is."""
        key, way = self._key(request), self._way(ref)
        if key is None or way.connection < 0:
            # Nobody waits for its answer any more.
            return None
        while not self._is_known(key, topics):
            running = self._running.get(key)
            if running is not None:
                await running.wait()
                continue
            answer = await self._ask(key, way, topics)
            if not isinstance(answer, ErrorCode):
                told = frozenset(answer)
                # The same strings: 10,000 names that every group had for itself would be a megabyte each.
                self._keep(key, _Found(topics, self._now_ms(), frozenset(name for name in topics if name in told)))
            elif request.member_epoch == JOIN_EPOCH:
                return _DENIED if answer is ErrorCode.GROUP_AUTHORIZATION_FAILED else _SILENT
            else:
                self._keep(key, self._untold(key, topics))
        return None

    def _keep(self, key: _Key, found: _Found) -> None:
        """Whoever is let in hands it on to the engine; what nobody has handed on in time belongs to nobody."""
        self._found.put(key.name, found)
        if found.hidden:
            self._fresh.append((found.at_ms, key))
        while self._fresh and found.at_ms - self._fresh[0][0] >= FRESH_MS:
            at_ms, old = self._fresh.popleft()
            kept = self._found.get(old.name)
            if kept is not None and kept.is_told and kept.at_ms == at_ms:
                self._found.put(old.name, kept._replace(hidden=None))
        # Where another of its patterns is to be asked about, too, that is found out by the next look.
        self.overdue.discard(key.group_id)

    def _way(self, ref: RequestRef) -> BrokerAccess:
        return self._access(Via(ref.node, ref.connection))

    def _key(self, request: ConsumerGroupHeartbeat) -> _Key | None:
        """The group and the pattern that its member has once this is carried out; None of who goes, or has none."""
        if request.member_epoch < JOIN_EPOCH:
            return None
        pattern = request.subscribed_topic_regex
        if pattern is None:
            group = self._shard.groups.get(request.group_id)
            member = None if group is None else group.members.get(request.member_id)
            pattern = None if member is None else member.subscription.pattern
        return _Key(request.group_id, pattern) if pattern else None

    def _is_known(self, key: _Key, topics: frozenset[TopicName]) -> bool:
        if not topics:
            return True
        found = self._found.get(key.name)
        if found is None or (found.topics is not topics and found.topics != topics):
            return False
        group = self._shard.groups.get(key.group_id)
        is_used = group is not None and key.pattern in group.patterns
        return self._now_ms() < found.until_ms(is_used=is_used)

    def _untold(self, key: _Key, topics: frozenset[TopicName]) -> _Found:
        """What is hidden as long as no broker answers: what was, and what was not there yet."""
        before = self._found.get(key.name)
        known = None if before is None else self._hidden_from(key, before)
        hidden = None if before is None or known is None else known | (topics - before.topics)
        return _Found(topics, self._now_ms(), hidden, is_told=False)

    def _hidden_from(self, key: _Key, found: _Found) -> frozenset[TopicName] | None:
        """What was found, or what the engine has by now of what a broker told; who takes over the seat of the only
        member that has the pattern goes on with it.
        """
        if found.hidden is not None or not found.is_told:
            return found.hidden
        group = self._shard.groups.get(key.group_id)
        return NO_TOPICS if group is None else group.hidden.get(key.pattern, NO_TOPICS)

    async def _ask(self, key: _Key, way: BrokerAccess, topics: frozenset[TopicName]) -> Hidden | ErrorCode:
        if way.highest_version(ApiKey.OFFSET_FETCH) is None and way.highest_version(ApiKey.METADATA) is not None:
            # A broker without the API has nobody to hide a topic from.
            return ()
        over = self._running[key] = trio.Event()
        answers = list[Hidden | ErrorCode]()
        heard = trio.Event()

        def take(answer: Hidden | ErrorCode) -> None:
            answers.append(answer)
            heard.set()

        try:
            with trio.move_on_after(ASK_S):
                ask_which_are_hidden(way, key.group_id, sorted(topics), take)
                await heard.wait()
        finally:
            del self._running[key]
            over.set()
        return answers[0] if answers else ErrorCode.NONE
