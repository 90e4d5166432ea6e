"""Who writes the tables below a folder: one process at a time, which the lock of a file tells.

The lock goes with the process, however that ends. Folders of other machines have none.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge.analytics.errors import AnalyticsError

LOCK = "_writer"


@contextmanager
def owned(out: str) -> Iterator[None]:
    """Be the only one that writes the tables; raise AnalyticsError if another process of this machine does."""
    if "://" in out:
        yield
        return
    with (Path(out) / LOCK).open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            file.seek(0)
            raise AnalyticsError(
                f"EB-ANALYTICS-014: process {file.read().strip() or 'unknown'} writes the tables in {out}, and two "
                "would spoil them for each other; wait until it ends, stop it, or name another --out"
            ) from busy
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
