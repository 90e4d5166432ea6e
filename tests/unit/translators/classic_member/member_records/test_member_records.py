"""Classic members written down part by part, and made again."""

from dataclasses import replace

import pytest

from tests.support.classic_members import GROUP, LIMITS, MEMBER, A, B, membership, parts, preparing, stable, tenure
from translators.classic_member.member_records import (
    DurableMember,
    DurableMembers,
    MemberDropped,
    MemberSeated,
    MemberStands,
    changes,
    decode,
    durable_part,
    encode,
)
from translators.classic_member.states import MemberLimits, Silent
from translators.dialects.plain import UnreadableRecord

KEY = (GROUP, MEMBER)
FIRST = DurableMember(membership(parts(A)), tenure(A))


def book_of(*steps: DurableMember | None) -> DurableMembers:
    """A book that took what was written for a durable member, one entry after the other."""
    book = DurableMembers()
    before: DurableMember | None = None
    for after in steps:
        for entry in changes(KEY, before, after):
            book.take(decode(encode(entry)))
        before = after
    return book


def test_member_comes_back_whole() -> None:
    """Ids, generation, epoch, assignment and every protocol's bytes survive (K7.32; decision 8)."""
    assert book_of(FIRST).members(LIMITS) == {KEY: FIRST}


def test_member_with_partitions_released_comes_back_whole() -> None:
    """Since when each partition is the member's own survives, for its commits (decision 3)."""
    former = durable_part(preparing(Silent(), tenure(A, B), assigned=parts(A)))
    assert former is not None
    assert former.tenure.released == parts(B)
    assert book_of(former).members(LIMITS) == {KEY: former}


def test_member_lives_under_the_limits_of_today() -> None:
    """Limits are configuration, not state."""
    today = MemberLimits(gain_wait_max_ms=1)
    (found,) = book_of(FIRST).members(today).values()
    assert found.membership.seat == replace(FIRST.membership.seat, limits=today)


def test_only_the_changed_part_is_written() -> None:
    """A new epoch does not write the subscription's bytes again."""
    moved = DurableMember(replace(FIRST.membership, epoch=FIRST.membership.epoch + 1), FIRST.tenure)
    renamed = replace(
        moved, membership=replace(moved.membership, profile=replace(moved.membership.profile, rack_id="r"))
    )
    assert [type(entry) for entry in changes(KEY, FIRST, moved)] == [MemberStands]
    assert [type(entry) for entry in changes(KEY, moved, renamed)] == [MemberSeated]
    assert list(changes(KEY, renamed, renamed)) == []
    assert book_of(FIRST, moved, renamed).members(LIMITS) == {KEY: renamed}


def test_member_that_is_gone_is_dropped_once() -> None:
    """What is over needs no remembering, and what never was needs no dropping."""
    assert list(changes(KEY, FIRST, durable_part(stable(A)))) == []
    assert list(changes(KEY, FIRST, None)) == [MemberDropped(GROUP, MEMBER)]
    assert list(changes(KEY, None, None)) == []
    assert book_of(FIRST, None).members(LIMITS) == {}


def test_entries_of_a_book_make_an_equal_book() -> None:
    """Compaction keeps every member."""
    moved = DurableMember(membership(parts(A, B)), tenure(A, B))
    copy = DurableMembers()
    for entry in book_of(FIRST, moved).entries():
        copy.take(decode(encode(entry)))
    assert copy.members(LIMITS) == {KEY: moved}
    copy.clear()
    assert copy.members(LIMITS) == {}


def test_half_a_member_is_refused() -> None:
    """A journal that lost a part is not guessed at."""
    book = DurableMembers()
    book.take(next(iter(changes(KEY, None, FIRST))))
    with pytest.raises(UnreadableRecord, match="of 1 member only one part was written"):
        book.members(LIMITS)
