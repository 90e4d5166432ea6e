"""Which road a group takes, and who can be no member of a consumer group: the member machine sees it the same way."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.migration.patterns import PatternForm, PatternUnreadable
from bridge.migration.route import REMEMBERED_NAME_MAX, Road, Router, Rule, find_obstacle
from tests.support.embedded_world import join_request
from tests.support.kept_text import kept_chars
from translators.classic_member.profile import Profile, read_profile
from translators.dialects.classic import JoinGroup, Protocol
from translators.dialects.ids import GroupId, MemberId

RULES = (Rule("orders-old*", Road.PASS), Rule("orders-*", Road.EMBEDDED), Rule("p?y", Road.UPSTREAM))
GOOD = join_request("").protocols[0].metadata


def test_first_matching_rule_wins_and_pass_is_the_default() -> None:
    """Rules are tried in order; a group that none names passes."""
    router = Router(RULES)
    groups = ("orders-old-1", "orders-1", "pay", "ORDERS-1", "orders", "")
    assert [router.road(GroupId(group)) for group in groups] == [
        Road.PASS,
        Road.EMBEDDED,
        Road.UPSTREAM,
        Road.PASS,
        Road.PASS,
        Road.PASS,
    ]


def test_router_knows_whether_any_group_is_taken() -> None:
    """Without such a rule batches need not be decoded."""
    assert Router(RULES).takes_groups()
    assert not Router(RULES[:1]).takes_groups()


def test_long_names_are_matched_each_time() -> None:
    """A stranger who makes them up has nothing kept."""
    router = Router(RULES)
    for length in (REMEMBERED_NAME_MAX, REMEMBERED_NAME_MAX + 1):
        assert router.road(GroupId("orders-".ljust(length, "x"))) is Road.EMBEDDED
    assert router.remembered() == 1


def test_long_names_are_not_kept_whole_by_what_was_looked_up_or_claimed() -> None:
    """100,000 of them were 3 GB; each is still known from others that begin alike."""
    router = Router((Rule("*", Road.EMBEDDED, client_id="c"), *RULES))
    one, two = (GroupId(f"orders-{'x' * 32_000}{end}") for end in "12")
    router.claim(one, "c", "")
    assert (router.may_claim(one), router.may_claim(two)) == (False, True)
    assert router.road(one) is Road.EMBEDDED
    for group_id in (one, GroupId("short")):
        router.note_looked_up(group_id)
        assert router.is_looked_up(group_id)
    assert not router.is_looked_up(two)
    assert kept_chars(router) < 32_000
    router.forget_looked_up(one)
    assert not router.is_looked_up(one)


@given(st.lists(st.text(max_size=12), max_size=60))
def test_remembered_answers_are_bounded_and_the_same(names: list[str]) -> None:
    """Memory stays bounded however many group ids clients invent, and memory never changes an answer."""
    small, fresh = Router(RULES, remembered_groups_max=4), Router(RULES)
    assert [small.road(GroupId(name)) for name in names] == [fresh.road(GroupId(name)) for name in names]
    assert small.remembered() <= 4


def test_member_may_take_a_road_of_its_own() -> None:
    """The others of its group, and requests that name nobody, take the group's."""
    router, member = Router((Rule("g", Road.EMBEDDED),)), MemberId("m")
    assert router.move_member(GroupId("g"), member, Road.UPSTREAM)
    assert router.move_member(GroupId("g"), member, Road.UPSTREAM)
    roads = [router.road(GroupId("g"), one) for one in (member, MemberId("n"), None)]
    assert roads == [Road.UPSTREAM, Road.EMBEDDED, Road.EMBEDDED]
    assert GroupId("g") in router.moved
    router.return_member(GroupId("g"), member)
    router.return_member(GroupId("g"), member)
    assert router.road(GroupId("g"), member) is Road.EMBEDDED
    assert not router.moved


def test_only_so_many_members_take_roads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded; the next one stays where its group is."""
    monkeypatch.setattr("bridge.migration.route.MOVED_MEMBERS_MAX", 1)
    router = Router(())
    assert router.move_member(GroupId("g"), MemberId("a"), Road.UPSTREAM)
    assert not router.move_member(GroupId("g"), MemberId("b"), Road.UPSTREAM)
    assert router.road(GroupId("g"), MemberId("b")) is Road.PASS


def test_router_says_which_roads_are_taken() -> None:
    """A road that no rule names needs nobody who serves it."""
    router = Router((Rule("g", Road.EMBEDDED),))
    assert (router.serves(Road.EMBEDDED), router.serves(Road.UPSTREAM)) == (True, False)


def test_place_of_a_group_counts_more_than_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group stays where its move put it; only members that were moved by themselves go elsewhere."""
    router = Router((Rule("orders-*", Road.EMBEDDED),))
    group_id, member_id = GroupId("orders-1"), MemberId("m")
    assert router.place(group_id) is None
    assert router.place_group(group_id, Road.UPSTREAM)
    assert (router.road(group_id), router.road_by_rule(group_id)) == (Road.UPSTREAM, Road.EMBEDDED)
    assert router.serves(Road.UPSTREAM)
    router.move_member(group_id, member_id, Road.MAPPED)
    assert router.road(group_id, member_id) is Road.MAPPED
    monkeypatch.setattr("bridge.migration.route.PLACED_GROUPS_MAX", 1)
    assert not router.place_group(GroupId("orders-2"), Road.PASS)
    assert router.place_group(group_id, Road.PASS)
    router.forget_place(group_id)
    assert router.road(group_id) is Road.EMBEDDED


def test_placed_group_is_taken_though_no_rule_takes_any() -> None:
    """Requests that name several groups are read as soon as one of them was moved."""
    router = Router(())
    assert not router.takes_groups()
    router.place_group(GroupId("orders"), Road.PASS)
    assert not router.takes_groups()
    router.place_group(GroupId("orders"), Road.MOVING)
    assert router.takes_groups()


def test_members_that_nobody_can_translate_make_room_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody says when one of them has died; who joins again counts as new."""
    monkeypatch.setattr("bridge.migration.route.UNTRANSLATED_MEMBERS_MAX", 2)
    router, group = Router((Rule("g", Road.UPSTREAM),)), GroupId("g")
    for name in ("a", "b", "a", "c"):
        router.let_pass(group, MemberId(name))
    roads = [router.road(group, MemberId(name)) for name in ("a", "b", "c")]
    assert roads == [Road.PASS, Road.UPSTREAM, Road.PASS]


def test_group_that_lives_elsewhere_stays_there_until_it_is_moved_or_ends() -> None:
    """Over its rule, and under an operator's word."""
    router = Router((Rule("g", Road.EMBEDDED),))
    assert not router.is_looked_up(GroupId("g"))
    assert router.let_stay(GroupId("g"), Road.PASS)
    assert router.let_stay(GroupId("other"), Road.UPSTREAM)
    assert (router.road(GroupId("g")), router.is_looked_up(GroupId("g"))) == (Road.PASS, True)
    assert router.serves(Road.UPSTREAM)
    assert router.place_group(GroupId("g"), Road.UPSTREAM)
    assert router.road(GroupId("g")) is Road.UPSTREAM
    router.forget_place(GroupId("g"))
    router.end_stay(GroupId("g"))
    assert (router.road(GroupId("g")), router.is_looked_up(GroupId("g"))) == (Road.EMBEDDED, False)


def test_groups_that_were_looked_up_are_remembered_within_bounds() -> None:
    """The one that was looked up first makes room."""
    router = Router((), remembered_groups_max=2)
    for name in ("a", "b", "c"):
        router.note_looked_up(GroupId(name))
    assert [router.is_looked_up(GroupId(name)) for name in ("a", "b", "c")] == [False, True, True]
    router.forget_looked_up(GroupId("c"))
    assert not router.is_looked_up(GroupId("c"))


def test_groups_that_stay_with_members_here_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it groups go by their rules."""
    monkeypatch.setattr("bridge.migration.route.STAYING_GROUPS_MAX", 1)
    router = Router(())
    assert router.let_stay(GroupId("a"), Road.EMBEDDED)
    assert not router.let_stay(GroupId("b"), Road.EMBEDDED)
    assert router.let_stay(GroupId("a"), Road.UPSTREAM)
    assert router.takes_groups()


@pytest.mark.parametrize(("groups_max", "chars_max"), [(2, 1_000), (1_000, 20)], ids=["many", "long"])
def test_group_that_passed_longest_ago_makes_room(
    groups_max: int, chars_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked up anew; one with members here makes none, and one alone stays however long its name is."""
    monkeypatch.setattr("bridge.migration.route.STAYING_GROUPS_MAX", groups_max)
    monkeypatch.setattr("bridge.migration.route.STAYING_CHARS_MAX", chars_max)
    router, forgotten = Router((Rule("*", Road.EMBEDDED),)), list[str]()
    router.forgot_stay = forgotten.append
    names = [GroupId(f"group-{one}-12") for one in "abc"]
    assert router.let_stay(GroupId("here"), Road.UPSTREAM)
    for name in (*names[:2], names[0], names[2]):
        router.note_looked_up(name)
        assert router.let_stay(name, Road.PASS)
    assert (forgotten, sorted(router.staying)) == ([names[1]], sorted((names[0], names[2], "here")))
    assert [router.is_looked_up(name) for name in names] == [True, False, True]
    router.end_stay(names[0])
    router.end_stay(names[0])
    assert router.let_stay(names[1], Road.PASS)
    assert forgotten == [names[1]]
    assert router.let_stay(names[1], Road.UPSTREAM)
    assert router.let_stay(names[0], Road.PASS)
    assert forgotten == [names[1]]
    assert router.let_stay(GroupId("n" * 1_001), Road.PASS)
    assert "n" * 1_001 in router.staying


CLIENTS = (
    Rule("g-*", Road.UPSTREAM, client_id="new-*"),
    Rule("g-*", Road.EMBEDDED, principal="alice"),
    Rule("g-up", Road.UPSTREAM),
)


@pytest.mark.parametrize(
    ("client_id", "principal", "road"),
    [
        ("new-1", "", Road.UPSTREAM),
        ("new-1", "alice", Road.UPSTREAM),
        ("old", "alice", Road.EMBEDDED),
        ("old", "bob", Road.PASS),
        ("", "", Road.PASS),
    ],
)
def test_rules_of_clients_count_for_who_joins_first(client_id: str, principal: str, road: Road) -> None:
    """Until somebody joins, and for groups that nobody of them joins first, only names count."""
    router, group = Router(CLIENTS), GroupId("g-1")
    assert router.asks_for_clients
    assert router.road(group) is Road.PASS
    assert router.claim(group, client_id, principal) is (road is not Road.PASS)
    assert router.road(group) is road


def test_who_joins_later_changes_nothing() -> None:
    """One group has one road, whoever else is in it; until the rules change."""
    router, group = Router(CLIENTS), GroupId("g-1")
    router.note_looked_up(group)
    assert router.claim(group, "new-1", "")
    assert not router.is_looked_up(group)
    assert not router.claim(group, "old", "alice")
    assert router.road(group) is Road.UPSTREAM
    router.change_rules(CLIENTS)
    assert router.road(group) is Road.PASS
    assert router.claim(group, "old", "alice")
    assert not Router(RULES).asks_for_clients


def test_only_so_many_groups_are_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further ones go by their names, also later."""
    monkeypatch.setattr("bridge.migration.route.CLAIMED_GROUPS_MAX", 1)
    router = Router(CLIENTS)
    assert [router.claim(GroupId(name), "new-1", "") for name in ("g-1", "g-2")] == [True, False]
    assert router.road(GroupId("g-2")) is Road.PASS


def test_changed_rules_count_from_then_on() -> None:
    """What was remembered of the old ones is forgotten, and a rule that can't be read changes nothing."""
    router, group = Router(RULES), GroupId("orders-1")
    assert router.road(group) is Road.EMBEDDED
    router.note_looked_up(group)
    with pytest.raises(PatternUnreadable):
        router.change_rules((Rule("(", Road.PASS, PatternForm.REGEX),))
    assert (router.road(group), router.is_looked_up(group)) == (Road.EMBEDDED, True)
    router.change_rules((Rule("orders-1", Road.UPSTREAM, PatternForm.EXACT),))
    assert (router.road(group), router.is_looked_up(group)) == (Road.UPSTREAM, False)


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (replace(join_request(""), protocol_type="connect"), "connect"),
        (replace(join_request(""), protocols=(Protocol("custom", GOOD),)), "custom"),
        (replace(join_request(""), protocols=()), "none"),
        (replace(join_request(""), protocols=(Protocol("range", b"\xff"),)), "range"),
    ],
)
def test_obstacle_is_named(request_: JoinGroup, word: str) -> None:
    """An operator reads what the client sent."""
    assert word in (find_obstacle(request_) or "")


def test_member_with_one_known_assignor_is_translated() -> None:
    """Clients that offer several are in the middle of a change."""
    both = (Protocol("custom", b""), Protocol("range", GOOD))
    assert find_obstacle(replace(join_request(""), protocols=both)) is None


@given(
    kind=st.sampled_from(["consumer", "connect", ""]),
    protocols=st.lists(
        st.builds(Protocol, st.sampled_from(["range", "sticky", "mine"]), st.sampled_from([GOOD, b"", b"\x00"])),
        max_size=3,
    ),
)
def test_there_is_an_obstacle_exactly_where_the_machine_refuses(kind: str, protocols: list[Protocol]) -> None:
    """Else a member would be refused for good, or passed on although it could be translated."""
    request = replace(join_request(""), protocol_type=kind, protocols=tuple(protocols))
    assert (find_obstacle(request) is None) is isinstance(read_profile(request), Profile)
