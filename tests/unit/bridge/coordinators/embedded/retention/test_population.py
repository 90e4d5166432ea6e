"""Who looks after which groups."""

from bridge.coordinators.embedded.retention import has_groups, idle_groups, is_idle, live_groups
from tests.support.classic_bench import ClassicBench, commit_of, old_join_of
from tests.support.engine_bench import GROUP, Bench
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId


def test_group_is_there_without_members_and_lives_with_them() -> None:
    """An empty group keeps its name, and nobody commits its offsets again."""
    bench = Bench()
    assert not has_groups(bench.state)
    bench.join("a")
    assert (has_groups(bench.state), live_groups(bench.state)) == (True, (GROUP,))
    bench.leave("a")
    assert (has_groups(bench.state), live_groups(bench.state)) == (True, ())


def test_classic_group_lives_as_well() -> None:
    """Its offsets are in the same broker."""
    bench = ClassicBench()
    bench.form(None)
    assert (has_groups(bench.bench.state), live_groups(bench.bench.state)) == (True, (GROUP,))


def test_group_is_idle_when_nobody_is_in_it_or_on_the_way() -> None:
    """A commit is, or who waits for others to come; an id that is promised is not (K5.31)."""
    bench = ClassicBench()
    bench.promise()
    assert idle_groups(bench.bench.state) == (GROUP,)
    ref = bench.join(old_join_of())
    assert bench.joined(ref) is None
    assert idle_groups(bench.bench.state) == ()
    bench = ClassicBench()
    bench.promise()
    assert bench.commit(commit_of("", -1)) is ErrorCode.NONE
    assert idle_groups(bench.bench.state) == ()


def test_group_that_nobody_knows_is_not_idle() -> None:
    """It may have gone since it was looked for; a Dead one, whose memory is gone, is nobody's business either."""
    bench = ClassicBench()
    bench.form(None)
    assert not is_idle(bench.bench.state, GroupId("none"))
    assert not is_idle(bench.bench.state, GROUP)
