"""Whatever follows whatever, also in answers that a broker spoilt and for members without a name: a rebalance has a
cause and a sentence, and telling it fails for none.
"""

import random
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from bridge.telemetry.cause.explain import explain
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema import facts
from bridge.telemetry.schema.terms import Departure, News, OperatorAction, Phase, Protocol, Road
from tests.support.event_stories import Story

MEMBERS = ("", "", "anna", "ben", "s1")
PARTITIONS = ("orders-0", "orders-1", "orders-2")


def wild_story(seed: int) -> Story:
    """A few rebalances of one group, in which anything may follow anything."""
    draw = random.Random(seed)
    story = Story(road=draw.choice([*Road]), protocol=draw.choice([*Protocol]))
    for number in range(draw.randrange(4, 40)):
        story.at(number * draw.choice([0.001, 40, 3_000]))
        draw.choice(WORDS)(story, draw, draw.choice(MEMBERS))
    return story.began(99)


Words = Callable[[Story, random.Random, str], object]
WORDS: tuple[Words, ...] = (
    *(lambda story, draw, _: story.began(draw.randrange(1, 9), supersedes=story.rebalance_id),) * 2,
    lambda story, _, __: story.ended(),
    lambda story, draw, name: story.joined(name, seat=draw.choice([None, "s1"]), former=draw.choice(MEMBERS)),
    lambda story, draw, name: story.rejoined(name, is_leader=draw.random() < 0.5),
    *(lambda story, draw, name: story.left(name, draw.choice([*Departure])),) * 2,
    lambda story, draw, name: story.told(name, draw.choice([*News])),
    lambda story, draw, name: story.enters(name, draw.choice([*Phase]), *_some(draw, MEMBERS)),
    lambda story, draw, name: story.leaves(name, draw.choice([*Phase]), *_some(draw, MEMBERS)),
    lambda story, draw, name: story.loses(name, *_some(draw, PARTITIONS)),
    lambda story, draw, name: story.releases(name, *_some(draw, PARTITIONS)),
    *(lambda story, draw, name: story.gets(name, *_some(draw, PARTITIONS)),) * 2,
    lambda story, draw, _: story.tell(
        facts.OperatorActed(group_id="orders", action=draw.choice([*OperatorAction]), members=_some(draw, MEMBERS))
    ),
)


def _some(draw: random.Random, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(draw.sample(names, draw.randrange(3)))


@given(seed=st.integers(0, 2**32))
def test_any_story_has_its_sentence(seed: int) -> None:
    """Of each rebalance, while it goes on and when all is told."""
    story = wild_story(seed)
    explained = explain(story.events)
    assert explained is not None
    assert explained.sentence
    assert "  " not in explained.sentence
    for rebalance in assemble(story.events):
        assert rebalance.rebalance_id
