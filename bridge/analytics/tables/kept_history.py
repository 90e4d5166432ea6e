"""What a stream knows of its batches, kept beside the tables, so that its next process need not read all of them again.

It is kept only while all derived tables are up to it: whoever begins to change them removes it first.
"""

import json
from hashlib import sha256
from importlib.resources import files

from bridge.analytics.tables.batch_history import History
from bridge.analytics.tables.definitions import DERIVED
from bridge.analytics.tables.store import Store

KEPT = "_history"
SAY_WHAT_TABLES_ARE = ("bridge.analytics.tables", "bridge.telemetry.schema")
_UNREADY = "_history-unready"


def keep(store: Store, history: History) -> None:
    """Write it down, at once or not at all; the tables are made from the batches that it knows."""
    known = {
        "made_by": made_by(),
        "last_batch": history.last_batch,
        "first_batches": history.first_batches,
        "began": history.began,
    }
    forget(store)
    store.files.write(store.path(_UNREADY), json.dumps(known))
    store.files.move(store.path(_UNREADY), store.path(KEPT))


def forget(store: Store) -> None:
    """Remove it: from now on the tables are another thing than it says, until it is kept again."""
    store.files.delete(store.path(KEPT))


def kept(store: Store) -> History:
    """What was kept, or a history that knows nothing: where none is there, where other code made the tables, or
    where somebody has removed one of them.
    """
    if not all(store.files.exists(store.path(name)) for name in (KEPT, *(table.name for table in DERIVED))):
        return History(store)
    known = json.loads(store.files.read(store.path(KEPT)))
    if known["made_by"] != made_by():
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
