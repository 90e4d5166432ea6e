"""Short words for the calls that scenarios are written in."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.support.conformance.steps import Assignment, Await, Call, Owned, Part, Poll, Step, Subscription, TopicId

DEFAULT = Subscription()
LONG_MS = 30_000
SHORT_MS = 6_000
SIX = "wire-six"
ALL_SIX = Assignment(partitions={SIX: [0, 1, 2, 3, 4, 5]})
FIRST_HALF, SECOND_HALF = Assignment(partitions={SIX: [0, 1, 2]}), Assignment(partitions={SIX: [3, 4, 5]})
SYNC_NEWEST, BEAT_NEWEST, LEAVE_NEWEST = 5, 4, 5
REQUIRED_SINCE = 4


def call(who: str, api: str, version: int, defaults: Mapping[str, Part], fields: Mapping[str, Part]) -> Call:
    """A call whose fields are the usual ones unless said otherwise."""
    return Call(who=who, api=api, version=version, fields={**defaults, **fields})


def parked(one: Call) -> Call:
    """The call, when nothing is answered before something else happens."""
    return replace(one, parked=True)


def until(one: Call, **values: str | int) -> Poll:
    """The call again and again until the answer holds these values."""
    return Poll(call=one, until=values)


def offer(*names: str, metadata: Part = DEFAULT) -> list[Part]:
    """Protocols of these names with one subscription."""
    return [{"name": name, "metadata": metadata} for name in names]


def join(who: str, version: int = 9, /, **fields: Part) -> Call:
    """JoinGroup of a newcomer."""
    usual: dict[str, Part] = {
        "group_id": "$g",
        "session_timeout_ms": LONG_MS,
        "rebalance_timeout_ms": LONG_MS,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": offer("range"),
    }
    return call(who, "JoinGroup", version, usual, fields)


def rejoin(who: str, version: int = 9, /, **fields: Part) -> Call:
    """JoinGroup with the member's own id."""
    return join(who, version, **{"member_id": f"@{who}", **fields})


def enter(who: str, version: int = 9, /, **fields: Part) -> tuple[Step, ...]:
    """JoinGroup until the group lets it in: with the id it was given from version 4 on, unless it is static."""
    if version < REQUIRED_SINCE or fields.get("group_instance_id"):
        return (join(who, version, **fields),)
    return (join(who, version, **fields), rejoin(who, version, **fields))


def enter_parked(who: str, version: int = 9, /, **fields: Part) -> tuple[Step, ...]:
    """The same, when the last answer waits for something else."""
    *first, last = enter(who, version, **fields)
    assert isinstance(last, Call)
    return (*first, parked(last))


def sync(who: str, version: int = SYNC_NEWEST, /, **fields: Part) -> Call:
    """SyncGroup, of a leader with `assign`, the assignments by member."""
    assign = fields.pop("assign", {})
    assert isinstance(assign, Mapping)
    usual: dict[str, Part] = {
        "group_id": "$g",
        "generation_id": f"#{who}",
        "member_id": f"@{who}",
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member, "assignment": share} for member, share in assign.items()],
    }
    return call(who, "SyncGroup", min(version, SYNC_NEWEST), usual, fields)


def beat(who: str, version: int = BEAT_NEWEST, /, **fields: Part) -> Call:
    """Heartbeat."""
    usual = {"group_id": "$g", "generation_id": f"#{who}", "member_id": f"@{who}"}
    return call(who, "Heartbeat", min(version, BEAT_NEWEST), usual, fields)


def leave(who: str, version: int = LEAVE_NEWEST, /, **fields: Part) -> Call:
    """LeaveGroup of one member: itself, or the one in `member_id` and `group_instance_id`."""
    member = fields.pop("member_id", f"@{who}")
    if version < GENERATION_OF_BATCHES:
        return call(who, "LeaveGroup", version, {"group_id": "$g", "member_id": member}, fields)
    entry = {"member_id": member, "group_instance_id": fields.pop("group_instance_id", None)}
    return call(who, "LeaveGroup", version, {"group_id": "$g", "members": [entry]}, fields)


GENERATION_OF_BATCHES = 3


def leave_all(who: str, *members: tuple[str, str | None]) -> Call:
    """LeaveGroup of several members: ids and instance ids."""
    entries: list[Part] = [{"member_id": member, "group_instance_id": instance} for member, instance in members]
    return call(who, "LeaveGroup", LEAVE_NEWEST, {"group_id": "$g", "members": entries}, {})


def chb(who: str, epoch: int | str, version: int = 1, /, **fields: Part) -> Call:
    """ConsumerGroupHeartbeat; a first one says everything, by the member id `member-<who>`."""
    usual: dict[str, Part] = {
        "group_id": "$g",
        "member_id": f"member-{who}",
        "member_epoch": epoch,
        "rebalance_timeout_ms": -1,
        "subscribed_topic_names": None,
        "topic_partitions": None,
    }
    if epoch == 0:
        usual |= {"rebalance_timeout_ms": LONG_MS, "subscribed_topic_names": [SIX], "topic_partitions": []}
    return call(who, "ConsumerGroupHeartbeat", version, usual, fields)


def full_chb(who: str, epoch: int | str, /, **fields: Part) -> Call:
    """A heartbeat that says everything again, with what it owns (default for `owned`: what it was given)."""
    everything: dict[str, Part] = {
        "rebalance_timeout_ms": LONG_MS,
        "subscribed_topic_names": [SIX],
        "topic_partitions": fields.pop("owned", Owned(who=who)),
    }
    return chb(who, epoch, **{**everything, **fields})


def commit(who: str, version: int = 9, /, **fields: Part) -> Call:
    """OffsetCommit of 42 for partition 0 of wire-six; `topics` says otherwise."""
    usual: dict[str, Part] = {
        "group_id": "$g",
        "generation_id": f"#{who}",
        "member_id": f"@{who}",
        "topics": committed_topics(version),
    }
    return call(who, "OffsetCommit", version, usual, fields)


def committed_topics(version: int = 9, name: str = SIX, partitions: Sequence[int] = (0,), metadata: str = "") -> Part:
    """The topics of a commit: 42 for each partition."""
    offsets: list[Part] = [
        {"partition": partition, "offset": 42, "leader_epoch": -1, "metadata": metadata} for partition in partitions
    ]
    return [{**topic_of(version, name), "partitions": offsets}]


def topic_of(version: int, name: str) -> dict[str, Part]:
    """A topic by name, from version 10 on by id."""
    return {"topic_id": TopicId(name=name)} if version >= IDS_SINCE else {"name": name}


IDS_SINCE = 10
GROUPS_SINCE = 8


def fetch(who: str, version: int = 9, /, **fields: Part) -> Call:
    """OffsetFetch of partitions 0 and 1 of wire-six, without a member from version 9 on."""
    topics: Part = [{**topic_of(version, SIX), "partitions": [0, 1]}]
    topics = fields.pop("topics", topics)
    if version < GROUPS_SINCE:
        return call(who, "OffsetFetch", version, {"group_id": "$g", "topics": topics}, fields)
    group: dict[str, Part] = {
        "group_id": "$g",
        "member_id": fields.pop("member_id", None),
        "member_epoch": fields.pop("member_epoch", -1),
        "topics": topics,
    }
    return call(who, "OffsetFetch", version, {"groups": [group]}, fields)


def describe(version: int = 6, *groups: str, operations: bool = False) -> Call:
    """DescribeGroups of an admin, who may ask what it is allowed to do."""
    return call("admin", "DescribeGroups", version, {"groups": list(groups or ("$g",))}, {"operations": operations})


def describe_consumer(version: int = 1, *groups: str, operations: bool = False) -> Call:
    """ConsumerGroupDescribe of an admin, who may ask what it is allowed to do."""
    return call(
        "admin", "ConsumerGroupDescribe", version, {"groups": list(groups or ("$g",))}, {"operations": operations}
    )


def share_chb(who: str, epoch: int | str = 0, /, **fields: Part) -> Call:
    """ShareGroupHeartbeat by the member id `share-<who>`, for a topic that is not there: others come by and by."""
    usual: dict[str, Part] = {
        "group_id": "$g",
        "member_id": f"share-{who}",
        "member_epoch": epoch,
        "rack_id": None,
        "subscribed_topic_names": ["wire-none"] if epoch == 0 else None,
    }
    return call(who, "ShareGroupHeartbeat", 1, usual, fields)


def describe_share(*groups: str) -> Call:
    """ShareGroupDescribe of an admin."""
    return call("admin", "ShareGroupDescribe", 1, {"groups": list(groups or ("$g",))}, {})


def set_share_offsets(*topics: str) -> Call:
    """AlterShareGroupOffsets of an admin: the start of partition 0 of these topics."""
    rows: list[Part] = [{"name": name, "partitions": [{"partition": 0, "offset": 0}]} for name in topics]
    return call("admin", "AlterShareGroupOffsets", 0, {"group_id": "$g", "topics": rows}, {})


def list_groups(version: int = 5, states: Sequence[str] = (), types: Sequence[str] = ()) -> Call:
    """ListGroups of an admin; only the scenario's own groups count."""
    filters: dict[str, Part] = {"states_filter": list(states), "types_filter": list(types)}
    return call("admin", "ListGroups", version, filters, {})


def delete(version: int = 2, *groups: str) -> Call:
    """DeleteGroups of an admin."""
    return call("admin", "DeleteGroups", version, {"groups": list(groups or ("$g",))}, {})


def delete_offsets(name: str = SIX, partitions: Sequence[int] = (0,), group: str = "$g") -> Call:
    """OffsetDelete of an admin."""
    topics: Part = [{"name": name, "partitions": [{"partition": partition} for partition in partitions]}]
    return call("admin", "OffsetDelete", 0, {"group_id": group, "topics": topics}, {})


def alone(who: str = "a", version: int = 9, /, **fields: Part) -> tuple[Step, ...]:
    """A classic group of one that is Stable and has all of wire-six, in generation 1."""
    return (*enter(who, version, **fields), sync(who, version, assign={f"@{who}": ALL_SIX}, **static_of(fields)))


def static_of(fields: Mapping[str, Part]) -> dict[str, Part]:
    """The instance id among these fields, if there is one."""
    return {"group_instance_id": fields["group_instance_id"]} if "group_instance_id" in fields else {}


def pair(
    version: int = 9, a: Mapping[str, Part] | None = None, b: Mapping[str, Part] | None = None
) -> tuple[Step, ...]:
    """A Stable classic group of a, who leads, and b, in generation 2, each with half of wire-six."""
    of_a, of_b = dict(a or {}), dict(b or {})
    return (
        *alone("a", version, **of_a),
        *enter_parked("b", version, **of_b),
        beat("a", version, **static_of(of_a)),
        rejoin("a", version, **of_a),
        Await(who="b"),
        parked(sync("b", version, **static_of(of_b))),
        sync("a", version, assign={"@a": FIRST_HALF, "@b": SECOND_HALF}, **static_of(of_a)),
        Await(who="b"),
    )
