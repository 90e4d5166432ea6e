"""Dashboards and alert rules ask for metrics that there are, under labels that they have."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
import yaml

from bridge.telemetry.metric_names import METRICS, SAMPLES
from bridge.telemetry.schema.terms import Cause
from deploy.grafana import COLUMNS, DASHBOARDS, FOLDER, draw
from tests.support.debian import Program, debian_program

SELECTOR = re.compile(r"((?:epochbridge|kafka)_\w+)(?:\{([^}]*)\})?")
BY = re.compile(r"by \(([^)]*)\)")
SCRAPED = {"instance", "job", "le"}


def dashboard_queries() -> Iterator[str]:
    """Every query of every panel."""
    for dashboard in DASHBOARDS.values():
        for panel in dashboard.panels:
            yield from panel.queries.values()


def alerts() -> list[dict[str, str]]:
    """The rules."""
    document = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("query", [*dashboard_queries(), *(str(rule["expr"]) for rule in alerts())])
def test_query_asks_for_what_there_is(query: str) -> None:
    """Names of samples, and labels that the family has."""
    found = SELECTOR.findall(query)
    assert found
    for name, selection in found:
        assert name in SAMPLES, name
        labels = {*SAMPLES[name].labels, *SCRAPED}
        assert set(re.findall(r"(\w+)=~?\"", selection)) <= labels
        for grouping in BY.findall(query):
            assert {label.strip() for label in grouping.split(",")} <= labels


def test_alerts_name_causes_that_there_are() -> None:
    """A misspelt cause would never fire."""
    named = re.findall(r'cause=~?"([^"]*)"', " ".join(str(rule["expr"]) for rule in alerts()))
    assert {cause for causes in named for cause in causes.split("|")} <= {cause.value for cause in Cause}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_dashboard_is_what_the_table_says(name: str) -> None:
    """`python -m deploy.grafana` writes it."""
    assert (FOLDER / name).read_text(encoding="utf-8") == draw(DASHBOARDS[name])


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_lie_side_by_side(name: str) -> None:
    """No two on the same place, none beyond the edge, each with a text."""
    taken: set[tuple[int, int]] = set()
    for panel in json.loads((FOLDER / name).read_text(encoding="utf-8"))["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= COLUMNS
        assert panel["description"]
        taken |= cells


def test_dashboards_show_every_kind_of_figure() -> None:
    """What is measured of rebalances and requests is drawn somewhere."""
    shown = {SAMPLES[name].name for query in dashboard_queries() for name, _ in SELECTOR.findall(query)}
    wanted = {
        name for name in METRICS if name.startswith(("epochbridge_rebalance", "epochbridge_member_", "epochbridge_p"))
    }
    assert wanted <= shown


@pytest.fixture(name="promtool")
def _promtool() -> str:
    """From the path, or from Debian's package."""
    found = shutil.which("promtool")
    program = Program(found) if found else debian_program("prometheus", "usr/bin/promtool")
    if program is None:
        pytest.skip("no promtool on the path, nor from apt-get; names and labels are checked without it")
    return program.path


def test_rules_hold_in_prometheus_own_tool(promtool: str) -> None:
    """Each alert fires on its series and is silent on the other; on those of a real bridge the right two fire."""
    test = ("test", "rules")
    for arguments in (("check", "rules", "alerts.yml"), (*test, "alerts.test.yml"), (*test, "recorded.test.yml")):
        ran = subprocess.run([promtool, *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_alert_has_a_story() -> None:
    """A rule without a test is a guess."""
    document = yaml.safe_load((FOLDER / "alerts.test.yml").read_text(encoding="utf-8"))
    tested = {case["alertname"] for test in document["tests"] for case in test["alert_rule_test"]}
    assert tested == {rule["alert"] for rule in alerts()}
