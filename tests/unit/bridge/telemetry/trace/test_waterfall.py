"""The drawing in the terminal."""

from io import StringIO

from rich.console import Console

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.rebalances.rebalance import Rebalance
from bridge.telemetry.trace.drawing import Axis
from bridge.telemetry.trace.waterfall import TRACK_CELLS, draw, ruler, track
from tests.support.event_stories import Story, cooperative_handover


def drawn(rebalance: Rebalance) -> str:
    """The drawing as plain text."""
    console = Console(file=StringIO(), width=160, color_system=None)
    console.print(draw(rebalance))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_handover_drawn_with_cause_phases_and_waits() -> None:
    """One line each: the newcomer waits, the holder gives up."""
    (rebalance,) = assemble(cooperative_handover().events)
    text = drawn(rebalance)
    assert rebalance.explained.sentence in text
    c4, c1, rest = (line for line in text.splitlines() if line.startswith(("c4", "c1", "2 more")))
    assert "wwwwwwwwww" in c4
    assert "F" in c4
    assert "waits for c1" in c4
    assert "RRRRRRRRRR" in c1
    assert c1.index("R") - c1.index("·") in range(14, 18)
    assert rest.rstrip().endswith("untouched")


def test_track_is_as_wide_as_it_says() -> None:
    """Whatever is on it."""
    (rebalance,) = assemble(cooperative_handover().events)
    for member in rebalance.members:
        assert len(track(member, Axis(0, 3_109_000))) == TRACK_CELLS
    assert len(ruler(Axis(-500_000, 3_109_000))) == TRACK_CELLS


def test_names_of_strangers_are_shown_not_obeyed() -> None:
    """A client id may hold an escape sequence or rich's markup."""
    story = Story(group="a\x1b[2Jb").at(0)
    story.left("[red]c1\x07")
    (rebalance,) = assemble(story.began(2).target(1).ended().events)
    text = drawn(rebalance)
    assert "\x1b" not in text
    assert "[red]c1\\x07" in text
