"""Laws of what-if plays: a play is a record like any other; played again under its own configuration it is itself."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.telemetry.schema.facts import PartitionsAssigned, PartitionsReleased
from bridge.whatif.comparison import compare
from bridge.whatif.configuration import configure
from bridge.whatif.inputs import History, Input
from bridge.whatif.measures import Measured
from bridge.whatif.play import predict
from tests.support.whatif_history import GROUP, came, grown, history, left, silent

OWN = configure("consumer", None, ["group.consumer.heartbeat.interval.ms=1000"])
CLASSIC = configure("classic", None, ["heartbeat.interval.ms=1000", "metadata.max.age.ms=60000"])
ANSWERED_MS = 60_000
"""A classic record shows no member that goes before its first JoinGroup is answered; a dead one is waited for 45 s."""
CLOCK_US = 1_000
"""The engine counts milliseconds."""


@st.composite
def histories(draw: st.DrawFn, least_ms: int = 1) -> History:
    """Members come, leave and die, and the topic grows, whenever they like."""
    inputs: list[Input] = []
    there: list[str] = []
    seconds, partitions = 0.0, 6
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["come", "come", "leave", "die", "grow"])) if there else "come"
        if kind == "come":
            there.append(f"m{number}")
            inputs.append(came(seconds, f"m{number}"))
        elif kind == "grow":
            partitions += draw(st.integers(1, 3))
            inputs.append(grown(seconds, partitions))
        else:
            name = there.pop(draw(st.integers(0, len(there) - 1)))
            inputs.append(left(seconds, name) if kind == "leave" else silent(seconds, name))
        # Whole milliseconds, as the engine counts; sometimes sooner than a rebalance takes.
        seconds += draw(st.integers(least_ms, 90_000)) / 1_000
    return history(*inputs)


def figures(rebalances: Sequence[Measured]) -> list[tuple[str, int, int, int]]:
    """What must come out the same."""
    return [(one.cause, one.told, one.disturbed, one.stalls) for one in rebalances]


@given(histories())
@settings(max_examples=25, deadline=None)
def test_play_played_again_is_itself(one: History) -> None:
    """The record of an embedded group, under its own configuration, predicts what was recorded."""
    found = compare(GROUP, predict(one, OWN).events, OWN)
    for row in found.rows:
        assert row.recorded is not None
        assert figures(row.predicted) == figures([row.recorded])
        assert abs(row.predicted[0].duration_us - row.recorded.duration_us) <= 2 * CLOCK_US


@given(histories())
@settings(max_examples=25, deadline=None)
def test_play_gives_no_partition_to_two(one: History) -> None:
    """What is assigned was released before, or nobody's."""
    owners: dict[str, str] = {}
    for event in predict(one, OWN).events:
        fact = event.fact
        if isinstance(fact, PartitionsReleased):
            for name in fact.partitions:
                assert owners.pop(name) == fact.member_id
        elif isinstance(fact, PartitionsAssigned):
            for name in fact.partitions:
                assert name not in owners
                owners[name] = fact.member_id


@given(histories())
@settings(max_examples=15, deadline=None)
def test_every_rebalance_of_a_play_has_an_input_that_made_it(one: History) -> None:
    """Nothing happens by itself."""
    known = {given.event_id for given in one.inputs}
    assert {trigger.event_id for trigger in predict(one, OWN).triggers} <= known


@given(histories(least_ms=ANSWERED_MS))
@settings(max_examples=15, deadline=None)
def test_classic_play_played_again_is_itself(one: History) -> None:
    """The same of the classic protocol, rebalances in the order of time."""
    found = compare(GROUP, predict(one, CLASSIC).events, CLASSIC)
    recorded = [row.recorded for row in found.rows if row.recorded is not None]
    predicted = [each for row in found.rows for each in row.predicted]
    assert counts(recorded) == counts(predicted)


def counts(rebalances: Sequence[Measured]) -> list[tuple[int, int, int]]:
    """Occurrence, disturbed and stalled, in the order of time."""
    ordered = sorted(rebalances, key=lambda one: one.began_us)
    return [(one.told, one.disturbed, one.stalls) for one in ordered]
