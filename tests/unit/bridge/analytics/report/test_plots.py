"""Plots as SVG: well-formed, to scale, and safe from what strangers named their groups."""

import xml.etree.ElementTree as ET

import pytest

from bridge.analytics.report.plots import PLOT_WIDTH, Bar, Heat, bars, empty, heat_map, heat_step, shortened

SVG = "{http://www.w3.org/2000/svg}"


def rectangles(svg: str) -> list[ET.Element]:
    """All boxes of a plot."""
    return list(ET.fromstring(svg).iter(f"{SVG}rect"))


def test_bar_is_as_long_as_its_value_is_large() -> None:
    """The longest whisker fills the plot."""
    rows = [Bar(label="a", value=10, whisker=40, note="n"), Bar(label="b", value=20, whisker=20, note="n")]
    assert [float(box.attrib["width"]) for box in rectangles(bars(rows, "t"))] == [PLOT_WIDTH / 4, PLOT_WIDTH / 2]


def test_note_of_any_length_is_within_the_picture() -> None:
    """What is beyond it a browser does not show."""
    note = "12.3 s, awaiting-assignment, rebalance-timed-out"
    root = ET.fromstring(bars([Bar(label="a", value=1, whisker=2, note=note)], "t"))
    (text,) = (one for one in root.iter(f"{SVG}text") if one.text == note)
    assert float(text.attrib["x"]) + 6.5 * len(note) <= float(root.attrib["viewBox"].split()[2])


def test_bars_of_nothing_are_drawn() -> None:
    """All zero divides by nothing."""
    assert rectangles(bars([Bar(label="a", value=0, whisker=0, note="")], "t"))[0].attrib["width"] == "0.0"


@pytest.mark.parametrize(("value", "step"), [(0, 0), (1, 1), (30, 5), (49, 5), (50, 5), (51, 6), (100, 6), (0.001, 1)])
def test_shade_halves_with_the_value(value: float, step: int) -> None:
    """Small values are seen beside large ones."""
    assert heat_step(value, 100) == step


def test_heat_map_has_a_cell_per_value_and_a_legend() -> None:
    """Two rows of three, seven shades."""
    cells = [[0.0, 1.0, 2.0], [4.0, 8.0, 16.0]]
    notes = [["a", "b", "c"], ["d", "e", "<f>"]]
    heat = Heat(rows=["x", "y"], ticks=["1", "", "3"], values=cells, notes=notes, legend=("none", "most"))
    shades = [box.attrib["class"] for box in rectangles(heat_map(heat, "t"))]
    assert shades[:6] == ["heat0", "heat2", "heat3", "heat4", "heat5", "heat6"]
    assert len(shades) == 6 + 7


def test_plot_without_rows_says_so() -> None:
    """Instead of an empty box."""
    assert bars([], "t") == empty()
    assert heat_map(Heat(rows=[], ticks=[], values=[], notes=[], legend=("", "")), "t") == empty()


def test_name_of_a_stranger_draws_nothing() -> None:
    """It is text, in the label, the note and the title."""
    evil = "<script>x</script>"
    root = ET.fromstring(bars([Bar(label=evil, value=1, whisker=1, note=evil)], f'"{evil}'))
    assert [element for element in root.iter() if element.tag.endswith("script")] == []


def test_long_name_keeps_its_ends() -> None:
    """Members differ at the end, groups at the beginning."""
    assert shortened("a" * 32) == "a" * 32
    assert shortened(f"begin{'x' * 40}end") == f"begin{'x' * 10}…{'x' * 12}end"
