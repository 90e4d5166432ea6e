"""A group as somebody saw it."""

import pytest

from bridge.migration.observed import GroupKind, MemberProtocol, ObservedGroup, ObservedMember, Rebalancing
from translators.dialects.ids import GroupId, MemberId


@pytest.mark.parametrize(
    ("assignors", "rebalancing"),
    [
        ((), Rebalancing.UNKNOWN),
        (("range",), Rebalancing.EAGER),
        (("cooperative-sticky",), Rebalancing.COOPERATIVE),
        (("range", "cooperative-sticky"), Rebalancing.EAGER),
        (("mine",), Rebalancing.EAGER),
    ],
)
def test_classic_member_is_eager_unless_all_its_assignors_are_cooperative(
    assignors: tuple[str, ...], rebalancing: Rebalancing
) -> None:
    """A consumer on the way from range to cooperative-sticky offers both and still gives up everything."""
    assert ObservedMember(member_id=MemberId("m"), assignors=assignors).rebalancing is rebalancing


def test_member_of_the_consumer_protocol_is_not_called() -> None:
    """Whatever its server-side assignor is named."""
    member = ObservedMember(member_id=MemberId("m"), protocol=MemberProtocol.CONSUMER, assignors=("uniform",))
    assert (member.rebalancing, member.is_translatable) == (Rebalancing.INCREMENTAL, True)


def test_member_is_translatable_by_one_standard_assignor() -> None:
    """One of several is enough, and nothing is held against a member that nobody heard join."""
    translatable = [
        ObservedMember(member_id=MemberId("m"), assignors=assignors).is_translatable
        for assignors in (("range",), ("mine", "sticky"), ("mine",), ())
    ]
    assert translatable == [True, True, False, True]


def test_group_is_of_consumers_by_its_type_and_kind() -> None:
    """Connect's workers have a type of their own, share and streams groups a kind; an empty group names no type."""
    groups = [
        ObservedGroup(group_id=GroupId("g"), kind=kind, protocol_type=protocol_type)
        for kind, protocol_type in (
            (GroupKind.UNKNOWN, "consumer"),
            (GroupKind.CLASSIC, ""),
            (GroupKind.CONSUMER, "consumer"),
            (GroupKind.CLASSIC, "connect"),
            (GroupKind.SHARE, "share"),
            (GroupKind.STREAMS, "consumer"),
        )
    ]
    assert [group.is_of_consumers for group in groups] == [True, True, True, False, False, False]
