"""`plan` against a real admin API."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bridge.admin.contracts import PLAN_CHARS_MAX
from bridge.admin.plan_command import plan
from bridge.migration.plans.step import step
from bridge.migration.plans.values import PauseOrdered, ReturnOrdered
from tests.support.admin_served import admin_api
from tests.support.admin_views import RememberingScreen, still_sources
from tests.support.obedient_plans import ObedientPlans, planned


def run(plans: ObedientPlans, *arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of a subcommand."""
    with admin_api(sources=replace(still_sources(), open_plans=lambda: plans)) as address:
        return CliRunner().invoke(plan, [*arguments, "--admin", address], obj=screen or RememberingScreen())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A plan that the stand-in finds right."""
    path = tmp_path / "plan.yaml"
    path.write_text("right")
    return path


def test_plan_is_judged_and_begun(file: Path) -> None:
    """The groups in their stages; only `start` begins."""
    plans, screen = ObedientPlans(), RememberingScreen()
    assert run(plans, "check", str(file), screen=screen).exit_code == 0
    assert (plans.states, screen.columns) == ({}, ["GROUP", "STEP", "MEMBERS"])
    assert screen.lines[0] == "plan pay.1: to upstream, it can begin; nothing has begun"
    assert [line.partition(":")[0] for line in screen.lines[1:]] == ["stage 1", "stage 2"]
    begun = RememberingScreen()
    assert run(plans, "start", str(file), screen=begun).exit_code == 0
    assert begun.lines[0].startswith("plan pay.1: to upstream, observing until 1970-01-01 00:16:40Z, stage 0 of 2")
    assert plans.texts == [("right", str(file))]


def test_wrong_plan_is_a_failure(file: Path) -> None:
    """Status 1, with every mistake; so is a file that can't be read."""
    file.write_text("wrong")
    ran = run(ObedientPlans(), "check", str(file))
    assert (ran.exit_code, ran.output.count("[EB-PLAN-004]")) == (1, 2)
    missing = run(ObedientPlans(), "start", str(file.with_name("no.yaml")))
    file.write_text("x" * (PLAN_CHARS_MAX + 1))
    long = run(ObedientPlans(), "start", str(file))
    assert [(one.exit_code, "EB-PLAN-017" in one.output) for one in (missing, long)] == [(1, True), (1, True)]


@pytest.mark.parametrize("name", ["", "../x", "a b", "x" * 101])
@pytest.mark.parametrize("word", ["status", "pause"])
def test_plan_that_can_t_be_called_so_is_none(name: str, word: str) -> None:
    """It was asked for at another page, and what was said then was of something else that may listen there."""
    ran = run(ObedientPlans(), word, name)
    assert (ran.exit_code, "EB-PLAN-015: there is no plan" in ran.output) == (1, True)


def test_status_of_one_and_of_all() -> None:
    """Status 1 where an operator has to look."""
    held = step(planned(6), PauseOrdered(), 1).state
    plans, screen = ObedientPlans({"pay.1": planned(6)}), RememberingScreen()
    assert run(plans, "status", screen=screen).exit_code == 0
    assert screen.columns == ["PLAN", "TO", "PHASE", "STAGE", "MOVED", "UNTIL"]
    assert run(plans, "status", "pay.1").exit_code == 0
    assert run(ObedientPlans({"pay.1": held}), "status", "pay.1").exit_code == 1
    assert run(plans, "status", "nobody").exit_code == 1
    assert "There is no plan" in run(ObedientPlans(), "status").output
    assert json.loads(run(plans, "status", "--json").output)["plans"][0]["name"] == "pay.1"


def test_plan_hears_what_an_operator_wants() -> None:
    """By a command for each word."""
    plans = ObedientPlans({"pay.1": planned(6)})
    outcomes = [run(plans, word, "pay.1").exit_code for word in ("pause", "resume", "promote", "return")]
    assert (outcomes, len(plans.words), plans.words[-1]) == ([0] * 4, 4, ReturnOrdered())
    told = run(plans, "pause", "pay.1", "--json")
    assert json.loads(told.output)["phase"] == "returning"
    assert run(plans, "pause", "nobody").exit_code == 1
