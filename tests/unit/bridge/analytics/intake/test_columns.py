"""Lines as columns, by Arrow: what is an event beyond doubt, and what is left over."""

import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.analytics.intake import columns
from bridge.analytics.intake.columns import Errand, LogFile, LongLine, Piece, make_columns, pieces_of
from bridge.analytics.intake.numbers import SPAN_MAX, Numbers
from bridge.analytics.tables.definitions import BATCH
from bridge.telemetry.schema.facts import BridgeStarted, Fact
from bridge.telemetry.schema.fields import LINE_BYTES_MAX, SCHEMA_VERSION
from bridge.telemetry.schema.terms import Phase, Protocol
from tests.support.fleet_words import MemberWords
from tests.support.spark import stamped, text_of
from tests.unit.bridge.analytics.intake.test_reading import DOCUMENT, GOOD, STRANGERS

DAY_US = 86_400_000_000
STARTS = text_of(stamped([MemberWords("g", "r", 1, Protocol.CLASSIC, "anna").phase(Phase.JOINING)[0]]))[0].encode()
STARTED = BridgeStarted(bridge_version="1", is_revived=False)


def made(folder: Path, lines: Sequence[bytes], size_bytes: int = 2**20) -> tuple[list[dict[str, object]], list[bytes]]:
    """The events of a file, without what they lack, and what is left of it."""
    log = folder / "events-b1-000001.jsonl"
    log.write_bytes(b"".join(line + b"\n" for line in lines))
    out = make_columns(Errand(tuple(pieces_of([LogFile(str(log), log.name)], size_bytes)), str(folder / "part"), 0))
    rows = [row for _, path in out.days for row in pyarrow.parquet.read_table(path).to_pylist()]
    left = [row for path in out.left_over for row in pyarrow.parquet.read_table(path).to_pylist()]
    assert {row["source"] for row in left} <= {log.name}
    assert {row.pop(BATCH) for row in rows} <= {0}
    said = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return said, [row["value"] for row in left]


def test_event_keeps_its_fields(tmp_path: Path) -> None:
    """What was written is what is read."""
    assert made(tmp_path, [GOOD.encode()]) == ([DOCUMENT], [])


@pytest.mark.parametrize("text", [rb"\udc00", rb"\ud800", rb"\ud800x", b"\xff"])
def test_text_that_is_no_utf_8_is_left_over(tmp_path: Path, text: bytes) -> None:
    """Arrow takes bytes as they are: what never was a text, and half a pair of UTF-16 that JSON spells out."""
    version = b'"bridge_version":"'
    line = GOOD.encode().replace(version, version + text)
    assert line != GOOD.encode()
    assert made(tmp_path, [line]) == ([], [line])


def test_line_of_the_schema_before_this_one_is_an_event(tmp_path: Path) -> None:
    """Evolution: what it could not say yet is null."""
    older = {**DOCUMENT, "schema_version": SCHEMA_VERSION - 1}
    assert made(tmp_path, [json.dumps(older, separators=(",", ":")).encode()]) == ([older], [])


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
def test_what_is_no_event_beyond_doubt_is_left_over(tmp_path: Path, stranger: str) -> None:
    """Alone, and among events, of which at most a few are left with it."""
    assert made(tmp_path, [stranger.encode()]) == ([], [stranger.encode()])
    good = [GOOD.encode()] * 100
    rows, left = made(tmp_path, [*good, stranger.encode(), *good])
    assert len(rows) + len(left) == 201
    assert stranger.encode() in left
    assert len(left) <= columns.LEFT_AT_ONCE


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"{GOOD},{GOOD}".encode(), id="two events parted by a comma"),
        pytest.param(GOOD.encode().replace(b'"1"', b'"\xff"'), id="no UTF-8"),
        pytest.param(GOOD.encode().replace(b'"number":1', b'"number":1,"number":2'), id="a field twice"),
        pytest.param(GOOD.encode().replace(b'"number":1', b'"number":9223372036854775808'), id="a number too large"),
        pytest.param(GOOD.encode().replace(b'"number":1', b'"number":1.0'), id="no whole number"),
        pytest.param(json.dumps({**DOCUMENT, "wall_us": -1}, separators=(",", ":")).encode(), id="before 1970"),
        pytest.param(
            json.dumps({**DOCUMENT, "wall_us": 2**62}, separators=(",", ":")).encode(), id="after the year 9999"
        ),
        pytest.param(GOOD.encode().replace(b"}", b',"invented":1}'), id="a field that nobody knows"),
        pytest.param(STARTS.replace(b"}", b',"cause":"join"}'), id="a field of another family"),
        pytest.param(GOOD.encode() + b" ", id="a blank behind it"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_spark_might_read_otherwise_is_left_to_it(tmp_path: Path, line: bytes) -> None:
    """So both ways say the same of every line."""
    assert made(tmp_path, [line]) == ([], [line])


def test_words_of_another_family_in_a_line_lead_nobody_astray(tmp_path: Path) -> None:
    """The family is guessed by how a line begins; what it says decides."""
    disguised = json.dumps({"schema_version": 2, "x": {"kind": "phase-began"}, **DOCUMENT}, separators=(",", ":"))
    assert made(tmp_path, [disguised.encode()]) == ([], [disguised.encode()])


def test_kinds_of_a_family_share_a_row_group_and_days_do_not_share_a_file(tmp_path: Path) -> None:
    """Who reads phases can pass over the rest; the files lie by the day."""
    words = MemberWords("g", "r", 1, Protocol.CLASSIC, "anna")
    begun, ended = words.phase(Phase.JOINING)
    facts: list[Fact] = [STARTED, begun, words.to_release(["t-0"]), ended]
    lines = [line for boot, at_us in (("b1", 0), ("b2", DAY_US)) for line in text_of(stamped(facts, boot, at_us))]
    log = tmp_path / "events-b1-000001.jsonl"
    log.write_text("\n".join(lines))
    out = make_columns(Errand(tuple(pieces_of([LogFile(str(log), log.name)], 2**20)), str(tmp_path / "part"), 0))
    assert [day for day, _ in out.days] == ["1970-01-01", "1970-01-02"]
    for _, path in out.days:
        file = pyarrow.parquet.ParquetFile(path)
        groups = [file.read_row_group(number, ["kind"])["kind"].to_pylist() for number in range(file.num_row_groups)]
        assert groups == [["phase-began", "phase-ended"], ["partitions-told"], ["bridge-started"]]


@pytest.mark.parametrize("size_bytes", [1, 7, 300, 1000, 2**20])
def test_every_line_of_a_file_lies_in_one_piece(
    tmp_path: Path, size_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is cut, and whatever is read at once."""
    monkeypatch.setattr(columns, "BLOCK_BYTES", 50)
    monkeypatch.setattr(columns, "FILE_ROWS", 3)
    lines = [
        *text_of(stamped([BridgeStarted(bridge_version="1" * n, is_revived=False) for n in range(9)])),
        "hello",
        "",
    ]
    rows, left = made(tmp_path, [line.encode() for line in lines], size_bytes)
    assert [row["number"] for row in rows] == list(range(1, 10))
    assert left == [b"hello", b""]


@pytest.mark.parametrize("size_bytes", [1, 7, 300, 1000, 2**20])
@pytest.mark.parametrize("is_ended", [False, True])
def test_line_that_is_too_long_is_told_and_costs_only_itself(
    tmp_path: Path, size_bytes: int, is_ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it lies and wherever it is cut; one that is as long as may be is a line like others."""
    monkeypatch.setattr(columns, "BLOCK_BYTES", 50)
    monkeypatch.setattr(columns, "LINE_BYTES_MAX", len(GOOD))
    good = GOOD.encode()
    longs = [b"x" * (len(good) + more) for more in (1, 2, 51, 1000)]
    log = tmp_path / "events-b1-000001.jsonl"
    log.write_bytes(b"\n".join([good, longs[0], longs[1], good, longs[2], longs[0][1:], longs[3]]) + b"\n" * is_ended)
    out = make_columns(Errand(tuple(pieces_of([LogFile(str(log), log.name)], size_bytes)), str(tmp_path / "part"), 0))
    assert out.long_lines == tuple(LongLine(log.name, len(long), sha256(long).hexdigest()) for long in longs)
    assert sum(pyarrow.parquet.read_table(path).num_rows for _, path in out.days) == 2
    (left,) = out.left_over
    assert pyarrow.parquet.read_table(left)["value"].to_pylist() == [longs[0][1:]]


@given(
    lines=st.lists(st.text("ab", max_size=40), max_size=12),
    is_ended=st.booleans(),
    bounds=st.tuples(st.integers(1, 30), st.integers(1, 30)).map(sorted),
    size_bytes=st.integers(1, 60),
)
def test_every_line_comes_once_wherever_a_file_is_cut(
    lines: list[str], is_ended: bool, bounds: list[int], size_bytes: int
) -> None:
    """Also where a piece, or what is read at once, ends exactly behind a newline."""
    text = "\n".join(lines) + "\n" * is_ended
    said = [line.encode() for line in text.removesuffix("\n").split("\n")] if text else []
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        for bound, value in zip(("BLOCK_BYTES", "LINE_BYTES_MAX"), bounds, strict=True):
            patched.setattr(columns, bound, value)
        log = LogFile(str(Path(name) / "events-b1-000001.jsonl"), "b1")
        Path(log.path).write_text(text)
        out = make_columns(Errand(tuple(pieces_of([log], size_bytes)), str(Path(name) / "part"), 0))
        left = [value for path in out.left_over for value in pyarrow.parquet.read_table(path)["value"].to_pylist()]
    assert left == [line for line in said if len(line) <= bounds[1]]
    assert [(one.length_bytes, one.digest) for one in out.long_lines] == [
        (len(line), sha256(line).hexdigest()) for line in said if len(line) > bounds[1]
    ]


def test_file_that_became_shorter_ends_where_it_ends(tmp_path: Path) -> None:
    """As one does whose rotation by another program copies it and empties it."""
    log = tmp_path / "events-b1-000001.jsonl"
    log.write_text(f"{GOOD}\n{GOOD}\n")
    pieces = [Piece(LogFile(str(log), log.name), begin, begin + 10_000) for begin in (0, 10_000)]
    ((_, path),) = make_columns(Errand(tuple(pieces), str(tmp_path / "part"), 0)).days
    assert pyarrow.parquet.read_table(path).num_rows == 2


def test_file_without_a_newline_is_not_held(tmp_path: Path) -> None:
    """200 MB of zeros, as a file system leaves them that lost its journal; a piece reads little more than itself."""
    log = tmp_path / "events-b1-000001.jsonl"
    with log.open("wb") as file:
        file.truncate(200 * 2**20)
    pieces = tuple(pieces_of([LogFile(str(log), log.name)], 32 * 2**20))
    tracemalloc.start()
    try:
        found = [make_columns(Errand((piece,), str(tmp_path / "part"), 0)) for piece in pieces]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [len(one.long_lines) for one in found] == [1] + [0] * (len(pieces) - 1)
    assert (found[0].long_lines[0].length_bytes, found[0].left_over) == (200 * 2**20, ())
    assert peak_bytes < 4 * LINE_BYTES_MAX


def test_last_line_may_end_with_the_file(tmp_path: Path) -> None:
    """And lines may end as on another system."""
    log = tmp_path / "events-b1-000001.jsonl"
    log.write_bytes(f"{GOOD}\r\n{GOOD}".encode())
    piece = Piece(LogFile(str(log), log.name), 0, log.stat().st_size)
    ((_, path),) = make_columns(Errand((piece,), str(tmp_path / "part"), 0)).days
    assert pyarrow.parquet.read_table(path).num_rows == 2


def numbers(folder: Path, *boots: str, far: int = 1) -> object:
    """The numbers that are told of files of some runs, two events each; of the last run the second is `far` away."""
    events = [event for boot in boots for event in stamped([STARTED, STARTED], boot)]
    last = events[-1]
    events[-1] = replace(last, stamp=replace(last.stamp, number=1 + far))
    log = folder / "events-b1-000001.jsonl"
    log.write_text("\n".join(text_of(events)))
    return make_columns(Errand(tuple(pieces_of([LogFile(str(log), log.name)], 2**20)), str(folder / "part"), 0)).numbers


def test_numbers_are_told_by_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as something is written down."""
    assert numbers(tmp_path, "b1", "b2", far=3) == (("b1", Numbers(1, 0b11)), ("b2", Numbers(1, 0b1001)))
    monkeypatch.setattr(columns, "FILE_ROWS", 3)
    monkeypatch.setattr(columns, "BLOCK_BYTES", 50)
    assert numbers(tmp_path, "b1", "b2") == (("b1", Numbers(1, 0b11)), ("b2", Numbers(1, 1)), ("b2", Numbers(2, 1)))


def test_numbers_that_came_twice_or_are_too_far_apart_or_of_too_many_runs_are_not_told(tmp_path: Path) -> None:
    """Spark counts them."""
    assert numbers(tmp_path, "b1", "b2", far=0) is None
    assert numbers(tmp_path, "b1", "b2", far=SPAN_MAX) is None
    assert numbers(tmp_path, "b1", "b2", far=SPAN_MAX - 1) is not None
    many = [f"b{place}" for place in range(columns.BOOTS_MAX + 1)]
    assert numbers(tmp_path, *many) is None
    assert numbers(tmp_path, *many[1:]) is not None


def test_damage_costs_only_the_lines_that_have_it(tmp_path: Path) -> None:
    """What a crash and a full disk leave: blocks of zeros, a line cut off, two in one, one of 10 MB that is none."""
    good = GOOD.encode()
    long = json.dumps({**DOCUMENT, "boot": "b" * 10 * 2**20}, separators=(",", ":")).encode()
    damaged = [bytes(4096) + good, good[:40] + good, long[:-1], b"x" * 10 * 2**20, good.replace(b'"1"', b"true")]
    whole = [*[good] * 40, long]
    lines = [*whole[:20], *damaged[:3], *whole[20:], *damaged[3:], good[:-20]]
    rows, left = made(tmp_path, lines)
    assert len(rows) + len(left) == len(lines)
    assert {*damaged, good[:-20]} <= {*left}
    assert len(rows) >= len(whole) - columns.LEFT_AT_ONCE * 2
