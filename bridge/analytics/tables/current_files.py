"""Which Parquet files make up a table now, for who reads them without Spark.

It must not know who reads, nor open one of the files.
"""

from pathlib import Path

from bridge.analytics.tables.definitions import DATE, Table


def current_files(root: str, table: Table) -> tuple[str, ...]:
    """The files of a table below a root of this machine, absolute and in order; none where it was never written.

    Columns are known by their names: files that were written under an older schema lack some, and those of a newer one
    have more than the table says. `date`, and it may be `batch`, are told by the names of the folders (`date=…`) where
    a file lacks them.
    """
    return tuple(sorted(map(str, (Path(root).resolve() / table.name).glob(f"{DATE}=*/**/*.parquet"))))
