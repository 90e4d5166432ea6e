"""What the folder of a log no longer held when a stream came to it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.file_gaps import TAIL_BYTES, file_gaps
from bridge.analytics.intake.gaps import Gap
from bridge.analytics.intake.numbers import Seen

CALLED = "events-{}-{:06d}.jsonl"


def log_files(folder: Path, *made: tuple[str, int, Sequence[object]]) -> list[LogFile]:
    """Files of runs, by their place, of lines with these numbers, or of other text."""
    found: list[LogFile] = []
    for boot, index, numbers in made:
        path = folder / CALLED.format(boot, index)
        lines = (f'{{"schema_version":1,"number":{one}}}' if isinstance(one, int) else str(one) for one in numbers)
        path.write_text("".join(f"{line}\n" for line in lines))
        found.append(LogFile(str(path), path.name))
    return found


def told(gaps: Sequence[Gap]) -> list[tuple[str, int, int | None]]:
    """Where they are; which files are in the words."""
    return [(gap.source, gap.from_offset, gap.to_offset) for gap in gaps]


@pytest.mark.parametrize(
    ("files", "known", "seen", "gaps"),
    [
        pytest.param([("a", 2, [5])], [("a", 1)], {"a": Seen(4)}, [], id="nothing"),
        pytest.param([("a", 4, [9])], [("a", 1)], {"a": Seen(4)}, [("boot a", 5, 9)], id="after what came"),
        pytest.param([("a", 1, [1, 4]), ("a", 3, [9])], [], {}, [("boot a", 5, 9)], id="within the batch"),
        pytest.param([("b", 3, [9])], [("a", 1)], {"a": Seen(4)}, [("boot b", 1, 9)], id="the begin of a run"),
        pytest.param([("a", 3, [5])], [("a", 1)], {"a": Seen(4)}, [], id="a file without events"),
        pytest.param([("a", 3, [5])], [("a", 2)], {}, [], id="one that is still to come"),
        pytest.param([("a", 3, ["x", "[]", 9])], [("a", 1)], {"a": Seen(4)}, [("boot a", 5, 9)], id="behind strangers"),
        pytest.param([("a", 3, ["x"])], [("a", 1)], {"a": Seen(4)}, [("boot a", 5, None)], id="before strangers only"),
        pytest.param([("a", 2, [7, "{"]), ("a", 4, [9])], [("a", 1)], {}, [("boot a", 8, 9)], id="behind a torn line"),
    ],
)
def test_gap_lies_before_a_file_whose_former_one_never_came(
    tmp_path: Path,
    files: list[tuple[str, int, list[object]]],
    known: list[tuple[str, int]],
    seen: dict[str, Seen],
    gaps: list[tuple[str, int, int | None]],
) -> None:
    """By the places in the names of the files, and the numbers in them."""
    names = [CALLED.format(*one) for one in known]
    assert told(file_gaps(log_files(tmp_path, *files), names, seen, is_first=False)) == gaps


def test_words_name_the_files(tmp_path: Path) -> None:
    """Whoever has copies knows which to bring back."""
    (one,) = file_gaps(log_files(tmp_path, ("a", 3, [9])), [CALLED.format("a", 1)], {}, is_first=False)
    (many,) = file_gaps(log_files(tmp_path, ("a", 5, [9])), [CALLED.format("a", 1)], {}, is_first=False)
    assert one.detail.startswith("file 000002 of this run was gone from the folder before the stream came: ")
    assert many.detail.startswith("files 000002 to 000004 of this run were gone ")


def test_what_had_gone_before_a_stream_first_came_was_never_next(tmp_path: Path) -> None:
    """But for what lies between files that it did find."""
    files = log_files(tmp_path, ("a", 4, [9]), ("a", 6, [20]))
    assert told(file_gaps(files, [], {}, is_first=True)) == [("boot a", 10, 20)]


def test_last_line_may_be_longer_than_what_is_read_at_first(tmp_path: Path) -> None:
    """As of a member with very many partitions."""
    long = f'{{"number":7,"partitions":"{"p" * TAIL_BYTES * 3}"}}'
    files = log_files(tmp_path, ("a", 1, [6, long]), ("a", 3, [9]))
    assert told(file_gaps(files, [], {}, is_first=False)) == [("boot a", 8, 9)]
