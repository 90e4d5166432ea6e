"""`census` against a real admin API, with a screen that only remembers."""

import json

import pytest
from click.testing import CliRunner, Result

from bridge.admin.census_command import COLUMNS, census, group_row, move_lines, obstacle_lines
from bridge.admin.rows import Answer
from bridge.migration.abilities import BrokerAbilities
from bridge.migration.census import Census
from tests.support.admin_served import admin_api, something_else
from tests.support.admin_views import RememberingScreen
from tests.support.surveyed import StillSurveys

CARRIES_DATA = (
    "EB-MOVE-120: user data in the assignment of 1 member (seat) makes brokers refuse a take-over (69): the bridge"
    " plays a round before, which leaves it behind, and of which no client hears; nothing is to be done, as long as all"
    " members come through this bridge"
)


def run(*arguments: str, screen: RememberingScreen | None = None) -> Result:
    """One call of the command."""
    return CliRunner().invoke(census, list(arguments), obj=screen or RememberingScreen())


def test_groups_are_a_table_with_what_stands_in_the_way_below() -> None:
    """What nobody told is `-`, one reason is said once, and so is what could not be looked at."""
    screen = RememberingScreen()
    with admin_api(surveys=StillSurveys()) as address:
        assert run("--admin", address, screen=screen).exit_code == 0
    assert [dict(zip(screen.columns, row, strict=True)) for row in screen.rows] == [
        {
            "GROUP": "orders",
            "ROAD": "pass",
            "KIND": "classic",
            "STATE": "Stable",
            "MEMBERS": "1",
            "LIBRARIES": "librdkafka 2.16",
            "ASSIGNORS": "range, roundrobin",
            "REBALANCING": "eager",
            "STATIC": "1 of 1",
            "USER DATA": "assignment",
            "SESSION MS": "45000",
            "COMMITTED": "4",
            "LAG": "17",
            "MOVES TO": "embedded, upstream",
            "JOINS PER CHANGE": "1 -> 0",
        },
        dict.fromkeys(screen.columns, "-") | {"GROUP": "workers", "ROAD": "pass", "KIND": "unknown", "STATE": "Stable"},
    ]
    reason = (
        "EB-MOVE-102 (workers): protocol type 'connect' of workers is not 'consumer': its members share out"
        " something else than partitions; leave it on road pass"
    )
    assert screen.lines == [
        f"to embedded: {reason}",
        f"to upstream: {reason}",
        "not seen: EB-CENSUS-005: broker 2: no answer",
    ]


@pytest.mark.parametrize(("road", "joins"), [("upstream", "0"), ("embedded", "-"), ("pass", "-")])
def test_member_on_upstream_joins_for_nobody(road: str, joins: str) -> None:
    """It has gained that, and the census said of it what it says of what nobody told."""
    group = {"group_id": "g", "road": road, "members": [{"member_id": "m"}], "gains": []}
    assert dict(zip(COLUMNS, group_row(group), strict=True))["JOINS PER CHANGE"] == joins
    assert group_row({**group, "members": []})[-1] == "-"


def test_one_group_has_its_members_every_reason_and_the_gains() -> None:
    """Also what stands in nobody's way."""
    screen = RememberingScreen()
    with admin_api(surveys=StillSurveys()) as address:
        assert run("orders", "--admin", address, screen=screen).exit_code == 0
    assert screen.rows[-1] == [
        *("a-1", "seat", "a", "10.0.0.1", "librdkafka 2.16", "classic", "range, roundrobin", "eager", "assignment"),
        *("45000", "4", "yes"),
    ]
    gain = (
        "each eager member (1 in all) joins 1 -> 0 times when another comes or goes, 9 -> 0 times in a whole roll to"
        " the consumer protocol; one more member stops the group's partitions for 9 -> 0.6 s in all (as measured in a"
        " group of 10)"
    )
    assert screen.lines == ["to embedded: ready", "to upstream: ready", f"  note: {CARRIES_DATA}", gain]


def test_json_is_the_answer_of_the_api() -> None:
    """For programs nothing is left out."""
    with admin_api(surveys=StillSurveys()) as address:
        ran = run("--json", "--admin", address)
    assert [group["group_id"] for group in json.loads(ran.output)["groups"]] == ["orders", "workers"]


def test_json_of_one_group_is_the_answer_with_that_group() -> None:
    """It was a table, which no program reads; and one that is not there is a failure all the same."""
    with admin_api(surveys=StillSurveys()) as address:
        whole, one, none = (run(*words, "--json", "--admin", address) for words in ([], ["workers"], ["nobody"]))
    told, only = json.loads(whole.output), json.loads(one.output)
    assert only == {**told, "groups": [group for group in told["groups"] if group["group_id"] == "workers"]}
    assert (one.exit_code, none.exit_code) == (0, 1)


def test_no_groups_are_said_in_words() -> None:
    """An empty table would look like a failure."""
    with admin_api(surveys=StillSurveys(Census(groups=(), abilities=BrokerAbilities()))) as address:
        ran = run("--admin", address)
    assert (ran.exit_code, ran.output) == (0, "No group was seen, and none told of.\n")


def test_unknown_group_is_a_failure_with_a_sentence() -> None:
    """Exit status 1: the call was right, the group is not there."""
    with admin_api(surveys=StillSurveys()) as address:
        ran = run("nobody", "--admin", address)
    assert (ran.exit_code, "EB-CENSUS-011: no group 'nobody' was seen" in ran.output) == (1, True)


def test_who_can_not_answer_is_a_failure_with_a_sentence() -> None:
    """No bridge, something else, and what is no address."""
    with something_else(200, b"hello") as address:
        stranger = run("--admin", address)
    missing, wrong = run("--admin", "127.0.0.1:1"), run("--admin", "nonsense:port")
    told = [next(word for word in ran.output.split() if word.startswith("EB-")) for ran in (stranger, missing, wrong)]
    assert told == ["EB-ADMIN-012:", "EB-ADMIN-011:", "EB-ADMIN-013:"]
    assert {ran.exit_code for ran in (stranger, missing, wrong)} == {1}


def test_what_stands_in_nobodys_way_is_a_note() -> None:
    """A group that is ready may have some."""
    note = {"code": "EB-MOVE-121", "text": "short sessions", "remedy": "lower it", "weight": "notes"}
    group = {"moves": [{"to": "upstream", "is_ready": True, "reasons": [note]}]}
    assert list(move_lines(group)) == ["to upstream: ready", "  note: EB-MOVE-121: short sessions; lower it"]


def test_line_of_an_obstacle_names_groups_that_share_it() -> None:
    """So many of them; how many more there are is said."""
    reason = {"code": "EB-MOVE-134", "text": "1 member (hugo) speaks it", "remedy": "wait", "weight": "blocks"}
    groups: list[Answer] = [{"group_id": name, "moves": [{"to": "embedded", "reasons": [reason]}]} for name in "abcde"]
    assert list(obstacle_lines(groups)) == [
        "to embedded: EB-MOVE-134 (a, b, c, and 2 more): 1 member (hugo) speaks it; wait"
    ]
    assert list(obstacle_lines(groups[:1])) == ["to embedded: EB-MOVE-134 (a): 1 member (hugo) speaks it; wait"]
