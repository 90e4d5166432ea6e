"""A member's positions and commits. It must not know a client library."""

from bridge.demo.events import Mode, Partition, Span
from bridge.demo.members.recorder import Progress

P0, P1 = Partition("t", 0), Partition("t", 1)


def test_processed_records_are_to_commit_until_committed() -> None:
    """The offset to commit is the one after the last processed record."""
    progress = Progress()
    progress.own([P0, P1], Mode.EAGER)
    progress.process(P0, 4)
    progress.process(P0, 5)
    assert progress.uncommitted() == {P0: 6}
    progress.commit({P0: 6})
    assert progress.uncommitted() == {}
    progress.process(P0, 6)
    assert progress.uncommitted() == {P0: 7}


def test_released_partition_is_not_committed_but_its_records_are_told() -> None:
    """After the revoked callback a commit would be a former owner's; the records were processed all the same."""
    progress = Progress()
    progress.own([P0], Mode.INCREMENTAL)
    progress.process(P0, 4)
    progress.release([P0])
    assert progress.uncommitted() == {}
    assert progress.take_spans() == (Span(P0, 4, 4),)


def test_partition_owned_again_starts_without_the_old_position() -> None:
    """Another member may have gone on from there."""
    progress = Progress()
    progress.own([P0], Mode.INCREMENTAL)
    progress.process(P0, 4)
    progress.release([P0])
    progress.own([P0], Mode.INCREMENTAL)
    assert progress.uncommitted() == {}


def test_eager_assignment_releases_what_it_leaves_out() -> None:
    """Eager lists are the whole assignment, incremental ones additions (KIP-429)."""
    progress = Progress()
    progress.own([P0], Mode.EAGER)
    progress.process(P0, 4)
    progress.own([P1], Mode.INCREMENTAL)
    assert progress.uncommitted() == {P0: 5}
    progress.own([P1], Mode.EAGER)
    assert progress.uncommitted() == {}


def test_commit_acknowledged_after_release_is_forgotten() -> None:
    """It says nothing about a later stay of the same partition."""
    progress = Progress()
    progress.own([P0], Mode.EAGER)
    progress.process(P0, 4)
    progress.release([P0])
    progress.commit({P0: 5})
    progress.own([P0], Mode.EAGER)
    progress.process(P0, 4)
    assert progress.uncommitted() == {P0: 5}


def test_record_processed_after_release_sets_no_position() -> None:
    """A poll and a rebalance may cross; the position of the next stay is the broker's, never an old one."""
    progress = Progress()
    progress.own([P0], Mode.EAGER)
    progress.release([P0])
    progress.process(P0, 4)
    progress.own([P0], Mode.EAGER)
    assert progress.uncommitted() == {}
    assert progress.take_spans() == (Span(P0, 4, 4),)
