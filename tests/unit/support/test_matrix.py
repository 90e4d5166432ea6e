"""Which combinations of client, story and broker a default run tells, and the table that comes of it.

It starts no client.
"""

from pathlib import Path

import pytest

from tests.support.casts import CASTS, KINDS
from tests.support.matrix import VERSIONS, all_cases, needs_node, picked_cases, table_lines
from tests.support.matrix_page import read_results, render_page
from tests.support.stories import STORIES

TOLD = """\
<testsuites><testsuite><testcase name="a"><properties>
<property name="broker" value="3.9.1"/><property name="story" value="kill"/><property name="disturbed" value="0"/>
</properties></testcase><testcase name="b"><properties><property name="story" value="form"/></properties>
<failure message="no"/></testcase><testcase name="c"/></testsuite></testsuites>
"""


def test_default_run_tells_every_story_and_lets_every_cast_play() -> None:
    """Issue, done-when 1: each client and each story at least once, on both brokers; kafkajs waits for the matrix."""
    picked = picked_cases()
    assert {case.story for case in picked} == set(STORIES)
    assert {case.cast for case in picked} == {cast for cast in CASTS if not needs_node(cast)}
    assert {case.version for case in picked} == set(VERSIONS)


def test_default_run_is_part_of_the_matrix_and_always_the_same() -> None:
    """A fixed seed picks the pairs."""
    assert picked_cases() == picked_cases()
    assert set(picked_cases()) <= set(all_cases())


def test_matrix_lets_every_kind_play_every_story_that_it_can() -> None:
    """What can't be played: kafkajs knows no static members, and who speaks KIP-848 already is not upgraded."""
    missing = {
        (cast, story)
        for cast in KINDS
        for story in STORIES
        if not any((case.cast, case.story) == (cast, story) for case in all_cases())
    }
    rolls = {"upgrade", "downgrade", "static-roll"}
    assert missing == {("kafkajs", "bounce"), ("kafkajs", "static-roll")} | {
        (cast, story) for cast in ("confluent-consumer", "java-consumer") for story in rolls
    }


def test_results_become_a_table_with_outcome_and_figures(tmp_path: Path) -> None:
    """What a test noted is a row; a test that told no story is none."""
    results = tmp_path / "results.xml"
    results.write_text(TOLD, encoding="utf-8")
    told = read_results(results)
    assert [outcome for outcome, _ in told] == ["passed", "failed"]
    assert table_lines(told)[2:] == [
        "| 3.9.1 |  |  | kill | passed | 0 |  |  |  |  |  |",
        "|  |  |  | form | failed |  |  |  |  |  |  |",
    ]
    assert "commit `abc` with `tox run -e matrix`: 1 failed, 1 passed." in render_page(told, "abc")


def test_results_without_a_story_are_refused(tmp_path: Path) -> None:
    """A page without rows would look like a matrix that passed."""
    results = tmp_path / "results.xml"
    results.write_text("<testsuites/>", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no story"):
        read_results(results)
