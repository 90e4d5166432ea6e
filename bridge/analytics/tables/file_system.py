"""Files and folders below a root, by the file system of Hadoop that Spark finds for it: local ones and all others."""

from dataclasses import dataclass
from errno import EPERM

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class FileSystem:
    """The file system of a root; every path is whole."""

    spark: SparkSession
    root: str

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder of this name."""
        return bool(self._files().exists(self._path(path)))

    def find(self, pattern: str) -> list[str]:
        """The paths that a pattern names, in order."""
        return [*self.sizes(pattern)]

    def sizes(self, pattern: str) -> dict[str, int]:
        """The paths that a pattern names, in order, and how many bytes each file has."""
        found = self._files().globStatus(self._path(pattern)) or []
        return dict(sorted((str(status.getPath().toString()), int(status.getLen())) for status in found))

    def size_bytes(self, path: str) -> int:
        """How long a file is; raise what Java raises if there is none."""
        return int(self._files().getFileStatus(self._path(path)).getLen())

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it, if they are not there; raise what Java raises."""
        self._files().mkdirs(self._path(path))

    def move(self, path: str, to: str) -> None:
        """Raise OSError where the file system says no, which Hadoop tells by `false` and no word."""
        if not self._files().rename(self._path(path), self._path(to)):
            raise OSError(EPERM, "can't be moved there", path, None, to)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it; one that is not there is no fault."""
        self._files().delete(self._path(path), True)

    def write(self, path: str, text: str) -> None:
        """Put a text into a file, in place of what it held; raise what Java raises."""
        stream = self._files().create(self._path(path), True)
        stream.write(text.encode())
        stream.close()

    def read(self, path: str) -> str:
        """What a file holds."""
        stream = self._files().open(self._path(path))
        text = bytes(stream.readAllBytes()).decode()
        stream.close()
        return text

    def _path(self, text: str) -> JavaObject:
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None, "Spark runs"
        return jvm.org.apache.hadoop.fs.Path(text)

    def _files(self) -> JavaObject:
        context = self.spark.sparkContext._jsc
        assert context is not None, "Spark runs"
        return self._path(self.root).getFileSystem(context.hadoopConfiguration())
