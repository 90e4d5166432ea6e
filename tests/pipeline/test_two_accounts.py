"""The pipeline's tables of real fleets say what the clients' own logs of the same runs say.

One fleet by default, drawn with a fixed seed; `--matrix=all` lets all of them live.
"""

import random
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
from pyspark.sql import SparkSession

from bridge.analytics.compare.samples import Choice, Measure, UnitKind, sample
from bridge.analytics.engines.duckdb_views import open_views
from bridge.analytics.engines.spark_views import views_of
from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.report.facts import report_facts
from bridge.analytics.tables.store import Store
from bridge.demo.fleet import FleetError
from bridge.demo.judge_evidence import Evidence
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.support.accounts_page import FIGURES, figures_of
from tests.support.bridge_process import BridgeProcessError
from tests.support.casts import Wardrobe
from tests.support.eventful_fleets import LIVES, QUICK_GROUPS, Life, Place, group_of, live
from tests.support.two_accounts import lags, misjudged_moves, told_by_clients, told_by_tables

SEED = 848
CLOCK_ERROR_US = 30_000_000
"""Both clocks are the host's; a callback runs when its thread gets a core, and a machine that is busy takes its time: a
JVM has lived for 14 s after its consumer had stopped. What it comes to is in docs/reference/two-accounts.md.
"""

Lived = Evidence | Exception


def _chosen(config: pytest.Config) -> Sequence[Life]:
    if config.getoption("--matrix") == "all":
        return LIVES
    return (random.Random(SEED).choice([life for life in LIVES if not life.cast.startswith("java")]),)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the test its fleets."""
    if "life" in metafunc.fixturenames:
        metafunc.parametrize("life", _chosen(metafunc.config), ids=str)


class Brokers:
    """A broker of each version that is needed, and the programs of the clients."""

    def __init__(self, stack: ExitStack, directory: Path, versions: set[str]) -> None:
        self.wardrobe = Wardrobe(directory)
        self.running: dict[str, KafkaBroker] = {}
        for version in versions:
            settings = BrokerSettings(version=version, properties=QUICK_GROUPS)
            (directory / version).mkdir()
            self.running[version] = stack.enter_context(start_broker(settings, directory=directory / version))


@pytest.fixture(name="lived", scope="module")
def _lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Life, Lived]:
    """What the clients of the fleets say that tests were chosen for, which live one after the other."""
    wanted = {item.name for item in request.session.items}
    lives = [life for life in LIVES if any(name.endswith(f"[{life}]") for name in wanted)]
    directory, lived = tmp_path_factory.mktemp("lives"), dict[Life, Lived]()
    with ExitStack() as stack:
        brokers = Brokers(stack, tmp_path_factory.mktemp("brokers"), {life.version for life in lives})
        for life in lives:
            kafka = brokers.running[life.version]
            place = Place(kafka=kafka, wardrobe=brokers.wardrobe, directory=directory / str(life))
            try:
                lived[life] = trio.run(live, life, place)
            except (FleetError, BridgeProcessError, ExceptionGroup) as fault:
                # It belongs to the test of this fleet, which raises it again.
                lived[life] = fault
    return lived


@pytest.fixture(name="tables", scope="module")
def _tables(lived: Mapping[Life, Lived], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The tables of all fleets, made at once."""
    events = tmp_path_factory.mktemp("events")
    for path in tmp_path_factory.getbasetemp().glob("lives*/*/events/*.jsonl"):
        shutil.copy(path, events)
    store = Store(spark, str(tmp_path_factory.mktemp("tables")))
    make_tables(store, event_lines(spark, str(events)), lambda _: None)
    return store


def test_tables_say_what_the_clients_say(
    life: Life, lived: Mapping[Life, Lived], tables: Store, request: pytest.FixtureRequest
) -> None:
    """Who stood still between whom and when, whom each step disturbed, and how much moved (issue 5)."""
    evidence = lived[life]
    if isinstance(evidence, Exception):
        raise evidence
    clients, ours = told_by_clients(evidence), told_by_tables(tables, group_of(life), evidence)
    told = dict(zip(FIGURES, figures_of(ours, clients), strict=True))
    where = {"life": str(life), "road": life.road, "broker": life.version, "clients": life.cast}
    request.node.user_properties.extend((name, str(value)) for name, value in {**where, **told}.items())
    print(where, told)
    assert ours.by_partition() == clients.by_partition()
    assert ours.disturbed == clients.disturbed
    assert ours.moved.keys() == clients.moved.keys()
    assert misjudged_moves(ours, clients) == {}
    late = [lag for lag in lags(ours, clients) if max(abs(lag.begin_us), abs(lag.end_us)) > CLOCK_ERROR_US]
    assert late == []


def test_engines_say_the_same_of_real_clients(tables: Store) -> None:
    """Every figure of a report, and every time that a comparison is made of: Spark's and DuckDB's are equal."""
    spark, duckdb = views_of(tables), open_views(tables.root, None, None, {})
    facts = report_facts(duckdb, None)
    assert facts == report_facts(spark, None)
    assert all((facts.rebalances, facts.stall, facts.phases, facts.members, facts.culprits, facts.heat.groups))
    for measure, unit in ((Measure.MEMBER, UnitKind.REBALANCE), (Measure.PARTITION, UnitKind.GROUP_HOUR)):
        choice = Choice(control="at_us % 2 = 0", treatment="at_us % 2 = 1", measure=measure, unit=unit)
        found = sample(duckdb, choice)
        assert found == sample(spark, choice)
        assert found.units
