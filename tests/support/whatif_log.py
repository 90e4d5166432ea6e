"""A log of several groups on disk whose what-if is known: eager classic groups that a stranger disturbs.

It must not know Spark.
"""

from dataclasses import replace
from pathlib import Path

from bridge.telemetry.event_log.encoding import encode_event
from bridge.telemetry.schema.stamps import Event
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


def group_events(group: str) -> list[Event]:
    """What a bridge would have logged of one group."""
    return list(predict(replace(history(*SCRIPT), group_id=GroupId(group)), RECORDED).events)


def write_whatif_log(folder: Path, groups: int = 2) -> list[list[Event]]:
    """Write a log with a file of its own for each group; gives their events."""
    folder.mkdir(parents=True, exist_ok=True)
    events = [group_events(f"orders{number}") for number in range(groups)]
    for number, each in enumerate(events):
        path = folder / f"events-b{number}-000001.jsonl"
        path.write_bytes(b"".join(map(encode_event, each)))
    return events
