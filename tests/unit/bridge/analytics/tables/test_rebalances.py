"""What a rebalance came to."""

from dataclasses import replace

from bridge.analytics.tables.rebalances import rebalances
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import Fact, RebalanceBegan, RebalanceEnded, RebalanceExplained, TargetComputed
from bridge.telemetry.schema.terms import Cause, News, Outcome, Phase, Protocol, Road
from tests.support.fleet_words import AboutGroup, MemberWords
from tests.support.spark import START_US, python_nodes, stamped, taken


def about(rebalance: str = "r1") -> AboutGroup:
    """What every fact about g says."""
    return AboutGroup(group_id="g", road=Road.EMBEDDED, rebalance_id=rebalance, group_epoch=3)


BEGAN = RebalanceBegan(**about())
TARGET = TargetComputed(**about(), assignor="uniform", moved=2, forced_minimum=1, member_count=3, partition_count=6)
ENDED = RebalanceEnded(**about(), outcome=Outcome.COMPLETED)
EXPLAINED = RebalanceExplained(
    **about(),
    cause=Cause.LEAVE,
    caused_by=("boris",),
    evidence=("b1-1",),
    critical_member="anna",
    critical_phase=Phase.REVOKING,
    waited_us=7,
    sentence="boris left",
)


def test_rebalance_is_one_row_with_cause_and_cost(store: Store) -> None:
    """Cause, critical member, moved, forced minimum, disturbed (issue 5)."""
    anna = MemberWords("g", "r1", 3, Protocol.CLASSIC, "anna")
    stopped: list[tuple[int, Fact]] = [
        (3, anna.told(News.REJOIN)),
        (4, anna.released(["t-0"])),
        (8, anna.assigned(["t-0"], 1)),
    ]
    (row,) = rebalances(
        taken(store, stamped([(1, BEGAN), (2, TARGET), *stopped, (9, ENDED), (10, EXPLAINED)]))
    ).collect()
    found = row.asDict()
    assert found == {
        **found,
        "began_us": START_US + 1_000,
        "duration_us": 8_000,
        "outcome": "completed",
        "cause": "leave",
        "caused_by": ["boris"],
        "critical_member": "anna",
        "critical_phase": "revoking",
        "waited_us": 7,
        "moved": 2,
        "forced_minimum": 1,
        "told": 1,
        "disturbed": 1,
        "disturbed_members": ["anna"],
        "chain_id": "r1",
    }


def test_moves_that_no_target_tells_are_counted_by_who_had_what(store: Store) -> None:
    """On road `pass` nobody tells the target of a consumer group; the first owner of a partition moved nothing."""
    facts: list[Fact] = []
    for name, member, partitions in (
        ("r1", "anna", ["t-0", "t-1"]),
        ("r2", "boris", ["t-1"]),
        ("r3", "boris-again", ["t-1"]),
    ):
        assigned = MemberWords("g", name, 3, Protocol.CONSUMER, member).assigned(partitions, len(partitions))
        ended = RebalanceEnded(**about(name), outcome=Outcome.COMPLETED)
        seated = replace(assigned, instance_id=member.removesuffix("-again"))
        facts += [replace(fact, road=Road.PASSING) for fact in (RebalanceBegan(**about(name)), seated, ended)]
    rows = rebalances(taken(store, stamped(facts))).collect()
    assert {row["rebalance_id"]: row["moved"] for row in rows} == {"r1": 0, "r2": 1, "r3": 0}


def test_rebalance_without_end_says_why(store: Store) -> None:
    """Cut short by another, by a restart of the bridge, or still going on when the log ends."""
    first = stamped([RebalanceBegan(**about("r1")), RebalanceBegan(**about("r2"), supersedes="r1")])
    later = stamped([RebalanceBegan(**about("r3"))], "b2", START_US + 5_000_000)
    rows = rebalances(taken(store, [*first, *later])).collect()
    assert {row["rebalance_id"]: (row["outcome"], row["chain_id"], row["told"]) for row in rows} == {
        "r1": ("superseded", "r1", 0),
        "r2": ("interrupted", "r1", 0),
        "r3": ("open", "r3", 0),
    }


def test_member_is_disturbed_by_all_of_a_chain(store: Store) -> None:
    """Given up in one that was cut short, given back in the one that cut it short; the next one is by itself."""
    words = {name: MemberWords("g", name, 3, Protocol.CLASSIC, "anna") for name in ("r1", "r2", "r3")}
    facts: list[Fact] = [
        RebalanceBegan(**about("r1")),
        words["r1"].told(News.REJOIN),
        words["r1"].released(["t-0"]),
        RebalanceBegan(**about("r2"), supersedes="r1"),
        words["r2"].told(News.REJOIN),
        words["r2"].assigned(["t-0"], 1),
        RebalanceEnded(**about("r2"), outcome=Outcome.COMPLETED),
        RebalanceBegan(**about("r3")),
        words["r3"].told(News.REJOIN),
        words["r3"].released(["t-0"]),
        words["r3"].assigned(["t-1"], 1),
    ]
    rows = rebalances(taken(store, stamped(facts))).collect()
    assert {row["rebalance_id"]: (row["chain_id"], row["told"], row["disturbed_members"]) for row in rows} == {
        "r1": ("r1", 1, ["anna"]),
        "r2": ("r1", 1, ["anna"]),
        "r3": ("r3", 1, []),
    }


def test_rebalance_whose_begin_is_lost_begins_with_what_is_known(store: Store) -> None:
    """The oldest files are deleted first."""
    (row,) = rebalances(taken(store, stamped([(5, TARGET), (9, ENDED)]))).collect()
    assert (row["began_us"], row["duration_us"], row["cause"]) == (START_US + 5_000, 4_000, None)


def test_rebalances_call_no_python(store: Store) -> None:
    """Native expressions only."""
    assert python_nodes(rebalances(taken(store, stamped([BEGAN])))) == []
