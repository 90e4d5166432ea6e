"""What a stream knows of its batches, kept with the snapshot of the tables that it made of them, so that its next
process need not read all of them again.
"""

from hashlib import sha256
from importlib.resources import files

from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import DERIVED
from bridge.analytics.tables.publishing import current_versions, publish, published
from bridge.analytics.tables.snapshot import versions_of
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.upkeep import SINCE, first_live_day

KEPT = "history"
MADE_BY = "made_by"
SAY_WHAT_TABLES_ARE = ("bridge.analytics.tables", "bridge.telemetry.schema")


def keep(store: Store, history: History) -> None:
    """Write down the tables as they are, and that they are made of the batches that the history knows."""
    known = {
        "last_batch": history.last_batch,
        "first_batches": history.first_batches,
        "began": history.began,
    }
    since = {SINCE: first_live_day(told)} if SINCE in (told := published(store)) else {}
    publish(store, {MADE_BY: made_by(), KEPT: known, **since})


def kept(store: Store) -> History:
    """What was kept, or a history that knows nothing: where none is there, where other code made the tables, or
    where one of them has changed since or is gone.
    """
    told = published(store)
    known = told.get(KEPT)
    if not isinstance(known, dict) or told.get(MADE_BY) != made_by():
        return History(store)
    then, now = versions_of(told), current_versions(store.root)
    if any(table.name not in then or then[table.name] != now.get(table.name) for table in DERIVED):
        return History(store)
    began = {boot: (number, wall_us) for boot, (number, wall_us) in known["began"].items()}
    return History(store, known["last_batch"], known["first_batches"], began)


def made_by() -> str:
    """A digest of the code that says what the tables are: another one may make other rows of the same events."""
    digest = sha256()
    for package in SAY_WHAT_TABLES_ARE:
        for file in sorted(files(package).iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()
