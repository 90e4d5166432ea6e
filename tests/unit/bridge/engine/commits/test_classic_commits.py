"""Tests of commits and fetches of classic groups."""

from bridge.engine.commits import check_fetch
from bridge.engine.model import Phase
from tests.support.classic_bench import SESSION_MS, ClassicBench, commit_of, join_of, transaction_of
from tests.support.engine_bench import GROUP
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import MemberId
from translators.dialects.offsets import OffsetCommit, TxnOffsetCommit

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID
ILLEGAL = ErrorCode.ILLEGAL_GENERATION


def test_commits_judged_by_identity_then_generation() -> None:
    """Whoever names itself is held to it (K5.5); nobody at all may commit in a transaction only (K5.6)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    cases: list[tuple[OffsetCommit | TxnOffsetCommit, ErrorCode]] = [
        (commit_of(first, 1, "A"), NONE),
        (commit_of(first, 1), NONE),
        (commit_of(first, 0), ILLEGAL),
        (commit_of(first, -1), ILLEGAL),
        (commit_of(first, 2), ILLEGAL),
        (commit_of(second, 1, "A"), FENCED),
        (commit_of("77", 1), UNKNOWN),
        (commit_of("", -1, "N"), UNKNOWN),
        (commit_of("", -1, "A"), FENCED),
        (commit_of("", -1), UNKNOWN),
        (commit_of("", 0), UNKNOWN),
        (transaction_of(), NONE),
        (transaction_of("", 0), UNKNOWN),
        (transaction_of(first, 0), ILLEGAL),
    ]
    assert [bench.commit(request) for request, _ in cases] == [code for _, code in cases]


def test_empty_group_takes_simple_commits_whoever_sends_them() -> None:
    """Ids are ignored (K5.4)."""
    bench = ClassicBench()
    bench.promise()
    assert [bench.commit(commit_of("x", -1, "N")), bench.commit(commit_of("x", 0))] == [NONE, UNKNOWN]


def test_commits_during_a_rebalance() -> None:
    """The former generation's until everybody joined, none but transactional ones until the leader synced (K5.7)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.join(join_of(first, "A"))
    seen = [(bench.phase, bench.commit(commit_of(second, 1, "B")))]
    bench.join(join_of(second, "B"))
    seen += [(bench.phase, bench.commit(commit_of(second, 2, "B")))]
    seen += [(bench.phase, bench.commit(transaction_of(second, 2)))]
    assert seen == [
        (Phase.PREPARING_REBALANCE, NONE),
        (Phase.COMPLETING_REBALANCE, ErrorCode.REBALANCE_IN_PROGRESS),
        (Phase.COMPLETING_REBALANCE, NONE),
    ]


def test_plain_commit_extends_the_session_a_transactional_one_does_not() -> None:
    """The former is a sign of life of its member (K5.8)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    bench.pass_time(SESSION_MS - 1)
    bench.commit(commit_of(first, 1, "A"))
    bench.commit(transaction_of(second, 1))
    bench.pass_time(1)
    assert list(bench.group.members) == [first]


def test_fetch_asks_nothing_of_a_classic_group() -> None:
    """Member id and epoch are ignored (K5.20)."""
    bench = ClassicBench()
    bench.form("A")
    assert check_fetch(bench.bench.state, GROUP, MemberId("x"), 99) is NONE
