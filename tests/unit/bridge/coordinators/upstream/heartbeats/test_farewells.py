"""Who is seen off by others."""

from bridge.coordinators.upstream import heartbeats
from bridge.coordinators.upstream.heartbeats import Farewells, Unsaid
from tests.support.owned_group import GROUP
from translators.dialects.coordinator import DepartReason, Farewell
from translators.dialects.ids import GroupId, MemberId


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
