"""Which rebalances of a log are shown."""

from pathlib import Path

import pytest

from bridge.telemetry.event_log.codec import encode_event
from bridge.telemetry.schema.facts import Event
from bridge.telemetry.trace.selection import Aside, NothingToShow, Wanted, find_rebalances, parse_duration
from tests.support.event_stories import Story


def write(folder: Path, events: list[Event]) -> None:
    """A log of one file."""
    (folder / "events-b1-000001.jsonl").write_bytes(b"".join(map(encode_event, events)))


@pytest.fixture(name="log")
def _log(tmp_path: Path) -> Path:
    story = Story()
    for minute in range(4):
        story.at(minute * 60_000).left(f"c{minute}")
        story.began(minute).target(3).ended()
    other = Story(group="payments").at(0).began(1).ended()
    write(tmp_path, [*story.events, *other.events])
    return tmp_path


def epochs(folder: Path, rebalance_id: str = "", since_us: int | None = None) -> list[int]:
    """The epochs of what is found."""
    wanted = Wanted(group_id="orders", rebalance_id=rebalance_id, since_us=since_us)
    return [one.epoch for one in find_rebalances(folder, wanted)]


def test_last_one_found_by_default(log: Path) -> None:
    """Nothing else was asked for."""
    assert epochs(log) == [3]


def test_one_found_by_its_id(log: Path) -> None:
    """As the JSON and the page show it."""
    assert epochs(log, "orders@b1-r2") == [1]


def test_those_found_since_the_end_of_the_log(log: Path) -> None:
    """A log that was copied from elsewhere yesterday works as well."""
    assert epochs(log, since_us=parse_duration("90s")) == [2, 3]


def test_unknown_things_named_with_what_there_is(log: Path, tmp_path: Path) -> None:
    """Another group, another id, another folder, an empty folder."""
    with pytest.raises(NothingToShow, match=r"EB-TRACE-002.*its groups are: orders, payments"):
        find_rebalances(log, Wanted(group_id="order"))
    with pytest.raises(NothingToShow, match=r"EB-TRACE-003.*orders@b1-r4"):
        epochs(log, "orders@b1-r9")
    with pytest.raises(NothingToShow, match=r"EB-TRACE-001.*can't be read"):
        epochs(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToShow, match=r"EB-TRACE-001.*holds no event log"):
        epochs(tmp_path / "empty")


def test_lines_that_are_no_events_are_told(log: Path) -> None:
    """With the reason against the first, also where the group is not found; a torn last line is being written."""
    (log / "events-b1-000002.jsonl").write_bytes(b'no event\n{"schema_version": 9000}\n{"torn')
    aside = Aside()
    assert [one.epoch for one in find_rebalances(log, Wanted(group_id="orders"), aside)] == [3]
    assert aside.count == 2
    assert aside.words().startswith("2 lines are no events, the first (foreign: ")
    with pytest.raises(NothingToShow, match=r"EB-TRACE-002: .*orders, payments; 2 lines are no events"):
        find_rebalances(log, Wanted(group_id="order"))


@pytest.mark.parametrize(("text", "expected"), [("90s", 90_000_000), ("15m", 900_000_000), ("250ms", 250_000)])
def test_duration_parsed(text: str, expected: int) -> None:
    """A number and a unit."""
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "1", "h", "-1h", "1.5h", "1y"])
def test_other_text_is_no_duration(text: str) -> None:
    """It says what would be one."""
    with pytest.raises(ValueError, match="no duration such as"):
        parse_duration(text)
