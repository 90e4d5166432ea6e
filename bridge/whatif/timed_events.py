"""A group's events on one line of time through all runs of the bridge, and what is found in them by looking ahead."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bridge.telemetry.schema.facts import Event, Fact, MemberFact, MemberInputs, MemberJoined
from bridge.telemetry.schema.standstill import on_one_line
from translators.dialects.ids import MemberId


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event with its time, microseconds since 1970, and its fact at hand: it is looked at again and again."""

    at_us: int
    event: Event
    fact: Fact

    @property
    def group_id(self) -> str:
        """The group it concerns, "" for none."""
        return str(getattr(self.fact, "group_id", ""))


def on_one_timeline(events: Sequence[Event]) -> list[TimedEvent]:
    """Events in the order of the log with their times (`standstill.on_one_line`)."""
    return [TimedEvent(at_us, event, event.fact) for at_us, event in on_one_line(events)]


def introduces(fact: Fact) -> bool:
    """Whether a fact says what a member wants; one that was met by a heartbeat has said nothing yet."""
    return isinstance(fact, MemberInputs) and bool(fact.topics or fact.pattern)


def introductions(moments: Sequence[TimedEvent]) -> Mapping[MemberId, MemberInputs]:
    """What each member said first of what it wants."""
    found: dict[MemberId, MemberInputs] = {}
    for moment in moments:
        if isinstance(moment.fact, MemberInputs) and introduces(moment.fact):
            found.setdefault(MemberId(moment.fact.member_id), moment.fact)
    return found


def older_members(moments: Sequence[TimedEvent]) -> Iterator[MemberId]:
    """Members whose joining is not in the log."""
    met: set[str] = set()
    for moment in moments:
        fact = moment.fact
        if isinstance(fact, MemberFact) and fact.member_id not in met:
            met.add(fact.member_id)
            if not isinstance(fact, MemberJoined):
                yield MemberId(fact.member_id)


def last_mentions(moments: Sequence[TimedEvent]) -> Mapping[MemberId, int]:
    """The place of the last event that names each member."""
    return {
        MemberId(moment.fact.member_id): place
        for place, moment in enumerate(moments)
        if isinstance(moment.fact, MemberFact)
    }


def first_known(moments: Sequence[TimedEvent]) -> int:
    """The first place from which on every member that is named says somewhere what it wants."""
    known = introductions(moments)
    unknown = [place for member_id, place in last_mentions(moments).items() if member_id not in known]
    return max(unknown, default=-1) + 1
