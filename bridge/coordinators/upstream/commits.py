"""Commits of members that a broker coordinates, on their way to it: under the member's epoch, and only for partitions
that are still the member's own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

from bridge.coordinators.admission import translate_commit
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.machines import Machines
from bridge.coordinators.offset_requests import (
    Commit,
    committed_partitions,
    complete_commit_reply,
    refuse_commit,
    with_names_and_ids,
)
from bridge.session.contracts import BrokerAccess
from translators.classic_member.states import CompletingRebalance, State, seated
from translators.classic_member.tenure import usable
from translators.dialects.coordinator import CommitAdmitted, CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberRef, RequestRef, TopicPartition
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommit, OffsetCommitReply, TxnOffsetCommit

FIRST_BY_EPOCH = 9
"""OffsetCommit of a consumer group's member: Kafka answers UNSUPPORTED_VERSION to lower ones (K5.10)."""
_CLASSIC_WORDS = {
    ErrorCode.STALE_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_MEMBER_EPOCH: ErrorCode.ILLEGAL_GENERATION,
}
"""Codes that no classic client knows, and what they mean to it: join again."""
ASKED_AGAIN_MAX = 3
"""An epoch that moves with every try belongs to a group that never comes to rest: its client tries again later."""


@dataclass(frozen=True, slots=True)
class _Flight:
    """A commit on its way: whose, and of which partitions."""

    member: MemberRef
    partitions: frozenset[TopicPartition]


class Flights:
    """By number, and by member: a broker that stands still has a commit of each of thousands, which all ask it
    meanwhile.
    """

    def __init__(self) -> None:
        self._flights: dict[int, _Flight] = {}
        self._of: dict[MemberRef, dict[int, _Flight]] = {}
        self._numbers = count(1)

    def begin(self, member: MemberRef, partitions: frozenset[TopicPartition]) -> int:
        """A commit of a member leaves; gives its number."""
        commit_id = next(self._numbers)
        flight = self._flights[commit_id] = _Flight(member, partitions)
        self._of.setdefault(member, {})[commit_id] = flight
        return commit_id

    def end(self, commit_id: int) -> MemberRef | None:
        """It is answered, or given up; gives whose it was, None where that is over already."""
        flight = self._flights.pop(commit_id, None)
        if flight is None:
            return None
        of_member = self._of[flight.member]
        del of_member[commit_id]
        if not of_member:
            del self._of[flight.member]
        return flight.member

    def is_out(self, member: MemberRef) -> bool:
        """Whether a commit of the member is on its way."""
        return member in self._of

    def hold_back(self, member: MemberRef, owned: frozenset[TopicPartition]) -> bool:
        """Whether a member that says it owns these would let go of what a commit of it is on its way for."""
        flights = self._of.get(member)
        return flights is not None and any(not flight.partitions <= owned for flight in flights.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitWays:
    """What is needed of others: judge a commit and count it as under way, end it, answer, be looked at in time, know
    whom an earlier life of the bridge may have left.
    """

    begin: Callable[[RequestRef, Commit], CommitAdmitted | CommitRefused]
    end: Callable[[int], None]
    deliver: Callable[[RequestRef, GroupReply], None]
    due_changed: Callable[[], None]
    is_left_over: Callable[[MemberRef], bool]
    """Whether a member without a machine may be from before the start: its client joins again, and keeps what it has.
    """


class UpstreamCommits:
    """Every commit between its request and the broker's word on it."""

    def __init__(
        self, catalog: Catalog, machines: Machines, ways: CommitWays, drain_ms: int, now_ms: Callable[[], int]
    ) -> None:
        self._catalog = catalog
        self._machines = machines
        self._ways = ways
        self._drain_ms = drain_ms
        self._now_ms = now_ms
        self._drains: list[tuple[int, int]] = []

    def submit(self, ref: RequestRef, way: BrokerAccess, request: Commit) -> None:
        """Take a commit; one of somebody without a machine (a KIP-848 member, a simple one) goes as it is."""
        member = MemberRef(request.group_id, request.member_id)
        if self._machines.get(member) is None:
            if _is_of_a_classic_member(request):
                # To its version the broker of a consumer group says 35, which ends a classic client for good.
                code = (
                    ErrorCode.REBALANCE_IN_PROGRESS if self._ways.is_left_over(member) else ErrorCode.UNKNOWN_MEMBER_ID
                )
                self._ways.deliver(ref, refuse_commit(request, code))
            else:
                self._forward(ref, way, request)
            return
        judged = self._ways.begin(ref, request)
        if isinstance(judged, CommitRefused):
            self._ways.deliver(ref, refuse_commit(request, judged.code))
        else:
            self._send(_Sent(ref, way, request, member, judged.commit_id))

    def next_drain_ms(self) -> int | None:
        """When a commit of unknown outcome counts as over."""
        return self._drains[0][0] if self._drains else None

    def pass_drains(self, now_ms: int) -> None:
        """End the commits whose time is over."""
        while self._drains and self._drains[0][0] <= now_ms:
            self._ways.end(heappop(self._drains)[1])

    def _forward(self, ref: RequestRef, way: BrokerAccess, request: Commit) -> None:
        def take(reply: GroupReply | None) -> None:
            failed = refuse_commit(request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            complete = complete_commit_reply(reply, self._catalog) if isinstance(reply, OffsetCommitReply) else failed
            self._ways.deliver(ref, complete)

        way.ask(ref, request, take)

    def _send(self, sent: "_Sent") -> None:
        """Judged anew at every try: what was the member's own may be somebody else's by now."""
        state = self._machines.get(sent.member)
        partitions = committed_partitions(sent.request, self._catalog)
        translated: Commit | ErrorCode = (
            ErrorCode.UNKNOWN_MEMBER_ID if state is None else translate_commit(state, sent.request, partitions)
        )
        if not isinstance(translated, ErrorCode) and not partitions <= _own(state):
            # Who has not heard yet what is left to it would give up all of it for 22 (K5.7).
            is_told = not isinstance(state, CompletingRebalance) or isinstance(sent.request, TxnOffsetCommit)
            translated = ErrorCode.ILLEGAL_GENERATION if is_told else ErrorCode.REBALANCE_IN_PROGRESS
        if isinstance(translated, ErrorCode):
            self._end(sent, refuse_commit(sent.request, translated))
            return
        asked = with_names_and_ids(translated, self._catalog)
        version = FIRST_BY_EPOCH if isinstance(asked, OffsetCommit) else None
        sent.way.ask(sent.ref, asked, lambda reply: self._take(sent, reply), version)

    def _take(self, sent: "_Sent", reply: GroupReply | None) -> None:
        if not isinstance(reply, OffsetCommitReply):
            # It may land still: its partitions are not free until it no longer can (decision 2).
            heappush(self._drains, (self._now_ms() + self._drain_ms, sent.commit_id))
            self._ways.deliver(sent.ref, refuse_commit(sent.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            self._ways.due_changed()
        elif _is_stale(sent.request, reply) and sent.tries < ASKED_AGAIN_MAX:
            self._send(replace(sent, tries=sent.tries + 1))
        elif _is_stale(sent.request, reply):
            # All of it is the member's own, as far as is known: who has lost its seat is told so by a heartbeat. After
            # a restart the epoch of the journal may be older than the broker's until the first one is answered.
            self._end(sent, refuse_commit(sent.request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        else:
            self._end(sent, _in_classic_words(complete_commit_reply(reply, self._catalog)))

    def _end(self, sent: "_Sent", reply: OffsetCommitReply) -> None:
        self._ways.deliver(sent.ref, reply)
        self._ways.end(sent.commit_id)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A member's commit as its client sent it."""

    ref: RequestRef
    way: BrokerAccess
    request: Commit
    member: MemberRef
    commit_id: int
    tries: int = 1


def _is_of_a_classic_member(request: Commit) -> bool:
    """Whether nobody but a classic client can have sent this: KIP-848 members commit from version 9 on."""
    return isinstance(request, OffsetCommit) and not request.knows_member_epoch and request.generation >= 0


def _own(state: State | None) -> frozenset[TopicPartition]:
    """What a member's client may be using. A broker takes the commit of any partition under a current epoch, so what a
    classic group would let pass, a commit of what was never handed out, might land on top of its owner's here.
    """
    member = seated(state)
    return frozenset() if member is None else usable(member.tenure)


def _is_stale(request: Commit, reply: OffsetCommitReply) -> bool:
    """Whether the member's epoch moved at the broker while the commit was on its way: that is said of all or none, to
    a transaction in the classic word.
    """
    word = ErrorCode.STALE_MEMBER_EPOCH if isinstance(request, OffsetCommit) else ErrorCode.ILLEGAL_GENERATION
    return any(item.error is word for topic in reply.topics for item in topic.partitions)


def _in_classic_words(reply: OffsetCommitReply) -> OffsetCommitReply:
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                replace(item, error=_CLASSIC_WORDS.get(item.error, item.error)) for item in topic.partitions
            ),
        )
        for topic in reply.topics
    )
    return replace(reply, topics=topics)
