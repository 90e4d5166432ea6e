"""`groups` and `describe` against a real admin API, with a screen that only remembers."""

import json

import click
from click.testing import CliRunner, Result

from bridge.admin.command import describe, groups, status
from bridge.admin.documents import encode, group_document, groups_document
from tests.support.admin_served import admin_api
from tests.support.admin_views import ORDERS, RememberingScreen, StillSnapshots


def run(command: click.Command, *arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of a command."""
    return CliRunner().invoke(command, list(arguments), obj=screen or RememberingScreen())


def test_groups_are_a_table_without_empty_columns() -> None:
    """No group has a reason, so there is no such column."""
    screen = RememberingScreen()
    with admin_api() as address:
        assert run(groups, "--admin", address, screen=screen).exit_code == 0
    assert screen.columns == ["GROUP", "ROAD", "TYPE", "STATE", "EPOCH", "ASSIGNOR", "MEMBERS"]
    assert screen.rows == [["orders-billing", "embedded", "consumer", "Reconciling", "12", "uniform", "2"]]


def test_no_groups_are_said_in_words() -> None:
    """An empty table would look like a failure."""
    with admin_api(StillSnapshots(views=[])) as address:
        ran = run(groups, "--admin", address)
    assert (ran.exit_code, ran.output.startswith("The bridge coordinates no group yet")) == (0, True)


def test_described_group_has_lines_and_members() -> None:
    """Two lines on the group, one row for each member."""
    screen = RememberingScreen()
    with admin_api() as address:
        assert run(describe, "orders-billing", "--admin", address, screen=screen).exit_code == 0
    assert screen.lines[0] == "group orders-billing: road embedded, type consumer, state Reconciling"
    assert [row[0] for row in screen.rows] == ["m-1", "m-2"]


def test_json_is_the_answer_of_the_api() -> None:
    """For programs nothing is left out."""
    with admin_api() as address:
        listed = run(groups, "--json", "--admin", address)
        described = run(describe, "orders-billing", "--json", "--admin", address)
    assert json.loads(listed.output) == json.loads(encode(groups_document([ORDERS.summary])))
    assert json.loads(described.output) == json.loads(encode(group_document(ORDERS)))


def test_unknown_group_is_a_failure_with_a_sentence() -> None:
    """Exit status 1: the call was right, the group is not there."""
    with admin_api() as address:
        ran = run(describe, "nobody", "--admin", address)
    assert (ran.exit_code, "EB-ADMIN-004: the bridge coordinates no group 'nobody'" in ran.output) == (1, True)


def test_missing_bridge_is_a_failure_with_a_sentence() -> None:
    """Exit status 1, no traceback."""
    ran = run(groups, "--admin", "127.0.0.1:1")
    assert (ran.exit_code, "EB-ADMIN-011" in ran.output) == (1, True)


def test_describe_without_group_is_called_wrongly() -> None:
    """Exit status 2."""
    assert run(describe).exit_code == 2


def status_at(address: str) -> tuple[int, list[str]]:
    """The exit status, and what the screen is told: it shows control characters instead of obeying them."""
    screen = RememberingScreen()
    return run(status, "--admin", address, screen=screen).exit_code, screen.lines


def test_status_is_whether_clients_may_come_and_why_not() -> None:
    """For people, for scripts by its exit status, and as the API says it."""
    why = "the cluster can't be worked with: EB-NET-043: the broker speaks TLS"
    with admin_api() as address:
        assert status_at(address) == (0, ["ready: clients may come"])
    with admin_api(StillSnapshots(reasons=[why])) as address:
        assert status_at(address) == (1, ["not ready:", f"  {why}"])
        as_json = run(status, "--json", "--admin", address)
    assert (as_json.exit_code, json.loads(as_json.output)) == (1, {"ready": False, "reasons": [why], "troubles": []})


def test_status_tells_what_troubles_some_and_is_0_where_others_may_come() -> None:
    """A script that takes the bridge out by its status cuts off nobody who is served well."""
    trouble, why = "groups on road embedded stand still", "the bridge is draining"
    with admin_api(StillSnapshots(troubled=[trouble])) as address:
        assert status_at(address) == (0, ["ready: clients may come", f"but {trouble}"])
    with admin_api(StillSnapshots(reasons=[why], troubled=[trouble])) as address:
        assert status_at(address) == (1, ["not ready:", f"  {why}", f"  {trouble}"])


def test_status_of_nobody_is_a_sentence() -> None:
    """Exit status 1, no traceback."""
    ran = run(status, "--admin", "127.0.0.1:1")
    assert (ran.exit_code, "EB-ADMIN-011" in ran.output) == (1, True)
