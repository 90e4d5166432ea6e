"""`remove-members` and `convert` against a real admin API."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from bridge.admin.contracts import Conversion, Reload, Removal
from bridge.admin.order_commands import convert, reload, remove_members
from tests.support.admin_served import admin_api
from tests.support.admin_views import ObedientCommands, ObedientReloading, RememberingScreen, still_sources


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


def run_convert(*arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of `convert`."""
    return CliRunner().invoke(convert, list(arguments), obj=screen or RememberingScreen())


def test_conversion_says_who_joins_again() -> None:
    """One line for the group, one row for each member."""
    commands, screen = ObedientCommands(), RememberingScreen()
    with admin_api(commands=commands) as address:
        assert run_convert("orders-billing", "--to", "classic", "--admin", address, screen=screen).exit_code == 0
    assert commands.conversions == [Conversion(group="orders-billing", to="classic")]
    assert screen.lines == ["group orders-billing is now a classic group; 1 of 2 members join again"]
    assert screen.columns == ["MEMBER", "INSTANCE", "CLIENT", "PROTOCOL", "NOTICES", "LOSES", "GAINS"]
    assert screen.rows == [
        ["m-2", "-", "a", "classic", "nothing", "orders: 5", "-"],
        ["m-1", "seat-1", "billing-1", "classic", "joins again", "-", "orders: 5"],
    ]


def test_dry_run_says_that_it_is_one() -> None:
    """Nothing has happened."""
    commands, screen = ObedientCommands(), RememberingScreen()
    with admin_api(commands=commands) as address:
        ran = run_convert("orders-billing", "--to", "classic", "--dry-run", "--admin", address, screen=screen)
    assert (ran.exit_code, commands.conversions[0].is_dry_run) == (0, True)
    assert screen.lines == ["group orders-billing would become a classic group; 1 of 2 members would join again"]


def test_conversion_that_is_not_possible_says_why() -> None:
    """Status 1, for programs too."""
    screen = RememberingScreen()
    with admin_api(commands=ObedientCommands(error="custom assignor 'acme'")) as address:
        ran = run_convert("orders-billing", "--to", "classic", "--admin", address, screen=screen)
        told = run_convert("orders-billing", "--to", "classic", "--json", "--admin", address)
        missing = run_convert("nobody", "--to", "classic", "--admin", address)
    assert screen.lines == ["group orders-billing can't become a classic group: custom assignor 'acme'"]
    assert (ran.exit_code, told.exit_code, missing.exit_code) == (1, 1, 1)
    assert json.loads(told.output)["error"] == "custom assignor 'acme'"
    assert "EB-ADMIN-004" in missing.output


@pytest.mark.parametrize("arguments", [["g"], ["g", "--to", "share"], ["--to", "classic"]])
def test_kind_has_to_be_named(arguments: list[str]) -> None:
    """Status 2."""
    assert run_convert(*arguments).exit_code == 2


def run_reload(reloaded: Reload, *arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of `reload` to a bridge that answers so."""
    sources = replace(still_sources(), reloading=ObedientReloading(reloaded))
    with admin_api(sources=sources) as address:
        return CliRunner().invoke(reload, [*arguments, "--admin", address], obj=screen or RememberingScreen())


def test_reload_tells_what_changed() -> None:
    """And what there is to say about the rules; a dry run says that it is one."""
    screen, dry, same = RememberingScreen(), RememberingScreen(), RememberingScreen()
    told = Reload(changes=("rules for new groups: none",), findings=("line 3: EB-RULE-001: x",))
    assert run_reload(told, "--log-level", "debug", screen=screen).exit_code == 0
    assert run_reload(told, "--dry-run", screen=dry).exit_code == 0
    assert run_reload(Reload(), screen=same).exit_code == 0
    assert screen.lines == ["changed: rules for new groups: none", "finding: line 3: EB-RULE-001: x"]
    assert (dry.lines[0], same.lines) == (
        "would change: rules for new groups: none",
        ["the configuration is what it was"],
    )


def test_reload_of_what_can_not_be_used_is_a_failure() -> None:
    """Status 1, with the reasons; programs get the answer."""
    ran = run_reload(Reload(error="f.yaml:3: nonsense [EB-CONFIG-003]"))
    assert (ran.exit_code, "EB-ADMIN-015" in ran.output, "f.yaml:3: nonsense" in ran.output) == (1, True, True)
    assert json.loads(run_reload(Reload(), "--json").output)["changes"] == []
