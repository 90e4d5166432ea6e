"""Whatever becomes of a stream and of whoever keeps its tables, they are those of a run over the same events."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bridge.analytics.spark.column_types import conform
from bridge.analytics.tables import disturbance
from bridge.analytics.tables import store as store_module
from bridge.analytics.tables import telling as telling_module
from bridge.analytics.tables.definitions import BATCH, EVENTS
from bridge.analytics.tables.derivation import Derivation
from bridge.analytics.tables.kept_history import keep, kept
from bridge.analytics.tables.publishing import pinned
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.telling import Tellings
from bridge.analytics.tables.upkeep import Upkeep, tend
from tests.support.mortal_store import Killed, MortalStore
from tests.support.stretch_rows import read_in_parts
from tests.support.table_truth import contents
from tests.support.wild_events import COLUMNS, Row, some_late, wild_batches

EFFECTS = 40
"""A refresh has some thirty effects: a few live through all of them."""
LAST_DAY = date(2025, 11, 20)


def bring(store: Store, rows: Sequence[Row]) -> None:
    """A batch of events, as an intake would leave them."""
    store.append(EVENTS, conform(EVENTS, store.spark.createDataFrame(list(rows), COLUMNS)))


def refresh(store: Store, batch: int, tellings: Tellings) -> None:
    """As a stream does that has just been started, but for what its readers have told it."""
    history = kept(store)
    shown = pinned(store).read(EVENTS).agg(f.max(BATCH)).collect()[0][0]
    assert history.last_batch < 0 or shown <= history.last_batch
    told = tellings.of(store, history.last_batch, batch)
    extent = history.advance(batch, None if told is None else told.whole)
    if extent is None or extent.chunks:
        make(Derivation(store, batch, extent, telling=None if extent is None else told))
    keep(store, history)
    tellings.forget(batch)


def by_number(rows: Sequence[Row]) -> list[Row]:
    """Each run in its order; of a run nobody reads anything twice."""
    return sorted(rows, key=lambda row: (str(row["boot"]), int(str(row["number"]))))


def make(derivation: Derivation) -> None:
    """All steps."""
    for stage in derivation.stages():
        for step in stage.values():
            step()


@dataclass
class Fate:
    """What happens to a stream between two batches, drawn."""

    draw: random.Random
    told: list[str] = field(default_factory=list)
    tellings: Tellings = field(default_factory=Tellings)

    def bring(self, store: Store, rows: Sequence[Row], stem: str) -> None:
        """A batch, of which readers may have told something: in parts of any size, and all of it or most."""
        if self.draw.random() < 0.2:
            self.told.append("nobody tells")
            bring(store, rows)
            return
        share, known = self.draw.choice([1, 0.95]), {file.path for file in store.log(EVENTS).files()}
        together = [row for row in rows if self.draw.random() < share]
        bring(store, together)
        sizes = (self.draw.choice([1, 7, 60, 200]) for _ in rows)
        paths = [file.path for file in store.log(EVENTS).files() if file.path not in known]
        self.tellings.note(int(str(rows[0][BATCH])), read_in_parts(by_number(together), stem, sizes), paths)
        bring(store, [row for row in rows if row not in together])

    def befall(self, store: Store, batch: int) -> None:
        """Whoever makes the tables dies, is late, or they are kept up meanwhile."""
        if self.draw.random() < 0.2:
            self.told.append("nobody makes tables")
            return
        if self.draw.random() < 0.5:
            effects = self.draw.randrange(1, EFFECTS)
            self.told.append(f"dies after {effects} effects")
            try:
                refresh(MortalStore(store.spark, store.root, lives=[effects]), batch, self.tellings)
            except Killed:
                self.tellings = Tellings()
        if self.draw.random() < 0.7:
            self.told.append("makes tables")
            refresh(store, batch, self.tellings)
        if self.draw.random() < 0.4:
            spared = self.draw.choice([0, 168])
            self.told.append(f"upkeep that spares {spared} hours")
            tend(store.root, Upkeep(spared_hours=spared), LAST_DAY + timedelta(days=self.draw.randrange(200)))


@pytest.mark.timeout(900)
def test_tables_are_those_of_a_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a fresh seed: batches of any size, some of it late, kills, restarts, upkeep; chains are cut early, so that
    some are longer, and files of what is carried are gathered soon. Small files are taken as such, or as large ones;
    of those, readers have told what they could.
    """
    monkeypatch.setattr(disturbance, "CHAIN_MAX", 2)
    monkeypatch.setattr(store_module, "FILES_SPARED", 2)
    monkeypatch.setattr(telling_module, "LEFT_SHARE_MAX", 10)
    seed = random.SystemRandom().randrange(10**9)
    draw = random.Random(seed)
    for name in ("ONE_PIECE_BYTES", "WRITTEN_ANEW_BYTES"):
        monkeypatch.setattr(store_module, name, draw.choice([0, 2**20]))
    groups, count, events = draw.randrange(1, 8), draw.randrange(2, 6), draw.choice([20, 80, 300])
    roads = draw.choice(["ep", "p"])
    batches = [*wild_batches(seed=seed, groups=groups, batches=count, events=events, roads=roads)]
    if draw.random() < 0.5:
        some_late(batches, seed=seed, count=draw.randrange(1, 3))
    store, fate = Store(spark, str(tmp_path / "stream")), Fate(draw)
    for batch, rows in enumerate(batches):
        fate.bring(store, rows, str(tmp_path / f"told-{batch}"))
        fate.befall(store, batch)
    refresh(store, count - 1, fate.tellings)
    whole = Store(spark, str(tmp_path / "run"))
    bring(whole, [row for rows in batches for row in rows])
    make(Derivation(whole, count - 1))
    brought, made = contents(store), contents(whole)
    told = f"seed {seed}: {groups} groups on {roads}, {count} batches of {events}: {', '.join(fate.told)}"
    print(told)
    wrong = {name: (brought[name] - made[name], made[name] - brought[name]) for name in made}
    assert {name: rows for name, rows in wrong.items() if any(rows)} == {}, told
