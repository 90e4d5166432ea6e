"""The assignor in docs/howto/write-an-assignor.md, loaded and used as the page says."""

import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from bridge.app.settings import engine_settings
from bridge.config.configuration import load
from bridge.coordinators.embedded.assignor_plugins import GROUP, load_assignors
from bridge.engine.commands import ChangeTopics
from bridge.engine.settings import EngineSettings
from tests.support.engine_bench import Bench, parts, topic
from translators.dialects.ids import GroupId

PAGE = Path(__file__).parents[4] / "docs" / "howto" / "write-an-assignor.md"


def block(language: str) -> str:
    """The page's one code block of a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A shard whose default is the page's assignor, found by the page's entry point."""
    (tmp_path / "standby.py").write_text(block("python"))
    monkeypatch.syspath_prepend(str(tmp_path))
    points = tomllib.loads(block("toml"))["project"]["entry-points"][GROUP]
    loaded = load_assignors([EntryPoint(name=name, value=value, group=GROUP) for name, value in points.items()])
    return Bench(
        assignors=loaded, settings=EngineSettings(group_consumer_assignors=("standby", "uniform"), departure_wait_ms=0)
    )


def test_page_s_assignor_gives_a_topic_to_one_member(bench: Bench) -> None:
    """The others stand by, and nothing moves when one of them comes or goes."""
    for member in ("b", "a"):
        bench.join(member)
    assert (bench.target("b"), bench.target("a")) == (parts(*range(6)), parts())
    bench.tell(ChangeTopics((topic("foo", 8),)))
    assert bench.target("b") == parts(*range(8))
    bench.leave("b")
    assert bench.target("a") == parts(*range(8))


def test_page_s_rule_chooses_the_assignor(bench: Bench, tmp_path: Path) -> None:
    """The first configured name is the group's default."""
    (tmp_path / "rules.yaml").write_text("bootstrap: [kafka:9092]\n" + block("yaml"))
    told = engine_settings(load(tmp_path / "rules.yaml", {}), bench.assignors)
    assert told.per_group[GroupId("orders-1")].group_consumer_assignors == ("standby", "uniform")
    bench.join("a")
    assert bench.group.assignor == "standby"
