"""The job `replay`: from a log to a report, and what can't be had."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bridge.analytics.errors import AnalyticsError
from bridge.analytics.replay.job import main, require_file, run, tell, words_of
from bridge.analytics.spark.session import SessionSettings
from bridge.analytics.specs import ReplaySpec
from bridge.analytics.tables.definitions import REPLAYS
from bridge.analytics.tables.ownership import owned
from bridge.analytics.tables.store import Store
from bridge.whatif.comparison import compare
from bridge.whatif.configuration import configure
from bridge.whatif.measures import summed
from tests.support.spark import TEST_SETTINGS
from tests.support.whatif_log import of_group, write_whatif_log

SESSION = SessionSettings(master="local[2]", settings=TEST_SETTINGS)
SETTING = "group.consumer.heartbeat.interval.ms=1000"


@pytest.fixture(name="events")
def _events(tmp_path: Path) -> Path:
    """A log of two groups, with a torn line, a stranger's and one of tomorrow."""
    folder = tmp_path / "events"
    write_whatif_log(folder)
    first = folder / "events-b1-000001.jsonl"
    whole = first.read_bytes()
    newer = whole.splitlines()[0].replace(b'"schema_version":', b'"schema_version":9')
    first.write_bytes(whole + newer + b"\nnot ours\n" + whole[:50] + b"\n")
    return folder


def test_report_sums_what_the_plays_came_to(spark: SparkSession, events: Path, tmp_path: Path) -> None:
    """Both sides of both groups, all files written, what is no event counted."""
    out, target = tmp_path / "out", tmp_path / "replay.json"
    spec = ReplaySpec(events=str(events), protocol="consumer", settings=[SETTING], json=str(target), out=str(out))
    report = run(spec, SESSION)
    lines = tell(spec, report)
    logged = write_whatif_log(tmp_path / "again")
    own = configure("consumer", None, [SETTING])
    found = [compare(group, of_group(logged, group), own) for group in ("orders0", "orders1")]
    recorded = summed([row.recorded for one in found for row in one.rows if row.recorded is not None])
    predicted = summed([each for one in found for row in one.rows for each in row.predicted])
    said = json.loads(target.read_text())
    assert (said["sum"]["recorded"]["disturbed"], said["sum"]["predicted"]["disturbed"]) == (
        recorded.disturbed,
        predicted.disturbed,
    )
    assert said["sum"]["recorded"]["rebalance_s"] == recorded.duration_us / 1e6
    assert said["set_aside"]["lines"] == {"foreign": 1, "newer-schema": 1, "truncated": 1}
    assert lines[-2:] == [f"written: {target}", f"written: {out / 'replay.md'}"]
    assert (out / "replay.md").read_text().startswith(f"# What if: protocol=consumer {SETTING}")
    assert Store(spark, str(out)).read(REPLAYS).count() == sum(len(one["rebalances"]) for one in said["groups"])


def test_one_group_is_played_alone_and_json_may_go_to_the_terminal(spark: SparkSession, events: Path) -> None:
    """As one document."""
    assert spark.version
    spec = ReplaySpec(events=str(events), group="orders1", json="-")
    (text,) = tell(spec, run(spec, SESSION))
    assert [one["group_id"] for one in json.loads(text)["groups"]] == ["orders1"]


def test_group_that_is_not_there_is_one_sentence(spark: SparkSession, events: Path) -> None:
    """With some that are."""
    assert spark.version
    with pytest.raises(AnalyticsError, match=r"EB-ANALYTICS-030: .*'bills'.*orders0, orders1; check --group"):
        run(ReplaySpec(events=str(events), group="bills"), SESSION)


def test_log_without_any_group_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    """Such as that of a bridge that nobody used."""
    assert spark.version
    (tmp_path / "events-b1-000001.jsonl").write_text("")
    with pytest.raises(AnalyticsError, match="EB-ANALYTICS-031: "):
        run(ReplaySpec(events=str(tmp_path)), SESSION)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (ReplaySpec(events="/nowhere", assignor="best"), "EB-WHATIF-001: .*uniform, range"),
        (ReplaySpec(events="/nowhere", settings=["listen=x"]), "EB-WHATIF-002: .*replacement.grace.ms"),
        (ReplaySpec(events="/nowhere"), "EB-ANALYTICS-001: /nowhere does not exist"),
    ],
)
def test_what_can_not_be_had_is_one_sentence_before_spark_starts(spec: ReplaySpec, sentence: str) -> None:
    """Configuration first, then input."""
    with pytest.raises(AnalyticsError, match=sentence):
        run(spec, SESSION)


def test_file_that_can_not_be_written_is_told_before_spark_starts(events: Path, tmp_path: Path) -> None:
    """And one that can be is left as it was, or not there."""
    for path, why in ((tmp_path / "nowhere" / "replay.json", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(AnalyticsError, match=f"EB-ANALYTICS-032: {path} can't be written: {why}.*; name another"):
            run(ReplaySpec(events=str(events), json=str(path)), SESSION)
    require_file(tmp_path / "replay.json")
    assert not (tmp_path / "replay.json").exists()
    (tmp_path / "replay.json").write_text("former")
    require_file(tmp_path / "replay.json")
    assert (tmp_path / "replay.json").read_text() == "former"


def test_replay_does_not_write_where_another_process_does(events: Path, tmp_path: Path) -> None:
    """As a stream, a run and an upkeep; without --out it writes no table, and may run beside them."""
    out = tmp_path / "out"
    out.mkdir()
    with owned(str(out)), pytest.raises(AnalyticsError, match=rf"^EB-ANALYTICS-014: process \d+ writes .* in {out}"):
        main(ReplaySpec(events=str(events), out=str(out)), "no-such-master", {})
    with owned(str(tmp_path)), pytest.raises(AnalyticsError, match="EB-ANALYTICS-001"):
        main(ReplaySpec(events="/nowhere"), "no-such-master", {})


def test_configuration_is_told_as_it_was_asked_for() -> None:
    """Nothing asked for is the bridge's own."""
    asked = ReplaySpec(events="e", protocol="consumer", assignor="range", settings=[SETTING])
    assert words_of(asked) == f"protocol=consumer assignor=range {SETTING}"
    assert words_of(ReplaySpec(events="e")) == "the bridge's own settings"
