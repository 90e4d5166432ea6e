"""Whose a request is, the ways on which it goes, and what is kept of it meanwhile."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge.coordinators.moving.held_requests import Sessions, Waiting
from bridge.coordinators.moving.requests import Held, Ways, classic_member_of, generation_of, joins_natively
from bridge.migration.roster import Roster
from bridge.migration.route import Road, Router
from bridge.wire.codec.registry import Reply, Request
from tests.support.embedded_world import FakeVia, commit_request, leave_request, native_join
from tests.support.moving_world import classic_join
from tests.support.owned_group import CLIENT, GROUP
from tests.support.work_done import growth_faults
from translators.dialects.admin import DeleteGroups, DescribeGroups, ListGroups
from translators.dialects.classic import Heartbeat, HeartbeatReply, JoinGroup, JoinGroupReply, SyncGroup, SyncGroupReply
from translators.dialects.consumer import ConsumerGroupDescribe
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, MemberId, RequestRef, Via, via_of
from translators.dialects.offsets import GroupOffsets, OffsetFetch

A = MemberId("a")
BEAT = Heartbeat(GROUP, 5, A, None)
SYNC = SyncGroup(group_id=GROUP, generation=5, member_id=A, instance_id=None)


class Elsewhere:
    """Who serves another road; keeps what it is given."""

    def __init__(self) -> None:
        self.taken: list[Request] = []

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """See `session.contracts.Groups`."""
        self.taken.append(request)

    def beat(self, client: ClientIdentity, request: Request) -> bool:
        """See `session.contracts.Groups`."""
        return False

    def disconnected(self, connection: int) -> None:
        """See `session.contracts.Groups`."""


class Ears:
    """Who follows members that pass."""

    def __init__(self) -> None:
        self.heard: list[Request | Reply] = []

    def mapped_asked(self, ref: RequestRef, client: ClientIdentity, request: Request) -> None:
        """See `MappedEars`."""
        self.heard.append(request)

    def mapped_answered(self, ref: RequestRef, reply: Reply) -> None:
        """See `MappedEars`."""
        self.heard.append(reply)


class Roads:
    """All ways out."""

    def __init__(self) -> None:
        self.via, self.upstream, self.mapped, self.router = FakeVia(), Elsewhere(), Elsewhere(), Router(())
        self.replies: list[tuple[RequestRef, Reply]] = []
        self.ways = Ways(
            self.router,
            lambda _: self.via,
            lambda ref, reply: self.replies.append((ref, reply)),
            {Road.UPSTREAM: self.upstream, Road.MAPPED: self.mapped},
            Roster(),
        )


NO_SESSIONS = Sessions(lambda: 0, {})


def held(request: Request, number: int = 0, at_ms: int = 0, connection: int = 1) -> Held:
    """A request that came at some time."""
    ref = RequestRef(0, connection, number)
    return Held(ref, CLIENT, via_of(ref), request, at_ms)


def fetch(member_id: str | None) -> OffsetFetch:
    """A member, or nobody, asks for offsets."""
    member = None if member_id is None else MemberId(member_id)
    return OffsetFetch(groups=(GroupOffsets(group_id=GROUP, topics=None, member_id=member),))


@pytest.mark.parametrize(
    ("request_", "member_id", "generation"),
    [
        (BEAT, "a", 5),
        (SYNC, "a", 5),
        (classic_join("a"), "a", None),
        (classic_join(""), "", None),
        (commit_request(5, "a"), "a", 5),
        (commit_request(), "", None),
        (leave_request("a"), "a", None),
        (leave_request("a", "b"), None, None),
        (fetch("a"), "a", None),
        (fetch(None), "", None),
        (native_join("n"), None, None),
        (ConsumerGroupDescribe((GROUP,)), None, None),
        (DescribeGroups(group_ids=(GROUP,)), None, None),
        (DeleteGroups((GROUP,)), None, None),
        (ListGroups(), None, None),
    ],
)
def test_whose_a_request_is(request_: Request, member_id: str | None, generation: int | None) -> None:
    """None where no classic member asks."""
    assert (classic_member_of(request_), generation_of(request_)) == (member_id, generation)


def test_ways_lead_to_the_broker_or_to_a_road() -> None:
    """What no classic member asks is the broker's, where a broker coordinates."""
    roads = Roads()
    for road in (Road.PASS, Road.UPSTREAM, Road.MAPPED):
        roads.ways.by_road(held(BEAT), road)
        roads.ways.by_road(held(native_join("n")), road)
    assert [request for request, _ in roads.via.open] == [BEAT, *[native_join("n")] * 3]
    assert (roads.upstream.taken, roads.mapped.taken) == ([BEAT], [BEAT])


def test_what_a_join_says_of_itself_is_forgotten_once_it_is_on_its_way() -> None:
    """Its broker answers when the rebalance ends, and others would wait until then for what counts as still coming."""
    roads, forgotten, request = Roads(), list[bool](), classic_join(A)
    request.when_forgotten(lambda: forgotten.append(bool(roads.via.open)))
    roads.ways.to_broker(held(request))
    assert forgotten == [True]
    assert not roads.replies


def test_farewell_of_several_names_them_as_their_broker_does() -> None:
    """An admin knows members by what their clients say: who is mapped was answered 25 in the middle of a move, and
    stayed.
    """
    roads, several, alone = Roads(), leave_request("a", "b"), leave_request("a")
    roads.ways.to_broker(held(several))
    roads.ways.by_road(held(several), Road.PASS)
    roads.ways.by_road(held(alone), Road.PASS)
    assert roads.mapped.taken == [several, several]
    assert [request for request, _ in roads.via.open] == [alone]


def test_who_can_t_be_translated_goes_to_the_broker_and_is_remembered() -> None:
    """Without an id there is nobody to be remembered."""
    roads, known = Roads(), classic_join("a", protocol="of-its-own")
    roads.ways.by_road(held(known), Road.UPSTREAM)
    roads.ways.by_road(held(classic_join("", protocol="of-its-own")), Road.UPSTREAM)
    assert [type(request) for request, _ in roads.via.open] == [JoinGroup] * 2
    assert roads.router.moved == {GROUP: {A: Road.PASS}}


@pytest.mark.parametrize("code", [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, None])
def test_whom_the_broker_does_not_let_in_is_remembered_no_more(code: ErrorCode | None) -> None:
    """Anybody may claim any id; who was known before stays so, whatever is said to one that claims to be it."""
    roads, claim = Roads(), classic_join("a", protocol="of-its-own")
    reply = None if code is None else JoinGroupReply(error=code, member_id=A)
    roads.ways.by_road(held(claim, 1), Road.UPSTREAM)
    roads.via.answer(lambda _: reply)
    if code is ErrorCode.NONE:
        roads.ways.by_road(held(claim, 2), Road.UPSTREAM)
        roads.via.answer(lambda _: JoinGroupReply(error=ErrorCode.GROUP_AUTHORIZATION_FAILED, member_id=A))
    assert (A in roads.router.moved.get(GROUP, {})) is (code is ErrorCode.NONE)


def test_answer_of_the_broker_is_handed_on_and_a_lost_one_is_said() -> None:
    """The client asks again."""
    roads = Roads()
    roads.ways.to_broker(held(BEAT, 1))
    roads.ways.to_broker(held(BEAT, 2))
    roads.via.answer(lambda _: HeartbeatReply(ErrorCode.NONE))
    roads.via.answer(lambda _: None)
    assert [reply for _, reply in roads.replies] == [
        HeartbeatReply(ErrorCode.NONE),
        HeartbeatReply(ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ]


def test_what_goes_to_the_broker_is_heard_by_who_follows_members() -> None:
    """A SyncGroup that had waited for a give-back was not: its member stood still in the log until the next move. What
    a move asks again its client may never see.
    """
    roads, ears = Roads(), Ears()
    roads.ways.ears = lambda: ears
    roads.ways.by_road(held(SYNC, 1), Road.PASS)
    roads.ways.to_broker(held(SYNC, 2), lambda _: None)
    reply = SyncGroupReply(error=ErrorCode.NONE, assignment=b"a")
    roads.via.answer(lambda _: reply)
    roads.via.answer(lambda _: reply)
    assert ears.heard == [SYNC, reply]


def test_answer_that_its_client_does_not_see_is_no_word_on_its_member() -> None:
    """Who follows the member would take it for gone; whoever asks anew has the answer."""
    roads, ears, heard = Roads(), Ears(), list[Reply]()
    roads.ways.ears = lambda: ears
    gone, alive = HeartbeatReply(ErrorCode.UNKNOWN_MEMBER_ID), HeartbeatReply(ErrorCode.NONE)
    for number in (1, 2):
        roads.ways.to_broker(held(BEAT, number), then=heard.append, is_hidden=gone.__eq__)
    roads.via.answer(lambda _: gone)
    roads.via.answer(lambda _: alive)
    assert [reply for _, reply in roads.replies] == [alive]
    assert heard == [gone, alive]
    assert ears.heard == [BEAT, BEAT, HeartbeatReply(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), alive]


def nobody(member_id: MemberId) -> None:
    """No session has ended, so nobody is told that he is no member."""
    raise AssertionError(f"{member_id} was told")


def test_late_requests_are_excused_each_in_its_way() -> None:
    """Those that came since are kept, and so is a farewell."""
    roads = Roads()
    waiting = Waiting(roads.ways, NO_SESSIONS, nobody)
    leaving, young = held(leave_request("a"), 3, 10), held(BEAT, 4, 50)
    for one in (held(BEAT, 1, 10), held(SYNC, 2, 10), leaving, young):
        waiting.hold(A, one)
    waiting.hold_join(held(classic_join("new"), 5, 10))
    waiting.hold_join(held(classic_join("newer"), 6, 50))
    waiting.excuse(40)
    answers = {ref.sequence: reply for ref, reply in roads.replies}
    assert answers.keys() == {1, 2, 5}
    assert answers[1] == HeartbeatReply(ErrorCode.NONE)
    assert isinstance(answers[2], SyncGroupReply)
    assert answers[2].error is ErrorCode.REBALANCE_IN_PROGRESS
    waiting.excuse_all(A)
    assert roads.replies[-1] == (young.ref, HeartbeatReply(ErrorCode.NONE))
    assert (waiting.take(A), waiting.members()) == ([leaving], ())
    assert [one.ref.sequence for one in waiting.take_joins()] == [6]
    assert waiting.take_joins() == []


def test_requests_of_a_lost_connection_are_forgotten_except_for_farewells() -> None:
    """Nobody waits for their answers."""
    waiting = Waiting(Roads().ways, NO_SESSIONS, nobody)
    leaving, other = held(leave_request("a"), 2), held(commit_request(5, "a"), 3, connection=2)
    for one in (held(BEAT, 1), leaving, other):
        waiting.hold(A, one)
    waiting.hold(MemberId("b"), held(BEAT, 4))
    waiting.hold_join(held(classic_join("new"), 5))
    waiting.forget(1)
    assert (waiting.members(), waiting.take_joins()) == ((A,), [])
    assert waiting.take(A) == [leaving, other]


def test_work_grows_with_what_a_member_asks_and_not_with_its_square() -> None:
    """Whoever knows its id may ask as often as a connection may have requests open."""

    def waiting(count: int) -> Callable[[], object]:
        kept = Waiting(Roads().ways, NO_SESSIONS, nobody)
        for number in range(count):
            kept.hold(A, held(BEAT, number))
        return lambda: kept.excuse_all(A)

    assert growth_faults([waiting(count) for count in (50, 100, 200, 400)]) == []


def test_native_newcomer_is_one_that_asks_at_epoch_zero() -> None:
    """A member that leaves or goes on is none, nor is a classic one that joins."""
    assert joins_natively(native_join("a"))
    assert not any(joins_natively(replace(native_join("a"), member_epoch=epoch)) for epoch in (-2, -1, 1))
    assert not joins_natively(classic_join("a"))
