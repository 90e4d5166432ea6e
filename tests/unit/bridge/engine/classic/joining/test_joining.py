"""Tests of JoinGroup: the front door, newcomers, known members, capacity."""

from dataclasses import replace

import pytest

from bridge.engine.classic import joining
from bridge.engine.classic.seats import refuse_join
from bridge.engine.model import NEW_MEMBER_JOIN_TIMEOUT_MS, Phase
from bridge.engine.settings import EngineSettings
from tests.support.classic_bench import (
    DELAY_MS,
    SESSION_MS,
    ClassicBench,
    join_of,
    offer,
    old_join_of,
)
from tests.support.engine_bench import GROUP
from translators.dialects.classic import JoinGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, InstanceId, MemberId

UNKNOWN, FENCED = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
FULL = EngineSettings(group_max_size=2)


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (replace(join_of("m"), group_id=GroupId(""), session_timeout_ms=1), ErrorCode.INVALID_GROUP_ID),
        (replace(join_of("m"), session_timeout_ms=5_999), ErrorCode.INVALID_SESSION_TIMEOUT),
        (replace(join_of("m"), session_timeout_ms=1_800_001), ErrorCode.INVALID_SESSION_TIMEOUT),
        (join_of("m"), UNKNOWN),
    ],
)
def test_join_refused_at_the_door_leaves_no_group_behind(request_: JoinGroup, code: ErrorCode) -> None:
    """In this order, with the id as sent (K1.6, K1.10)."""
    bench = ClassicBench()
    assert bench.join_now(request_) == refuse_join(code, request_.member_id)
    assert bench.bench.state.classic_groups == {}


@pytest.mark.parametrize("request_", [replace(join_of(), protocols=()), replace(join_of(), protocol_type="")])
def test_newcomer_refused_for_its_protocols_leaves_an_empty_group(request_: JoinGroup) -> None:
    """Kafka makes a group before it looks at them (K1.11, K1.15); it is forgotten like every empty group."""
    bench = ClassicBench()
    assert bench.join_now(request_) == refuse_join(INCONSISTENT)
    assert (bench.phase, bench.group.roster.protocol_type) == (Phase.EMPTY, "")


def test_join_of_consumer_group_with_members_inconsistent() -> None:
    """The owner sends those to the member's machine; who can't be translated hears 23 without id (K1.8)."""
    bench = ClassicBench()
    bench.bench.join("native")
    assert bench.join_now(join_of("m")) == refuse_join(INCONSISTENT)


def test_empty_consumer_group_makes_way_but_only_for_a_join_that_succeeds() -> None:
    """An empty group of the other kind is replaced (K1.9); in Kafka also by a join that then fails (K1.10)."""
    bench = ClassicBench()
    bench.bench.join("native")
    bench.bench.leave("native")
    assert bench.join_code(join_of("m")) is UNKNOWN
    assert GROUP in bench.bench.state.groups
    bench.join(join_of("", "A"))
    assert GROUP not in bench.bench.state.groups
    assert bench.phase is Phase.PREPARING_REBALANCE


def test_dynamic_newcomer_told_its_id_first() -> None:
    """It is promised an id for one session, in a group that is Empty (K1.19, KIP-394)."""
    bench = ClassicBench()
    reply = bench.join_now(join_of())
    assert reply == refuse_join(ErrorCode.MEMBER_ID_REQUIRED, MemberId("client-1"))
    assert (bench.phase, list(bench.group.pending)) == (Phase.EMPTY, ["client-1"])
    bench.pass_time(SESSION_MS)
    assert (list(bench.group.pending), bench.join_code(join_of("client-1"))) == ([], UNKNOWN)


def test_oldest_promise_makes_room_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever only ever asks for ids keeps no more of them; the others' are good."""
    monkeypatch.setattr(joining, "PROMISED_MAX", 2)
    bench = ClassicBench()
    promised = [bench.promise() for _ in range(3)]
    assert list(bench.group.pending) == promised[1:]
    assert bench.join_code(join_of(promised[0])) is UNKNOWN
    for one in promised[1:]:
        bench.join(join_of(one))
    assert (list(bench.group.members), bench.group.pending) == (promised[1:], {})


def test_promised_id_joins_with_it() -> None:
    """A promise kept is a member added (K1.23), and waits as any newcomer (K1.22)."""
    bench = ClassicBench()
    promised = bench.promise()
    ref = bench.join(join_of(promised))
    bench.pass_time(DELAY_MS)
    assert (bench.admitted(ref).member_id, bench.group.pending) == (promised, {})


def test_promised_id_with_an_instance_is_an_error() -> None:
    """Only dynamic members are promised ids: in Kafka it fails inside (K1.23).

    As in Kafka's testJoinGroupExistingPendingMemberWithGroupInstanceIdThrowsException.
    """
    bench = ClassicBench()
    assert bench.join_code(join_of(bench.promise(), "A")) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_old_and_static_newcomers_are_admitted_at_once() -> None:
    """Before version 4, and with an instance id; the id is named after instance or client (K1.18, K1.21, K1.17)."""
    bench = ClassicBench()
    refs = [bench.join(old_join_of()), bench.join(join_of("", "A"))]
    bench.pass_time(DELAY_MS)
    bench.pass_time(DELAY_MS)
    assert [bench.admitted(ref).member_id for ref in refs] == ["client-1", "A-2"]
    assert bench.group.roster.leader == "client-1"


def test_join_matrix_of_member_and_instance_ids() -> None:
    """Another's instance fences, one without a seat is unknown, and who names none is known by its id (K1.44)."""
    bench = ClassicBench()
    first, second, dynamic = bench.form("A", "B", None)
    cases = [
        (join_of(second, "A"), FENCED),
        (join_of(second, "N"), UNKNOWN),
        (join_of(dynamic, "N"), UNKNOWN),
        (join_of("77"), UNKNOWN),
        (join_of("77", "N"), UNKNOWN),
        (join_of("77", "A"), FENCED),
        (join_of(second, "B"), ErrorCode.NONE),
        (join_of(second), ErrorCode.NONE),
        (join_of(dynamic), ErrorCode.NONE),
    ]
    assert [bench.join_code(request) for request, _ in cases] == [code for _, code in cases]
    assert (bench.phase, first in bench.group.members) == (Phase.STABLE, True)


def test_incompatible_protocols_refused_before_membership_is_looked_at() -> None:
    """Known ids are echoed, newcomers get none (K1.15, K1.23; Kafka's testClassicGroupJoinInconsistentProtocolType)."""
    bench = ClassicBench()
    bench.form("A", "B")
    requests = [replace(join_of(one), protocols=offer("x")) for one in ("", "77")]
    expected = [refuse_join(INCONSISTENT), refuse_join(INCONSISTENT, MemberId("77"))]
    assert [bench.join_now(request) for request in requests] == expected


def test_single_member_cannot_switch_its_only_protocol() -> None:
    """Its own former offer counts; it must leave first (K1.16)."""
    bench = ClassicBench()
    (only,) = bench.form("A")
    assert bench.join_code(replace(join_of(only, "A"), protocols=offer("x"))) is INCONSISTENT


def test_stable_leader_rejoins_rebalance_even_if_nothing_changed() -> None:
    """That is how a leader brings about a rebalance (K1.27, K1.45).

    As in Kafka's testJoinGroupFromUnchangedLeaderShouldRebalance.
    """
    bench = ClassicBench()
    first, _ = bench.form("A", "B")
    assert bench.joined(bench.join(join_of(first, "A"))) is None
    assert bench.phase is Phase.PREPARING_REBALANCE


def test_stable_follower_rejoins_rebalance_only_with_news() -> None:
    """Unchanged, it gets the current generation; other bytes or another order are news (K1.27)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    reply = bench.join_now(replace(join_of(second, "B"), skips_assignment=True))
    assert (reply.generation, reply.leader, reply.members, reply.skip_assignment) == (1, first, (), False)
    assert bench.joined(bench.join(replace(join_of(second, "B"), protocols=offer("range", says=b"bar")))) is None
    assert bench.phase is Phase.PREPARING_REBALANCE


def test_completing_unchanged_member_gets_its_answer_again() -> None:
    """The leader with all members, a follower without; with news they rebalance (K1.26)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    bench.join(join_of(second, "B"))
    again = [bench.join_now(join_of(first, "A")), bench.join_now(join_of(second, "B"))]
    assert [(one.generation, len(one.members)) for one in again] == [(2, 2), (2, 0)]
    assert bench.joined(bench.join(replace(join_of(second, "B"), protocols=offer("range", "x")))) is None
    assert bench.phase is Phase.PREPARING_REBALANCE


def test_preparing_rejoin_updates_timeouts_and_offers() -> None:
    """What a member says while others are waited for counts at once (K1.25)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    bench.join(replace(join_of(second, "B"), session_timeout_ms=7_000, rebalance_timeout_ms=8_000))
    member = bench.group.members[second]
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (7_000, 8_000)


def test_newcomer_may_wait_five_minutes_whatever_its_session() -> None:
    """A fixed time in Kafka, too (K1.22; its testNewMemberJoinExpiration)."""
    bench = ClassicBench()
    form = replace(join_of("", "A"), rebalance_timeout_ms=1_000_000, session_timeout_ms=1_800_000)
    ref = bench.join(form)
    bench.pass_time(DELAY_MS)
    bench.sync(bench.admitted(ref).member_id, "A")
    newcomer = bench.join(old_join_of())
    bench.pass_time(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert bench.joined(newcomer) is None
    bench.pass_time(1)
    assert bench.admitted(newcomer) == refuse_join(UNKNOWN)


def test_full_stable_group_refuses_newcomers_only() -> None:
    """GROUP_MAX_SIZE_REACHED without an id (K1.12); promised ids don't count and are checked when they come (K1.14)."""
    bench = ClassicBench(FULL)
    bench.form("A", None)
    assert bench.join_now(join_of("", "C")) == refuse_join(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert bench.join_code(join_of()) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_id_that_is_not_the_instances_gets_no_seat_in_a_full_group() -> None:
    """The id counts where there is one; there is no room before it is asked whose the instance is (K1.13)."""
    bench = ClassicBench(FULL)
    bench.form("A", "B")
    assert bench.join_now(join_of("another", "B")) == refuse_join(ErrorCode.GROUP_MAX_SIZE_REACHED)


def test_static_member_returns_into_a_full_group() -> None:
    """Its instance has a seat; Kafka looks at the member id only and refuses it (K1.13)."""
    bench = ClassicBench(FULL)
    bench.form("A", "B")
    assert bench.join_now(join_of("", "B")).generation == 1


def test_full_rebalance_takes_the_first_comers_and_completes_without_the_others() -> None:
    """Who comes last loses its seat (K1.12), and nobody waits for the timer, as Kafka does.

    After its testLastJoiningMembersAreKickedOutWhenRejoiningGroupWithMaxSize.
    """
    bench = ClassicBench(EngineSettings(group_max_size=3))
    first, second, third = bench.form("A", "B", "C")
    smaller = EngineSettings(group_max_size=2)
    bench.bench.state.settings = smaller
    bench.bench.settings = smaller
    refs = [bench.join(join_of(first, "A")), bench.join(join_of(second, "B"))]
    again = bench.join(join_of(second, "B"))
    assert bench.joined(again) is None
    assert bench.join_now(join_of(third, "C")) == refuse_join(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert [bench.admitted(ref).error for ref in refs] == [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR]
    assert (bench.admitted(again).generation, set(bench.group.members)) == (2, {first, second})


def test_promised_id_turned_away_is_waited_for_no_more() -> None:
    """The group was filled meanwhile (K1.12, K1.14)."""
    bench = ClassicBench(FULL)
    promised = bench.promise()
    bench.join(join_of("", "A"))
    bench.join(join_of("", "B"))
    assert bench.join_code(join_of(promised)) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (bench.group.pending, InstanceId("B") in bench.group.instances) == ({}, True)
