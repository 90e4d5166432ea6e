"""The commands' options and their one-sentence failures; no Spark is started."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bridge.analytics.command import Asked, analytics, ask, call, parse_keep, parse_settings
from bridge.analytics.errors import AnalyticsError
from bridge.analytics.specs import ReplaySpec
from bridge.analytics.tables.definitions import REBALANCES
from tests.support.table_files import write_rows

CONTEXT, OPTION = click.Context(analytics), click.Option(["--setting"])


def test_settings_are_names_of_spark() -> None:
    """The value may have an equals sign."""
    pairs = ["spark.a=1", "spark.driver.extraJavaOptions=-Dx=y"]
    assert parse_settings(CONTEXT, OPTION, pairs) == {"spark.a": "1", "spark.driver.extraJavaOptions": "-Dx=y"}


@pytest.mark.parametrize("pair", ["spark.a", "memory=8g", "=1"])
def test_setting_of_nobody_is_refused(pair: str) -> None:
    """Spark itself would take anything."""
    with pytest.raises(click.BadParameter, match=r"such as spark\.driver\.memory=8g"):
        parse_settings(CONTEXT, OPTION, [pair])


def test_days_are_kept_table_by_table() -> None:
    """A name that is none of a table, or days that are none, would keep everything without a word."""
    assert parse_keep(CONTEXT, OPTION, ["events=30", "daily=730"]) == {"events": 30, "daily": 730}
    for pair, why in (
        ("event=3", "'event' is no table"),
        ("events=0", "no days"),
        ("events", "no days"),
        (f"events={'9' * 5_000}", "no days"),
    ):
        with pytest.raises(click.BadParameter, match=why):
            parse_keep(CONTEXT, OPTION, [pair])


@pytest.mark.parametrize(
    "options", [[], ["--topic", "t"], ["--bootstrap", "h:1"], ["--events", "e", "--topic", "t", "--bootstrap", "h:1"]]
)
def test_stream_needs_one_source(options: list[str]) -> None:
    """A topic with its bootstrap, or a folder."""
    answer = CliRunner().invoke(analytics, ["stream", "--out", "o", *options])
    assert (answer.exit_code, "name either --bootstrap and --topic, or --events" in answer.output) == (2, True)


def test_settings_of_kafkas_client_need_a_kafka() -> None:
    """Beside a folder they would be for nobody."""
    options = ["--events", "e", "--kafka-config", "f"]
    answer = CliRunner().invoke(analytics, ["stream", "--out", "o", *options])
    assert (answer.exit_code, "--kafka-config is for --bootstrap" in answer.output) == (2, True)


def test_missing_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the help works, and a job says what to install."""

    def fail(name: str) -> None:
        raise ModuleNotFoundError(f"no {name}", name="pyspark")

    monkeypatch.setattr("bridge.analytics.command.import_module", fail)
    with pytest.raises(click.ClickException, match=r"EB-ANALYTICS-000: .*pip install 'epochbridge\[spark\]'"):
        call("bridge.analytics.job_run")
    assert CliRunner().invoke(analytics, ["--help"]).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--events", "/nowhere", "--out", "/dev/null/x"],
        ["stream", "--once", "--bootstrap", "127.0.0.1:1", "--topic", "t", "--out", "/dev/null/x"],
    ],
)
def test_what_can_not_be_done_is_one_sentence(arguments: list[str]) -> None:
    """Before Spark is started: input first, then output."""
    answer = CliRunner().invoke(analytics, arguments)
    assert (answer.exit_code, answer.output.count("EB-ANALYTICS-00"), answer.output.count("\n")) == (1, 1, 1)


def test_replay_parts_settings_of_groups_from_those_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """One option for both, told apart by Spark's own prefix."""
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr("bridge.analytics.command.call", lambda *arguments: asked.append(arguments))
    pairs = ["replacement.grace.ms=1", "spark.driver.memory=8g", "session.timeout.ms=2"]
    options = ["--events", "e", "--protocol", "consumer", *(word for pair in pairs for word in ("--setting", pair))]
    assert CliRunner().invoke(analytics, ["replay", *options]).exit_code == 0
    spec = ReplaySpec(events="e", protocol="consumer", settings=[pairs[0], pairs[2]])
    assert asked == [("bridge.analytics.replay.job", spec, None, {"spark.driver.memory": "8g"})]


def test_replay_of_no_protocol_is_a_usage_error() -> None:
    """With the two that there are."""
    answer = CliRunner().invoke(analytics, ["replay", "--events", "e", "--protocol", "new"])
    assert (answer.exit_code, "'consumer', 'classic'" in answer.output) == (2, True)


def test_sentence_of_a_job_is_the_command_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its code."""

    def refuse(*_: object) -> None:
        raise AnalyticsError("EB-ANALYTICS-001: no")

    monkeypatch.setattr("bridge.analytics.job_run.main", refuse)
    with pytest.raises(click.ClickException, match="EB-ANALYTICS-001: no"):
        call("bridge.analytics.job_run")


def test_debug_lets_spark_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the setting that everybody may give; the user's own value counts."""
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr("bridge.analytics.command.call", lambda *arguments: asked.append(arguments))
    for options in (["--debug"], ["--debug", "--setting", "spark.log.level=ERROR"], []):
        assert CliRunner().invoke(analytics, ["run", "--events", "e", "--out", "o", *options]).exit_code == 0
    assert [settings for *_, settings in asked] == [{"spark.log.level": "WARN"}, {"spark.log.level": "ERROR"}, {}]


def test_engine_needs_the_extra_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """And DuckDB neither Spark nor its settings."""

    def fail(name: str) -> None:
        raise ModuleNotFoundError(f"no {name}", name=name)

    monkeypatch.setattr("bridge.analytics.command.import_module", fail)
    for engine, extra in ((None, "spark"), ("spark", "spark"), ("duckdb", "duckdb")):
        asked = Asked(out="o", engine=engine, master=None, settings={})
        with pytest.raises(click.ClickException, match=rf"EB-ANALYTICS-000: .*pip install 'epochbridge\[{extra}\]'"):
            ask("bridge.analytics.report.job", (), asked)
    for option in (["--master", "local[2]"], ["--debug"], ["--setting", "spark.a=1"]):
        answer = CliRunner().invoke(analytics, ["report", "--out", "o", "--engine", "duckdb", *option])
        assert (answer.exit_code, "--engine duckdb starts none" in answer.output) == (2, True)


def test_report_and_comparison_need_no_spark(tmp_path: Path) -> None:
    """By DuckDB they are made in a process that has loaded neither Spark nor what speaks to Java."""
    rows = [
        {"group_id": "g", "rebalance_id": f"r{place}", "chain_id": f"r{place}", "began_us": place} for place in (1, 2)
    ]
    write_rows(tmp_path, REBALANCES, rows)
    arms = ["--control", "at_us = 1", "--treatment", "at_us = 2", "--measure", "partition-stall"]
    program = f"""
import sys
from bridge.analytics.command import analytics
sys.modules["pyspark"] = sys.modules["py4j"] = sys.modules["pyarrow"] = sys.modules["pandas"] = None
try:
    analytics({["report", "--out", str(tmp_path), "--engine", "duckdb"]}, standalone_mode=False)
    analytics({["compare", "--out", str(tmp_path), "--engine", "duckdb", *arms]}, standalone_mode=False)
except SystemExit as end:
    print("status", end.code)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "report.html" in said
    assert "verdict: insufficient" in said
    assert said.endswith("status 3\n")
