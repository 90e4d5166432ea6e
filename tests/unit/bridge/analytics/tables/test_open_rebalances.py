"""Which rebalances may yet change, and who speaks of one that is not carried any more."""

from collections import Counter

from bridge.analytics.tables.carrying import with_none
from bridge.analytics.tables.definitions import CARRIED_FOR, REBALANCES
from bridge.analytics.tables.open_rebalances import RECENT, may_change, strays
from bridge.analytics.tables.rebalances import BESIDE
from bridge.analytics.tables.store import Store
from bridge.telemetry.schema.facts import Fact, RebalanceBegan, RebalanceEnded
from bridge.telemetry.schema.terms import News, Outcome, Protocol, Road
from tests.support.fleet_words import AboutGroup, MemberWords
from tests.support.spark import stamped, taken


def of(rebalance: str, supersedes: str = "", *, is_over: bool = True) -> list[Fact]:
    """A rebalance of g, in which a member is told."""
    about = AboutGroup(group_id="g", road=Road.EMBEDDED, rebalance_id=rebalance, group_epoch=3)
    end = [RebalanceEnded(**about, outcome=Outcome.COMPLETED)] if is_over else []
    return [RebalanceBegan(**about, supersedes=supersedes), told(rebalance), *end]


def told(rebalance: str) -> Fact:
    """A member hears of it."""
    return MemberWords("g", rebalance, 3, Protocol.CLASSIC, "anna").told(News.REJOIN)


def test_open_and_last_rebalances_are_carried_with_their_chains(store: Store) -> None:
    """Those before and behind them only by their own facts, so that it is known who superseded whom."""
    opened = [*of("r1"), *of("r2", is_over=False), *of("r3"), *of("r4"), *of("r5")]
    chained = [*of("c1"), *of("c2", "c1"), *of("z1"), *of("z2"), told("never-began")]
    events = with_none(taken(store, stamped([*opened, *chained])))
    found: Counter[tuple[str, str]] = Counter(
        (row[CARRIED_FOR], row["rebalance_id"]) for row in may_change(events).collect()
    )
    own = {"r2": 2, "c1": 3, "c2": 3, "z1": 3, "z2": 3, "never-began": 1}
    assert RECENT == 3
    assert found == {
        **{(REBALANCES.name, name): count for name, count in own.items()},
        **{(BESIDE, name): 2 for name in ("r1", "r3", "r5")},
    }


def test_group_that_speaks_of_a_rebalance_that_is_gone_is_astray(store: Store) -> None:
    """One that begins is new, one that is carried is known."""
    carried = may_change(with_none(taken(store, stamped([*of("r1"), *of("r2"), *of("r3"), *of("r4")]))))
    cases: dict[str, list[Fact]] = {"r1": [told("r1")], "r2": [told("r2")], "new": of("new"), "none": [told("")]}
    found = {name: strays(taken(store, stamped(facts)), carried).count() for name, facts in cases.items()}
    assert found == {"r1": 1, "r2": 0, "new": 0, "none": 0}
