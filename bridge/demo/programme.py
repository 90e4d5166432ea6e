"""What the user asked the demo for, as one value. It must not know how it was asked or how it is done."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Programme:
    """Counts of members and partitions, the length of the story, and what is shown.

    At most one of `bootstrap` (HOST:PORT) and `kafka` ("4.3", "3.9") is set; with neither the mock cluster serves.
    `events` is the folder for the bridge's event log, `group` the name of group and topic, "" for one that is free.
    """

    members: int
    partitions: int
    seconds: float
    bootstrap: str | None = None
    kafka: str | None = None
    tui: bool = True
    events: str | None = None
    group: str = ""
