"""The real owner of groups and the real forwarder of commits as the subject of a simulated world."""

from collections.abc import Iterable, Sequence
from itertools import count

from bridge.coordinators.arrivals import Arrival
from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.commit_forwarding import CommitForwarder, ForwardingWays
from bridge.coordinators.embedded.owner import EmbeddedOwner
from bridge.coordinators.exchange import TurnResult
from bridge.coordinators.machines import Machines
from bridge.engine.assignors.registry import registry
from bridge.engine.commands import ChangeTopics, EndCommit
from bridge.engine.state import Shard
from bridge.session.contracts import OnAnswer
from bridge.wire.codec.registry import Request
from tests.support.owned_group import counted_ids
from tests.support.simulation.subject import Delivery, Surroundings
from translators.classic_member.states import MemberLimits
from translators.dialects.classic import Heartbeat, HeartbeatReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, RequestRef, Topic
from translators.dialects.offsets import OffsetCommit

COMMIT_DRAIN_MS = 5_000
CALM = HeartbeatReply(ErrorCode.NONE)


class BrokerWay:
    """A client connection's way to the broker, as the session room would offer it."""

    def __init__(self, surroundings: Surroundings, connection: int) -> None:
        self._surroundings = surroundings
        self._connection = connection

    @property
    def connection(self) -> int:
        """The client's connection."""
        return self._connection

    @property
    def broker_id(self) -> int | None:
        """There is one broker."""
        return 0

    def highest_version(self, api_key: int) -> int | None:
        """Whatever is asked, no version matters here."""
        return 9

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """Send a commit on to the broker."""
        assert isinstance(request, OffsetCommit)
        assert ref is not None
        self._surroundings.ask_broker(ref, request, on_answer)


class OwnerSubject:
    """Owner and forwarder, wired as the embedded coordinator wires them, without its task."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        ids = count(surroundings.first_id)
        shard = Shard(
            settings=surroundings.settings,
            assignors=registry,
            no_assignment_before_ms=surroundings.no_assignment_before_ms,
        )
        self.owner = EmbeddedOwner(shard, Catalog(), Machines(MemberLimits()), counted_ids(ids))
        ways = ForwardingWays(
            begin=lambda ref, request: self.owner.begin_commit(ref, request, surroundings.now_ms()),
            end=lambda commit_id: self._release(self.owner.take_turn([EndCommit(commit_id)], surroundings.now_ms())),
            deliver=surroundings.answer,
            report_foreign=_no_foreigners,
            due_changed=lambda: None,
        )
        self.forwarder = CommitForwarder(self.owner.catalog, ways, COMMIT_DRAIN_MS, surroundings.now_ms)

    @property
    def shard(self) -> Shard:
        """The engine's state."""
        return self.owner.shard

    def take_turn(self, deliveries: Sequence[Delivery]) -> None:
        """As `EmbeddedGroups`: a lone heartbeat is answered at once, everything else in a batch."""
        now_ms = self._surroundings.now_ms()
        first = deliveries[0]
        if len(deliveries) == 1 and isinstance(first.request, Heartbeat):
            if self.owner.beat_calmly(first.request, now_ms):
                self._surroundings.answer(first.ref, CALM)
            else:
                self._release(self.owner.beat(first.ref, first.request, now_ms))
            return
        arrivals = [Arrival(one.ref, one.client, one.request) for one in deliveries]
        self._release(self.owner.take_turn(arrivals, now_ms))

    def commit(self, ref: RequestRef, request: OffsetCommit) -> None:
        """Hand a commit to the forwarder."""
        self.forwarder.submit(ref, BrokerWay(self._surroundings, ref.connection), request)

    def change_topics(self, topics: Iterable[Topic]) -> None:
        """What the watcher found in two looks."""
        found, now_ms = tuple(topics), self._surroundings.now_ms()
        for change in (self.owner.catalog.update(found), self.owner.catalog.update(found)):
            self._release(self.owner.take_turn([ChangeTopics(change.changed, change.removed)], now_ms))

    def lose_connection(self, connection: int) -> None:
        """A client connection is gone."""
        self.forwarder.queue.forget(connection)
        self._release(self.owner.lose_connection(connection, self._surroundings.now_ms()))

    def next_deadline_ms(self) -> int | None:
        """The earliest of owner and forwarder."""
        times = [at for at in (self.owner.next_deadline_ms(), self.forwarder.next_drain_ms()) if at is not None]
        return min(times, default=None)

    def pass_deadlines(self) -> None:
        """Drains first, as in `EmbeddedGroups`."""
        now_ms = self._surroundings.now_ms()
        self.forwarder.pass_drains(now_ms)
        self._release(self.owner.pass_deadlines(now_ms))

    def _release(self, result: TurnResult) -> None:
        for ref, reply in result.replies:
            self._surroundings.answer(ref, reply)


def _no_foreigners(group_id: GroupId) -> None:
    raise AssertionError(f"the broker of this world knows no members of {group_id!r}")
