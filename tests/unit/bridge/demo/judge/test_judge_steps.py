"""Disturbances, rebalances and rolls. It must not know records."""

from dataclasses import replace

import pytest

from bridge.demo.events import Event, Mode, Protocol
from bridge.demo.judge import Disturbance, Roll, disturbances_in, judge, kind_of, noticed_in, rebalances_in, rolls_in
from bridge.demo.judge_evidence import ClientLog, Evidence
from tests.support.fleet import assigned, consumed, log, lost, produced, revoked, started, step

STEP = step("roll b", 100, 200)


@pytest.mark.parametrize("taking", [revoked(150, 0), lost(150, 0)], ids=["revoked", "lost"])
def test_member_with_the_same_assignment_after_a_taking_callback_is_disturbed(taking: Event) -> None:
    """Any revoked or lost callback in a member that lived through a step and ends with what it had."""
    member = log("a", assigned(50, 0), taking, assigned(160, 0))
    assert disturbances_in([member], [STEP]) == (Disturbance(who="a#1", step="roll b", callbacks=1),)


def test_empty_revoked_callback_disturbs_too() -> None:
    """Any callback counts: the client was made to rejoin."""
    assert disturbances_in([log("a", assigned(50, 0), revoked(150))], [STEP]) != ()


@pytest.mark.parametrize(
    "member",
    [
        log("a", assigned(50, 0)),
        log("a", assigned(50, 0, 1), revoked(150, 1)),
        log("a", assigned(50, 0), assigned(150, 1)),
        log("a", assigned(10, 0), revoked(20, 0), assigned(30, 0)),
        log("a", assigned(50, 0), assigned(150, 0)),
        log("a", started("a", 120), assigned(130, 0), revoked(140, 0), assigned(150, 0)),
        log("a", assigned(50, 0), revoked(150, 0), assigned(160, 0), died_ms=180),
    ],
    ids=["left alone", "loses one", "gains one", "before the step", "assigned only", "born within", "died within"],
)
def test_member_that_is_not_disturbed(member: ClientLog) -> None:
    """Its own assignment changed, nothing was taken, or it did not live through the step."""
    assert disturbances_in([member], [STEP]) == ()


@pytest.mark.parametrize(
    "called",
    [assigned(150, 0), assigned(150), revoked(150, 0), lost(150, 0)],
    ids=["given what it has", "given nothing", "revoked", "lost"],
)
def test_step_that_promises_to_be_unnoticed_is_noticed_by_any_callback(called: Event) -> None:
    """Whatever came of it, and whoever had it; in any other step it is nothing special."""
    member, quiet = log("a", assigned(50, 0), called), replace(STEP, is_unnoticed=True)
    assert noticed_in([member, log("b", assigned(50, 1))], [quiet]) == (
        Disturbance(who="a#1", step="roll b", callbacks=1),
    )
    assert noticed_in([member], [STEP]) == ()
    assert noticed_in([member], [replace(quiet, began_ns=STEP.ended_ns, ended_ns=2 * STEP.ended_ns)]) == ()


def test_verdict_fails_for_who_noticed() -> None:
    """Nothing lost, nothing owned twice, and yet a promise was broken."""
    members = (log("a", assigned(10, 0), consumed(20, 0, 0, 9), assigned(30, 0)),)
    promised = Evidence(
        producers=(log("producer", produced(0, 0, 9)),),
        members=members,
        steps=(replace(step("take over", 25, 40), is_unnoticed=True),),
    )
    assert not judge(promised).ok
    assert judge(promised).quiet_steps == ("take over",)
    assert judge(replace(promised, steps=(step("take over", 25, 40),))).ok


def test_rebalances_pair_a_taking_callback_with_the_next_assigned() -> None:
    """Eager: revoked and assigned are one; incremental gains and losses count one each; two takings in a row one."""
    eager = log("a", assigned(1, 0, mode=Mode.EAGER), revoked(2, 0, mode=Mode.EAGER), assigned(3, 0, mode=Mode.EAGER))
    assert rebalances_in(eager) == 2
    assert rebalances_in(log("a", assigned(1, 0), assigned(2, 1), revoked(3, 0))) == 3
    assert rebalances_in(log("a", revoked(1), lost(2), assigned(3, 0))) == 1
    assert rebalances_in(log("a")) == 0


def test_rolls_are_changes_of_a_seats_kind_in_start_order() -> None:
    """There and back are two rolls of one seat."""
    logs = [
        log("c", started("c"), assigned(1, 0), number=3),
        log("c", started("c", protocol=Protocol.CONSUMER), assigned(1, 0), number=2),
        log("c", started("c"), assigned(1, 0), number=1),
        log("k", started("k", library="kafka-python"), assigned(1, 1), number=4),
    ]
    classic, consumer = "confluent-kafka classic range", "confluent-kafka consumer"
    assert rolls_in(logs) == (
        Roll(seat="c", before=classic, after=consumer),
        Roll(seat="c", before=consumer, after=classic),
    )


def test_restart_of_the_same_kind_is_no_roll() -> None:
    """A bounce changes nothing."""
    assert rolls_in([log("c", assigned(1, 0), number=1), log("c", assigned(9, 0), number=2)]) == ()


def test_process_that_never_got_an_assignment_is_no_roll() -> None:
    """Starting it is not enough."""
    logs = [log("c", assigned(1, 0)), log("c", started("c", protocol=Protocol.CONSUMER), number=2)]
    assert rolls_in(logs) == ()


def test_kind_leaves_out_an_empty_assignor() -> None:
    """The consumer protocol's assignor is the server's affair."""
    assert kind_of(started("c", protocol=Protocol.CONSUMER)) == "confluent-kafka consumer"
