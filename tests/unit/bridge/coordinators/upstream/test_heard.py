"""Who may have more to come, and what of it is known."""

import pytest

from bridge.coordinators.upstream.group_news import Target, Untold
from bridge.coordinators.upstream.heard import HeardMember, Partitions, may_gain
from tests.support.owned_group import TOPIC
from translators.dialects.coordinator import Granted
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, TopicPartition

EPOCH = 4


def parts(*partitions: int) -> Partitions:
    """By name."""
    return frozenset(TopicPartition(TOPIC, one) for one in partitions)


@pytest.mark.parametrize(
    ("before", "asked_epoch", "told_epoch", "assigned", "may"),
    [
        (None, JOIN_EPOCH, EPOCH, parts(), True),
        (None, JOIN_EPOCH, EPOCH, parts(0), False),
        (parts(0), EPOCH, EPOCH, parts(0, 1), True),
        (parts(0, 1), EPOCH, EPOCH, parts(0), False),
        (parts(0), EPOCH, EPOCH + 1, None, False),
        (parts(), EPOCH, EPOCH + 1, None, True),
        (parts(), EPOCH, EPOCH, None, False),
        (None, EPOCH, EPOCH + 1, None, False),
        (None, EPOCH, EPOCH, parts(0), False),
        (parts(), LEAVE_EPOCH, EPOCH, parts(0), False),
    ],
)
def test_who_may_have_more_to_come(
    before: Partitions | None, asked_epoch: int, told_epoch: int, assigned: Partitions | None, *, may: bool
) -> None:
    """A newcomer with something works with it; who has nothing may have been dealt to at another epoch."""
    assert may_gain(HeardMember(granted=before), asked_epoch, told_epoch, assigned) is may


def test_of_whom_nothing_was_heard_nothing_is_known() -> None:
    """But what a newcomer is told it is told first."""
    assert may_gain(None, JOIN_EPOCH, EPOCH, parts())
    assert not may_gain(None, EPOCH, EPOCH, parts(0))


def pending_of(
    heard: HeardMember, answer: Granted, target: Target | Untold, asked_epoch: int = EPOCH
) -> Partitions | None:
    """What others have yet to let go of by this answer."""
    return heard.with_pending(answer, target, asked_epoch).pending


def test_what_is_awaited_stays_so_until_there_is_news() -> None:
    """An answer that told nothing new had a JoinGroup answered that waited for others."""
    heard, calm = HeardMember(granted=parts(0)), Granted(member_epoch=EPOCH, pending=None)
    assert pending_of(heard, calm, Untold.UNKNOWN) is None
    assert pending_of(heard, Granted(member_epoch=EPOCH, assigned=parts(0)), parts(0, 1, 2)) == parts(1, 2)
    assert pending_of(heard, calm, Untold.UNKNOWN) == parts(1, 2)
    assert pending_of(heard, calm, parts(0, 1)) == parts(1)
    assert pending_of(heard, Granted(member_epoch=EPOCH + 1, pending=None), Untold.UNKNOWN) is None
    assert pending_of(heard, calm, Untold.UNKNOWN) is None


def test_who_has_all_awaits_nothing() -> None:
    """And the next answer tells nothing of it, as that of any member at rest."""
    heard, calm = HeardMember(granted=parts(0)), Granted(member_epoch=EPOCH, pending=None)
    assert pending_of(heard, Granted(member_epoch=EPOCH, assigned=parts(0, 1)), parts(0, 1)) == parts()
    assert pending_of(heard, calm, Untold.UNKNOWN) is None


@pytest.mark.parametrize(
    ("asked_epoch", "target", "is_to_come"),
    [(JOIN_EPOCH, Untold.TO_COME, True), (EPOCH, Untold.TO_COME, False), (JOIN_EPOCH, Untold.UNKNOWN, False)],
)
def test_newcomer_is_told_that_its_share_is_yet_to_be_dealt(
    asked_epoch: int, target: Untold, *, is_to_come: bool
) -> None:
    """Kafka 4.3 deals out once a second at most; who is a member already is called when it gets something."""
    answer = Granted(member_epoch=EPOCH, assigned=parts(), pending=None)
    assert HeardMember().with_pending(answer, target, asked_epoch).is_to_come is is_to_come
