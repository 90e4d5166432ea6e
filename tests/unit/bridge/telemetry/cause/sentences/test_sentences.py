"""Causes told to people."""

from bridge.telemetry.cause.explain import explain
from bridge.telemetry.cause.sentences import CLAUSES
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.terms import Cause, Departure, OperatorAction
from tests.support.event_stories import Story


def sentence_of(story: Story) -> str:
    """The sentence of the story's last rebalance."""
    explained = explain(story.events)
    assert explained is not None
    return explained.sentence


def test_leave_told_with_reason() -> None:
    """KIP-800: a client says why it leaves."""
    story = Story().at(0)
    story.left("c1", reason="the consumer is being closed")
    assert sentence_of(story.began(2).target(1)) == (
        "orders rebalanced because member c1 left (the consumer is being closed)"
    )


def test_lost_connection_told_as_such() -> None:
    """No heartbeat was missed."""
    story = Story().at(0)
    story.left("c1", Departure.CONNECTION_LOST)
    assert sentence_of(story.began(2).target(1)).endswith("member c1 lost its connection")


def test_topics_told_with_partitions() -> None:
    """Grown and gone."""
    story = Story().at(0)
    story.tell(facts.TopicsChanged(topics=("orders", "old"), partition_counts=(12, 0)))
    assert sentence_of(story.began(2).target(1)).endswith(
        "topics changed: orders has 12 partitions now and old is gone"
    )


def test_conversion_told_as_operators_wish() -> None:
    """What the operator asked for."""
    story = Story().at(0)
    story.tell(facts.OperatorActed(group_id="orders", action=OperatorAction.CONVERT))
    assert sentence_of(story.began(2).target(1)).endswith("an operator asked to convert")


def test_deployment_told_with_counts_and_last_change() -> None:
    """How much of it there was, and what made this rebalance."""
    story = Story().at(0)
    story.left("old1")
    story.at(2_000).joined("new1")
    story.at(5_000).left("old2")
    story.at(9_000).left("new1")
    assert sentence_of(story.began(2).target(3)).endswith(
        "because of a deployment: 3 left and 1 joined within 9 s, "
        "and now member new1 (kafka-python 3.0.12, host 10.0.0.7) left"
    )


def test_every_known_cause_has_a_clause() -> None:
    """The table is complete."""
    assert set(CLAUSES) == set(Cause) - {Cause.UNKNOWN}
    assert set(CLAUSES) == set(Cause) - {Cause.UNKNOWN}


def test_member_that_goes_by_its_instance_id_is_told_of() -> None:
    """A client of the new protocol may choose one id for both; its end was then told of nobody, and failed."""
    story = Story().at(0)
    story.joined("c1", seat="c1")
    story.left("c1", Departure.SESSION_EXPIRED)
    assert "c1" in sentence_of(story.began(2).target(1))
