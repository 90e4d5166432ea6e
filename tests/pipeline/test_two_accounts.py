"""The pipeline's tables of real fleets say what the clients' own logs of the same runs say.

One fleet by default, drawn with a fixed seed; `--matrix=all` lets all of them live.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bridge.analytics.job_run import event_lines, make_tables
from bridge.analytics.store import Store
from bridge.demo.kafka_broker import KafkaBroker, start_broker
from bridge.demo.kafka_properties import BrokerSettings
from tests.support.accounts_page import FIGURES, figures_of
from tests.support.casts import Wardrobe
from tests.support.two_accounts import lags, told_by_clients, told_by_tables
from tests.support.whole_lives import LIVES, QUICK_GROUPS, Life, Place, live

SEED = 848
CLOCK_ERROR_US = 5_000_000
"""Both clocks are the host's; a callback runs when its thread gets a core, and a machine that is busy takes its time.
The figures of a calm one are in docs/reference/two-accounts.md.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the test its fleets."""
    if "life" in metafunc.fixturenames:
        everything = metafunc.config.getoption("--matrix") == "all"
        metafunc.parametrize("life", LIVES if everything else _picked(), ids=str)


def _picked() -> Sequence[Life]:
    return (random.Random(SEED).choice([life for life in LIVES if not life.cast.startswith("java")]),)


@pytest.fixture(name="brokers", scope="module")
def _brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Brokers"]:
    brokers = Brokers(tmp_path_factory)
    yield brokers
    brokers.stop()


class Brokers:
    """A broker of each version, started when it is first asked for."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._running: dict[str, Iterator[KafkaBroker]] = {}
        self._brokers: dict[str, KafkaBroker] = {}
        self.wardrobe = Wardrobe(factory.mktemp("wardrobe"))

    def of(self, version: str) -> KafkaBroker:
        """The broker of a version."""
        if version not in self._brokers:
            self._running[version] = self._run(version)
            self._brokers[version] = next(self._running[version])
        return self._brokers[version]

    def stop(self) -> None:
        """Stop all of them."""
        for running in self._running.values():
            next(running, None)

    def _run(self, version: str) -> Iterator[KafkaBroker]:
        settings = BrokerSettings(version=version, properties=QUICK_GROUPS)
        with start_broker(settings, directory=self._factory.mktemp("kafka")) as broker:
            yield broker


async def test_tables_say_what_the_clients_say(
    life: Life, brokers: Brokers, store: Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Issue 5: who stood still between whom and when, whom each step disturbed, and how much moved."""
    place = Place(kafka=brokers.of(life.version), wardrobe=brokers.wardrobe, directory=tmp_path)
    evidence = await live(life, place)
    make_tables(store, event_lines(store.spark, str(place.events)), lambda _: None)
    clients, tables = told_by_clients(evidence), told_by_tables(store, evidence)
    told = figures_of(tables, clients)
    request.node.user_properties.extend({"life": str(life), "road": life.road, "broker": life.version}.items())
    request.node.user_properties.extend({"clients": life.cast, **dict(zip(FIGURES, told, strict=True))}.items())
    print(dict(zip(FIGURES, told, strict=True)))
    assert tables.by_partition() == clients.by_partition()
    assert tables.disturbed == clients.disturbed
    calm = clients.moved.keys() - tables.shaken
    assert {step: tables.moved[step] for step in calm} == {step: clients.moved[step] for step in calm}
    late = [lag for lag in lags(tables, clients) if max(abs(lag.begin_us), abs(lag.end_us)) > CLOCK_ERROR_US]
    assert late == []
