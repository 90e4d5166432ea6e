"""What a stream knows of its batches, kept with the snapshot of the tables that it made of them, so that its next
process need not read all of them again.
"""

from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files

from deltalake.exceptions import DeltaError

from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import REFRESHED
from bridge.analytics.tables.publishing import publish, published
from bridge.analytics.tables.snapshot import VERSIONS, versions_of
from bridge.analytics.tables.store import Store
from bridge.analytics.tables.upkeep import SINCE, first_live_day

KEPT = "history"
MADE_BY = "made_by"
SAY_WHAT_TABLES_ARE = ("bridge.analytics.tables", "bridge.telemetry.schema")


def keep(store: Store, history: History) -> None:
    """Write down the tables as they are, and that they are made of the batches that the history knows."""
    known = {
        "last_batch": history.last_batch,
        "began": history.began,
        "ends": history.ends,
        "forgotten": history.forgotten,
    }
    since = {SINCE: first_live_day(told)} if SINCE in (told := published(store)) else {}
    publish(store, {MADE_BY: made_by(), KEPT: known, **since})


def kept(store: Store) -> History:
    """What was kept, or a history that knows nothing: where none is there, where other code made the tables, or where
    one of them is gone.

    Whoever died in the middle of a refresh has changed some of the tables: those are put back.
    """
    told = published(store)
    known = told.get(KEPT)
    if not isinstance(known, dict) or told.get(MADE_BY) != made_by():
        return History(store)
    then = versions_of(told)
    if not _restored(store, then):
        return History(store)
    if any(store.log(table).version != then[table.name] for table in REFRESHED):
        # Events that the tables lack so far are not shown either.
        publish(store, {name: value for name, value in told.items() if name != VERSIONS}, as_they_were(then))
    began = {boot: (number, wall_us) for boot, (number, wall_us) in known["began"].items()}
    ends = {group: (boot, number) for group, (boot, number) in known["ends"].items()}
    forgotten = None if known["forgotten"] is None else (known["forgotten"][0], known["forgotten"][1])
    return History(store, known["last_batch"], began, ends, forgotten)


def _restored(store: Store, then: Mapping[str, int]) -> bool:
    """Whether the tables are what they were when that was kept; those that somebody changed before he died become so.

    Where one is not there, or can't become so, they don't.
    """
    try:
        return all(table.name in then and store.log(table).restore(then[table.name]) for table in REFRESHED)
    except DeltaError:
        return False


def as_they_were(then: Mapping[str, int]) -> dict[str, int]:
    """The versions of tables that no refresh changes, as a snapshot had them."""
    refreshed = {table.name for table in REFRESHED}
    return {name: version for name, version in then.items() if name not in refreshed}


def made_by() -> str:
    """A digest of the code that says what the tables are: another one may make other rows of the same events."""
    digest = sha256()
    for package in SAY_WHAT_TABLES_ARE:
        for file in sorted(files(package).iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()
