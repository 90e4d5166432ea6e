"""Whether a broker would deal a group's partitions anew at its next epoch: by the rules of its assignors, for the seats
as they are now.
"""

from collections.abc import Callable, Collection

from bridge.coordinators.catalog import Catalog
from bridge.engine.assignors.interface import AssignmentSpec, Assignor, MemberSubscription
from bridge.engine.assignors.range import Range
from bridge.engine.assignors.uniform import Uniform
from bridge.migration.moves.members import ClassicMember
from translators.classic_member.talking import SERVER_ASSIGNORS
from translators.dialects.consumer_protocol import MalformedBlob
from translators.dialects.ids import NO_TOPIC_ID, MemberId, Topic

_RANGE = Range()


def deals_anew(members: Collection[ClassicMember], seat_id: Callable[[MemberId], MemberId], catalog: Catalog) -> bool:
    """Whether any of these members, everybody in their group, would get something else than it has once all of them
    have named their assignors; `seat_id` says as whom the broker knows a client, and `catalog` what there is to deal.

    Range has no memory and goes by the order of ids: seats that were taken in clients' places stand in another order
    than their clients, and the bridge deals its own groups without regard to ids. Uniform keeps what is in balance.
    True as well where it can't be told: a subscription that can't be read may be to anything, and a topic in use that
    the catalog does not have was not looked at, or is gone.
    """
    if not catalog.knows({partition.topic for one in members for partition in one.using}):
        return True
    try:
        wanted = {seat_id(one.member_id): _topics(one, catalog) for one in members}
    except MalformedBlob:
        return True
    has = {seat_id(one.member_id): catalog.to_ids(one.using) for one in members}
    spec = AssignmentSpec(
        members={
            seat_id(one.member_id): MemberSubscription(
                member_id=seat_id(one.member_id),
                instance_id=one.instance_id,
                rack_id=None,
                topics=frozenset(topic.topic_id for topic in wanted[seat_id(one.member_id)]),
            )
            for one in members
        },
        previous=has,
        partition_counts={topic.topic_id: topic.partition_count for topics in wanted.values() for topic in topics},
    )
    return dict(_assignor(members).assign(spec)) != has


def stand_otherwise(members: Collection[ClassicMember], seat_id: Callable[[MemberId], MemberId]) -> bool:
    """Whether range would exchange what members have, however many others there are: it goes by the order of ids, and
    their seats stand in another one than they do.
    """
    by_client = sorted(one.member_id for one in members)
    return _assignor(members) is _RANGE and sorted(by_client, key=seat_id) != by_client


def _assignor(members: Collection[ClassicMember]) -> Assignor:
    """The one that members name, as classic ones name range or none; without a name a broker takes its first."""
    named = {SERVER_ASSIGNORS.get(one.protocol_name) for one in members}
    return _RANGE if _RANGE.name in named else Uniform()


def _topics(member: ClassicMember, catalog: Catalog) -> tuple[Topic, ...]:
    """What it wants of all that exists; raises MalformedBlob."""
    found = (catalog.topic(catalog.id_for(name, NO_TOPIC_ID)) for name in member.subscription().topics)
    return tuple(topic for topic in found if topic is not None)
