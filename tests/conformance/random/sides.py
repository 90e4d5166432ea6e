"""Kafka on one side, the bridge in front of it on the other, and a sequence played on both.

It knows how both are started, and must not know what may differ.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Semaphore

from bridge.demo.kafka_broker import start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.conformance.random.comparing import Found
from tests.conformance.random.judging import Verdict, judge
from tests.conformance.random.playing import CAREFUL, QUICK, Patience
from tests.conformance.random.sequences import Course, Drawn, settings_of
from tests.conformance.random.settling import SettlingPlay
from tests.conformance.random.topics import Topics
from tests.support.bridge_process import bridge_process
from tests.support.conformance.connection import NoAnswer
from tests.support.conformance.ground import find_ground, make_topics
from tests.support.conformance.playing import Ground
from tests.support.conformance.steps import NEWEST

BRIDGE_SETTINGS = {
    "bridges.group": "off",
    "journal": "memory",
    "embedded.resume.grace.ms": "0",
    "embedded.topics.refresh.ms": "500",
    "departure.wait.ms": "0",
    "embedded.initial.group.type": "classic",
}
CAREFUL_AT_ONCE, CAREFUL_TIMES = 8, 2


def fresh_group() -> str:
    """A name that nobody had before."""
    return f"wire-{uuid.uuid4().hex[:8]}-x"


class Sides:
    """Both sides of a profile; with `pipelined` every call of a member goes over its one connection."""

    def __init__(self, kafka: Ground, ours: Ground, topics: Topics, *, older: bool = False) -> None:
        self.pipelined = False
        self._older = older
        self.note: Callable[[str], None] = lambda _: None
        """Hears of what is looked at again."""
        self._kafka = kafka
        self._ours = ours
        self._topics = topics
        self._few = Semaphore(CAREFUL_AT_ONCE)

    def examine(self, drawn: Drawn) -> Verdict:
        """What differs every time: a first difference is looked at again with patience, a few at once."""
        verdict = self.play(drawn, QUICK)
        for _ in range(CAREFUL_TIMES):
            if verdict.unexplained:
                self.note(f"seed {drawn.seed} is looked at again: {verdict.unexplained[0].line()}")
                with self._few:
                    verdict = self.play(drawn, CAREFUL)
        return verdict

    def play(self, drawn: Drawn, patience: Patience) -> Verdict:
        """A sequence on both at once, each in a group of its own."""
        try:
            kafka, ours = self.courses(drawn, patience)
        except (NoAnswer, OSError) as silence:
            hung = Found(step=1, asked=1, path="no view or probe is answered", kafka="", ours=repr(silence))
            return Verdict(unexplained=(hung,), rules={}, steps=len(drawn.moves))
        return judge(drawn, kafka, ours, pipelined=self.pipelined, older=self._older)

    def courses(self, drawn: Drawn, patience: Patience) -> tuple[Course, Course]:
        """What both show; ours is waited for where Kafka has answered."""
        kafka = self.course_of_kafka(drawn, patience)
        expected = {} if self.pipelined else answered_in(kafka)
        return kafka, self._play_on(self._ours, drawn, patience, expected)

    def course_of_kafka(self, drawn: Drawn, patience: Patience) -> Course:
        """What Kafka shows."""
        return self._play_on(self._kafka, drawn, patience, {})

    def _play_on(self, ground: Ground, drawn: Drawn, patience: Patience, expected: Mapping[int, set[int]]) -> Course:
        play = SettlingPlay(
            ground=ground,
            group=fresh_group(),
            patience=patience,
            topics=self._topics,
            expected=expected,
            pipelined=self.pipelined,
            older=self._older,
        )
        return play.course(drawn)


def answered_in(course: Course) -> dict[int, set[int]]:
    """The steps whose calls were answered, by the step during which they were."""
    return {step: {one.asked for one in seen.answers} for step, seen in enumerate(course, 1)}


def without_kip_848(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that Kafka 3.9 knows in the same words; its new protocol is off."""
    return {key: value for key, value in settings.items() if not key.startswith("group.consumer.")}


@contextmanager
def both_sides(profile: str, directory: Path, version: str = NEWEST) -> Iterator[Sides]:
    """A broker with the bridge in front of it, and the topics that all sequences share."""
    settings = settings_of(profile)
    properties = settings if version == NEWEST else without_kip_848(settings)
    with start_broker(BrokerSettings(version=version, properties=properties), directory=directory) as broker:
        make_topics(broker.bootstrap)
        with bridge_process(broker.bootstrap, ("wire-*",), directory, {**BRIDGE_SETTINGS, **settings}) as bridge:
            topics = Topics.at(broker.bootstrap)
            grounds = find_ground(broker.bootstrap), find_ground(bridge.bootstrap)
            yield Sides(*grounds, topics, older=version != NEWEST)
