"""A rebalance drawn in the terminal: a line for each member that it touched, a letter for each phase.

Ids of strangers are shown, never obeyed.
"""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bridge.telemetry.cause.sentences import shorten, tell_duration
from bridge.telemetry.rebalances.rebalance import MemberStory, Rebalance
from bridge.telemetry.schema.terms import Phase
from bridge.telemetry.trace.drawing import (
    CAUSE_WORDS,
    PHASE_WORDS,
    Axis,
    axis_of,
    tell_client,
    tell_moved,
    tell_name,
    tell_outcome,
    tell_roles,
    tell_time,
    tell_waited,
    ticks_of,
)
from translators.dialects.printable import printable

TRACK_CELLS = 56
LETTERS = {
    Phase.JOINING: ("J", "black on blue"),
    Phase.SYNCING: ("S", "black on magenta"),
    Phase.REVOKING: ("R", "black on yellow"),
    Phase.AWAITING_RELEASE: ("w", "bright_black"),
    Phase.FETCHING: ("F", "black on cyan"),
}
ORDER = (Phase.FETCHING, Phase.AWAITING_RELEASE, Phase.REVOKING, Phase.JOINING, Phase.SYNCING)
"""Who is drawn over whom where phases overlap: the last is on top."""


def draw(rebalance: Rebalance) -> RenderableType:
    """The rebalance: what it came to, its members over time, and what the letters mean."""
    explained = rebalance.explained
    heading = Text.assemble(
        (f"{printable(rebalance.rebalance_id)}  ", "bold"),
        f"{tell_time(rebalance.began_wall_us)}  epoch {rebalance.epoch}  {tell_duration(rebalance.duration_us)}  ",
        tell_outcome(rebalance),
    )
    figures = Text(
        f"cause: {CAUSE_WORDS[explained.cause]}   moved: {tell_moved(rebalance)}   "
        f"disturbed: {rebalance.disturbed_count}   waited for: {printable(tell_waited(rebalance))}"
    )
    sentence = Text(printable(explained.sentence), style="bold yellow")
    return Group(heading, sentence, figures, _table(rebalance), _legend())


def _table(rebalance: Rebalance) -> Table:
    axis = axis_of(rebalance)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("MEMBER", no_wrap=True)
    table.add_column(Text(ruler(axis)), no_wrap=True, min_width=TRACK_CELLS)
    table.add_column("STILL", justify="right", no_wrap=True)
    table.add_column("WHAT", overflow="fold")
    for member in rebalance.touched:
        name = Text(printable(tell_name(member)))
        if member.member_id == rebalance.explained.critical_member:
            name.stylize("bold red")
        table.add_row(
            name,
            track(member, axis),
            tell_duration(member.stall_us) if member.stall_us else "-",
            Text(_what(rebalance, member)),
        )
    if rebalance.untouched_count:
        table.add_row(Text(f"{rebalance.untouched_count} more", style="dim"), "", "", Text("untouched", style="dim"))
    return table


def ruler(axis: Axis) -> str:
    """Round times above the place where they are."""
    cells = [" "] * TRACK_CELLS
    for tick in ticks_of(axis):
        label = f"|{tell_duration(tick)}" if tick > 0 else f"|{'0' if tick == 0 else '-' + tell_duration(-tick)}"
        place = int(axis.place(tick) * TRACK_CELLS)
        if place + len(label) <= TRACK_CELLS and all(cell == " " for cell in cells[max(0, place - 1) : place + 1]):
            cells[place : place + len(label)] = label
    return "".join(cells)


def track(member: MemberStory, axis: Axis) -> Text:
    """One member over time."""
    cells = [("·", "dim")] * TRACK_CELLS
    for stretch in sorted(member.stretches, key=lambda one: ORDER.index(one.phase)):
        cut = axis.cut(stretch)
        if cut is not None:
            first = min(int(cut[0] * TRACK_CELLS), TRACK_CELLS - 1)
            last = max(first + 1, round(cut[1] * TRACK_CELLS))
            cells[first:last] = [LETTERS[stretch.phase]] * (min(last, TRACK_CELLS) - first)
    return Text.assemble(*cells)


def _what(rebalance: Rebalance, member: MemberStory) -> str:
    waits = dict.fromkeys(shorten(holder) for stretch in member.stretches for holder in stretch.waits_on)
    parts = [
        *tell_roles(rebalance, member),
        f"-{len(member.lost)}" if member.lost else "",
        f"+{len(member.gained)}" if member.gained else "",
        f"waits for {', '.join(waits)}" if waits else "",
        tell_client(member),
    ]
    return printable(", ".join(part for part in parts if part))


def _legend() -> Text:
    parts = [((letter, style), (f" {PHASE_WORDS[phase]}  ", "dim")) for phase, (letter, style) in LETTERS.items()]
    return Text.assemble(*(piece for part in parts for piece in part))
