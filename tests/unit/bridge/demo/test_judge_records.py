"""Lost and repeated records, and commits against progress. It must not know rebalances."""

from bridge.demo.judge_records import CommitMismatch, RecordCount, commit_mismatches, count_records
from tests.support.fleet import committed, consumed, log, partition, produced


def test_all_read_once_counts_nothing_lost_nothing_doubled() -> None:
    """Spans of different members add up."""
    read = [consumed(1, 0, 0, 4), consumed(2, 0, 5, 9), consumed(1, 1, 0, 1)]
    assert count_records([produced(0, 0, 9), produced(1, 0, 1)], read) == RecordCount(produced=12, lost=0, duplicated=0)


def test_one_record_never_read_is_lost() -> None:
    """Lost = acknowledged, yet processed by nobody; in the middle as at the end."""
    assert count_records([produced(0, 0, 9)], [consumed(1, 0, 0, 3), consumed(1, 0, 5, 9)]).lost == 1
    assert count_records([produced(0, 0, 9)], [consumed(1, 0, 0, 8)]).lost == 1
    assert count_records([produced(0, 0, 9)], [consumed(1, 1, 0, 9)]).lost == 10


def test_records_read_again_are_duplicates_each_time() -> None:
    """A record read three times counts two."""
    read = [consumed(1, 0, 0, 9), consumed(2, 0, 5, 9), consumed(3, 0, 9, 9)]
    assert count_records([produced(0, 0, 9)], read) == RecordCount(produced=10, lost=0, duplicated=6)


def test_records_of_other_producers_are_neither_lost_nor_missed() -> None:
    """What no producer of the run acknowledged is not asked for."""
    assert count_records([produced(0, 5, 9)], [consumed(1, 0, 0, 9)]) == RecordCount(produced=5, lost=0, duplicated=0)


def test_commits_that_follow_progress_match() -> None:
    """Offsets committed are those after the last processed record, also at the broker."""
    first = log("a", consumed(1, 0, 0, 4), committed(2, [(0, 5)]), died_ms=9)
    second = log("b", consumed(10, 0, 5, 9), committed(11, [(0, 10)]), number=2)
    assert commit_mismatches([first, second], {partition(0): 10}) == ()


def test_commit_ahead_of_progress_is_a_mismatch() -> None:
    """Committed but not processed would lose records."""
    member = log("a", consumed(1, 0, 0, 4), committed(2, [(0, 6)]))
    assert CommitMismatch(who="a#1", partition=partition(0), committed=6, processed=5) in commit_mismatches(
        [member], None
    )


def test_commit_without_progress_is_a_mismatch() -> None:
    """A member may commit only what it processed itself."""
    assert commit_mismatches([log("a", committed(2, [(0, 6)]))], None) == (
        CommitMismatch(who="a#1", partition=partition(0), committed=6, processed=None),
    )


def test_last_commit_behind_the_end_is_a_mismatch() -> None:
    """Processed but never committed would be read again."""
    member = log("a", consumed(1, 0, 0, 4), committed(2, [(0, 5)]), consumed(3, 0, 5, 9))
    assert commit_mismatches([member], None) == (
        CommitMismatch(who="last commit", partition=partition(0), committed=5, processed=10),
    )


def test_late_commit_of_a_former_owner_is_a_mismatch() -> None:
    """The commit that came last counts, whoever sent it."""
    old = log("a", consumed(1, 0, 0, 4), committed(20, [(0, 5)]))
    new = log("b", consumed(10, 0, 5, 9), committed(11, [(0, 10)]), number=2)
    assert commit_mismatches([old, new], None) == (
        CommitMismatch(who="last commit", partition=partition(0), committed=5, processed=10),
    )


def test_broker_without_the_commit_is_a_mismatch() -> None:
    """What the broker says is compared as well, once it was asked."""
    member = log("a", consumed(1, 0, 0, 4), committed(2, [(0, 5)]))
    assert commit_mismatches([member], {}) == (
        CommitMismatch(who="broker", partition=partition(0), committed=-1, processed=5),
    )
