"""What has to be known before a join may be decided: that the broker has nobody in the group, its topics, and what its
pattern matches.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

import trio

from bridge.coordinators.catalog import Catalog, TopicWatcher
from bridge.coordinators.embedded.pattern_rights import PatternRights
from bridge.coordinators.embedded.regular_expressions import Judge, Look, Patterns
from bridge.coordinators.shared_looks import SharedLook, shared_look
from bridge.ports import Broker, BrokerUnreachable
from translators.classic_member.profile import read_subscription
from translators.dialects.admin import OTHER_KINDS, DescribedGroup
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat, DescribedConsumerGroup
from translators.dialects.counts import counted
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import JOIN_EPOCH, GroupId, TopicName, is_blank
from translators.dialects.kept_names import NAME_CHARS_MAX, KeptNames

LOOK_TIMEOUT_MS = 5_000
"""How long a join may wait for the broker's word before its client is told to try again."""
REJOIN_LOOK_TIMEOUT_MS = 1_000
"""How long a member that joins again on its own may wait for a look at its topics; then it has what is known."""
DESCRIBE_TRIES = 12
DESCRIBE_PAUSE_MS = 250
"""A coordinator that is not there yet is asked again at once: on a new cluster the offsets topic is made for the first
client of all, and its join has to wait for that anyway.
"""
CLEARED_MAX, BYPASSED_MAX = 100_000, 10_000
"""So many groups are remembered that the broker has no members of, and that it has some of, which is shown; of the
oldest it is asked again with the next join.
"""
NAMED_MAX = 5
"""So many client ids a refusal names: who reads it looks for one of them first."""
_NOT_YET = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)
_TOO_SLOW = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    f"the broker did not answer within {LOOK_TIMEOUT_MS} ms; check that it runs, the client tries again",
)
_TOO_MUCH = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    f"it did not become known within {LOOK_TIMEOUT_MS} ms what its pattern matches: it is costly, or others before it;"
    " subscribe to names, or to a pattern without counted or nested repetitions",
)


Claim = Callable[[GroupId], Awaitable[Refusal | None]]


async def _free(_group_id: GroupId) -> Refusal | None:
    return None


@dataclass(frozen=True, slots=True)
class Questions:
    """What is not known yet of a join; `names` are topics whose being known is enough, none if only a new look is.

    One that is `worth_a_look` can be answered without: it is better with the topics of now. Of a `pattern` it is not
    known what it matches now, or not after the look at topics.
    """

    group_id: GroupId
    asks_members: bool
    asks_topics: bool
    names: frozenset[TopicName] = frozenset()
    worth_a_look: bool = False
    is_classic: bool = False
    pattern: str = ""

    def __bool__(self) -> bool:
        """Whether anything has to be asked at all."""
        return self.asks_members or self.asks_topics or bool(self.pattern)


class JoinChecks:
    """Asks the broker once a group for foreign members, and for topics that nobody has seen (decision 5)."""

    def __init__(
        self, broker: Broker, catalog: Catalog, topics: TopicWatcher, patterns: Patterns, rights: PatternRights
    ) -> None:
        self.rights = rights
        """What of the topics that a pattern matches its group may be given."""
        self.claim: Claim = _free
        """Has other bridges know that a group is served here, or says which one has it."""
        self._broker = broker
        self._catalog = catalog
        self._topics = topics
        self._patterns = patterns
        self._cleared: KeptNames[None] = KeptNames(CLEARED_MAX)
        """Groups of which the broker has no members, the last that were asked about: a group that its first member is
        refused in is never empty again, which would have it forgotten.
        """
        self._looks: dict[GroupId, SharedLook] = {}
        self.bypassed: dict[GroupId, str] = {}

    def questions(self, request: JoinGroup | ConsumerGroupHeartbeat, *, is_uncalled: bool = False) -> Questions:
        """What has to be asked before this request may be decided.

        A member that joins again although nobody called it (`is_uncalled`) has most likely seen topics change.
        """
        asks_members, is_classic = request.group_id not in self._cleared, isinstance(request, JoinGroup)
        if isinstance(request, ConsumerGroupHeartbeat) and request.subscribed_topic_regex:
            return self._questions_of_pattern(request, request.subscribed_topic_regex, asks_members=asks_members)
        names = frozenset(wanted_topics(request))
        if self._catalog.knows(names):
            return Questions(
                request.group_id, asks_members, is_uncalled, worth_a_look=is_uncalled, is_classic=is_classic
            )
        return Questions(request.group_id, asks_members, asks_topics=True, names=names, is_classic=is_classic)

    def _questions_of_pattern(self, request: ConsumerGroupHeartbeat, pattern: str, *, asks_members: bool) -> Questions:
        """A pattern that comes with a new member should see the topics of now; later ones are seen to when topics
        change.
        """
        if request.member_epoch == JOIN_EPOCH:
            return Questions(request.group_id, asks_members, asks_topics=True, pattern=pattern)
        names = frozenset(wanted_topics(request))
        asks_topics = not self._catalog.knows(names)
        # While it waits for anything else whoever has the pattern now may go, and what it matches be forgotten.
        is_known = self._patterns.is_current(pattern) and not (asks_members or asks_topics)
        return Questions(
            request.group_id,
            asks_members,
            asks_topics=asks_topics,
            names=names if asks_topics else frozenset(),
            pattern="" if is_known else pattern,
        )

    def forget(self, group_id: GroupId) -> None:
        """The group is empty: ask again before its next first member."""
        self._cleared.drop(group_id)

    def report_foreign(self, group_id: GroupId, reason: str) -> None:
        """The broker turned out to have members of the group."""
        self.forget(group_id)
        self._bypass(group_id, reason)

    async def ask(self, questions: Questions, judge: Judge = lambda: None, look: Look | None = None) -> Refusal | None:
        """Ask what has to be asked; the refusal if the join can't be served now, or if `judge` or `look` refuse it.

        They are asked of a join with a pattern, once it is known what that matches and before anybody is told.

        Topics that can't be looked at again don't stop a join: what was seen before counts until the next look.
        """
        try:
            with trio.fail_after(LOOK_TIMEOUT_MS / 1000):
                if questions.worth_a_look:
                    with trio.move_on_after(REJOIN_LOOK_TIMEOUT_MS / 1000):
                        await self._look_at_topics(questions.names)
                elif questions.asks_topics:
                    await self._look_at_topics(questions.names)
                if questions.asks_members:
                    refusal = _in_words_of(questions, await self._ask_members(questions.group_id))
                    if refusal is not None:
                        return refusal
        except BrokerUnreachable as problem:
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem))
        except trio.TooSlowError:
            return _TOO_SLOW
        # Nothing is waited for behind this: topics that change until the member is in would be missed.
        return await self._learn(questions, judge, look) if questions.pattern else None

    async def _learn(self, questions: Questions, judge: Judge, look: Look | None) -> Refusal | None:
        with trio.move_on_after(LOOK_TIMEOUT_MS / 1000):
            return await self._patterns.learn(questions.pattern, judge, look)
        return _TOO_MUCH

    async def _look_at_topics(self, names: frozenset[TopicName]) -> None:
        try:
            await self._topics.look(lambda: bool(names) and self._catalog.knows(names))
        except BrokerUnreachable:
            if not self._topics.has_looked:
                raise

    async def _ask_members(self, group_id: GroupId) -> Refusal | None:
        while (running := self._looks.get(group_id)) is not None:
            await running.done.wait()
            if running.is_over:
                return running.refusal
            # Whoever came later asks again in the time that it has left.
        if group_id in self._cleared:
            return None
        with shared_look(self._looks, group_id) as look:
            try:
                look.refusal = await self._find_foreign_members(group_id)
            except BrokerUnreachable as problem:
                look.refusal = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem))
            look.is_over = True
        return look.refusal

    async def _find_foreign_members(self, group_id: GroupId) -> Refusal | None:
        described = await self._describe(group_id)
        if described.error not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            reason = f"the broker describes the group with {described.error.name}; the client tries again"
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        if isinstance(described, DescribedGroup) and described.protocol_type in OTHER_KINDS:
            whose = (
                f"the broker has a {quote(described.protocol_type)} group of that name ({quote(described.group_state)})"
            )
            reason = f"{whose}, and one name is one group; take another name, or delete that group"
            self._bypass(group_id, reason)
            return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, reason)
        if described.members:
            names = ", ".join(sorted({quote(member.client_id) for member in described.members})[:NAMED_MAX])
            reason = (
                f"{counted(len(described.members), 'member talks', 'members talk')} to the broker directly"
                f" (client ids {names})"
            )
            self._bypass(group_id, reason)
            return Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)
        refusal = await self.claim(group_id)
        if refusal is not None:
            self._bypass(group_id, refusal.reason)
            return refusal
        self.bypassed.pop(group_id, None)
        self._cleared.put(group_id, None)
        return None

    def _bypass(self, group_id: GroupId, reason: str) -> None:
        self.bypassed.pop(group_id, None)
        if len(group_id) > NAME_CHARS_MAX:
            # It is shown to nobody: 10,000 names of 32 kB, which anybody may ask for, would be 320 MB.
            return
        self.bypassed[group_id] = reason
        if len(self.bypassed) > BYPASSED_MAX:
            del self.bypassed[next(iter(self.bypassed))]

    async def _describe(self, group_id: GroupId) -> DescribedGroup | DescribedConsumerGroup:
        described = await self._broker.describe_group(group_id)
        for _ in range(DESCRIBE_TRIES):
            if described.error not in _NOT_YET:
                break
            await trio.sleep(DESCRIBE_PAUSE_MS / 1000)
            described = await self._broker.describe_group(group_id)
        return described


def _in_words_of(questions: Questions, refusal: Refusal | None) -> Refusal | None:
    """Kafka tells a classic client of a group of another kind by another code (4.3.1)."""
    if refusal is not None and refusal.code is ErrorCode.GROUP_ID_NOT_FOUND and questions.is_classic:
        return replace(refusal, code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return refusal


def wanted_topics(request: JoinGroup | ConsumerGroupHeartbeat) -> Iterable[TopicName]:
    """The topics that a request subscribes to by name."""
    if isinstance(request, ConsumerGroupHeartbeat):
        return request.subscribed_topic_names or ()
    read = read_subscription(request)
    return () if isinstance(read, Refusal) else read[1].topics


def is_join(request: object) -> bool:
    """Whether a request may bring a new member or a new subscription; nobody can join a group without a name."""
    if isinstance(request, ConsumerGroupHeartbeat):
        if is_blank(request.group_id):
            return False
        subscribes = bool(request.subscribed_topic_names) or bool(request.subscribed_topic_regex)
        return request.member_epoch == JOIN_EPOCH or (request.member_epoch > JOIN_EPOCH and subscribes)
    return isinstance(request, JoinGroup) and bool(request.group_id)
