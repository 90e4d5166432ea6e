"""What a client gains by a move."""

from bridge.migration.gains import Gain, gains_of
from bridge.migration.observed import MemberProtocol, ObservedGroup, ObservedMember, Rebalancing
from translators.dialects.ids import GroupId, MemberId


def group(*counts: tuple[int, MemberProtocol, tuple[str, ...]]) -> ObservedGroup:
    """So many members of each kind."""
    members = [
        ObservedMember(member_id=MemberId(f"{kind}-{number}"), protocol=protocol, assignors=assignors)
        for kind, (count, protocol, assignors) in enumerate(counts)
        for number in range(count)
    ]
    return ObservedGroup(group_id=GroupId("g"), members=tuple(members))


def test_eager_members_of_fifty_gain_what_was_measured() -> None:
    """The size nearest to its own counts."""
    assert gains_of(group((60, MemberProtocol.CLASSIC, ("range",)))) == (
        Gain(
            rebalancing=Rebalancing.EAGER,
            member_count=60,
            measured_members=50,
            joins=(1, 0),
            roll_joins=(11.5, 0.0),
            stopped_partition_s=(52.0, 0.7),
        ),
    )


def test_each_kind_has_its_own_gain() -> None:
    """Members of which nothing is known gain nothing that was measured."""
    mixed = group(
        (1, MemberProtocol.CLASSIC, ("cooperative-sticky",)),
        (1, MemberProtocol.CONSUMER, ()),
        (1, MemberProtocol.CLASSIC, ()),
    )
    assert [(gain.rebalancing, gain.joins) for gain in gains_of(mixed)] == [
        (Rebalancing.COOPERATIVE, (2, 0)),
        (Rebalancing.INCREMENTAL, (0, 0)),
    ]
