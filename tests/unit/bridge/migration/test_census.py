"""The census as it is put together."""

from collections.abc import Callable
from dataclasses import replace

from bridge.migration.abilities import BrokerAbilities
from bridge.migration.census import GROUPS_MAX, Told, committed_partitions, take_census
from bridge.migration.observed import GroupKind, ObservedMember
from bridge.migration.observing import HeardGroup
from bridge.migration.readiness import assess_all
from bridge.migration.route import Road
from tests.support.work_done import growth_faults
from translators.dialects.admin import DescribedGroup, ListedGroup
from translators.dialects.consumer import DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId, TopicName, TopicPartition
from translators.dialects.offsets import FetchedGroup, FetchedPartition, FetchedTopic

ORDERS, REFUNDS, HEARD_ONLY = GroupId("orders"), GroupId("refunds"), GroupId("heard")
TOPIC = TopicName("t")
ABILITIES = BrokerAbilities()
EAGER = ObservedMember(member_id=MemberId("m"), assignors=("range",))


def listed(group_id: GroupId, group_type: str = "Classic") -> ListedGroup:
    """A group in a list."""
    return ListedGroup(group_id=group_id, protocol_type="consumer", group_state="Empty", group_type=group_type)


def fetched(group_id: GroupId, *offsets: int) -> FetchedGroup:
    """Committed offsets of partitions from 0 on; -1 for none."""
    partitions = tuple(FetchedPartition(partition=number, offset=offset) for number, offset in enumerate(offsets))
    return FetchedGroup(group_id=group_id, topics=(FetchedTopic(name=TOPIC, partitions=partitions),))


def test_every_group_is_there_once_in_order() -> None:
    """Listed ones and those that were only heard; kinds as whoever knew them told."""
    told = Told(
        listed=(listed(REFUNDS, "Consumer"), listed(ORDERS)),
        classic={ORDERS: DescribedGroup(error=ErrorCode.NONE, group_id=ORDERS, group_state="Empty")},
        consumer={REFUNDS: DescribedConsumerGroup(error=ErrorCode.NONE, group_id=REFUNDS, group_state="Empty")},
    )
    heard = {HEARD_ONLY: HeardGroup(members={EAGER.member_id: EAGER}), ORDERS: HeardGroup()}
    census = take_census(told, heard, ABILITIES, ("not asked",))
    assert [(one.group.group_id, one.group.kind) for one in census.groups] == [
        (HEARD_ONLY, GroupKind.CLASSIC),
        (ORDERS, GroupKind.CLASSIC),
        (REFUNDS, GroupKind.CONSUMER),
    ]
    assert (census.unseen, census.abilities) == (("not asked",), ABILITIES)
    assert [one.assessments for one in census.groups] == [assess_all(one.group, ABILITIES) for one in census.groups]
    assert [len(one.gains) for one in census.groups] == [1, 0, 0]


def test_commits_are_counted_and_lag_summed() -> None:
    """A partition without a committed offset is none, one whose end lies before it is not behind."""
    told = Told(
        listed=(listed(ORDERS),),
        offsets={ORDERS: fetched(ORDERS, 5, -1, 9)},
        ends={TopicPartition(TOPIC, 0): 7, TopicPartition(TOPIC, 2): 8},
    )
    (one,) = take_census(told, {}, ABILITIES).groups
    assert (one.committed, one.lag) == (2, 2)
    assert committed_partitions(told.offsets.values()) == set(told.ends)


def test_what_nobody_told_is_none() -> None:
    """No end of a partition, no offsets, or a refusal."""
    unknown_end = Told(listed=(listed(ORDERS),), offsets={ORDERS: fetched(ORDERS, 5)})
    refused = replace(
        unknown_end, offsets={ORDERS: replace(fetched(ORDERS), error=ErrorCode.GROUP_AUTHORIZATION_FAILED)}
    )
    counted = [
        take_census(told, {}, ABILITIES).groups[0] for told in (unknown_end, refused, replace(refused, offsets={}))
    ]
    assert [(one.committed, one.lag) for one in counted] == [(1, None), (None, None), (None, None)]


def test_group_that_is_coordinated_here_is_not_what_its_broker_says() -> None:
    """There it is empty, with offsets."""
    told = Told(
        listed=(listed(ORDERS),),
        classic={ORDERS: DescribedGroup(error=ErrorCode.NONE, group_id=ORDERS, group_state="Empty")},
    )
    heard = {ORDERS: HeardGroup(road=Road.EMBEDDED, state="Stable", members={EAGER.member_id: EAGER})}
    (one,) = take_census(told, heard, ABILITIES).groups
    assert (one.group.state, len(one.group.members), one.group.road) == ("Stable", 1, Road.EMBEDDED)
    assert one.gains == ()


def test_groups_are_bounded_and_the_rest_is_counted() -> None:
    """A cluster may have more than anybody reads."""
    told = Told(listed=tuple(listed(GroupId(f"g-{number:05}")) for number in range(GROUPS_MAX + 2)))
    census = take_census(told, {}, ABILITIES)
    assert len(census.groups) == GROUPS_MAX
    assert census.unseen == ("EB-CENSUS-004: 10,002 groups are more than the 10,000 of a census: the first are here",)


def test_work_grows_with_the_groups_alone() -> None:
    """A thousand groups are looked at in a second: twice as many take twice as long."""

    def census_of(count: int) -> Callable[[], object]:
        names = [GroupId(f"g-{number:05}") for number in range(count)]
        offsets = {name: fetched(name, 5, 9) for name in names}
        told = Told(listed=tuple(map(listed, names)), offsets=offsets, ends={TopicPartition(TOPIC, 0): 7})
        heard = {name: HeardGroup(members={EAGER.member_id: EAGER}) for name in names}
        return lambda: take_census(told, heard, ABILITIES)

    assert growth_faults([census_of(count) for count in (50, 100, 200)]) == []
