"""What is asked of brokers on behalf of translated members is followed as their consumer group, and what their clients
ask as it is on the other roads.
"""

from dataclasses import replace

import pytest

from bridge.session.contracts import BrokerAccess, OnAnswer
from bridge.telemetry.following.fact_writer import FROZEN_US
from bridge.telemetry.observing import Guard, UpstreamObserver
from bridge.telemetry.schema.facts import (
    CommitPassed,
    GroupConverted,
    MemberLeft,
    MoveEnded,
    PartitionsReleased,
    PhaseBegan,
    RebalanceBegan,
)
from bridge.telemetry.schema.terms import OperatorAction, Protocol, Road
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import commit_request, committed, native_join
from tests.support.heard import Ears
from tests.support.owned_group import CLIENT, GROUP, TOPIC
from tests.support.passing_words import beat as classic_beat
from tests.support.passing_words import beaten, join, joined, leave, left, named, sync, synced
from tests.support.upstream_world import TOPIC_ID, granted, refused, unchanged
from translators.dialects.classic import Heartbeat
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.coordinator import DepartReason
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import (
    ClientIdentity,
    GroupId,
    MemberId,
    MemberRef,
    RequestRef,
    Topic,
    TopicId,
    TopicIdPartition,
    Via,
    via_of,
)

OWN, OTHER = 3, 4


class Way:
    """A connection whose broker answers at once."""

    broker_id: int | None = 1

    def __init__(self, connection: int) -> None:
        self.connection = connection
        self.reply: Reply | None = None

    def highest_version(self, api_key: int) -> int | None:
        return None

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        on_answer(self.reply)


class Clients:
    """Takes what clients ask; who answers is the test."""

    def __init__(self) -> None:
        self.submitted: list[Request] = []
        self.gone: list[int] = []

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        self.submitted.append(request)

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        return True

    def disconnected(self, connection: int) -> None:
        self.gone.append(connection)


class Heard:
    """A follower at the ears of one member's conversation."""

    def __init__(self) -> None:
        self.ears = Ears()
        self.ears.topics.change([Topic(TOPIC_ID, TOPIC, 3)], ())
        self.ways: dict[int, Way] = {OWN: Way(OWN), OTHER: Way(OTHER)}
        self.now_us = 5
        self.guard = Guard()
        upstream_observer = UpstreamObserver(self.ears.follower, self.guard, lambda: self.now_us)
        upstream_observer.client_of = lambda _: CLIENT
        self.access = upstream_observer.over(self._way)
        self.observer = upstream_observer
        self.clients = Clients()
        self.requests = upstream_observer.over_requests(self.clients)
        self.delivered: list[tuple[RequestRef, Reply]] = []
        self.deliver = upstream_observer.over_answers(lambda ref, reply: self.delivered.append((ref, reply)))
        self.answers: list[Reply | None] = []

    def _way(self, via: Via) -> BrokerAccess:
        return self.ways[via.connection]

    def ask(self, request: Request, reply: Reply | None, connection: int = OWN) -> list[str]:
        """Let the broker answer; gives what is said of it."""
        before = len(self.ears.log.lines())
        self.ways[connection].reply = reply
        way = self.access(Via(0, connection))
        assert (way.connection, way.broker_id, way.highest_version(1)) == (connection, 1, None)
        way.ask(None, request, self.answers.append)
        assert self.answers[-1] == reply
        return self.ears.log.lines()[before:]

    def come(self, request: Request, connection: int = OWN) -> RequestRef:
        """Let a client ask."""
        ref = RequestRef(0, connection, len(self.clients.submitted))
        self.requests.submit(ref, CLIENT, via_of(ref), request)
        assert self.clients.submitted[-1] is request
        return ref

    def answer(self, ref: RequestRef, reply: Reply) -> None:
        """Let a client be answered."""
        self.deliver(ref, reply)
        assert self.delivered[-1] == (ref, reply)

    def hear(self, request: Request, reply: Reply) -> list[str]:
        """Let a client ask and be answered at once; gives what is said of it."""
        before = len(self.ears.log.lines())
        self.answer(self.come(request), reply)
        assert self.guard.bugs == 0
        return self.ears.log.lines()[before:]

    def sync(self, *partitions: int, error: ErrorCode = ErrorCode.NONE) -> list[str]:
        """Let the member's client be handed out these; gives what is said of it."""
        return self.hear(sync("a", 1), synced(*partitions, error=error))

    def form(self, *partitions: int) -> None:
        """Let an eager client join alone, be handed out these, and fetch them."""
        joining = self.come(join("a"))
        self.ask(native_join("a"), granted(1, *partitions))
        self.answer(joining, joined("a", 1))
        self.sync(*partitions)
        self.ears.follower.fetched(CLIENT, named(*partitions), False, self.now_us)
        assert self.ears.follower.groups[GROUP].rebalance is None

    def has(self) -> list[int]:
        """The partitions that the member's client has, as far as the log says."""
        (member,) = self.ears.follower.groups[GROUP].members.values()
        return sorted(one.partition for one in member.assigned)


def beat(epoch: int) -> ConsumerGroupHeartbeat:
    """The short form."""
    return ConsumerGroupHeartbeat(group_id=GROUP, member_id=MemberId("a"), member_epoch=epoch)


def test_member_is_followed_from_its_join_to_its_farewell() -> None:
    """What says and brings nothing goes by, but the first time on a connection."""
    heard = Heard()
    joined = heard.ask(native_join("a"), granted(1, 0, 1))
    assert "member-joined" in joined
    group = heard.ears.follower.groups[GROUP]
    assert (group.road, list(group.members), group.epoch) == (Road.UPSTREAM, ["a"], 1)
    assert heard.ask(beat(1), unchanged(1)) == []
    assert heard.ask(beat(1), None) == []
    assert heard.ask(beat(1), unchanged(1), OTHER) == []
    assert heard.ask(beat(1), granted(2, 0)) != []
    assert heard.ask(commit_request(), committed(commit_request())) == []
    assert any("left" in line for line in heard.ask(replace(beat(1), member_epoch=-1), unchanged(-1)))
    assert GROUP not in heard.ears.follower.groups


def test_heartbeat_over_again_goes_by_until_its_member_speaks_by_another_connection() -> None:
    """Whoever is met there first is told of, also where both say again just what they said before."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0, 1))
    again, calm, told = beat(1), unchanged(1), heard.ears.follower
    for connection in (OWN, OWN, OWN, OTHER, OTHER, OWN):
        heard.ask(again, calm, connection)
        assert told.groups[GROUP].members[MemberId("a")].connection == connection


def test_group_that_passed_first_is_of_the_road_that_it_takes() -> None:
    """Its KIP-848 members pass; the broker coordinates all of them."""
    heard = Heard()
    heard.ears.follower.asked(RequestRef(0, OTHER, 1), CLIENT, native_join("n"), Road.PASSING, 1)
    heard.ears.follower.answered(RequestRef(0, OTHER, 1), replace(granted(1, 0), member_id=MemberId("n")), 2)
    heard.ask(native_join("a"), granted(2, 1))
    group = heard.ears.follower.groups[GROUP]
    assert (group.road, sorted(group.members)) == (Road.UPSTREAM, ["a", "n"])


def test_classic_client_stays_one_in_the_log_whatever_the_bridge_says_to_its_broker() -> None:
    """A report would say of its group that it needs no bridge; its KIP-848 members beside it are what they are."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.ears.follower.asked(RequestRef(0, OTHER, 1), CLIENT, native_join("n"), Road.PASSING, 1)
    heard.ears.follower.answered(RequestRef(0, OTHER, 1), replace(granted(2, 1), member_id=MemberId("n")), 2)
    members = heard.ears.follower.groups[GROUP].members
    spoken = {MemberId("a"): Protocol.CLASSIC, MemberId("n"): Protocol.CONSUMER}
    assert {one.member_id: one.protocol for one in members.values()} == spoken


def test_classic_client_that_is_met_behind_a_restart_is_one_in_the_log() -> None:
    """Nobody heard it join: its bridge beats for it as before."""
    heard = Heard()
    heard.ask(beat(4), unchanged(4))
    (member,) = heard.ears.follower.groups[GROUP].members.values()
    assert (member.protocol, member.member_epoch, member.generation) == (Protocol.CLASSIC, 4, -1)


def test_epoch_that_a_group_is_taken_over_with_is_no_rebalance() -> None:
    """Kafka counts on when a classic group becomes a consumer group; who gets something else is in a rebalance."""
    heard = Heard()
    follower = heard.ears.follower
    heard.ask(native_join("a"), granted(1, 0))
    heard.sync(0)
    began = len(heard.ears.log.of(RebalanceBegan))
    follower.ordered(GROUP, OperatorAction.MOVE, (), 6)
    heard.ask(beat(1), unchanged(2))
    heard.ask(beat(2), granted(3, 0))
    assert (len(heard.ears.log.of(RebalanceBegan)), follower.groups[GROUP].epoch) == (began, 3)
    heard.ask(beat(3), granted(4, 1))
    assert len(heard.ears.log.of(RebalanceBegan)) == began + 1
    follower.settled(GROUP, Road.UPSTREAM, {MemberId("a"): 4}, 7)
    heard.ask(beat(4), unchanged(5))
    assert len(heard.ears.log.of(RebalanceBegan)) == began + 2


def test_group_that_was_moved_is_told_of_by_its_new_road_and_kind() -> None:
    """One that was given back is classic, whatever was heard before."""
    heard = Heard()
    follower = heard.ears.follower
    heard.ask(native_join("a"), granted(1, 0))
    follower.settled(GROUP, Road.PASSING, {}, 7)
    (converted,) = heard.ears.log.of(GroupConverted)
    assert isinstance(converted, GroupConverted)
    assert (converted.road, converted.group_type) == (Road.PASSING, Protocol.CLASSIC)
    follower.settled(GroupId("nobody"), Road.PASSING, {}, 7)
    assert len(heard.ears.log.of(GroupConverted)) == 1


def test_move_that_came_to_nothing_is_told_with_the_road_that_its_group_is_on() -> None:
    """The report's chapter behind it said `upstream`, of a group that had stayed on pass; and of one that rests since
    before the bridge was started nobody heard anything.
    """
    heard = Heard()
    follower = heard.ears.follower
    follower.ordered(GROUP, OperatorAction.MOVE, (), 6)
    heard.ask(native_join("a"), refused(ErrorCode.GROUP_ID_NOT_FOUND))
    follower.settled(GROUP, Road.PASSING, {}, 7)
    follower.settled(GroupId("rests"), Road.UPSTREAM, {MemberId("b"): 4}, 8)
    ended = [(one.group_id, one.road) for one in heard.ears.log.of(MoveEnded) if isinstance(one, MoveEnded)]
    assert ended == [(GROUP, Road.PASSING), ("rests", Road.UPSTREAM)]


def test_refused_member_is_followed_out() -> None:
    """It has no seat any more."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.ask(beat(1), refused(ErrorCode.UNKNOWN_MEMBER_ID))
    assert GROUP not in heard.ears.follower.groups


# ------------------------------------------------------------------ what a grant is to a classic client


def test_grant_is_told_when_the_client_is_handed_it_out() -> None:
    """Until then it reads what it has: a report told of 6.6 s at a standstill that were 0.06 s."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    assert heard.has() == []
    assert {"partitions-assigned t-0", "begins fetching"} <= set(heard.sync(0))
    assert heard.has() == [0]
    assert not any("t-1" in line or "fetching" in line for line in heard.ask(beat(1), granted(2, 0, 1)))
    assert heard.ears.follower.groups[GROUP].rebalance is not None
    assert heard.sync(0, error=ErrorCode.NOT_COORDINATOR) == []
    assert "partitions-assigned t-1" in heard.sync(0, 1)
    assert heard.has() == [0, 1]
    assert heard.ears.follower.groups[GROUP].rebalance is None


def test_what_a_client_uses_is_its_own_though_nobody_heard_it_handed_out() -> None:
    """Behind a restart of the bridge, which says in full what the client has; and where a SyncGroup went by unheard."""
    heard = Heard()
    owned = frozenset((TopicIdPartition(TOPIC_ID, 0),))
    heard.ask(replace(beat(4), owned=owned), granted(4, 0, 1))
    assert heard.has() == [0]
    both = owned | {TopicIdPartition(TOPIC_ID, 1)}
    heard.ask(replace(beat(4), owned=both), unchanged(4))
    assert heard.has() == [0, 1]


def test_what_was_granted_and_taken_back_before_the_client_heard_is_nothing_to_it() -> None:
    """It goes on with what it has, and the rebalance is over."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.sync(0)
    heard.ask(beat(1), granted(2, 0, 1))
    heard.ask(beat(2), granted(3, 0))
    assert heard.has() == [0]
    assert heard.ears.follower.groups[GROUP].rebalance is None


def test_topics_without_a_name_keep_no_rebalance_open() -> None:
    """The client is handed out names, which an id is not; nothing is taken for lost by that."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.sync(0)
    unseen = replace(granted(2), assignment=frozenset((TopicIdPartition(TopicId(b"u" * 16), 0),)))
    heard.ask(beat(1), unseen)
    assert heard.has() == [0]
    assert heard.ears.follower.groups[GROUP].rebalance is None


def test_member_that_is_given_back_waits_for_no_grant() -> None:
    """Of a classic group nobody tells what is to come."""
    heard = Heard()
    heard.ask(native_join("a"), granted(1, 0))
    heard.ears.follower.settled(GROUP, Road.PASSING, {}, 7)
    (member,) = heard.ears.follower.groups[GROUP].members.values()
    assert member.due is None


# ------------------------------------------------------------------ what a classic client itself asks


def test_newcomer_waits_from_its_joingroup_to_the_answer_of_its_syncgroup() -> None:
    """Of which the log had nothing but the moment of the broker's answer."""
    heard = Heard()
    heard.now_us = 10
    joining = heard.come(join("a"))
    heard.now_us = 20
    heard.ask(native_join("a"), granted(1, 0, 1))
    heard.now_us = 30
    heard.answer(joining, joined("a", 1))
    heard.now_us = 45
    heard.sync(0, 1)
    assert heard.ears.log.lines("a") == [
        "member-joined",
        "begins joining",
        "ends joining",
        "begins syncing",
        "ends syncing",
        "told assign by SyncGroup",
        "partitions-assigned t-0 t-1",
        "begins fetching",
        "begins stable",
    ]
    began = [one.stamp.mono_us for one in heard.ears.log.events if isinstance(one.fact, PhaseBegan)]
    assert began == [10, 30, 45, 45]
    (member,) = heard.ears.follower.groups[GROUP].members.values()
    assert (member.is_eager, member.inputs.assignors, member.inputs.session_timeout_ms) == (True, ("range",), 10_000)
    assert heard.ears.follower.groups[GROUP].rebalance is None


def test_eager_client_that_is_called_is_followed_as_on_road_embedded() -> None:
    """It reads until it hears of the call; from then on until its SyncGroup is answered it has nothing."""
    heard = Heard()
    heard.form(0, 1)
    assert not any("revok" in line or "told" in line for line in heard.ask(beat(1), granted(2, 0)))
    assert heard.hear(classic_beat("a", 1), beaten()) == []
    called = heard.hear(classic_beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    assert called == ["told revoke by Heartbeat", "partitions-told t-0 t-1", "ends stable", "begins revoking"]
    before = len(heard.ears.log.lines())
    joining = heard.come(join("a"))
    lets_go = ["member-rejoined", "ends revoking", "partitions-released t-0 t-1", "begins joining"]
    assert heard.ears.log.lines()[before:] == lets_go
    assert heard.ask(replace(beat(2), owned=frozenset()), granted(2, 0)) == []
    # What its broker is told that it has it hears by its SyncGroup.
    assert heard.ask(replace(beat(2), owned=frozenset((TopicIdPartition(TOPIC_ID, 0),))), unchanged(2)) == []
    assert heard.ears.follower.groups[GROUP].rebalance is not None
    before = len(heard.ears.log.lines())
    heard.answer(joining, joined("a", 2))
    assert heard.ears.log.lines()[before:] == ["ends joining", "begins syncing"]
    synced_lines = heard.sync(0)
    assert synced_lines[:5] == [
        "ends syncing",
        "told assign by SyncGroup",
        "partitions-assigned t-0",
        "begins fetching",
        "begins stable",
    ]
    assert "rebalance-ended completed" in synced_lines
    assert heard.has() == [0]


def test_cooperative_client_gives_up_no_more_than_it_is_told_to() -> None:
    """By the answer to its first SyncGroup; its second JoinGroup names the rest."""
    heard = Heard()
    joining = heard.come(join("a", "cooperative-sticky"))
    heard.ask(native_join("a"), granted(1, 0, 1))
    heard.answer(joining, joined("a", 1))
    heard.sync(0, 1)
    heard.ears.follower.fetched(CLIENT, named(0, 1), False, 5)
    heard.ask(beat(1), granted(2, 0))
    called = heard.hear(classic_beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    assert called == ["told rejoin by Heartbeat", "ends stable", "begins revoking"]
    rejoined = heard.hear(join("a", "cooperative-sticky", owned=(0, 1)), joined("a", 2))
    assert rejoined == ["member-rejoined", "ends revoking", "begins joining", "ends joining", "begins syncing"]
    revoked = heard.sync(0)
    assert revoked == ["ends syncing", "partitions-told t-1", "told revoke by SyncGroup", "begins revoking"]
    again = heard.hear(join("a", "cooperative-sticky", owned=(0,)), joined("a", 2))
    assert "partitions-released t-1" in again
    heard.ask(replace(beat(2), owned=frozenset((TopicIdPartition(TOPIC_ID, 0),))), unchanged(2))
    assert "rebalance-ended completed" in heard.sync(0)


def test_members_are_followed_by_the_ids_that_their_broker_knows() -> None:
    """One that was taken over from a seat of the bridge says another one all its life."""
    heard = Heard()
    heard.ask(native_join("seat"), granted(1, 0))
    heard.observer.seat_id = lambda member: MemberId("seat") if member.member_id == "a" else member.member_id
    rejoined = heard.hear(join("a"), joined("a", 1))
    assert rejoined == ["member-rejoined", "ends stable", "begins joining", "ends joining", "begins syncing"]
    assert "partitions-assigned t-0" in heard.sync(0)
    heard.hear(classic_beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    heard.hear(leave("a", "we close"), left("a"))
    (gone,) = heard.ears.log.of(MemberLeft)
    assert isinstance(gone, MemberLeft)
    assert (gone.member_id, gone.reason, list(heard.ears.follower.groups)) == ("seat", "we close", [])


def test_commit_that_fails_is_told_of() -> None:
    """Plans and reports count those: on this road there were none, whatever became of them. Others go by unheard."""
    heard = Heard()
    heard.form(0)
    commit = commit_request(member_id="a")
    assert heard.hear(commit, committed(commit, ErrorCode.ILLEGAL_GENERATION)) == ["commit-passed t-0"]
    (passed,) = heard.ears.log.of(CommitPassed)
    assert isinstance(passed, CommitPassed)
    assert (passed.member_id, passed.error) == ("a", "ILLEGAL_GENERATION")
    heard.come(commit)
    assert heard.observer._open == {OWN: {}}


def test_connection_that_is_gone_is_waited_for_no_more() -> None:
    """Nobody answers what came by it."""
    heard = Heard()
    heard.form(0)
    heard.come(classic_beat("a", 1))
    heard.requests.disconnected(OWN)
    assert (heard.clients.gone, heard.observer._open) == ([OWN], {})
    assert heard.requests.beat(CLIENT, classic_beat("a", 1))


def test_why_a_member_leaves_is_what_its_machine_says() -> None:
    """The broker is told the same of one that said goodbye and of one that was never heard again."""
    for reason, told in ((DepartReason.LEFT, "left left"), (DepartReason.SESSION_EXPIRED, "left session-expired")):
        heard = Heard()
        heard.form(0)
        heard.observer.departs(MemberRef(GROUP, MemberId("a")), reason)
        assert told in heard.ask(replace(beat(1), member_epoch=-1), unchanged(-1))
        assert heard.ears.follower._consumer.departing == {}


def test_client_that_is_to_hear_of_a_change_is_not_frozen() -> None:
    """It is called by its own next heartbeat, which may be 15 s away; a rebalance that waits for nobody else waits."""
    heard = Heard()
    heard.form(0)
    heard.ask(beat(1), granted(2, 0, 1))
    heard.ears.follower.spoke(OWN, heard.now_us)
    heard.ears.follower.expire(heard.now_us + 2 * FROZEN_US)
    assert heard.ears.follower.groups[GROUP].rebalance is not None


def test_join_that_is_refused_leaves_a_member_where_it_is() -> None:
    """Its client comes again; one that is none any more is gone."""
    heard = Heard()
    heard.form(0)
    assert heard.hear(join("a"), joined("a", -1, error=ErrorCode.NOT_COORDINATOR)) == []
    assert heard.has() == [0]
    gone = heard.hear(join("a"), joined("a", -1, error=ErrorCode.UNKNOWN_MEMBER_ID))
    assert "left session-expired" in gone
    assert GROUP not in heard.ears.follower.groups


@pytest.mark.parametrize("was_moved", [False, True])
def test_client_whose_session_ran_out_stood_still_for_that_long(*, was_moved: bool) -> None:
    """Its heartbeats go by unheard here: it had stood still for no time at all where others share its name, and for
    all the time since it passed last where it had been taken over.
    """
    heard = Heard()
    if was_moved:
        heard.ears.follower.spoke(OWN, 0)
        heard.ears.follower.ordered(GROUP, OperatorAction.MOVE, (), 1)
    heard.form(0, 1)
    heard.ears.follower.settled(GROUP, Road.UPSTREAM, {MemberId("a"): 1}, 6)
    heard.now_us = 500_000_000
    heard.observer.departs(MemberRef(GROUP, MemberId("a")), DepartReason.SESSION_EXPIRED)
    heard.ask(replace(beat(1), member_epoch=-1), unchanged(-1))
    (released,) = heard.ears.log.of(PartitionsReleased)
    assert isinstance(released, PartitionsReleased)
    assert released.idle_us == 10_000_000


def test_client_that_was_killed_when_it_was_frozen_stood_still_since_it_was_frozen() -> None:
    """Its session ran out less than a heartbeat behind the end of its connection: it had said nothing before that."""
    heard = Heard()
    heard.form(0, 1)
    heard.ears.follower.lost(OWN, 499_000_000)
    heard.now_us = 500_000_000
    heard.observer.departs(MemberRef(GROUP, MemberId("a")), DepartReason.SESSION_EXPIRED)
    heard.ask(replace(beat(1), member_epoch=-1), unchanged(-1), OTHER)
    (released,) = heard.ears.log.of(PartitionsReleased)
    assert isinstance(released, PartitionsReleased)
    assert released.idle_us == 10_000_000


def test_eager_client_that_joins_when_the_others_are_done_fetches_what_it_had_by_its_old_session() -> None:
    """The bridge tells its broker what it let go before it is answered. It was told of first, and what the client had
    when it joined was nothing: what its incremental Fetches name from before stood still until the next rebalance.
    """
    heard = Heard()
    heard.form(0)
    heard.ask(beat(1), granted(1, 0, 1))
    heard.hear(classic_beat("a", 1), beaten(ErrorCode.REBALANCE_IN_PROGRESS))
    assert heard.ears.follower.groups[GROUP].rebalance is None
    joining = heard.come(join("a"))
    heard.ask(replace(beat(1), owned=frozenset()), granted(1, 0, 1))
    heard.answer(joining, joined("a", 1))
    heard.sync(0, 1)
    heard.ears.follower.fetched(CLIENT, named(1), True, heard.now_us)
    assert heard.ears.log.lines("a")[-2:] == ["partitions-fetched t-0 t-1", "ends fetching"]


def test_client_that_comes_back_for_nothing_at_first_fetches_what_it_had_by_its_old_session() -> None:
    """It was put out while it was frozen, and is a member by another id; its broker deals a second later, and calls it
    for what it had before, which its incremental Fetches name no more.
    """
    heard = Heard()
    heard.form(0)
    heard.observer.departs(MemberRef(GROUP, MemberId("a")), DepartReason.SESSION_EXPIRED)
    heard.ask(replace(beat(1), member_epoch=-1), unchanged(-1))
    for number, (epoch, share) in enumerate(((0, ()), (2, (0,)))):
        joining = heard.come(join("b"))
        own = native_join("b") if epoch == 0 else replace(beat(epoch), member_id=MemberId("b"), owned=frozenset())
        heard.ask(own, replace(granted(2, *share), member_id=MemberId("b")))
        heard.answer(joining, joined("b", number + 1))
        heard.hear(sync("b", number + 1), synced(*share))
    heard.ears.follower.fetched(CLIENT, named(), True, heard.now_us)
    assert heard.ears.log.lines("b")[-2:] == ["partitions-fetched t-0", "ends fetching"]
