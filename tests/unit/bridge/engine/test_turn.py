"""Tests of a turn's bookkeeping: one move of the epoch, notices for what is free and wanted."""

from bridge.engine.model import Current
from bridge.engine.outcome import GroupEmptied, PartitionsFreed
from bridge.engine.records import CurrentAssigned, GroupEpochBumped, MemberForgotten
from bridge.engine.turn import Turn
from tests.support.engine_bench import GROUP, Bench, parts
from translators.dialects.ids import MemberId

A, B = MemberId("a"), MemberId("b")


def test_epoch_moves_once_however_often_it_is_asked() -> None:
    """Joins and leaves of one turn share one epoch."""
    bench = Bench()
    bench.join("a")
    turn = Turn(bench.state, 0)
    turn.move_epoch(bench.group)
    turn.move_epoch(bench.group)
    assert turn.finish().records == (GroupEpochBumped(GROUP, 3),)


def test_partition_given_up_and_wanted_is_told_freed() -> None:
    """Whoever waits for it can be answered now."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    turn = Turn(bench.state, 0)
    kept = dict.fromkeys(bench.target("a"), 2)
    turn.write(CurrentAssigned(GROUP, A, Current(epoch=3, assigned=kept)))
    assert turn.finish().notices == (PartitionsFreed(GROUP, bench.target("b"), frozenset({B})),)


def test_partition_freed_that_nobody_wants_is_not_told() -> None:
    """A notice wakes somebody; there is nobody to wake."""
    bench = Bench()
    bench.join("a")
    turn = Turn(bench.state, 0)
    turn.write(MemberForgotten(GROUP, A))
    assert turn.finish().notices == (GroupEmptied(GROUP),)


def test_group_forgotten_in_a_turn_moves_its_epoch_again() -> None:
    """A group that begins under the same name is another one."""
    bench = Bench()
    bench.join("a")
    turn = Turn(bench.state, 0)
    turn.move_epoch(bench.group)
    turn.forget(GROUP)
    turn.move_epoch(bench.group)
    assert [record for record in turn.records if isinstance(record, GroupEpochBumped)] == [
        GroupEpochBumped(GROUP, 3),
        GroupEpochBumped(GROUP, 4),
    ]
    assert parts(0) <= bench.assigned("a")


def test_group_forgotten_in_a_turn_has_freed_nothing() -> None:
    """Whoever waits is of another group, though it has the name."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    turn = Turn(bench.state, 0)
    turn.write(CurrentAssigned(GROUP, A, Current(epoch=3, assigned=dict.fromkeys(bench.target("a"), 2))))
    turn.forget(GROUP)
    assert turn.finish().notices == ()
