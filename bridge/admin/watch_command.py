"""The command `watch`: asks a running bridge again and again and shows what has become of its groups."""

from collections.abc import Callable, Iterator
from threading import Event

import click

from bridge.admin.client import NoAnswer, ask_group, ask_groups, parse
from bridge.admin.command import admin_option
from bridge.admin.contracts import Screen
from bridge.admin.watching import Frame, group_frame, groups_frame, lost_frame

INTERVAL_S, INTERVAL_MIN_S, INTERVAL_MAX_S = 1.0, 0.1, 3_600.0

Look = Callable[[], Frame]
Pause = Callable[[], None]


@click.command("watch")
@click.argument("group", required=False)
@click.option(
    "--interval",
    "interval_s",
    metavar="SECONDS",
    type=click.FloatRange(INTERVAL_MIN_S, INTERVAL_MAX_S),
    default=INTERVAL_S,
    show_default=True,
    help="How often the bridge is asked.",
)
@click.option("--frames", type=click.IntRange(1), help="End after so many answers; by default with Ctrl-C.")
@admin_option
@click.pass_obj
def watch(screen: Screen, group: str | None, *, interval_s: float, frames: int | None, admin: str) -> None:
    """Watch a group's members live: phase, generation -> epoch, partitions; without GROUP all groups.

    On a terminal the picture is redrawn; in a pipe a new one is printed whenever something has changed.
    """

    def look() -> Frame:
        if group is None:
            return groups_frame(parse(ask_groups(admin), admin))
        return group_frame(parse(ask_group(admin, group), admin))

    def pause() -> None:
        Event().wait(interval_s)

    try:
        screen.show_live((frame.lines, frame.columns, frame.rows) for frame in watch_frames(look, pause, frames))
    except NoAnswer as problem:
        raise click.ClickException(str(problem)) from None


def watch_frames(look: Look, pause: Pause, count: int | None) -> Iterator[Frame]:
    """So many frames, or frames for ever; raises NoAnswer if there is none at first, later the last one stays."""
    frame = look()
    yield frame
    seen = 1
    while count is None or seen < count:
        pause()
        try:
            frame = look()
        except NoAnswer as problem:
            frame = lost_frame(str(problem), frame)
        seen += 1
        yield frame
