"""Whatever befalls a simulated fleet, the event log shows why each rebalance was: the engine makes none for nothing."""

from bridge.telemetry.schema.facts import RebalanceBegan, RebalanceExplained
from bridge.telemetry.schema.terms import Cause
from tests.support.logged_subject import LoggedSubject
from tests.support.simulation.campaign import run_seed
from tests.support.simulation.subject import Surroundings

BATCH = range(100, 140)
ONCE_UNEXPLAINED = (93, 110, 1319, 3131, 3343, 4091)
"""Seeds with a rebalance that was labelled `unknown` when they were first run."""


def overheard(seed: int) -> list[LoggedSubject]:
    """The bridges of a story, one after the other, each with its log."""
    bridges: list[LoggedSubject] = []

    def make(surroundings: Surroundings) -> LoggedSubject:
        bridges.append(LoggedSubject(surroundings))
        return bridges[-1]

    assert run_seed(seed, make).broken is None
    return bridges


def test_every_rebalance_shows_why() -> None:
    """Joins, ends of all kinds, topics and wishes that change, and several at once."""
    unexplained: list[str] = []
    causes: set[Cause] = set()
    for seed in (*BATCH, *ONCE_UNEXPLAINED):
        for bridge in overheard(seed):
            assert bridge.guard.bugs == 0
            said = [fact for fact in bridge.ears.log.of(RebalanceExplained) if isinstance(fact, RebalanceExplained)]
            causes |= {fact.cause for fact in said}
            unexplained += [f"{seed}: {fact.sentence}" for fact in said if fact.cause is Cause.UNKNOWN]
            # What is under way when the bridge ends is never explained.
            assert 0 <= len(bridge.ears.log.of(RebalanceBegan)) - len(said) <= 1
    assert unexplained == []
    assert causes >= {
        Cause.FIRST_JOIN,
        Cause.JOIN,
        Cause.LEAVE,
        Cause.SESSION_EXPIRED,
        Cause.TOPICS_CHANGED,
        Cause.SUBSCRIPTION_CHANGED,
        Cause.DEPLOY_WAVE,
        Cause.STATIC_RETURN,
    }
