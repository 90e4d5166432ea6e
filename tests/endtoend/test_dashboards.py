"""Every query of the dashboards and alerts in a real Prometheus that scrapes a bridge with real clients."""

import math
from pathlib import Path

import pytest
import trio
import yaml

from bridge.demo.cluster import create_topics
from bridge.demo.events import Protocol
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, Target
from deploy.grafana import DASHBOARDS, FOLDER
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.debian import Program, debian_program
from tests.support.kafka import KafkaUnderTest
from tests.support.prometheus import Prometheus, prometheus

GROUP = "embedded-charted"
WINDOW = "10m"
"""In place of what Grafana takes from the page: it holds all that this test does."""
SETTLED_MS = 500


@pytest.fixture(name="program")
def _program() -> Program:
    program = debian_program("prometheus", "usr/bin/prometheus")
    if program is None:
        pytest.skip("no prometheus from apt-get; names and labels are checked without it")
    return program


def as_grafana_asks(query: str) -> str:
    """A panel's query with its variables filled in."""
    for name, value in (("$__rate_interval", WINDOW), ("$__range", WINDOW), ("$group", f"{GROUP}|other")):
        query = query.replace(name, value)
    return query


def unanswered(running: Prometheus) -> list[str]:
    """Panels whose query has no number for an answer."""
    return [
        f"{panel.title}: {query} = {answer}"
        for dashboard in DASHBOARDS.values()
        for panel in dashboard.panels
        for query in map(as_grafana_asks, panel.queries.values())
        if not (answer := running.ask(query)) or not all(map(math.isfinite, answer))
    ]


async def test_queries_have_answers(kafka_43: KafkaUnderTest, program: Program, tmp_path: Path) -> None:
    """Members come and go under both protocols; each panel shows a number, each rule is loaded and can be asked."""
    topics = (f"{GROUP}-topic",)
    partitions = await trio.to_thread.run_sync(create_topics, kafka_43.bootstrap, topics, 4)
    settings = {**QUICK_SETTINGS, "events.path": str(tmp_path / "events")}
    with bridge_process(kafka_43.bootstrap, ["embedded-*"], tmp_path, settings, has_admin=True) as bridge:
        target = bridge.admin.removeprefix("http://")
        with prometheus(program, target, FOLDER / "alerts.yml", tmp_path) as running:
            async with trio.open_nursery() as nursery:
                fleet = Fleet(
                    nursery, Target(bootstrap=bridge.bootstrap, group=GROUP, topics=topics), partitions, tmp_path
                )
                await fleet.start(MemberSpec(seat="a"))
                await fleet.wait_settled(stable_ms=SETTLED_MS)
                await trio.to_thread.run_sync(running.wait_for, f'epochbridge_rebalances_total{{group="{GROUP}"}} > 0')
                await fleet.start(MemberSpec(seat="b", protocol=Protocol.CONSUMER))
                await fleet.wait_settled(stable_ms=SETTLED_MS)
                await fleet.stop("b")
                await fleet.wait_settled(stable_ms=SETTLED_MS)
                causes = f'epochbridge_rebalances_total{{group="{GROUP}",cause="leave"}} > 0'
                await trio.to_thread.run_sync(running.wait_for, causes)
                missing = await trio.to_thread.run_sync(unanswered, running)
                await fleet.stop_all()
            loaded = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
            for rule in (rule for group in loaded["groups"] for rule in group["rules"]):
                await trio.to_thread.run_sync(running.ask, rule["expr"])
    assert missing == []
