"""The events of an event log on disk."""

from pathlib import Path

from bridge.telemetry.event_log.files import read_log
from bridge.telemetry.schema.facts import Event


def read_events(path: Path) -> list[Event]:
    """All events of a folder, or of one file, in order; lines that are none are left out, as by every reader."""
    return [found for found in read_log(path) if isinstance(found, Event)]
