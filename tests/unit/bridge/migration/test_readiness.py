"""Whether a group could move, and what stands in its way."""

from dataclasses import replace

import pytest

from bridge.migration.abilities import BrokerAbilities, Login, TakeOverWay
from bridge.migration.observed import GroupKind, MemberProtocol, ObservedGroup, ObservedMember, UserData
from bridge.migration.readiness import assess, assess_all
from bridge.migration.reasons import Assessment, Weight
from bridge.migration.route import Road
from tests.support.surveyed import ABLE
from translators.dialects.configs import MigrationPolicy
from translators.dialects.ids import GroupId, MemberId

MEMBER = ObservedMember(
    member_id=MemberId("a-1"),
    client_id="a",
    assignors=("range",),
    topics=("orders",),
    session_timeout_ms=45_000,
    subscription_data=UserData.NONE,
    assignment_data=UserData.NONE,
    is_behind_bridge=True,
)
OTHER = replace(MEMBER, member_id=MemberId("b-1"), client_id="b")
GROUP = ObservedGroup(
    group_id=GroupId("orders"), kind=GroupKind.CLASSIC, state="Stable", members=(MEMBER, OTHER), is_complete=True
)


def codes(group: ObservedGroup, abilities: BrokerAbilities, destination: Road) -> list[tuple[str, Weight]]:
    """Codes and weights of all reasons."""
    return [(reason.code, reason.weight) for reason in assess(group, abilities, destination).reasons]


def with_member(**changes: object) -> ObservedGroup:
    """The group with its second member changed."""
    return replace(GROUP, members=(MEMBER, replace(OTHER, **changes)))  # type: ignore[arg-type]  # by name, in tests only


def test_plain_group_on_able_brokers_is_ready_for_both_roads() -> None:
    """Nothing is found, not even a note."""
    assert assess_all(GROUP, ABLE) == (Assessment(Road.EMBEDDED), Assessment(Road.UPSTREAM))


@pytest.mark.parametrize("road", Road)
def test_nothing_stands_in_the_way_to_where_a_group_is(road: Road) -> None:
    """There is nothing to do."""
    assert assess(replace(GROUP, road=road, members=(), state="Dead"), BrokerAbilities(), road).is_ready


@pytest.mark.parametrize("destination", [Road.EMBEDDED, Road.UPSTREAM])
@pytest.mark.parametrize(
    ("group", "code", "weight"),
    [
        (replace(GROUP, kind=GroupKind.SHARE, protocol_type="share"), "EB-MOVE-101", Weight.BLOCKS),
        (replace(GROUP, kind=GroupKind.STREAMS, protocol_type="streams"), "EB-MOVE-101", Weight.BLOCKS),
        (replace(GROUP, protocol_type="connect"), "EB-MOVE-102", Weight.BLOCKS),
        (replace(GROUP, members=(), state="Empty"), "EB-MOVE-103", Weight.BLOCKS),
        (replace(GROUP, state="PreparingRebalance"), "EB-MOVE-104", Weight.PASSES),
        (with_member(is_readable=False), "EB-MOVE-105", Weight.BLOCKS),
        (with_member(assignors=("sticky",), subscription_data=UserData.OPAQUE), "EB-MOVE-106", Weight.BLOCKS),
        (replace(GROUP, has_foreign_commits=True), "EB-MOVE-107", Weight.BLOCKS),
    ],
)
def test_what_holds_on_both_roads(group: ObservedGroup, code: str, weight: Weight, destination: Road) -> None:
    """One thing that is wrong is one reason."""
    assert codes(group, ABLE, destination) == [(code, weight)]


@pytest.mark.parametrize(
    ("group", "changes", "code", "weight"),
    [
        (GROUP, {"takeover": TakeOverWay.UNKNOWN}, "EB-MOVE-110", Weight.BLOCKS),
        (GROUP, {"takeover": TakeOverWay.IMPOSSIBLE}, "EB-MOVE-111", Weight.BLOCKS),
        (GROUP, {"policy": MigrationPolicy.DISABLED}, "EB-MOVE-112", Weight.BLOCKS),
        (GROUP, {"policy": MigrationPolicy.DOWNGRADE}, "EB-MOVE-112", Weight.BLOCKS),
        (GROUP, {"policy": MigrationPolicy.UPGRADE}, "EB-MOVE-113", Weight.NOTES),
        (GROUP, {"consumer_size_max": 1}, "EB-MOVE-114", Weight.BLOCKS),
        (with_member(assignors=("mine",)), {}, "EB-MOVE-115", Weight.BLOCKS),
        (with_member(hidden_topics=("secret",)), {}, "EB-MOVE-116", Weight.BLOCKS),
        (with_member(is_behind_bridge=False), {"takeover": TakeOverWay.WHOLE_GROUP}, "EB-MOVE-117", Weight.DISTURBS),
        (with_member(is_behind_bridge=False), {}, "EB-MOVE-118", Weight.NOTES),
        (with_member(assignment_data=UserData.STICKY), {}, "EB-MOVE-120", Weight.NOTES),
        (with_member(session_timeout_ms=6_000), {}, "EB-MOVE-121", Weight.NOTES),
    ],
)
def test_what_stands_in_the_way_of_upstream(
    group: ObservedGroup, changes: dict[str, object], code: str, weight: Weight
) -> None:
    """One thing that is wrong is one reason."""
    abilities = replace(ABLE, **changes)  # type: ignore[arg-type]  # by name, in tests only
    assert codes(group, abilities, Road.UPSTREAM) == [(code, weight)]


def test_user_data_can_be_played_away_only_if_everybody_is_here() -> None:
    """A round needs all members, and a stranger's would be removed first."""
    group = with_member(is_behind_bridge=False, assignment_data=UserData.OPAQUE)
    assert codes(group, ABLE, Road.UPSTREAM) == [("EB-MOVE-118", Weight.NOTES), ("EB-MOVE-119", Weight.BLOCKS)]


@pytest.mark.parametrize(
    ("group", "changes", "code", "weight"),
    [
        (GROUP, {"login": Login.NONE}, "EB-MOVE-130", Weight.BLOCKS),
        (GROUP, {"login": Login.UNKNOWN}, "EB-MOVE-130", Weight.BLOCKS),
        (with_member(is_behind_bridge=False), {}, "EB-MOVE-132", Weight.BLOCKS),
        (replace(GROUP, is_complete=False), {}, "EB-MOVE-133", Weight.BLOCKS),
        (with_member(protocol=MemberProtocol.CONSUMER), {}, "EB-MOVE-134", Weight.BLOCKS),
        (replace(GROUP, kind=GroupKind.CONSUMER), {}, "EB-MOVE-135", Weight.BLOCKS),
        (with_member(assignors=("mine",)), {}, "EB-MOVE-136", Weight.NOTES),
    ],
)
def test_what_stands_in_the_way_of_embedded(
    group: ObservedGroup, changes: dict[str, object], code: str, weight: Weight
) -> None:
    """One thing that is wrong is one reason."""
    abilities = replace(ABLE, **changes)  # type: ignore[arg-type]  # by name, in tests only
    assert codes(group, abilities, Road.EMBEDDED) == [(code, weight)]


def test_login_of_its_own_is_enough_for_embedded() -> None:
    """On a cluster that authenticates its clients."""
    assert assess(GROUP, replace(ABLE, login=Login.OWN), Road.EMBEDDED).is_ready


@pytest.mark.parametrize(
    ("changes", "abilities", "code", "weight"),
    [
        ({"session_timeout_ms": 5_000}, {}, "EB-MOVE-140", Weight.BLOCKS),
        ({"session_timeout_ms": 1_800_001}, {}, "EB-MOVE-140", Weight.BLOCKS),
        ({}, {"classic_size_max": 1}, "EB-MOVE-141", Weight.BLOCKS),
        ({"assignors": ("sticky",)}, {}, "EB-MOVE-142", Weight.BLOCKS),
        ({"protocol": MemberProtocol.CONSUMER}, {}, "EB-MOVE-143", Weight.BLOCKS),
    ],
)
def test_what_stands_in_the_way_back_to_pass(
    changes: dict[str, object], abilities: dict[str, object], code: str, weight: Weight
) -> None:
    """One thing that is wrong is one reason."""
    group = replace(with_member(**changes), road=Road.EMBEDDED)
    able = replace(ABLE, **abilities)  # type: ignore[arg-type]  # by name, in tests only
    assert codes(group, able, Road.PASS) == [(code, weight)]


@pytest.mark.parametrize("road", [Road.EMBEDDED, Road.UPSTREAM])
@pytest.mark.parametrize(
    ("first_version", "destination", "is_told"),
    [
        (2, Road.PASS, True),
        (1, Road.PASS, False),
        (0, Road.PASS, False),
        (None, Road.PASS, False),
        (2, Road.EMBEDDED, False),
        (2, Road.UPSTREAM, False),
    ],
)
def test_client_that_brokers_take_no_commit_of_is_told_of_before_it_passes(
    first_version: int | None, destination: Road, is_told: bool, road: Road
) -> None:
    """Its group works on either other road, and by the way of pass to it; there it reads on and never commits again."""
    group = replace(with_member(has_old_commits=True), road=road)
    able = replace(ABLE, first_commit_version=first_version)
    assert codes(group, able, destination) == ([("EB-MOVE-145", Weight.DISTURBS)] if is_told else [])
    for reason in assess(group, able, destination).reasons:
        assert reason.members == (OTHER.member_id,)
        assert reason.text.startswith("1 member (b) commits by OffsetCommit 1, which these brokers do not take")


def test_members_of_the_brokers_own_stay_what_they_are_on_the_way_back() -> None:
    """On upstream the bridge passes their requests on; only who was taken over is given back."""
    group = replace(with_member(protocol=MemberProtocol.CONSUMER), road=Road.UPSTREAM)
    assert codes(group, ABLE, Road.PASS) == []


def test_policy_disabled_traps_a_group_on_upstream_only() -> None:
    """Brokers refuse a classic member in a consumer group; a classic group's members they take."""
    able = replace(ABLE, policy=MigrationPolicy.DISABLED)
    assert codes(replace(GROUP, road=Road.UPSTREAM), able, Road.PASS) == [("EB-MOVE-144", Weight.BLOCKS)]
    assert codes(replace(GROUP, road=Road.EMBEDDED), able, Road.PASS) == []


def test_way_between_embedded_and_upstream_leads_over_pass() -> None:
    """What would refuse the way back refuses this move, too."""
    group = replace(with_member(session_timeout_ms=5_000), road=Road.EMBEDDED)
    able = replace(ABLE, consumer_session_ms=None)
    assert codes(group, able, Road.UPSTREAM) == [("EB-MOVE-140", Weight.BLOCKS)]


def test_group_that_is_none_of_consumers_has_one_reason_whatever_else_is_wrong() -> None:
    """Its members' bytes are read by nobody here, and need not be those of consumers."""
    group = replace(with_member(is_readable=False), protocol_type="connect", is_complete=False)
    assert codes(group, BrokerAbilities(), Road.EMBEDDED) == [("EB-MOVE-102", Weight.BLOCKS)]


def test_sentence_names_three_members_and_the_reason_all() -> None:
    """A group of a thousand is told in a line."""
    members = tuple(replace(MEMBER, member_id=MemberId(f"m-{n}"), client_id=f"c{n}") for n in range(5))
    away = tuple(replace(member, is_behind_bridge=False) for member in members)
    (reason,) = assess(replace(GROUP, members=away), ABLE, Road.EMBEDDED).reasons
    assert str(reason) == (
        "EB-MOVE-132: 5 members (c0, c1, c2, …) do not come through this bridge, and road embedded takes whole groups;"
        " lead these clients here, or move the group to upstream, where each member goes by itself"
    )
    assert reason.members == tuple(MemberId(f"m-{n}") for n in range(5))
