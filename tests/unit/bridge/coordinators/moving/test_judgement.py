"""Orders judged by what brokers can do and what was seen, before anything begins."""

from dataclasses import replace

import pytest

from bridge.coordinators.moving.judgement import foretell, judge
from bridge.coordinators.moving.preflight import JUDGEMENT, Forecast
from bridge.coordinators.moving.sight import NOTHING_SEEN, Sight
from bridge.migration.abilities import BrokerAbilities, TakeOverWay
from bridge.migration.orders import MoveOrder
from bridge.migration.reasons import Weight
from bridge.migration.route import Road
from tests.support.judged_orders import ABLE, TO_PASS, TO_UPSTREAM, codes, member
from tests.support.owned_group import GROUP, TOPIC
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import MemberId


def test_brokers_that_can_do_it_are_no_obstacle() -> None:
    """In every direction."""
    roads = (Road.PASS, Road.UPSTREAM, Road.EMBEDDED)
    for origin in roads:
        for destination in roads:
            assert codes(judge(MoveOrder(GROUP, destination), origin, [member()], ABLE)) == []


@pytest.mark.parametrize(
    ("order", "origin", "abilities", "code"),
    [
        (TO_UPSTREAM, Road.PASS, replace(ABLE, takeover=TakeOverWay.IMPOSSIBLE), "EB-MOVE-111"),
        (TO_UPSTREAM, Road.PASS, replace(ABLE, policy=MigrationPolicy.DISABLED), "EB-MOVE-112"),
        (TO_UPSTREAM, Road.EMBEDDED, replace(ABLE, policy=MigrationPolicy.DOWNGRADE), "EB-MOVE-112"),
        (TO_UPSTREAM, Road.PASS, replace(ABLE, consumer_size_max=0), "EB-MOVE-114"),
        (TO_PASS, Road.EMBEDDED, replace(ABLE, session_min_ms=40_000), "EB-MOVE-140"),
        (TO_UPSTREAM, Road.EMBEDDED, replace(ABLE, session_min_ms=40_000), "EB-MOVE-140"),
        (TO_PASS, Road.EMBEDDED, replace(ABLE, classic_size_max=0), "EB-MOVE-141"),
        (TO_PASS, Road.UPSTREAM, replace(ABLE, policy=MigrationPolicy.DISABLED), "EB-MOVE-144"),
    ],
)
def test_what_brokers_refuse_is_said_before(
    order: MoveOrder, origin: Road, abilities: BrokerAbilities, code: str
) -> None:
    """Also what only the second of two ways would come to."""
    found = judge(order, origin, [member()], abilities)
    assert codes(found) == [code]
    assert judge(replace(order, allow_rebalance=True), origin, [member()], abilities) == found


def test_members_without_a_protocol_in_common_are_no_classic_group() -> None:
    """A broker answers 23 to the last of them."""
    found = judge(TO_PASS, Road.UPSTREAM, [member(), member("b", assignor="sticky")], ABLE)
    assert codes(found) == ["EB-MOVE-142"]


def test_only_who_is_moved_is_judged() -> None:
    """A canary of a group whose user data a round leaves behind, in which everybody has a part."""
    canary = MoveOrder(GROUP, Road.UPSTREAM, (MemberId("a"),))
    members = [replace(one, has_user_data=True) for one in (member(), member("b", assignor="of-its-own"))]
    hidden = {MemberId("b"): (TOPIC,)}
    assert codes(judge(canary, Road.PASS, members, ABLE, Sight(hidden))) == []
    assert codes(judge(TO_UPSTREAM, Road.PASS, members, ABLE, Sight(hidden))) == ["EB-MOVE-115", "EB-MOVE-116"]
    assert codes(judge(canary, Road.PASS, members, ABLE, Sight({MemberId("a"): (TOPIC,)}))) == ["EB-MOVE-116"]
    elsewhere = Sight(unheard=frozenset({MemberId("b")}))
    # In that round everybody has a part, and nobody plays it for a stranger.
    assert codes(judge(canary, Road.PASS, members, ABLE, elsewhere)) == ["EB-MOVE-119"]


def test_members_that_come_by_another_way_are_a_reason_where_they_count() -> None:
    """Taken over is who is here; taken in is a whole group; and brokers 4.0 call whoever is left behind."""
    members, elsewhere = [member(), member("b")], Sight(unheard=frozenset({MemberId("b")}))
    (note,) = judge(TO_UPSTREAM, Road.PASS, members, ABLE, elsewhere)
    assert (note.code, note.weight, note.members) == ("EB-MOVE-118", Weight.NOTES, ("b",))
    old = replace(ABLE, takeover=TakeOverWay.WHOLE_GROUP)
    (reason,) = judge(TO_UPSTREAM, Road.PASS, members, old, elsewhere)
    assert (reason.code, reason.weight) == ("EB-MOVE-117", Weight.DISTURBS)
    assert codes(judge(MoveOrder(GROUP, Road.EMBEDDED), Road.PASS, members, ABLE, elsewhere)) == ["EB-MOVE-132"]


def test_client_whose_commits_brokers_do_not_take_stays_unless_it_is_ordered_all_the_same() -> None:
    """There it reads on and never commits again; whoever knows that may want it all the same, to be rid of a bridge."""
    members, seen = {one.member_id: one for one in (member(),)}, Sight(old_commits=frozenset({MemberId("a")}))
    newer = replace(ABLE, first_commit_version=2)
    assert codes(foretell(TO_PASS, Road.EMBEDDED, members, newer, seen).obstacles) == ["EB-MOVE-145"]
    assert codes(foretell(TO_PASS, Road.EMBEDDED, members, ABLE, seen).obstacles) == []
    anyway = replace(TO_PASS, allow_rebalance=True)
    assert codes(foretell(anyway, Road.EMBEDDED, members, newer, seen).obstacles) == []


def test_what_an_operator_may_mend_at_brokers_is_told_apart() -> None:
    """They are asked anew at the next order; what a look at the group has shown they can't help."""
    members = {one.member_id: one for one in (member(),)}
    assert foretell.__module__ == JUDGEMENT
    assert foretell(TO_UPSTREAM, Road.PASS, members, ABLE, NOTHING_SEEN) == Forecast()
    disabled = foretell(TO_UPSTREAM, Road.PASS, members, replace(ABLE, policy=MigrationPolicy.DISABLED), NOTHING_SEEN)
    assert (codes(disabled.obstacles), disabled.is_of_brokers) == (["EB-MOVE-112"], True)
    foreign = foretell(TO_UPSTREAM, Road.PASS, members, ABLE, Sight(has_foreign_commits=True))
    assert (codes(foreign.obstacles), foreign.is_of_brokers) == (["EB-MOVE-107"], False)
