"""Tests of the counting under the indexes, and of the wanted and free partitions."""

from bridge.engine.apply import apply
from bridge.engine.indexes import count_down, count_up, refresh, retarget
from bridge.engine.records import CommitBegun, CommitEnded
from bridge.engine.settings import EngineSettings
from bridge.engine.state import Group, Shard
from tests.support.derived_indexes import find_stale
from tests.support.engine_bench import GROUP, Bench, parts
from translators.dialects.ids import MemberId

A = MemberId("a")


def test_count_at_zero_is_gone() -> None:
    """Keys without members don't pile up."""
    counts: dict[str, int] = {}
    count_up(counts, "x")
    count_up(counts, "x")
    count_down(counts, "x")
    assert counts == {"x": 1}
    count_down(counts, "x")
    assert counts == {}


def test_target_shrunk_to_nothing_wants_nothing() -> None:
    """What a target no longer names is neither wanted nor grantable."""
    state, group = Shard(settings=EngineSettings(), assignors={}), Group(group_id=GROUP, epoch=1, assignment_epoch=1)
    retarget(state, group, A, parts(0, 1))
    assert group.grantable == {A: set(parts(0, 1))}
    retarget(state, group, A, frozenset())
    assert (group.grantable, group.target_owners, group.target) == ({}, {}, {A: frozenset()})


def test_partition_taken_is_not_grantable_until_it_is_free() -> None:
    """`refresh` follows the owner."""
    state, group = Shard(settings=EngineSettings(), assignors={}), Group(group_id=GROUP, epoch=1, assignment_epoch=1)
    retarget(state, group, A, parts(0))
    [zero] = parts(0)
    group.owners[zero] = MemberId("b")
    refresh(state, group, zero)
    assert group.grantable == {}
    del group.owners[zero]
    refresh(state, group, zero)
    assert group.grantable == {A: {zero}}


def test_partition_that_somebody_commits_for_can_be_granted_when_the_commit_has_ended() -> None:
    """Also one that nobody holds any more: whoever had it may commit late (decision 2)."""
    bench = Bench()
    bench.join("a")
    bench.join("b")
    bench.beat("a")
    bench.beat("a", bench.assigned("a"))
    free = bench.target("b")
    assert bench.group.grantable == {MemberId("b"): set(free)}
    late, *others = sorted(free)
    apply(bench.state, CommitBegun(1, GROUP, frozenset({late})))
    assert bench.group.grantable == {MemberId("b"): set(others)}
    assert find_stale(bench.state) == []
    apply(bench.state, CommitEnded(1))
    assert bench.group.grantable == {MemberId("b"): set(free)}
