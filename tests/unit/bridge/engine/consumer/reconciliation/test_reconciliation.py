"""Tests of one member's step from what it holds to its target, state by state."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from bridge.engine.consumer.reconciliation import Surroundings, reconcile
from bridge.engine.model import Current, MemberState
from tests.support.engine_bench import Partitions, parts, topic_id

FREE = parts(*range(9))


def around(
    target: Partitions, owned: Partitions | None, free: Partitions = FREE, reported_epoch: int = 0
) -> Surroundings:
    """A target at epoch 5, what the member says and whether as a snapshot, and what is free."""
    return Surroundings(
        target_epoch=5, target=target, owned=owned, is_free=free.__contains__, reported_epoch=reported_epoch
    )


def holding(*numbers: int, epoch: int = 4, pending: Collection[int] = ()) -> Current:
    """A member at an epoch with partitions assigned at epoch 2; UNREVOKED if some are pending revocation."""
    return Current(
        epoch=epoch,
        previous_epoch=epoch,
        state=MemberState.UNREVOKED_PARTITIONS if pending else MemberState.STABLE,
        assigned=dict.fromkeys(parts(*numbers), 2),
        pending_revocation=dict.fromkeys(parts(*pending), 2),
    )


def test_stable_at_target_epoch_stays_the_same_object() -> None:
    """Nothing to do, nothing written."""
    current = holding(0, epoch=5)
    assert reconcile(current, around(parts(0), None)) is current


def test_partition_to_give_up_is_revoked_first() -> None:
    """The epoch stays, nothing new comes (K2.33a)."""
    after = reconcile(holding(0, 1), around(parts(0, 2), None))
    assert after == Current(
        epoch=4,
        previous_epoch=4,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned=dict.fromkeys(parts(0), 2),
        pending_revocation=dict.fromkeys(parts(1), 2),
    )


def test_member_that_owns_nothing_skips_revocation() -> None:
    """An eager member's join is its acknowledgement (K2.34, K4.16)."""
    after = reconcile(holding(0, 1), around(parts(0, 2), frozenset()))
    assert (after.state, after.epoch, frozenset(after.assigned)) == (MemberState.STABLE, 5, parts(0, 2))


def test_snapshot_from_before_the_last_answer_gives_nothing_up() -> None:
    """The member was told of 0 to 2 at epoch 2 and is about to take them; it will say so (deviations.md on K2.34)."""
    after = reconcile(holding(0, 1, 2), around(parts(0), frozenset(), reported_epoch=4))
    assert after == Current(
        epoch=4,
        previous_epoch=4,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned=dict.fromkeys(parts(0), 2),
        pending_revocation=dict.fromkeys(parts(1, 2), 2),
    )
    assert reconcile(after, around(parts(0), parts(0, 1, 2), reported_epoch=4)) is after
    assert reconcile(after, around(parts(0), parts(0))).epoch == 5


@pytest.mark.parametrize(
    ("kept", "owned", "reported_epoch"),
    [
        pytest.param([0], parts(), 1, id="the answer that told of them was lost"),
        pytest.param([0], parts(0), 4, id="it has taken what it keeps"),
        pytest.param([], parts(), 4, id="it keeps nothing, so it would have nothing to say"),
    ],
)
def test_snapshot_that_is_not_behind_is_believed(kept: list[int], owned: Partitions, reported_epoch: int) -> None:
    """As in Kafka, partitions that it doesn't name are free (K2.34)."""
    after = reconcile(holding(*kept, 7, 8), around(parts(*kept), owned, reported_epoch=reported_epoch))
    assert (after.state, after.epoch, frozenset(after.assigned)) == (MemberState.STABLE, 5, parts(*kept))


def test_acknowledgement_of_the_answer_before_the_last_gives_nothing_up() -> None:
    """librdkafka still took 0 when it was told of 1 to 3, and says so under the newer epoch; then 3 goes to another."""
    current = Current(
        epoch=4, previous_epoch=3, assigned={**dict.fromkeys(parts(0), 3), **dict.fromkeys(parts(1, 2, 3), 4)}
    )
    after = reconcile(current, around(parts(0, 1, 2), parts(0), reported_epoch=4))
    assert (after.state, frozenset(after.pending_revocation)) == (MemberState.UNREVOKED_PARTITIONS, parts(3))
    believed = reconcile(current, around(parts(0, 1, 2), parts(0), reported_epoch=3))
    assert believed.state is MemberState.STABLE, "it was never told of 1 to 3"


def test_silence_is_no_acknowledgement() -> None:
    """Neither is a list that still names the partition (K2.32)."""
    current = holding(0, pending=[1])
    assert reconcile(current, around(parts(0), None)) is current
    assert reconcile(current, around(parts(0), parts(0, 1))) is current


def test_acknowledged_revocation_reaches_the_target_epoch() -> None:
    """Once nothing is pending (K2.32) and nothing is left to be added, a member is Stable at its target (K2.33 d)."""
    after = reconcile(holding(0, pending=[1]), around(parts(0), parts(0)))
    assert after == Current(epoch=5, previous_epoch=4, assigned=dict.fromkeys(parts(0), 2))


def test_acknowledged_with_more_to_give_up_keeps_the_epoch() -> None:
    """No +1 between two revocations (K11.4 on 2.34)."""
    after = reconcile(holding(0, 2, pending=[1]), around(parts(0), parts(0, 2)))
    assert (after.state, after.epoch, frozenset(after.pending_revocation)) == (
        MemberState.UNREVOKED_PARTITIONS,
        4,
        parts(2),
    )


def test_own_pending_partition_comes_back_in_one_step() -> None:
    """Acknowledged and assigned anew at the target epoch (K11.4 on 2.36)."""
    after = reconcile(holding(0, pending=[1]), around(parts(0, 1), parts(0)))
    assert (after.state, dict(after.assigned)) == (
        MemberState.STABLE,
        {**dict.fromkeys(parts(0), 2), **dict.fromkeys(parts(1), 5)},
    )


def test_partition_held_elsewhere_is_waited_for() -> None:
    """What is free comes at once, the rest later (K2.33b, K2.38)."""
    after = reconcile(holding(0), around(parts(0, 1, 2), None, free=parts(0, 1)))
    assert (after.state, after.epoch, frozenset(after.assigned)) == (MemberState.UNRELEASED_PARTITIONS, 5, parts(0, 1))
    assert reconcile(after, around(parts(0, 1, 2), None)).state is MemberState.STABLE


def test_waiting_member_closes_its_retry_window_once() -> None:
    """One record, then nothing (K2.35)."""
    waiting = reconcile(holding(0), around(parts(0, 1), None, free=frozenset()))
    assert (waiting.previous_epoch, waiting.epoch) == (4, 5)
    closed = reconcile(waiting, around(parts(0, 1), None, free=frozenset()))
    assert (closed.previous_epoch, closed.epoch) == (5, 5)
    assert reconcile(closed, around(parts(0, 1), None, free=frozenset())) is closed


def test_unsubscribed_topic_is_given_up_while_revoking() -> None:
    """At once, even if an earlier revocation is not acknowledged (K11.4 on 2.36)."""
    current = holding(0, pending=[1])
    left = Surroundings(
        target_epoch=5, target=frozenset(), owned=None, is_free=FREE.__contains__, topics=frozenset({topic_id("bar")})
    )
    after = reconcile(current, left)
    assert (frozenset(after.assigned), frozenset(after.pending_revocation)) == (frozenset(), parts(0, 1))


def test_unsubscribed_topic_is_given_up_before_the_target_is_known() -> None:
    """A throttled target must not keep a member on a topic that it left."""
    left = Surroundings(
        target_epoch=4, target=parts(0), owned=None, is_free=FREE.__contains__, topics=frozenset({topic_id("bar")})
    )
    after = reconcile(holding(0), left)
    assert (after.state, frozenset(after.pending_revocation)) == (MemberState.UNREVOKED_PARTITIONS, parts(0))
    said = Surroundings(
        target_epoch=4,
        target=parts(0),
        owned=frozenset(),
        is_free=FREE.__contains__,
        topics=frozenset({topic_id("bar")}),
    )
    assert reconcile(holding(0), said) == Current(epoch=4, previous_epoch=4)
    before = replace(holding(0), previous_epoch=3)
    assert [reconcile(before, one).previous_epoch for one in (left, said)] == [4, 4], "as with every other step"


def test_snapshot_that_lacks_what_was_never_told_is_not_behind() -> None:
    """What it keeps came after its report: that it doesn't name it says nothing about what it lets go."""
    current = Current(epoch=4, previous_epoch=3, assigned={**dict.fromkeys(parts(0), 5), **dict.fromkeys(parts(7), 2)})
    after = reconcile(current, around(parts(0), parts(), reported_epoch=4))
    assert (after.state, after.epoch, frozenset(after.assigned)) == (MemberState.STABLE, 5, parts(0))


def test_what_a_member_was_never_told_of_is_free_however_far_behind_it_is() -> None:
    """It may be about to take 0, of which it was told, but not 7, of which its next answer would have told it."""
    current = Current(epoch=4, previous_epoch=3, assigned={**dict.fromkeys(parts(0), 2), **dict.fromkeys(parts(7), 5)})
    after = reconcile(current, around(parts(0), parts(), reported_epoch=4))
    assert (after.state, after.epoch, frozenset(after.assigned)) == (MemberState.STABLE, 5, parts(0))
