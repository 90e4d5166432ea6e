"""Who is seen off by others."""

from dataclasses import replace

from bridge.coordinators.upstream import heartbeats
from bridge.coordinators.upstream.heartbeats import Farewells, Unsaid
from tests.support.owned_group import GROUP
from translators.dialects.coordinator import DepartReason, Farewell
from translators.dialects.ids import STATIC_LEAVE_EPOCH, GroupId, InstanceId, MemberId


def farewell(group_id: str, member_id: str, principal: str | None = "one") -> Unsaid:
    """A member that is gone, of a client that was this one to the broker."""
    said = Farewell(
        group_id=GroupId(group_id),
        member_id=MemberId(member_id),
        member_epoch=-1,
        instance_id=None,
        reason=DepartReason.SESSION_EXPIRED,
    )
    return Unsaid(said, principal)


def test_farewells_are_said_once() -> None:
    """Each group's own."""
    kept = Farewells()
    one, two, other = farewell(GROUP, "a"), farewell(GROUP, "b"), farewell("other", "c")
    for each in (one, two, other):
        kept.keep(each)
    assert GROUP in kept.groups
    assert list(kept.take(GROUP, "one")) == [one, two]
    assert GROUP not in kept.groups
    assert list(kept.take(GROUP, "one")) == []
    assert list(kept.take(GroupId("other"), "one")) == [other]


def test_farewell_is_said_by_a_client_of_the_same_principal() -> None:
    """What one may say of the group it says with its own rights; of whom nobody knows who it was, nobody speaks."""
    kept = Farewells()
    ours, theirs, unknown = farewell(GROUP, "a"), farewell(GROUP, "b", "two"), farewell(GROUP, "c", None)
    for each in (ours, theirs, unknown):
        kept.keep(each)
    assert list(kept.take(GROUP, None)) == []
    assert list(kept.take(GROUP, "one")) == [ours]
    assert list(kept.take(GROUP, "two")) == [theirs]
    assert GROUP in kept.groups


def test_farewells_have_a_limit() -> None:
    """Groups that never come back take no memory; the broker ends their members by itself."""
    kept = Farewells()
    for number in range(heartbeats.FAREWELLS_MAX + 5):
        kept.keep(farewell(f"g{number}", "a"))
    assert [number for number in range(10) if GroupId(f"g{number}") in kept.groups] == [5, 6, 7, 8, 9]


def test_what_was_said_makes_room() -> None:
    """However many were seen off since the bridge began, none of these counts."""
    kept = Farewells()
    for number in range(heartbeats.FAREWELLS_MAX + 5):
        kept.keep(farewell(f"g{number}", "a"))
        assert kept.take(GroupId(f"g{number}"), "one")
    kept.keep(farewell(GROUP, "a"))
    assert GROUP in kept.groups


def test_names_as_nobody_gives_are_not_kept() -> None:
    """32 kB each, as Kafka lets them be: the broker ends such a member by its session."""
    kept = Farewells()
    kept.keep(farewell("g" * 32_000, "a"))
    kept.keep(farewell(GROUP, "a" * 32_000))
    assert not kept.groups


def test_static_seat_is_left_for_whoever_takes_it() -> None:
    """Whoever its former client was to the broker; all others are said as they were."""
    kept = Farewells()
    others = [farewell(GROUP, "b"), farewell(GROUP, "c", None)]
    seats = [
        Unsaid(replace(farewell(GROUP, name).farewell, instance_id=InstanceId("seat")), principal)
        for name, principal in (("d", "one"), ("e", None), ("f", "two"))
    ]
    for each in (*others, *seats):
        kept.keep(each)
    taken = kept.take_seat(GROUP, InstanceId("seat"))
    assert {one.farewell.member_id for one in taken} == {"d", "e", "f"}
    assert {one.farewell.member_epoch for one in taken} == {STATIC_LEAVE_EPOCH}
    assert list(kept.take_seat(GROUP, InstanceId("seat"))) == []
    assert list(kept.take(GROUP, "two")) == []
    assert list(kept.take(GROUP, "one")) == [others[0]]
    assert GROUP in kept.groups
