"""What the folder of a log no longer held when a stream came to it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bridge.analytics.intake.columns import LogFile
from bridge.analytics.intake.file_gaps import LINES_LOOKED_AT, TAIL_BYTES, deleted_gaps, file_gaps, first_numbers
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


def test_files_tell_by_their_first_event_where_they_begin(tmp_path: Path) -> None:
    """Behind strangers, if those are few; one that is gone, and one without events, begins nowhere."""
    strangers = ["x"] * LINES_LOOKED_AT
    files = log_files(tmp_path, ("a", 1, ["x", 4, 5]), ("a", 2, [6]), ("a", 3, []), ("a", 4, [*strangers, 9]))
    Path(files[1].path).unlink()
    assert first_numbers(files) == {files[0].source: 4}


@pytest.mark.parametrize(
    ("gone", "gaps"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([("a", 1)], [("boot a", 3, 6)], id="the oldest"),
        pytest.param([("a", 2), ("a", 1)], [("boot a", 3, 9)], id="the oldest ones are one gap"),
        pytest.param([("a", 1), ("a", 4)], [("boot a", 3, 6), ("boot a", 9, None)], id="the last one has no end"),
        pytest.param([("a", 4), ("b", 1)], [("boot a", 9, None), ("boot b", 1, 2)], id="of two runs"),
        pytest.param([("a", 3)], [], id="one in which nobody saw an event"),
    ],
)
def test_gap_is_what_was_in_files_that_are_deleted_before_they_are_read(
    gone: list[tuple[str, int]], gaps: list[tuple[str, int, int | None]]
) -> None:
    """Up to the next file that was there, whatever became of that one."""
    first = {("a", 1): 3, ("a", 2): 6, ("a", 4): 9, ("b", 1): 1, ("b", 2): 2}
    names = {CALLED.format(*place): number for place, number in first.items()}
    assert told(deleted_gaps(names, [CALLED.format(*place) for place in gone])) == gaps


def test_words_name_the_files_that_are_deleted() -> None:
    """Whoever has copies knows which to bring back."""
    names = [CALLED.format("a", index) for index in (1, 2, 3)]
    first = {name: number for number, name in enumerate(names)}
    (one,), (two,) = deleted_gaps(first, names[:1]), deleted_gaps(first, names[:2])
    assert one.detail.startswith(f"{names[0]} was deleted while the log was read, ")
    assert two.detail.startswith(f"{names[0]} to {names[1]} were deleted ")
