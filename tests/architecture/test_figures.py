"""The top of the house stays small enough to be seen at once."""

from pathlib import Path

from tests.architecture.figures import Figures, count

ROOMS_MAX = 20
ARROWS_MAX = 50
"""Of all that could be: twenty rooms have 380. One more wants a reason that a newcomer would accept."""


def test_top_of_the_house_can_be_seen_at_once() -> None:
    """Who opens `bridge/` first sees that many names, and who asks who knows whom that many lines."""
    figures = count()
    assert figures.rooms <= ROOMS_MAX
    assert figures.arrows <= ARROWS_MAX


def test_figures_are_counted(tmp_path: Path) -> None:
    """Of a house of two rooms, a module at their side, and the package of translators, which is no room."""
    files = {
        "bridge/__init__.py": '"""All."""\n',
        "bridge/ports.py": "from translators import machine\n",
        "bridge/one/__init__.py": "",
        "bridge/one/first.py": "# Why.\nimport bridge.ports\nfrom bridge.one import second\n",
        "bridge/one/second.py": "from bridge.two import late\n",
        "bridge/two/__init__.py": "",
        "bridge/two/late.py": 'NAME = "bridge.one.first"\n',
        "translators/__init__.py": "",
        "translators/machine.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert count(tmp_path) == Figures(
        rooms=3,
        arrows=3,
        files=9,
        files_with_one_importer=5,
        lines=7,
        lines_of_comments=1,
        lines_in_pyproject=1,
    )
