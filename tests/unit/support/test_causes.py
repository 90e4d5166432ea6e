"""Which stories with known causes are told by default, how they are judged, and what the page of them says."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.telemetry.rebalances.assembling import assemble
from bridge.telemetry.schema.terms import Cause
from tests.support.causes.judging import faults, read
from tests.support.causes.page import PAGE, read_page, read_results, render_page
from tests.support.causes.players import NEW, ROADS, UPSTREAM, VERSIONS, Case, Name, cases_of, picked_cases
from tests.support.causes.running import Told
from tests.support.causes.stories import STORIES
from tests.support.event_stories import cooperative_handover
from tests.support.tutorials import script_of
from tests.support.two_brokers import java_hash

LIMITS = {name: story.limits for name, story in STORIES.items()}
JOIN = Case(NEW, "embedded", Name.CONSUMER, "join")


def test_every_story_is_told_once_by_default() -> None:
    """Both roads and all kinds have their turns; on road `upstream` clients' own diaries are what is right."""
    picked = [case for case in picked_cases(LIMITS) if case.road != UPSTREAM]
    assert [case.story for case in picked] == list(STORIES)
    assert {case.road for case in picked} == set(ROADS)
    assert {case.kind for case in picked} == set(Name)
    upstream = [case for case in picked_cases(LIMITS) if case.road == UPSTREAM]
    assert {case.story for case in upstream} == {"expiry", "frozen-out", "slow-revoke", "deployment"}
    assert all(STORIES[case.story].says(case).has_diaries for case in upstream)


def test_matrix_tells_every_story_on_each_broker() -> None:
    """Kafka 3.9 coordinates no consumer groups itself, so that nothing that needs one passes there."""
    every = cases_of(LIMITS)
    assert {(case.version, case.story) for case in every} == {(one, story) for one in VERSIONS for story in STORIES}
    assert not [case for case in every if case.version != NEW and case.road == "pass" and case.is_consumer]


def test_story_said_rightly_has_no_faults() -> None:
    """c4 joins and waits for c1; called as in the story that is what is right."""
    told = Told(rebalances=tuple(assemble(cooperative_handover().events)), names={"c1": "a", "c4": "c"})
    assert list(faults(JOIN, read(JOIN, told))) == []


@pytest.mark.parametrize(
    ("names", "fault"), [({"c1": "a", "c4": "b"}, "causes"), ({"c1": "b", "c4": "c"}, "waited for, not a in revoking")]
)
def test_story_said_wrongly_names_what_is_wrong(names: dict[str, str], fault: str) -> None:
    """Another one came, or another one was slow."""
    told = Told(rebalances=tuple(assemble(cooperative_handover().events)), names=names)
    (found,) = faults(JOIN, read(JOIN, told))
    assert fault in found


def test_leaders_second_rejoin_is_its_own_affair() -> None:
    """kafka-python's leader may join again as it assigns: that disturbs everybody again, and is not the story's."""
    (said,) = assemble(cooperative_handover().events)
    explained = replace(said.explained, cause=Cause.LEADER_REJOINED, caused_by=("c4",))
    members = tuple(replace(member, is_disturbed=True) for member in said.members)
    once, names = replace(said, explained=explained, members=members), {"c1": "b", "c4": "a"}
    story = Case(NEW, "pass", Name.PYTHON, "leader-rejoin")
    for times in (1, 2):
        assert list(faults(story, read(story, Told(rebalances=(once,) * times, names=names)))) == []


def test_page_tells_what_was_said(tmp_path: Path) -> None:
    """A row for each story, of one told twice the last."""
    properties = {"cause of": "join", "road": "pass", "broker": NEW, "clients": Name.RANGE, "causes": str(Cause.JOIN)}
    written = "".join(f'<property name="{name}" value="{value}"/>' for name, value in properties.items())
    cases = [f"<testcase><properties>{written}</properties>{end}</testcase>" for end in ("<failure/>", "")]
    path = tmp_path / "causes.xml"
    path.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
    assert [one["right"] for one in read_results(path)] == ["no", "yes"]
    assert "| join | pass | 4.3.1 | confluent-range | join |  |  |  |  | yes |" in render_page(read_results(path))


def test_page_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Told anew are some of its stories; the rows of all others stay, with the commits that they may be of."""
    rows = read_page(PAGE)
    assert len(rows) >= 297
    copy = tmp_path / "causes.md"
    copy.write_text(render_page(rows), encoding="utf-8")
    assert read_page(copy) == rows
    told = {**rows[0], "commit": "0123456789ab", "right": "no"}
    copy.write_text(render_page([*rows, told]), encoding="utf-8")
    assert len(read_page(copy)) == len(rows)
    assert [one["right"] for one in read_page(copy)].count("no") == 1
    assert "`0123456789ab`" in copy.read_text(encoding="utf-8")


def test_tutorials_commands_are_those_with_a_prompt(tmp_path: Path) -> None:
    """What a program prints is not typed, and a text to be replaced must be there."""
    page = tmp_path / "page.md"
    page.write_text("text\n```console\n$ one 1\nsaid\n$ two\n```\n```sh\nnot this\n```\n", encoding="utf-8")
    assert script_of(page, {"1": "2"}).splitlines()[1:] == ["one 2", "two"]
    with pytest.raises(ValueError, match="has no command"):
        script_of(page, {"three": ""})


def test_hash_is_javas() -> None:
    """String.hashCode of "abc" is 96354, of "orders" -1008770331, of "polygenelubricants" the least that there is."""
    assert (java_hash("abc"), java_hash("orders"), java_hash("polygenelubricants")) == (96354, 1008770331, 0)
