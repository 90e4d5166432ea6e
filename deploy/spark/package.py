"""Packs the code that jobs need into one zip for `spark-submit --py-files`.

It must not know what the code does. No library travels with it: executors that have Arrow read lines by it, and where
they have not all that they run to make tables is Spark's own.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import click

ROOT = Path(__file__).resolve().parents[2]
OF_REPLAYS = ("bridge/whatif", "bridge/engine", "bridge/telemetry/following", "bridge/telemetry/cause")
PACKED = ("bridge/analytics", "bridge/migration/canary", "bridge/telemetry/schema", "translators/dialects", *OF_REPLAYS)
"""The room, the judge that it asks, the words of the event log and of the protocols, and what plays a group again."""
STAYS = ("bridge/analytics/shadow",)
"""Reads the event log of a bridge beside it, never on a cluster; what it reads with does not travel."""
SINGLE_FILES = (Path("bridge/log_lines.py"),)
"""What the follower says of what it leaves out."""
FIXED_TIME = (2020, 1, 1, 0, 0, 0)


def members(root: Path) -> Iterator[Path]:
    """The files, from the root; packages above them have their `__init__.py` too."""
    above = {parent for folder in PACKED for parent in Path(folder).parents if parent != Path()}
    yield from sorted(parent / "__init__.py" for parent in above if (root / parent / "__init__.py").is_file())
    yield from SINGLE_FILES
    for folder in PACKED:
        files = (path.relative_to(root) for path in (root / folder).rglob("*.py"))
        yield from sorted(path for path in files if not any(path.is_relative_to(stays) for stays in STAYS))


def pack(target: Path, root: Path = ROOT) -> int:
    """Write the zip; the same code gives the same bytes. Returns how many files are in it."""
    names = list(members(root))
    with ZipFile(target, "w", ZIP_DEFLATED) as package:
        for name in names:
            data = (root / name).read_bytes()
            package.writestr(_entry(name), data)
    return len(names)


def _entry(name: Path) -> ZipInfo:
    entry = ZipInfo(name.as_posix(), FIXED_TIME)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


@click.command()
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def main(target: Path) -> None:
    """Write the package to TARGET."""
    click.echo(f"{pack(target)} files in {target}")


if __name__ == "__main__":
    sys.exit(main())
