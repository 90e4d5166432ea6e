"""RE2 patterns of subscriptions and the topics that they match; the only door to google-re2."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import re2
import trio

from bridge.coordinators.catalog import Catalog
from bridge.coordinators.embedded.weights import pattern_bytes
from bridge.engine.commands import ForgetRegularExpressions, ResolveRegularExpression
from bridge.engine.consumer.membership import unreadable_pattern
from bridge.engine.indexes import count_down, count_up
from bridge.migration.patterns import PatternUnreadable
from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import TopicName

PATTERN_CHARACTERS_MAX = 10_000
PATTERN_MEMORY_BYTES_MAX = 256 * 1024
"""What RE2 may take for one pattern: room for so many letters. With its own 8 MiB it read the 1,800 characters of
`[a-z0-9.-]{0,1000}`, a hundred times over, for 19 s, and Python does nothing else meanwhile.
"""
WIDE_CLASSES_MAX, COPIES_MAX = 64, 16_384
"""So many classes of Unicode, and so many copies by counts, are read; RE2 makes something of all that a pattern says
before it finds that this is too large: of 999 `[^\\pL\\pN]` for 0.4 s. Hardly any that has more would fit.
"""
_WIDE_CLASS, _COUNT = re2.compile(r"\\[pP]"), re2.compile(r"\{(?:\d+,)?(\d{1,9}),?\}")
_TOO_LARGE = "pattern too large - compile failed"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a pattern matches, or why it can't be read."""

    topics: frozenset[TopicName]
    error: str | None = None


def resolve(pattern: str, names: Iterable[TopicName]) -> Resolution:
    """The topics whose whole name matches `pattern` (K2.4 in 11.4), internal ones too, as in Kafka."""
    try:
        compiled = _compile(pattern)
    except PatternUnreadable as problem:
        return Resolution(frozenset(), str(problem))
    return Resolution(frozenset(_matching(compiled, names)))


def read_regex(pattern: str) -> Callable[[str], bool]:
    """What says whether a whole name matches; raises PatternUnreadable for what Kafka could not read either, or is too
    large.
    """
    return partial(_matches, _compile(pattern))


class _Compiled(Protocol):
    """What RE2 has made of a pattern."""

    @property
    def programsize(self) -> int:
        """How many instructions it has: so many at most are carried out for each character of a name."""
        ...

    def fullmatch(self, text: str) -> object:
        """None if the text does not match from its beginning to its end."""
        ...


def _matches(compiled: _Compiled, name: str) -> bool:
    return compiled.fullmatch(name) is not None


def _compile(pattern: str) -> _Compiled:
    if len(pattern) > PATTERN_CHARACTERS_MAX:
        raise PatternUnreadable(f"the pattern has {len(pattern)} characters, at most {PATTERN_CHARACTERS_MAX}")
    copies = sum(int(count.group(1)) for count in _COUNT.finditer(pattern))
    if copies > COPIES_MAX or sum(1 for _ in _WIDE_CLASS.finditer(pattern)) > WIDE_CLASSES_MAX:
        raise PatternUnreadable(_TOO_LARGE)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY_BYTES_MAX
    # Nobody asks what a bracket matched; to keep that of 2,000 of them took 40 ms for each name.
    options.never_capture = True
    try:
        compiled: _Compiled = re2.compile(pattern, options)
    except re2.error as problem:
        raise PatternUnreadable(_reason(problem)) from None
    fault = _find_fault_of_kafkas(pattern)
    if fault is not None:
        raise PatternUnreadable(fault)
    return compiled


_TOKENS = re2.compile(r"\\Q(?s:.*?)(?:\\E|\z)|\\(?s:.)|\[\^?\]?(?:\[:\^?\w+:\]|\\(?s:.)|[^\]\\])*\]|\(\?P?<([^>=!]+)>")
"""A quotation, an escape, a class of characters or the beginning of a named group, whose name is group 1."""
_NAME = re2.compile(r"[0-9A-Za-z_]+")
_ANY_BYTE = r"\C"


def _find_fault_of_kafkas(pattern: str) -> str | None:
    """What RE2 for Java, which Kafka has, refuses and RE2 itself does not; `pattern` is one that RE2 can read."""
    seen: set[str] = set()
    for token in _TOKENS.finditer(pattern):
        name = token.group(1)
        if token.group() == _ANY_BYTE:
            return f"invalid escape sequence: `{_ANY_BYTE}`"
        if name is None:
            continue
        if name in seen:
            return f"duplicate capture group name: `{name}`"
        if _NAME.fullmatch(name) is None:
            return f"invalid named capture: `{name}`"
        seen.add(name)
    return None


def _reason(problem: Exception) -> str:
    text = problem.args[0] if problem.args else problem
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text)


PATTERNS_MAX = 10_000
"""How many different patterns members may have at once; whoever comes with a further one is told to come again."""
STEPS_AT_ONCE = 2_000_000
"""So many instructions at most are carried out in the turn of everybody, some 10 ms; what may take more is for a
thread, where RE2 holds up nobody: 360 characters, `(?:.?){1000}` thirty times, took 30 s for the names of 1,000 topics.
"""
NO_ROOM = Refusal(
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    f"EB-GROUP-027: members have {PATTERNS_MAX} different patterns already, no more are kept; the client tries again:"
    " see which group has so many",
)
Order = Callable[[ResolveRegularExpression | ForgetRegularExpressions], None]
Judge = Callable[[], Refusal | None]
Look = Callable[[frozenset[TopicName]], Awaitable[Refusal | None]]
"""Finds out what else has to be known of the topics that a pattern matches; the refusal if that can't be."""


def _no_refusal() -> None:
    return None


def _nothing_matches(_pattern: str) -> frozenset[TopicName]:
    return frozenset()


class Patterns:
    """What the patterns match that members have, or are about to come with; the engine knows no others for long.

    The engine's word counts for who has which (decision 740). `told` is what it was told since the last turn, for
    members that come in the next, with the bytes that it takes in a journal.
    """

    def __init__(
        self,
        catalog: Catalog,
        users: Callable[[], Collection[str]],
        order: Order,
        awaits_turn: Callable[[], bool] = lambda: False,
        patterns_max: int = PATTERNS_MAX,
    ) -> None:
        self.told: dict[str, int] = {}
        self._catalog = catalog
        self._users = users
        self._awaits_turn = awaits_turn
        """Whether somebody was let in who may have any of them as soon as that is carried out."""
        self._order = order
        self._patterns_max = patterns_max
        self.matched: Callable[[str], frozenset[TopicName]] = _nothing_matches
        """What one matches by the word of the engine."""
        self._told_topics: dict[str, frozenset[TopicName]] = {}
        """What those match that are in `told`."""
        self._changes = 0
        """How often topics have changed."""
        self._found: dict[str, ResolveRegularExpression] = {}
        """What those match that are in `told` for whoever is being judged, and that the engine is not told until one
        of them may come: it would write down the topics of each, for one that is refused.
        """
        self._askers: dict[str, int] = {}
        self._stale: set[str] = set()
        """Those of which it is not known what they match since topics changed."""
        self._running: dict[str, trio.Event] = {}
        """What tells that the search for what one matches is over: the 1,000 members of a group join with the same one,
        and what took 20 ms in front of 10,000 topics was known to none of them within 5 s as each had it looked for.
        """
        self._changed = trio.Event()
        self._threads = trio.CapacityLimiter(1)

    def is_current(self, pattern: str | None) -> bool:
        """Whether the engine knows what a pattern matches now, and still will in the turn for which somebody is queued
        at once; of none there is nothing to know.

        One that nobody has may be forgotten before that turn.
        """
        return not pattern or pattern in self.told or (pattern in self._users() and pattern not in self._stale)

    async def learn(self, pattern: str, judge: Judge = _no_refusal, look: Look | None = None) -> Refusal | None:
        """Have it told what a pattern matches now, unless it was; others are served meanwhile.

        `judge` says whether who comes with it is refused: it is asked once the size of it is known, and before it is
        told. So is `look`, again as long as it matches something else by the time that is answered.
        """
        count_up(self._askers, pattern)
        looked: frozenset[TopicName] | None = None
        try:
            while True:
                refusal = await self._be_current(pattern)
                topics = self._topics_of(pattern)
                if refusal is not None or look is None or topics == looked:
                    break
                refusal, looked = await look(topics), topics
                if refusal is not None:
                    break
            if refusal is not None:
                return refusal
            found = self._found.get(pattern)
            refusal = judge()
            if refusal is None and found is not None:
                self._order(self._found.pop(pattern))
            return refusal
        finally:
            count_down(self._askers, pattern)
            if pattern not in self._askers and self._found.pop(pattern, None) is not None:
                self.told.pop(pattern, None)
                self._told_topics.pop(pattern, None)

    async def _be_current(self, pattern: str) -> Refusal | None:
        """Find out what it matches now; why nobody may have it, if that is so."""
        while not self.is_current(pattern):
            if pattern not in self._users() and len(self._users()) + len(self.told) >= self._patterns_max:
                return NO_ROOM
            await self._try(pattern)
        found = self._found.get(pattern)
        if found is not None and found.error is not None:
            # The engine would say the same, once that was written down, and what forgets it again.
            return unreadable_pattern(pattern, found.error)
        return None

    def _topics_of(self, pattern: str) -> frozenset[TopicName]:
        told = self._told_topics.get(pattern) if pattern in self.told else None
        return self.matched(pattern) if told is None else told

    def turn_begins(self) -> None:
        """The engine hears what it was told."""
        if self.told:
            self.told.clear()
            self._told_topics.clear()

    async def _try(self, pattern: str) -> None:
        """Look for what it matches, or wait for whoever does: it is not told if topics change meanwhile."""
        running = self._running.get(pattern)
        if running is None:
            await self._find_out(pattern)
        else:
            await running.wait()

    async def _find_out(self, pattern: str) -> None:
        """Once for all who want to know it meanwhile; where whoever asked first gives up, the next begins anew."""
        changes, over = self._changes, trio.Event()
        self._running[pattern] = over
        try:
            found = await self._resolve(pattern)
        finally:
            del self._running[pattern]
            over.set()
        if changes == self._changes:
            is_awaited = pattern in self._stale or pattern in self._users()
            self._stale.discard(pattern)
            self.told[pattern] = pattern_bytes(pattern, found.topics)
            self._told_topics[pattern] = found.topics
            self._found[pattern] = ResolveRegularExpression(pattern, found.topics, found.error)
            if is_awaited:
                self._order(self._found.pop(pattern))

    def remember(self) -> None:
        """The engine is what it was before a restart, or a turn that failed. It may know the topics of now, too, but
        not yet that a pattern matches them, which no change of topics would ever tell it then.
        """
        self.told.clear()
        self._told_topics.clear()
        self._found.clear()
        self.topics_changed()

    def topics_changed(self) -> None:
        """What every pattern matches may be something else from now on."""
        self._changes += 1
        self._stale = {*self._users(), *(self.told.keys() - self._found.keys())}
        self.told.clear()
        self._told_topics.clear()
        self._found.clear()
        self._wake()

    def want(self, pattern: str) -> None:
        """The engine does not know what one matches that a member has."""
        if pattern not in self.told:
            self._stale.add(pattern)
            self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    def forget(self, unused: Collection[str]) -> None:
        """Have those forgotten of which the engine says that nobody has them, but for whom a member may be queued."""
        unwanted = frozenset(unused) - self.told.keys()
        if unwanted:
            self._order(ForgetRegularExpressions(unwanted))

    async def run(self) -> None:
        """Learn anew what is used of what is not current, one by one, until cancelled."""
        while True:
            changed = self._changed
            stale = sorted(self._stale)
            for pattern in stale:
                await trio.lowlevel.checkpoint()
                if pattern not in self._stale:
                    continue
                if pattern in self._users() or self._awaits_turn():
                    # Once: one for which topics change too often would keep all behind it from being learned.
                    await self._try(pattern)
                else:
                    self._stale.discard(pattern)
            if not stale:
                await changed.wait()

    async def _resolve(self, pattern: str) -> Resolution:
        try:
            compiled = _compile(pattern)
        except PatternUnreadable as problem:
            return Resolution(frozenset(), str(problem))
        slices = tuple(_slices(self._catalog.names(), compiled.programsize))
        if len(slices) <= 1:
            return Resolution(frozenset(_matching(compiled, slices[0] if slices else ())))
        found = set[TopicName]()
        for names in slices:
            work = partial(_matching, compiled, names)
            # A slice each in turn: who waits with few steps does not wait for all that others want. It is short enough
            # to be waited for where nobody wants it any more: RE2 aborts a process that ends while it is in a thread.
            found |= await trio.to_thread.run_sync(work, limiter=self._threads)
        return Resolution(frozenset(found))


def _matching(compiled: _Compiled, names: Iterable[TopicName]) -> set[TopicName]:
    return {name for name in names if _matches(compiled, name)}


def _slices(names: Iterable[TopicName], instructions: int) -> Iterator[Sequence[TopicName]]:
    """The names in as many parts as are of STEPS_AT_ONCE each, or of one name."""
    part, steps = list[TopicName](), 0
    for name in names:
        wanted = instructions * len(name)
        if part and steps + wanted > STEPS_AT_ONCE:
            yield part
            part, steps = [], 0
        part.append(name)
        steps += wanted
    if part:
        yield part
