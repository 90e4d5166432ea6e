"""What is drawn, as text. It must not know where rows come from."""

import io
from dataclasses import replace

from rich.console import Console, ConsoleDimensions, RenderableType

from bridge.demo.events import Partition
from bridge.demo.judge import Disturbance, Verdict
from bridge.demo.rows import SeatRow, Totals
from bridge.demo.screen import Picture, conclusion, draw, draw_members, draw_report

LARGE, SMALL = ConsoleDimensions(140, 40), ConsoleDimensions(80, 14)
ROW = SeatRow(
    seat="member-1",
    library="kafka-python range",
    protocol="classic",
    state="Stable",
    generation="3",
    epoch="7",
    partitions=(Partition("t", 0), Partition("t", 4)),
    doing="was given 4",
    read=1234,
    alive=True,
)
GOOD = Verdict(
    records_produced=1000,
    records_lost=0,
    records_duplicated=2,
    double_ownership=(),
    rebalances=9,
    rolls=(),
    disturbances=(),
    longest_stall=None,
    protocols_seen=("classic", "consumer"),
    commit_mismatches=(),
    silent_clients=(),
)


def text_of(drawn: RenderableType) -> str:
    """What a terminal of 140 columns shows."""
    console = Console(width=140, file=io.StringIO(), record=True)
    console.print(drawn)
    return console.export_text()


def test_members_show_all_that_is_known_of_them() -> None:
    """Member, library, protocol, state, generation, epoch, partitions, what is going on, progress."""
    (line,) = (line for line in text_of(draw_members([ROW], 140)).splitlines() if "member-1" in line)
    assert " ".join(line.split()) == "member-1 kafka-python range classic Stable 3 7 0, 4 was given 4 1,234"


def test_members_take_two_lines_where_there_is_no_room_for_one() -> None:
    """A terminal of 80 columns shows all the same."""
    lines = [" ".join(line.split()) for line in text_of(draw_members([ROW], 80)).splitlines()]
    assert lines[-3:-1] == ["member-1 classic 3 7 0, 4 1,234", "kafka-python range Stable was given 4"]


def test_many_partitions_are_counted() -> None:
    """The line stays a line; what is cut off can be counted."""
    many = replace(ROW, partitions=tuple(Partition("t", index) for index in range(20)))
    assert " 20: 0, 1, 2, " in text_of(draw_members([many], 140))
    assert "none" in text_of(draw_members([replace(ROW, partitions=())], 140))


def test_picture_holds_story_members_and_figures() -> None:
    """The last sentences only, the step, the time, what is on the way."""
    sentences = tuple(f"sentence {index}" for index in range(9))
    picture = Picture(
        rows=(ROW,), totals=Totals(produced=900, read=800), sentences=sentences, chapter=2, chapters=10, elapsed_s=12.3
    )
    text = text_of(draw(picture, LARGE))
    assert "step 2 of 10 · 12 s" in text
    assert "sentence 8" in text
    assert "sentence 3" not in text
    assert "sentence 7" in text
    assert "sentence 7" not in text_of(draw(picture, SMALL))
    assert "900 records produced, 800 read, 100 on the way" in text


def test_picture_before_the_first_sentence_can_be_drawn() -> None:
    """An empty screen."""
    picture = Picture(rows=(), totals=Totals(produced=0, read=0), sentences=(), chapter=0, chapters=0, elapsed_s=0)
    assert "0 records produced" in text_of(draw(picture, SMALL))


def test_report_holds_the_judges_lines() -> None:
    """Every line, framed."""
    text = text_of(draw_report(GOOD))
    assert "records lost       0" in text
    assert "verdict            ok" in text


def test_conclusion_says_what_the_verdict_means() -> None:
    """Good and bad runs are told apart in the first word."""
    assert conclusion(GOOD).startswith("OK: 0 members changed protocol and back while 1,000 records flowed; none was")
    assert "nobody was made to stop for nothing" in conclusion(GOOD)
    assert conclusion(replace(GOOD, records_lost=1)).startswith("FAILED: ")


def test_moved_group_is_told_of_in_its_own_words() -> None:
    """How many noticed it stands in the report only where there was something not to be noticed."""
    moved = replace(GOOD, quiet_steps=("take over",))
    assert "noticed a move     0" in text_of(draw_report(moved))
    assert "noticed a move" not in text_of(draw_report(GOOD))
    assert conclusion(moved).startswith("OK: the group was taken over while it worked, and no client heard of it")
    noticed = replace(moved, noticed=(Disturbance(who="a#1", step="take over", callbacks=2),))
    assert "! a#1 noticed 'take over' (2 callbacks)" in text_of(draw_report(noticed))
    assert conclusion(noticed).startswith("FAILED")
