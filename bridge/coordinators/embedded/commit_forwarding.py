"""Commits on their way to the broker: judged when their turn comes, begun and ended at the coordinator."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from bridge.coordinators.arrivals import request_fields
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.partition_queue import GroupPartition, GroupPartitions, PartitionQueue, Work
from bridge.coordinators.offset_requests import (
    Commit,
    committed_partitions,
    complete_commit_reply,
    find_missing,
    has_foreign_members,
    known_part,
    merge_commit,
    names_ids,
    refuse_commit,
    refuse_judged,
    split_commit,
    to_simple_commit,
    without_long_texts,
)
from bridge.session.contracts import BrokerAccess
from translators.dialects.coordinator import CommitAdmitted, CommitRefused
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, RequestRef
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import OffsetCommitReply

LOG = logging.getLogger("epochbridge.coordinators")
METADATA_MAX = 4_096
"""Kafka's default of `offset.metadata.max.bytes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingWays:
    """What the forwarder needs of others: judge a commit, end it, answer, report, be looked at in time."""

    begin: Callable[[RequestRef, Commit], CommitAdmitted | CommitRefused]
    end: Callable[[int], None]
    deliver: Callable[[RequestRef, GroupReply], None]
    report_foreign: Callable[[GroupId], None]
    due_changed: Callable[[], None]
    committed: Callable[[Commit, OffsetCommitReply | None], None] = lambda _commit, _reply: None
    """Hears the broker's word on every commit, None for none."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A commit with the places it concerns."""

    ref: RequestRef
    via: BrokerAccess
    request: Commit
    places: GroupPartitions


class CommitForwarder:
    """Every commit between its request and the broker's word on it (decisions 1, 2, 4 and 5)."""

    def __init__(
        self,
        catalog: Catalog,
        ways: ForwardingWays,
        drain_ms: int,
        now_ms: Callable[[], int],
        metadata_max: int = METADATA_MAX,
    ) -> None:
        self.queue = PartitionQueue()
        self._catalog = catalog
        self._ways = ways
        self._drain_ms = drain_ms
        self._now_ms = now_ms
        self._metadata_max = metadata_max
        self._drains: list[tuple[int, int, int, GroupPartitions]] = []
        self._draining: set[GroupPartition] = set()
        """The places of them all: when a broker dies under 10,000 clients each of their commits is one."""
        self._drained = count()

    def submit(self, ref: RequestRef, via: BrokerAccess, request: Commit) -> None:
        """Take a commit; it is judged when its turn comes, not before, so that a fence in between holds.

        One for places that drain is told to come again: to wait here would hold back all answers of its connection,
        heartbeats' too, until the client gives the connection up and with it the next commit (librdkafka).
        """
        partitions = committed_partitions(request, self._catalog)
        places = frozenset(GroupPartition(request.group_id, partition) for partition in partitions)
        if not places.isdisjoint(self._draining):
            self._ways.deliver(ref, refuse_commit(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
            return
        pending = Pending(ref, via, request, places)
        if not self.queue.enter(Work(via.connection, places, lambda: self._begin(pending))):
            self._ways.deliver(ref, refuse_commit(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))

    def await_over(self, commit_id: int) -> None:
        """A commit of unknown outcome may be on its way since before a restart: it is over when it no longer can be."""
        heappush(self._drains, (self._now_ms() + self._drain_ms, next(self._drained), commit_id, frozenset()))

    def next_drain_ms(self) -> int | None:
        """When a commit of unknown outcome counts as over."""
        return self._drains[0][0] if self._drains else None

    def pass_drains(self, now_ms: int) -> None:
        """End the commits whose time is over."""
        while self._drains and self._drains[0][0] <= now_ms:
            _, _, commit_id, places = heappop(self._drains)
            self._draining -= places
            self._end(commit_id, places)

    def _begin(self, pending: Pending) -> None:
        known = known_part(pending.request, self._catalog)
        begun = self._ways.begin(pending.ref, without_long_texts(known, self._metadata_max))
        if isinstance(begun, CommitRefused):
            self._ways.deliver(pending.ref, refuse_judged(pending.request, begun.code, self._catalog))
            self.queue.leave(pending.places)
            return
        commit_id = begun.commit_id
        try:
            self._send(pending, commit_id)
        except Exception:
            told = "EB-GROUP-002: commit %.2000r could not be sent; the groups go on, please report this"
            LOG.exception(told, pending.request, extra=request_fields(pending.request))
            self._take_answer(pending, commit_id, None)

    def _send(self, pending: Pending, commit_id: int) -> None:
        simple = to_simple_commit(pending.request, self._catalog)
        asked, too_long = split_commit(simple, self._metadata_max)
        by_id = names_ids(pending.request)
        refused = {place: find_missing(self._catalog, *place, by_id=by_id) or code for place, code in too_long.items()}

        def take(reply: GroupReply | None) -> None:
            whole = reply
            try:
                # From version 10 on the broker names topics by id alone; who compares offsets knows them by name.
                complete = complete_commit_reply(reply, self._catalog) if isinstance(reply, OffsetCommitReply) else None
                self._ways.committed(simple, complete)
                if complete is not None and not has_foreign_members(complete):
                    whole = merge_commit(simple, complete, refused, self._metadata_max)
            except Exception:
                # Not to end it would keep its partitions from their next owner for ever.
                told = "EB-GROUP-002: the answer to commit %.2000r makes no sense; please report this"
                LOG.exception(told, pending.request, extra=request_fields(pending.request))
                whole = None
            self._take_answer(pending, commit_id, whole)

        if asked.topics or not refused:
            pending.via.ask(pending.ref, asked, take)
        else:
            take(OffsetCommitReply(topics=()))

    def _take_answer(self, pending: Pending, commit_id: int, reply: GroupReply | None) -> None:
        """Without an answer the commit may still land: its places stay taken until it no longer can (decision 2)."""
        if not isinstance(reply, OffsetCommitReply):
            over_ms = self._now_ms() + self._drain_ms
            heappush(self._drains, (over_ms, next(self._drained), commit_id, pending.places))
            self._draining |= pending.places
            self._ways.deliver(pending.ref, refuse_commit(pending.request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            self._ways.due_changed()
            return
        if has_foreign_members(reply):
            self._ways.report_foreign(pending.request.group_id)
            # Not 15: while a release waited for a broker to forget an id, kafka-python looked for the coordinator with
            # each try and sent no heartbeat in between, until its session was over.
            reply = refuse_commit(pending.request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._ways.deliver(pending.ref, reply)
        self._end(commit_id, pending.places)

    def _end(self, commit_id: int, places: GroupPartitions) -> None:
        self._ways.end(commit_id)
        self.queue.leave(places)
