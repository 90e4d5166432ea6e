"""Options of `epochbridge demo` and its refusals. It must not run a demo: the end-to-end tests do."""

import importlib.util

import pytest
from click.testing import CliRunner

from bridge.demo import command, run
from bridge.demo.command import demo
from bridge.demo.story import DemoOptions


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[DemoOptions]:
    """What would have been run."""
    programmes: list[DemoOptions] = []

    def remember(options: DemoOptions, json_file: object) -> int:
        programmes.append(options)
        return 7

    monkeypatch.setattr(run, "run_demo", remember)
    return programmes


def test_defaults_are_four_members_and_the_mock(asked: list[DemoOptions]) -> None:
    """The exit status is the run's."""
    assert CliRunner().invoke(demo, []).exit_code == 7
    assert asked == [DemoOptions(members=4, partitions=8, seconds=75.0, bootstrap=None, kafka=None, tui=True)]


def test_options_reach_the_run(asked: list[DemoOptions]) -> None:
    """All of them."""
    words = ["--members", "3", "--partitions", "5", "--seconds", "0", "--no-tui", "--bootstrap", "a:1,b:2"]
    CliRunner().invoke(demo, [*words, "--events", "e", "--group", "g"])
    wanted = DemoOptions(
        members=3, partitions=5, seconds=0.0, bootstrap="a:1,b:2", kafka=None, tui=False, events="e", group="g"
    )
    assert asked == [wanted]


@pytest.mark.parametrize(
    ("words", "bootstrap", "kafka"),
    [([], None, "4.3"), (["--kafka", "4.3"], None, "4.3"), (["--bootstrap", "a:1"], "a:1", None)],
)
def test_move_needs_a_real_kafka(
    words: list[str], bootstrap: str | None, kafka: str | None, asked: list[DemoOptions]
) -> None:
    """Its own, unless there is one: the mock knows no KIP-848."""
    CliRunner().invoke(demo, ["--move", *words])
    assert [(one.is_move, one.bootstrap, one.kafka) for one in asked] == [(True, bootstrap, kafka)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bootstrap", "nowhere"], "EB-DEMO-007: 'nowhere' is not HOST:PORT"),
        (["--bootstrap", "a:70000"], "EB-DEMO-007"),
        (["--bootstrap", f"a:{'9' * 5_000}"], "EB-DEMO-007"),
        (["--bootstrap", "kafka://a:9092"], "EB-DEMO-007: 'kafka://a:9092' is not HOST:PORT"),
        (["--bootstrap", "a:1", "--kafka", "4.3"], "EB-DEMO-008"),
        (["--move", "--kafka", "3.9"], "EB-DEMO-012"),
        (["--group", "two words"], "EB-DEMO-011: 'two words' can't be the name of a topic"),
        (["--group", ".."], "EB-DEMO-011"),
        (["--group", "g" * 250], "EB-DEMO-011"),
        (["--members", "1"], "--members"),
        (["--kafka", "2.0"], "--kafka"),
        (["--json", "/nowhere/at/all.json"], "/nowhere/at/all.json"),
    ],
)
def test_wrong_use_ends_with_status_2(words: list[str], said: str, asked: list[DemoOptions]) -> None:
    """Before anything is started, with what was wrong."""
    answer = CliRunner().invoke(demo, words)
    assert (answer.exit_code, asked) == (2, [])
    assert said in answer.output


def test_missing_library_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain install serves but has no demo."""
    assert importlib.util.find_spec("confluent_kafka") is not None
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    answer = CliRunner().invoke(demo, [])
    assert answer.exit_code == 1
    assert "EB-DEMO-009" in answer.output
    assert "confluent-kafka and kafka-python" in answer.output
    assert "epochbridge[demo]" in answer.output
