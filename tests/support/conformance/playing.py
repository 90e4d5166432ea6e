"""Playing one scenario: values known only then put in, requests sent, answers taken and made comparable."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.support.conformance import protocol
from tests.support.conformance.connection import Connection, NoAnswer
from tests.support.conformance.normal import Names, Told, comparable
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import (
    Assignment,
    Await,
    Call,
    Close,
    Owned,
    Part,
    Pause,
    Poll,
    Scenario,
    Step,
    Subscription,
    TopicId,
)
from translators.dialects.errors import ErrorCode

Answer: TypeAlias = Mapping[str, Value]
ANSWER_S, SILENCE_S, POLL_S, POLL_PAUSE_S, SETTLE_S = 20.0, 1.0, 40.0, 0.1, 0.06
BEHIND_S, CATCH_UP_S = 0.03, 5.0
NOT_READY_S = 10.0
NOT_READY = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
EPOCH = re.compile(r"#([a-z]+)([+-]\d+)?")


class NotToldError(Exception):
    """A step needs what no answer has said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """An answer as it came, or with no api what there was instead of one."""

    api: str
    answer: Answer


PARKED = Heard(api="", answer={"parked": True})
CLOSED = Heard(api="", answer={"closed": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where scenarios are played: the coordinator's address and the ids of the topics."""

    place: tuple[str, int]
    topic_ids: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class Play:
    """One scenario on its way."""

    ground: Ground
    group: str
    told: Told = field(default_factory=Told)
    connections: dict[str, Connection] = field(default_factory=dict)

    def run(self, scenario: Scenario) -> list[Answer]:
        """Play all steps and return what was answered to those that are calls."""
        heard: list[Heard] = []
        try:
            self._wait_for_coordinator()
            for step in scenario.steps:
                one = self._step(step)
                heard += [] if one is None else [one]
        except NotToldError as missing:
            heard.append(Heard(api="", answer={"stopped": str(missing)}))
        finally:
            for connection in self.connections.values():
                connection.close()
        return [self._comparable(one) for one in heard]

    def _wait_for_coordinator(self) -> None:
        """A broker that has just started has yet to load its groups; it answers a Heartbeat with NONE meanwhile."""
        give_up = time.monotonic() + ANSWER_S
        while self._pass_through() != ErrorCode.UNKNOWN_MEMBER_ID and time.monotonic() < give_up:
            time.sleep(POLL_PAUSE_S)

    def _step(self, step: Step) -> Heard | None:
        match step:
            case Call():
                return self._call(step)
            case Await():
                return self._receive(step.who, SILENCE_S if step.silent else ANSWER_S)
            case Poll():
                return self._poll(step)
            case Pause():
                time.sleep(step.ms / 1000)
            case Close():
                self.connections.pop(step.who).close()
        return None

    def _connection(self, who: str) -> Connection:
        """That of `who`, opened as clients do it: what it sends later has no more way to go than the others' calls."""
        if who not in self.connections:
            self.connections[who] = Connection(self.ground.place, f"client-{who}")
            self.connections[who].ask("ApiVersions", 0, {})
        return self.connections[who]

    def _call(self, call: Call) -> Heard:
        """One call, again while the coordinator is not ready for it, as every client would."""
        give_up = time.monotonic() + NOT_READY_S
        while True:
            heard = self._call_once(call)
            if not set(_errors(heard.answer)) & NOT_READY or time.monotonic() > give_up:
                return heard
            time.sleep(POLL_PAUSE_S)

    def _call_once(self, call: Call) -> Heard:
        values = {name: self._value(part, name) for name, part in call.fields.items()}
        self._connection(call.who).send(call.api, call.version, values)
        if not call.parked:
            return self._receive(call.who, ANSWER_S)
        time.sleep(SETTLE_S)
        self._catch_up()
        return self._receive(call.who, SETTLE_S)

    def _catch_up(self) -> None:
        """Whoever takes long for a call that changes nothing may not have come to those on other connections either."""
        give_up = time.monotonic() + CATCH_UP_S
        while self._took_s() > BEHIND_S and time.monotonic() < give_up:
            time.sleep(SETTLE_S)

    def _took_s(self) -> float:
        asked = time.monotonic()
        self._pass_through()
        return time.monotonic() - asked

    def _pass_through(self) -> Value:
        """A call that the coordinator has to take up after all that came before it, and that changes nothing."""
        fields: dict[str, Value] = {"group_id": self.group, "generation_id": 0, "member_id": "nobody"}
        return self._connection("probe").ask("Heartbeat", 0, fields)["error"]

    def _poll(self, poll: Poll) -> Heard:
        give_up = time.monotonic() + POLL_S
        while True:
            heard = self._call(poll.call)
            seen = _flat(self._comparable(heard))
            if poll.until.items() <= seen.items() or time.monotonic() > give_up:
                return heard
            time.sleep(POLL_PAUSE_S)

    def _receive(self, who: str, within_s: float) -> Heard:
        try:
            sent, answer = self._connection(who).receive(within_s)
        except NoAnswer as nothing:
            return CLOSED if str(nothing) == "closed" else PARKED
        self.told.hear(who, sent.api, answer, self._names())
        return Heard(api=sent.api, answer=answer)

    def _names(self) -> Names:
        return Names(group=self.group, topics={topic: name for name, topic in self.ground.topic_ids.items()})

    def _comparable(self, heard: Heard) -> Answer:
        return comparable(heard.api, heard.answer, self._names(), self.told) if heard.api else heard.answer

    def _value(self, part: Part, name: str = "") -> Value:
        match part:
            case str():
                return self._text(part)
            case Subscription():
                return self._subscription(part)
            case Assignment():
                values: dict[str, Value] = {
                    "partitions": protocol.by_topic(part.partitions),
                    "user_data": part.user_data,
                }
                return protocol.encode(part.version, protocol.ASSIGNMENT, values)
            case Owned():
                owned = self.told.owned.get(part.who, {}) if part.keep is None else part.keep
                return [
                    {"topic_id": self.ground.topic_ids[topic], "partitions": list(numbers)}
                    for topic, numbers in owned.items()
                ]
            case TopicId():
                return self.ground.topic_ids[part.name]
            case Mapping():
                return {key: self._value(inner, key) for key, inner in part.items()}
            case bytes() | int() | None:
                return part
            case Sequence():
                return [self._value(inner) for inner in part]

    def _text(self, text: str) -> str | int:
        try:
            if text.startswith("@"):
                return self.told.members[text[1:]]
            if (epoch := EPOCH.fullmatch(text)) is not None:
                return self.told.epochs[epoch[1]] + int(epoch[2] or 0)
            if text.startswith("!"):
                return self.told.producers[text[1:]]
        except KeyError as missing:
            raise NotToldError(f"{text} was not told to anybody") from missing
        return text.replace("$g", self.group)

    def _subscription(self, part: Subscription) -> bytes:
        owned = self.told.owned.get(part.owned, {}) if isinstance(part.owned, str) else part.owned
        generation = self._text(part.generation) if isinstance(part.generation, str) else part.generation
        values: dict[str, Value] = {
            "topics": list(part.topics),
            "user_data": part.user_data,
            "owned": protocol.by_topic(owned),
            "generation": generation,
            "rack": part.rack,
        }
        return protocol.encode(part.version, protocol.SUBSCRIPTION, values)


def _errors(value: Value) -> Iterator[int]:
    """All error codes of an answer."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "error" and isinstance(inner, int):
                yield inner
            else:
                yield from _errors(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _errors(inner)


def _flat(answer: Answer) -> dict[str, Value]:
    """Simple values of an answer and of its only group, of that one's only topic, and of its only partition."""
    values: dict[str, Value] = {name: value for name, value in answer.items() if isinstance(value, str | int)}
    for name in ("groups", "topics", "partitions"):
        inner = answer.get(name)
        if isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], Mapping):
            values |= _flat(inner[0])
    return values
