"""The bridge goes through drawn sequences as the recorded Kafka did, but where it differs on purpose."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conformance.random.judging import Verdict, judge
from tests.conformance.random.playing import CAREFUL, QUICK, Patience
from tests.conformance.random.recording import BY_TURNS, RESTING, SELECTIONS, Recorded, Selection, load, steps_of
from tests.conformance.random.sequences import settings_of
from tests.conformance.random.settling import SettlingPlay
from tests.conformance.random.sides import BRIDGE_SETTINGS, answered_in, fresh_group
from tests.conformance.random.topics import Topics
from tests.support.bridge_process import bridge_process
from tests.support.conformance.ground import find_ground, make_topics
from tests.support.conformance.playing import Ground
from tests.support.kafka import KafkaUnderTest

AT_ONCE, CAREFUL_TIMES = 24, 2
AT_LEAST = {BY_TURNS: 10, RESTING: 60}
ALL = [one for selection in SELECTIONS for one in load(selection)]
RECORDED = [pytest.param(one, id=f"{one.drawn.kind} {one.drawn.seed}") for one in ALL]


@pytest.fixture(scope="module")
def verdicts(kafka_43: KafkaUnderTest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[int, Verdict]:
    """What differs in each sequence, by seed; what differs at first is looked at again with patience."""
    make_topics(kafka_43.bootstrap)
    topics = Topics.at(kafka_43.bootstrap)
    settings = {**BRIDGE_SETTINGS, **settings_of("plain")}
    with bridge_process(kafka_43.bootstrap, ("wire-*",), tmp_path_factory.mktemp("random"), settings) as bridge:
        ground = find_ground(bridge.bootstrap)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = pool.map(lambda one: _verdict(one, ground, topics), ALL)
            return {one.drawn.seed: verdict for one, verdict in zip(ALL, found, strict=True)}


def _verdict(recorded: Recorded, ground: Ground, topics: Topics) -> Verdict:
    verdict = _played(recorded, ground, topics, QUICK)
    for _ in range(CAREFUL_TIMES):
        if verdict.unexplained:
            verdict = _played(recorded, ground, topics, CAREFUL)
    return verdict


def _played(recorded: Recorded, ground: Ground, topics: Topics, patience: Patience) -> Verdict:
    expected = answered_in(recorded.kafka)
    play = SettlingPlay(ground=ground, group=fresh_group(), patience=patience, topics=topics, expected=expected)
    return judge(recorded.drawn, recorded.kafka, play.course(recorded.drawn))


@pytest.mark.parametrize("recorded", RECORDED)
def test_sequence_is_answered_as_by_kafka(recorded: Recorded, verdicts: Mapping[int, Verdict]) -> None:
    """Every rule that chance leads to; `python -m tests.conformance.random` plays as many as there is time for."""
    assert [one.line() for one in verdicts[recorded.drawn.seed].unexplained] == []


@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda one: one.name)
def test_recorded_sequences_are_those_that_are_drawn_now(selection: Selection) -> None:
    """Else run `python -m tests.conformance.random --record`."""
    kept = load(selection)
    assert [one.steps for one in kept] == [steps_of(one.drawn) for one in kept]
    assert len(kept) >= AT_LEAST[selection]


def test_groups_that_are_asked_at_rest_speak_both_protocols() -> None:
    """Kafka made a consumer group of nearly all of them, with members of both kinds in it."""
    probed = [seen.settled for one in load(RESTING) for seen in one.kafka if seen.settled.get("kind") == "consumer"]
    assert len(probed) >= AT_LEAST[RESTING]
