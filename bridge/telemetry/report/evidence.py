"""The time before, between and after the moves of a group, and what happened in each, from the events of a log."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bridge.telemetry.group_figures import LOST
from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.schema.facts import (
    BridgeStarted,
    BridgeStopped,
    CommitPassed,
    Event,
    GroupDeleted,
    GroupFact,
    MemberFact,
    MemberLeft,
    OperatorActed,
    PartitionsReleased,
    PhaseEnded,
)
from bridge.telemetry.schema.standstill import on_one_line, stalls_of
from bridge.telemetry.schema.terms import OperatorAction, Protocol, Road
from translators.dialects.counts import counted

US_PER_S = 1_000_000


@dataclass(slots=True, kw_only=True)
class Chapter:
    """A time between two moves, in microseconds since 1970, and what happened to the group in it.

    `stall_us` is how long members stood still, by their names, and `unread_us` how long partitions did; `moved` are
    partitions that changed hands, `forced` the fewest that had to; `uncounted` are rebalances of which only the broker
    knows them. `road` is the last that the log names.
    """

    title: str
    began_us: int
    ended_us: int = 0
    road: str = ""
    rebalances: Counter[str] = field(default_factory=Counter)
    disturbed: int = 0
    stall_us: Counter[str] = field(default_factory=Counter)
    unread_us: Counter[str] = field(default_factory=Counter)
    moved: int = 0
    forced: int = 0
    uncounted: int = 0
    failed_commits: int = 0
    lost: int = 0

    @property
    def duration_s(self) -> float:
        """How long it was."""
        return max(0, self.ended_us - self.began_us) / US_PER_S

    @property
    def stall_s(self) -> float:
        """How long members stood still, all together."""
        return sum(self.stall_us.values()) / US_PER_S

    @property
    def unread_s(self) -> float:
        """How long partitions stood still, all together."""
        return sum(self.unread_us.values()) / US_PER_S

    def add(self, rebalance: Rebalance) -> None:
        """A rebalance began in it."""
        self.rebalances[rebalance.explained.cause.value] += 1
        self.disturbed += rebalance.disturbed_count
        self.uncounted += rebalance.moved < 0
        self.moved += max(0, rebalance.moved)
        self.forced += max(0, rebalance.forced_minimum)
        for member in rebalance.touched:
            self.stall_us[member.client_id or member.member_id] += member.stall_us


@dataclass(frozen=True, slots=True)
class Evidence:
    """All chapters of a group, and what its members spoke at the end."""

    group_id: str
    chapters: tuple[Chapter, ...]
    protocols: Mapping[str, int]

    @property
    def verdict(self) -> str:
        """Whether the group still needs the bridge, in a sentence."""
        members = sum(self.protocols.values())
        classic = self.protocols.get(Protocol.CLASSIC.value, 0)
        road = self.chapters[-1].road
        if not members:
            return "The log does not say who was a member at its end."
        if classic:
            speaking = counted(classic, "member speaks", "members speak")
            return f"{speaking} the classic protocol, of {members} in all: for the new one the bridge is needed."
        all_of_it = counted(members, "member")
        if road == Road.EMBEDDED.value:
            return f"The group ({all_of_it}) speaks the new protocol, but the bridge coordinates it: move it back."
        return f"This group no longer needs the bridge: it ({all_of_it}) speaks the new protocol with its broker."


def find_evidence(
    events: Iterable[Event], group_id: str, since_us: int | None = None, now_us: int | None = None
) -> Evidence | None:
    """What a log says of a group, all of it or of its last `since_us` microseconds; None if it says nothing.

    The last chapter lasts until the log ends, or until `now_us`, which is given where a bridge writes to it, if that
    has not said that it stopped.
    """
    own: list[Event] = []
    end: Event | None = None
    for event in events:
        end = event
        if getattr(event.fact, "group_id", "") in ("", group_id):
            own.append(event)
    named = [event for event in own if getattr(event.fact, "group_id", "")]
    if end is None or not named:
        return None
    last_us = named[-1].stamp.wall_us
    first_us = named[0].stamp.wall_us if since_us is None else max(named[0].stamp.wall_us, last_us - since_us)
    # A group that rests says nothing, after a move, too.
    ended_us = end.stamp.wall_us if now_us is None or isinstance(end.fact, BridgeStopped) else now_us
    chapters = tuple(_chapters(named, first_us, max(last_us, ended_us)))
    begins = [chapter.began_us for chapter in chapters]
    for rebalance in assemble(iter(own)):
        if rebalance.began_wall_us >= first_us:
            chapters[bisect_right(begins, rebalance.began_wall_us) - 1].add(rebalance)
    for stall in stalls_of((at_us, event.fact) for at_us, event in on_one_line(own)):
        if stall.began_us >= first_us:
            chapters[bisect_right(begins, stall.began_us) - 1].unread_us[stall.partition] += stall.lasted_us
    for event in named:
        if event.stamp.wall_us >= first_us:
            _count(chapters[bisect_right(begins, event.stamp.wall_us) - 1], event)
    return Evidence(group_id, chapters, Counter(protocol.value for protocol in _protocols(own)))


def _protocols(events: Iterable[Event]) -> Iterable[Protocol]:
    """What each member of the end speaks."""
    protocols: dict[str, Protocol] = {}
    for event in events:
        _follow(event, protocols)
    return protocols.values()


def _chapters(events: Sequence[Event], first_us: int, last_us: int) -> Iterator[Chapter]:
    moves = [event.stamp.wall_us for event in events if _is_move(event) and event.stamp.wall_us > first_us]
    begins = [first_us, *moves]
    for number, (began_us, ended_us) in enumerate(zip(begins, [*moves, last_us], strict=True)):
        title = f"after move {number}" if number else "before the first move" if moves else "all of the log"
        yield Chapter(title=title, began_us=began_us, ended_us=ended_us)


def _is_move(event: Event) -> bool:
    return isinstance(event.fact, OperatorActed) and event.fact.action is OperatorAction.MOVE


def _follow(event: Event, protocols: dict[str, Protocol]) -> None:
    """Who is a member, and what it speaks."""
    fact = event.fact
    if isinstance(fact, BridgeStarted | GroupDeleted):
        # Who went while nobody listened never left, nor does anybody of a group that goes back to its broker: whoever
        # is still there is met again, or revived.
        protocols.clear()
    elif isinstance(fact, MemberLeft):
        protocols.pop(fact.member_id, None)
    elif isinstance(fact, MemberFact) and not isinstance(fact, PartitionsReleased | PhaseEnded):
        # What a member gives up is told after it has left, too.
        protocols[fact.member_id] = fact.protocol


def _count(chapter: Chapter, event: Event) -> None:
    fact = event.fact
    if isinstance(fact, GroupFact) and not isinstance(fact, GroupDeleted):
        # A group of the bridge's own is deleted when it goes back to its broker.
        chapter.road = fact.road.value
    if isinstance(fact, CommitPassed) and fact.error:
        chapter.failed_commits += 1
    elif isinstance(fact, MemberLeft) and fact.departure in LOST:
        chapter.lost += 1
