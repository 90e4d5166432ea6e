"""`remove-members` against a real admin API."""

import json

import pytest
from click.testing import CliRunner, Result

from bridge.admin.contracts import Removal
from bridge.admin.order_commands import remove_members
from tests.support.admin_served import admin_api
from tests.support.admin_views import ObedientCommands, RememberingScreen


def run(*arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of the command."""
    return CliRunner().invoke(remove_members, list(arguments), obj=screen or RememberingScreen())


def test_named_members_are_ordered_out_and_shown() -> None:
    """Lists with commas, one row for each seat."""
    commands, screen = ObedientCommands(), RememberingScreen()
    with admin_api(commands=commands) as address:
        ran = run("orders-billing", "--instance-ids", "a, b", "--member-ids", "m", "--admin", address, screen=screen)
    assert ran.exit_code == 0
    assert commands.orders == [Removal(group="orders-billing", member_ids=("m",), instance_ids=("a", "b"))]
    assert screen.columns == ["MEMBER", "INSTANCE", "OUTCOME"]
    assert screen.rows == [["m", "-", "removed"], ["-", "a", "removed"], ["-", "b", "removed"]]


def test_all_are_ordered_out() -> None:
    """The answer as it came, for programs."""
    with admin_api() as address:
        ran = run("orders-billing", "--all", "--json", "--admin", address)
    assert ran.exit_code == 0
    assert [seat["error"] for seat in json.loads(ran.output)["seats"]] == ["", ""]


def test_member_that_is_not_there_is_a_failure() -> None:
    """Status 1, and the others are out all the same."""
    screen = RememberingScreen()
    with admin_api() as address:
        ran = run("orders-billing", "--member-ids", "m,stranger", "--admin", address, screen=screen)
    assert ran.exit_code == 1
    assert screen.rows == [["m", "removed"], ["stranger", "UNKNOWN_MEMBER_ID"]]


def test_refusal_as_a_whole_is_a_failure() -> None:
    """The journal can't be written, for one."""
    screen = RememberingScreen()
    with admin_api(commands=ObedientCommands(error="COORDINATOR_NOT_AVAILABLE")) as address:
        ran = run("orders-billing", "--all", "--admin", address, screen=screen)
    assert (ran.exit_code, screen.rows) == (1, [])
    assert "COORDINATOR_NOT_AVAILABLE" in screen.lines[0]


def test_unknown_group_is_a_failure_with_a_sentence() -> None:
    """The sentence of the API."""
    with admin_api() as address:
        ran = run("nobody", "--all", "--admin", address)
    assert (ran.exit_code, "EB-ADMIN-004" in ran.output) == (1, True)


@pytest.mark.parametrize("arguments", [["g"], ["g", "--all", "--member-ids", "m"], ["g", "--instance-ids", " , "], []])
def test_nobody_is_removed_by_accident(arguments: list[str]) -> None:
    """Status 2."""
    assert run(*arguments).exit_code == 2
