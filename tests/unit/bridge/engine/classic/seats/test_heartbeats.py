"""Tests of Heartbeat on classic groups."""

from bridge.engine.classic.seats import judge_heartbeat
from bridge.engine.model import Phase
from tests.support.classic_bench import SESSION_MS, ClassicBench, join_of
from tests.support.engine_bench import GROUP
from translators.dialects.classic import Heartbeat
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId

NONE, UNKNOWN, FENCED = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID


def test_heartbeats_refused_in_order_of_kafka() -> None:
    """Identity before generation (K1.54, K1.55)."""
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    codes = [
        judge_heartbeat(bench.bench.state, Heartbeat(GroupId(""), 1, first, None)),
        bench.beat(first, "A"),
        bench.beat(second, "A", generation=9),
        bench.beat("77", generation=9),
        bench.beat(first, "A", generation=0),
    ]
    assert codes == [ErrorCode.INVALID_GROUP_ID, NONE, FENCED, UNKNOWN, ErrorCode.ILLEGAL_GENERATION]


def test_heartbeat_of_unknown_group_unknown() -> None:
    """Who is in no group is told to join anew: UNKNOWN_MEMBER_ID (K1.55)."""
    state = ClassicBench().bench.state
    assert judge_heartbeat(state, Heartbeat(GROUP, 1, MemberId("m"), None)) is UNKNOWN


def test_heartbeat_extends_the_session_in_every_phase() -> None:
    """Also where it is answered REBALANCE_IN_PROGRESS (K1.56).

    As in Kafka's testHeartbeatDuringPreparingRebalance and testHeartbeatDuringCompletingRebalance.
    """
    bench = ClassicBench()
    first, second = bench.form("A", "B")
    seen: list[tuple[Phase, ErrorCode]] = []
    for requests in ([], [join_of(first, "A")], [join_of(second, "B")]):
        for request in requests:
            bench.join(request)
        bench.pass_time(SESSION_MS - 1)
        seen.append((bench.phase, bench.beat(second, "B")))
        bench.beat(first, "A")
    assert seen == [
        (Phase.STABLE, NONE),
        (Phase.PREPARING_REBALANCE, ErrorCode.REBALANCE_IN_PROGRESS),
        (Phase.COMPLETING_REBALANCE, NONE),
    ]
