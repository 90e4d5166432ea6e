"""A log of several groups on disk whose what-if is known: eager classic groups that a stranger disturbs."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import Event, RebalanceExplained, TopicsChanged, TopicsSeen
from bridge.whatif.configuration import configure
from bridge.whatif.play import predict
from tests.support.whatif_history import came, grown, history, left, silent
from translators.dialects.ids import GroupId

RECORDED = configure("classic", None, ["heartbeat.interval.ms=1000", "metadata.max.age.ms=60000"])
SCRIPT = (
    came(0, "a"),
    came(10.5, "b"),
    came(20.2, "s", "other"),
    left(40.7, "s"),
    silent(60, "b"),
    grown(130, 9),
)
BOOT = "b1"


def one_run(groups: int) -> list[Event]:
    """What one run of a bridge would have logged of so many groups; of the topics it tells once."""
    plays = [
        predict(replace(history(*SCRIPT), group_id=GroupId(f"orders{number}")), RECORDED).events
        for number in range(groups)
    ]
    told = [event for number, play in enumerate(plays) for event in play if not number or not is_everywhere(event)]
    ordered = sorted(told, key=lambda event: event.stamp.mono_us)
    names = {event.stamp.event_id: f"{BOOT}-{number}" for number, event in enumerate(ordered, start=1)}
    # The others told of the topics under names of their own.
    everywhere = [[event.stamp.event_id for event in play if is_everywhere(event)] for play in plays]
    names |= {other: names[one] for others in everywhere for one, other in zip(everywhere[0], others, strict=True)}
    return [renamed(event, number, names) for number, event in enumerate(ordered, start=1)]


def renamed(event: Event, number: int, names: dict[str, str]) -> Event:
    """The event at another place of another run."""
    fact = event.fact
    if isinstance(fact, RebalanceExplained):
        fact = replace(fact, evidence=tuple(names[one] for one in fact.evidence))
    return Event(replace(event.stamp, boot=BOOT, number=number), fact)


def is_everywhere(event: Event) -> bool:
    """Whether it concerns no group."""
    return isinstance(event.fact, TopicsSeen | TopicsChanged)


def of_group(events: Iterable[Event], group: str) -> list[Event]:
    """The events of one group, and those of none."""
    return [event for event in events if getattr(event.fact, "group_id", group) == group]


def write_whatif_log(folder: Path, groups: int = 2) -> list[Event]:
    """Write the log as one file; gives its events."""
    folder.mkdir(parents=True, exist_ok=True)
    events = one_run(groups)
    (folder / f"events-{BOOT}-000001.jsonl").write_bytes(b"".join(map(encode_event, events)))
    return events
