"""Plots as plain SVG: bars with a whisker, and a heat map.

Colours come from the page's variables, so a plot is right on light and dark.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

BAR_HEIGHT, BAR_GAP, LABEL_WIDTH, PLOT_WIDTH, VALUE_WIDTH = 18, 8, 230, 520, 170
CELL_HEIGHT, CELL_WIDTH_MAX, LEGEND_HEIGHT, TICK_HEIGHT = 22, 46, 34, 26
HEAT_STEPS = 6
CHAR_WIDTH, TICK_WIDTH = 7, 76
"""What a character of a note takes, and a tick of the heat map: what does not fit is not seen."""
LABEL_CHARS_MAX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bar from 0 to `value`, a whisker to `whisker`, and what is written beside it."""

    label: str
    value: float
    whisker: float
    note: str
    tone: int = 0


def bars(rows: Sequence[Bar], title: str) -> str:
    """A horizontal bar per row."""
    if not rows:
        return empty()
    most = max(max(row.value, row.whisker) for row in rows) or 1.0
    height = len(rows) * (BAR_HEIGHT + BAR_GAP) + BAR_GAP
    value_width = max(VALUE_WIDTH, CHAR_WIDTH * max(len(row.note) for row in rows))
    drawn = "".join(_bar(row, place, most) for place, row in enumerate(rows))
    axis = f'<line class="axis" x1="{LABEL_WIDTH}" y1="0" x2="{LABEL_WIDTH}" y2="{height}"/>'
    return _svg(LABEL_WIDTH + PLOT_WIDTH + value_width, height, title, drawn + axis)


def _bar(row: Bar, place: int, most: float) -> str:
    top = BAR_GAP + place * (BAR_HEIGHT + BAR_GAP)
    middle = top + BAR_HEIGHT / 2
    width, whisker = row.value / most * PLOT_WIDTH, row.whisker / most * PLOT_WIDTH
    end = LABEL_WIDTH + max(width, whisker)
    return (
        f'<text class="label" x="{LABEL_WIDTH - 8}" y="{middle:g}">{escape(shortened(row.label))}</text>'
        f'<rect class="tone{row.tone}" x="{LABEL_WIDTH}" y="{top}" width="{width:.1f}" height="{BAR_HEIGHT}" rx="2">'
        f"<title>{escape(f'{row.label}: {row.note}')}</title></rect>"
        f'<path class="whisker" d="M{LABEL_WIDTH + min(width, whisker):.1f} {middle:g}H{LABEL_WIDTH + whisker:.1f}'
        f'M{LABEL_WIDTH + whisker:.1f} {middle - 5:g}v10"/>'
        f'<text class="value" x="{end + 8:.1f}" y="{middle:g}">{escape(row.note)}</text>'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A value per row and column; a column has a tick where its text is not empty."""

    rows: Sequence[str]
    ticks: Sequence[str]
    values: Sequence[Sequence[float]]
    notes: Sequence[Sequence[str]]
    legend: tuple[str, str]


def heat_map(heat: Heat, title: str) -> str:
    """A cell per value; the darker, the more, in steps of equal ratio so that small values are seen beside large."""
    if not heat.rows or not heat.ticks:
        return empty()
    width = min(CELL_WIDTH_MAX, (PLOT_WIDTH + VALUE_WIDTH) / len(heat.ticks))
    most = max(max(row) for row in heat.values)
    drawn = [_heat_row(heat, place, width, most) for place in range(len(heat.rows))]
    bottom = len(heat.rows) * CELL_HEIGHT
    for place, tick in enumerate(heat.ticks):
        x = LABEL_WIDTH + place * width
        if tick and x + TICK_WIDTH <= LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH:
            drawn.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16}">{escape(tick)}</text>')
    drawn.append(_legend(heat.legend, bottom + TICK_HEIGHT))
    height = bottom + TICK_HEIGHT + LEGEND_HEIGHT
    return _svg(LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH, height, title, "".join(drawn))


def heat_step(value: float, most: float) -> int:
    """The shade of a value: 0 for none, `HEAT_STEPS` for the most, one less for each halving of it."""
    if value <= 0:
        return 0
    step = HEAT_STEPS
    while step > 1 and value * 2 <= most:
        value *= 2
        step -= 1
    return step


def _heat_row(heat: Heat, place: int, width: float, most: float) -> str:
    y = place * CELL_HEIGHT
    name = escape(shortened(heat.rows[place]))
    label = f'<text class="label" x="{LABEL_WIDTH - 8}" y="{y + CELL_HEIGHT / 2:g}">{name}</text>'
    cells = "".join(
        f'<rect class="heat{heat_step(value, most)}" x="{LABEL_WIDTH + column * width:.1f}" y="{y}" '
        f'width="{max(width - 1, 1):.1f}" height="{CELL_HEIGHT - 1}"><title>{escape(note)}</title></rect>'
        for column, (value, note) in enumerate(zip(heat.values[place], heat.notes[place], strict=True))
    )
    return label + cells


def _legend(ends: tuple[str, str], y: float) -> str:
    boxes = "".join(
        f'<rect class="heat{step}" x="{LABEL_WIDTH + step * 26}" y="{y + 6:g}" width="25" height="12"/>'
        for step in range(HEAT_STEPS + 1)
    )
    right = LABEL_WIDTH + (HEAT_STEPS + 1) * 26 + 6
    return (
        f'<text class="label" x="{LABEL_WIDTH - 8}" y="{y + 12:g}">{escape(ends[0])}</text>{boxes}'
        f'<text class="value" x="{right}" y="{y + 12:g}">{escape(ends[1])}, each shade twice the one before</text>'
    )


def shortened(label: str) -> str:
    """A label that fits: its begin and its end, which tell members apart."""
    if len(label) <= LABEL_CHARS_MAX:
        return label
    half = (LABEL_CHARS_MAX - 1) // 2
    return f"{label[:half]}…{label[-half:]}"


def empty() -> str:
    """In place of a plot without rows."""
    return '<p class="none">Nothing of the kind is in the log.</p>'


def _svg(width: float, height: float, title: str, drawn: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title, quote=True)}" '
        f'xmlns="http://www.w3.org/2000/svg">{drawn}</svg>'
    )
