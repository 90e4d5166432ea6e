"""Records of a topic as files of lines on this machine, for as long as a batch takes.

It must not know what a line says, nor who reads the files.
"""

from pathlib import Path

from pyspark.sql import DataFrame

from bridge.analytics.columns import LogFile
from bridge.analytics.delivery import Delivery
from bridge.analytics.reading import LINE, SOURCE
from bridge.analytics.store import NEXT, Store

FOLDER = "lines"
OF_SOURCE = f"{SOURCE}="
"""So Spark names a folder for the files of a source; the names of topics need no escapes there."""


def written_down(store: Store, records: DataFrame) -> Delivery:
    """Records (`LINE`, `SOURCE`) as files beside the tables, a folder for each source; what was there before is gone.

    Spark splits lines where Python does, so a record of several lines is several lines to both.
    """
    folder = store.path(NEXT, FOLDER)
    records.write.mode("overwrite").option("compression", "none").partitionBy(SOURCE).text(folder)
    lines = store.spark.read.schema(f"{LINE} string, {SOURCE} string").text(folder)
    paths = sorted(Path(folder).glob(f"{OF_SOURCE}*/part-*"))
    return Delivery(lines, tuple(LogFile(str(path), path.parent.name.removeprefix(OF_SOURCE)) for path in paths))


def forget_lines(store: Store) -> None:
    """Remove the files: the text of strangers is not kept."""
    store.clear_folder(NEXT, FOLDER)
