"""Which rebalance became which."""

from dataclasses import replace

from bridge.telemetry.schema.terms import Cause
from bridge.whatif.comparison import Link, link
from bridge.whatif.inputs import Input, Recorded
from bridge.whatif.play import Prediction, Trigger
from tests.support.whatif_history import at, came, grown, history, left


def recorded(name: str, seconds: float, *evidence: str) -> Recorded:
    """A rebalance of the record."""
    return Recorded(rebalance_id=name, began_us=at(seconds), evidence=evidence)


def linked(inputs: tuple[Input, ...], found: tuple[Recorded, ...], *made: tuple[str, str]) -> tuple[Link, ...]:
    """The links of a play in which these inputs made these rebalances."""
    triggers = tuple(Trigger(event_id, name) for event_id, name in made)
    return link(replace(history(*inputs), recorded=found), Prediction((), triggers))


def test_evidence_counts_before_what_the_event_names_and_that_before_the_next_rebalance() -> None:
    """a is evidence of r3, b names r2, c comes before r3."""
    inputs = (came(1, "a"), replace(came(2, "b"), rebalance_id="r2"), came(3, "c"))
    found = (recorded("r1", 1), recorded("r2", 4), recorded("r3", 5, "a came"))
    made = (("a came", "p1"), ("b came", "p2"), ("c came", "p3"))
    assert linked(inputs, found, *made) == (Link("r1", ""), Link("r2", "p2"), Link("r2", "p3"), Link("r3", "p1"))


def test_rebalance_long_after_an_input_has_nothing_to_do_with_it() -> None:
    """But a classic leader takes minutes to see new partitions."""
    inputs = (came(0, "a"), left(10, "a"), grown(100, 9))
    found = (recorded("r1", 0), recorded("r2", 200))
    made = (("a came", "p1"), ("a left", "p2"), ("orders grew", "p3"))
    assert linked(inputs, found, *made) == (Link("r1", "p1"), Link("r2", "p3"), Link("", "p2"))


def test_changed_topics_belong_to_the_nearest_rebalance_that_says_so() -> None:
    """The leader saw them a quarter of a second before the bridge did; r2 has nothing to do with it."""
    r1 = replace(recorded("r1", 99.75), cause=Cause.TOPICS_CHANGED)
    found = (r1, recorded("r2", 101))
    assert linked((grown(100, 9),), found, ("orders grew", "p1")) == (Link("r1", "p1"), Link("r2", ""))


def test_rebalance_that_nothing_made_became_nothing_and_that_of_the_founders_is_no_news() -> None:
    """The latter is the prelude's."""
    assert linked((), (recorded("r1", 0),), ("", "p0")) == (Link("r1", ""),)
