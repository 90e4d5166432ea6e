"""Playing a drawn sequence on one side: each call sent, whatever comes on any connection taken, the group described.

It knows connections and what members were told, and must not know what they should be told.
"""

import re
import select
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.conformance.random.sequences import Answered, Course, Drawn, Grow, Move, Restart, Seen
from tests.conformance.random.topics import Topics
from tests.support.conformance.connection import Connection, NoAnswer
from tests.support.conformance.normal import SHORT, UUID, Names, comparable, groupless
from tests.support.conformance.playing import EPOCH, Answer, Ground, Play
from tests.support.conformance.schema import Value
from tests.support.conformance.steps import Call, Close, Part, Pause, Subscription
from translators.dialects.errors import ErrorCode

RETRIED = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}
HEARD = {ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED}
RETRY_S, RETRY_PAUSE_S = 8.0, 0.1
ADMIN_S = 30.0
TOPICS_S = 1.5
EXPECTED_S = 10.0
NO_VIEW: Answer = {"groups": [{"error": ErrorCode.GROUP_ID_NOT_FOUND.value, "members": []}]}
NO_TOPIC = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a call's own answer is waited for before it counts as parked, and how long others may follow.

    After either a probe makes its way through the coordinator, which on a busy machine takes as long as all answers.
    """

    own_s: float
    others_s: float


QUICK = Patience(own_s=0.4, others_s=0.08)
CAREFUL = Patience(own_s=3.0, others_s=0.4)


@dataclass(slots=True, kw_only=True)
class Asked:
    """The steps whose calls wait on one connection, oldest first."""

    who: str
    connection: Connection
    steps: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """An answer as it came; with no api what there was instead of one."""

    asked: int
    api: str
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSeen:
    """What came during a step, as it came."""

    answers: tuple[Raw, ...]
    classic: Answer
    consumer: Answer
    settled: Answer = field(default_factory=dict)


def _nothing() -> None:
    """Nobody is killed."""


@dataclass(slots=True, kw_only=True)
class RandomPlay(Play):
    """One sequence on its way on one side.

    `expected` says which steps' calls the other side answered during a step: for those more time is taken, so that a
    busy machine makes no difference. With `pipelined` everything of a member goes over one connection, and what is sent
    behind a request that waits is not waited for; else a call takes another connection while an answer is waited for
    on the first, as a coordinator reads nothing more from that.
    """

    patience: Patience
    topics: Topics
    expected: Mapping[int, set[int]] = field(default_factory=dict)
    pipelined: bool = False
    older: bool = False
    restart: Callable[[], None] = _nothing
    waiting: list[Asked] = field(default_factory=list)
    unsynced: set[str] = field(default_factory=set)
    protocols: dict[str, str] = field(default_factory=dict)
    chosen: str = ""
    """The protocol that anybody was told last."""
    grown: dict[str, int] = field(default_factory=dict)
    """How many partitions the sequence's own topics have, by their real names."""

    def course(self, drawn: Drawn) -> Course:
        """Play all steps and return what was seen in each."""
        try:
            self._wait_for_coordinator()
            raws = [self._seen(number, move) for number, move in enumerate(drawn.moves, 1)]
        finally:
            self._end_all()
        self._name_ids(raws)
        return [self._comparable_seen(raw) for raw in raws]

    def _name_ids(self, raws: Sequence[RawSeen]) -> None:
        """Ids that were made for members by the step in which they show first, whether their owner was told or not.

        Courses that parted for a while then call later ids alike again.
        """
        named: set[str] = set()
        for step, raw in enumerate(raws, 1):
            fresh: dict[str, int] = {}
            for value in (*(each.answer for each in raw.answers), raw.classic, raw.consumer):
                for member in member_ids(value):
                    match = MADE_ID.fullmatch(member)
                    if match is not None and member not in named:
                        named.add(member)
                        fresh[match[1]] = fresh.get(match[1], 0) + 1
                        which = f".{fresh[match[1]]}" if fresh[match[1]] > 1 else ""
                        self.told.words[member] = f"<{match[1]} of step {step}{which}>"

    def _end_all(self) -> None:
        """All connections end."""
        self.give_up_waiting()
        for connection in self.connections.values():
            connection.close()
        self.connections = {}

    def _comparable_seen(self, raw: RawSeen) -> Seen:
        """Made comparable when all ids are known; an id that nobody was told goes by what it is named after."""
        names = self._names()
        answers = [Answered(asked=one.asked, answer=self._placeless(one, names)) for one in raw.answers]
        return Seen(
            answers=tuple(answers),
            classic=self._groupless(comparable("DescribeGroups", raw.classic, names, self.told)),
            consumer=self._groupless(comparable("ConsumerGroupDescribe", raw.consumer, names, self.told)),
            settled=raw.settled,
        )

    def _groupless(self, answer: Answer) -> Answer:
        return groupless(answer, self.group)

    def _placeless(self, one: Raw, names: Names) -> Answer:
        """An answer without this side's own port."""
        if not one.api:
            return one.answer
        plain = self._groupless(comparable(one.api, one.answer, names, self.told))
        rows = plain.get("coordinators")
        if not isinstance(rows, list):
            return plain
        port = self.ground.place[1]
        return {"coordinators": [{**row, "port": row["port"] == port} for row in rows if isinstance(row, Mapping)]}

    def _seen(self, number: int, move: Move) -> RawSeen:
        answers: list[Raw] = []
        match move:
            case Call():
                answers = self._make_call(number, move)
            case Pause():
                answers = self._take_for(move.ms / 1000)
            case Close():
                self._drop(move.who)
                answers = self._take_for(self.patience.others_s)
            case Restart():
                self._end_all()
                self.restart()
            case Grow():
                self._grow(move)
                answers = self._take_for(TOPICS_S)
        classic, consumer = self.views()
        return RawSeen(answers=tuple(answers), classic=classic, consumer=consumer)

    def views(self) -> tuple[Answer, Answer]:
        """The group as DescribeGroups has it, and as ConsumerGroupDescribe does where Kafka offers that."""
        asked: dict[str, Value] = {"groups": [self.group]}
        if self.older:
            return self._described("DescribeGroups", 5, asked), NO_VIEW
        return self._described("DescribeGroups", 6, asked), self._described("ConsumerGroupDescribe", 1, asked)

    def _grow(self, move: Grow) -> None:
        name = move.name.replace("$g", self.group)
        self.topics.grow(name, move.partitions)
        self.grown[name] = move.partitions
        if move.name not in self.ground.topic_ids:
            ids = {**self.ground.topic_ids, move.name: self._topic_id(name)}
            self.ground = Ground(place=self.ground.place, topic_ids=ids)

    def _topic_id(self, name: str) -> str:
        asked: list[Value] = [{"topic_id": NO_TOPIC, "name": name}]
        while True:
            topics = self._connection("admin-eye").ask("Metadata", 12, {"topics": asked}, ADMIN_S)["topics"]
            assert isinstance(topics, list)
            row = topics[0]
            assert isinstance(row, Mapping)
            if row["error"] == 0:
                return str(row["topic_id"])
            time.sleep(RETRY_PAUSE_S)

    def _subscription(self, part: Subscription) -> bytes:
        names = tuple(name.replace("$g", self.group) for name in part.topics)
        return super(RandomPlay, self)._subscription(replace(part, topics=names))

    def _drop(self, who: str) -> None:
        """All connections of a member end."""
        for asked in [one for one in self.waiting if one.who == who]:
            self.waiting.remove(asked)
            asked.connection.close()

    def _place(self, who: str) -> Asked:
        """The member's connection; a new one if answers are waited for on all."""
        for asked in self.waiting:
            if asked.who == who and (self.pipelined or not asked.steps):
                return asked
        asked = Asked(who=who, connection=Connection(self.ground.place, f"client-{who}"))
        self.waiting.append(asked)
        return asked

    def send(self, number: int, call: Call) -> None:
        """Send a call that is answered to `take_ready`."""
        values = {name: self._value(part, name) for name, part in call.fields.items()}
        asked = self._place(call.who)
        asked.connection.send(call.api, call.version, values)
        asked.steps.append(number)

    def take_ready(self, within_s: float) -> list[Raw]:
        """Whatever there is, waited for no longer than this."""
        return self._take_ready(within_s)

    def ask_aside(self, api: str, version: int, fields: Mapping[str, Part]) -> Answer:
        """Ask as an admin and wait."""
        values = {name: self._value(part, name) for name, part in fields.items()}
        return self._connection("admin-eye").ask(api, version, values, ADMIN_S)

    def set_aside(self) -> list[Asked]:
        """Members go on over connections of their own making; gives the old ones, whose answers are still taken."""
        for asked in self.waiting:
            asked.who = f"{asked.who} before"
        return [asked for asked in self.waiting if asked.steps]

    def give_up_waiting(self) -> None:
        """All connections of members end."""
        for asked in self.waiting:
            asked.connection.close()
        self.waiting = []

    def _make_call(self, number: int, call: Call) -> list[Raw]:
        """Send it and take what comes; a call that the coordinator is not ready for goes again, as of every client."""
        give_up = time.monotonic() + RETRY_S
        before: list[Raw] = []
        while True:
            taken = self._send_and_take(number, call)
            own = [one for one in taken if one.asked == number]
            if not own or not RETRIED & set(errors(own[0].answer)) or time.monotonic() > give_up:
                return before + taken
            before += [one for one in taken if one.asked != number]
            time.sleep(RETRY_PAUSE_S)

    def _send_and_take(self, number: int, call: Call) -> list[Raw]:
        values = {name: self._value(part, name) for name, part in call.fields.items()}
        asked = self._place(call.who)
        try:
            asked.connection.send(call.api, call.version, values)
        except OSError:
            self.waiting.remove(asked)
            return [Raw(asked=number, api="", answer={"closed": True})]
        asked.steps.append(number)
        taken = [] if len(asked.steps) > 1 else self._take_until(number)
        for _ in range(1 if any(one.asked == number for one in taken) else 3):
            if any(one.steps for one in self.waiting):
                self._pass_through()
                taken += self._take_for(self.patience.others_s)
        return taken + self._take_expected(number, {one.asked for one in taken})

    def _take_expected(self, number: int, taken: set[int]) -> list[Raw]:
        """What the other side answered by now and this one still owes."""
        late: list[Raw] = []
        give_up = time.monotonic() + EXPECTED_S
        while time.monotonic() < give_up:
            owed = {step for asked in self.waiting for step in asked.steps} & self.expected.get(number, set())
            if not owed - taken:
                break
            more = self._take_ready(give_up - time.monotonic())
            late += more
            taken = taken | {one.asked for one in more}
        return late

    def _take_until(self, own: int) -> list[Raw]:
        """Whatever comes until that call is answered, or for as long as patience lasts."""
        taken: list[Raw] = []
        give_up = time.monotonic() + self.patience.own_s
        while time.monotonic() < give_up and not any(one.asked == own for one in taken):
            taken += self._take_ready(give_up - time.monotonic())
        return taken

    def _take_for(self, within_s: float) -> list[Raw]:
        """Whatever comes within the time."""
        taken: list[Raw] = []
        give_up = time.monotonic() + within_s
        while time.monotonic() < give_up:
            taken += self._take_ready(give_up - time.monotonic())
        return taken

    def _take_ready(self, within_s: float) -> list[Raw]:
        places = {one.connection.fileno(): one for one in self.waiting if one.steps}
        ready, _, _ = select.select(list(places), [], [], max(0.0, within_s))
        return [one for place in ready for one in self._answers_on(places[place])]

    def _answers_on(self, asked: Asked) -> list[Raw]:
        taken: list[Raw] = []
        try:
            while asked.steps:
                sent, answer = asked.connection.receive(0.005)
                if answer.get("error", 0) in HEARD:
                    self.told.hear(asked.who, sent.api, answer, self._names())
                    self._note_sync(asked.who, sent.api, answer)
                taken.append(Raw(asked=asked.steps.pop(0), api=sent.api, answer=answer))
        except NoAnswer as nothing:
            if str(nothing) == "closed":
                taken += [Raw(asked=step, api="", answer={"closed": True}) for step in asked.steps]
                self.waiting.remove(asked)
                asked.connection.close()
        return taken

    def _note_sync(self, who: str, api: str, answer: Answer) -> None:
        if api == "JoinGroup":
            self.unsynced.add(who)
            self.protocols[who] = str(answer["protocol_name"])
            self.chosen = str(answer["protocol_name"] or self.chosen)
        elif api == "SyncGroup":
            self.unsynced.discard(who)

    def _described(self, api: str, version: int, fields: Mapping[str, Value]) -> Answer:
        return self._connection("admin-eye").ask(api, version, fields, ADMIN_S)

    def _text(self, text: str) -> str | int:
        """What nobody was told yet is a stranger's."""
        if text.startswith("@"):
            return self.told.members.get(text[1:], f"nobody-{text[1:]}")
        if (epoch := EPOCH.fullmatch(text)) is not None:
            return self.told.epochs.get(epoch[1], 0) + int(epoch[2] or 0)
        if text.startswith("!"):
            return self.told.producers.get(text[1:], 0)
        return text.replace("$g", self.group)


MADE_ID = re.compile(rf"(.+?)-(?:{UUID}|{SHORT})")


def member_ids(value: Value) -> list[str]:
    """All member ids of an answer."""
    if isinstance(value, Mapping):
        own = [inner for name, inner in value.items() if name == "member_id" and isinstance(inner, str)]
        return own + [one for inner in value.values() for one in member_ids(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in member_ids(inner)]
    return []


def errors(value: Value) -> list[int]:
    """All error codes of an answer."""
    if isinstance(value, Mapping):
        own = [inner for name, inner in value.items() if name == "error" and isinstance(inner, int)]
        return own + [one for inner in value.values() for one in errors(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in errors(inner)]
    return []
