"""Short histories of a group for what-if tests: clients a, b, c … on the topic `orders`, times in seconds."""

from dataclasses import replace

from bridge.whatif.inputs import Came, Client, FellSilent, History, Input, Left, ReactionTimes, TopicsBecame, Vacated
from translators.dialects.ids import ClientIdentity, GroupId, InstanceId, MemberId, TopicName

GROUP = GroupId("orders-group")
TOPIC = TopicName("orders")
BEGINS_US = 1_763_700_000_000_000
SECOND_US = 1_000_000
REACTION = ReactionTimes(revoke_us=100_000, fetch_us=30_000)


def at(seconds: float) -> int:
    """So long after the beginning of the history."""
    return BEGINS_US + round(seconds * SECOND_US)


def client(name: str, *topics: str, seat: str | None = None, session_ms: int = 45_000) -> Client:
    """A client; its member id and client id are its name."""
    return Client(
        member_id=MemberId(name),
        identity=ClientIdentity(client_id=name, client_host="10.0.0.7"),
        instance_id=None if seat is None else InstanceId(seat),
        topics=tuple(map(TopicName, topics)) or (TOPIC,),
        assignors=("range",),
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=60_000,
    )


def came(seconds: float, name: str, *topics: str, seat: str | None = None, former: str = "") -> Came:
    """A client joins; the event is called after it."""
    return Came(at_us=at(seconds), event_id=f"{name} came", client=client(name, *topics, seat=seat), former_id=former)


def left(seconds: float, name: str) -> Left:
    """A member leaves."""
    return Left(at_us=at(seconds), event_id=f"{name} left", member_id=MemberId(name))


def vacated(seconds: float, name: str) -> Vacated:
    """A static member goes for a while."""
    return Vacated(at_us=at(seconds), event_id=f"{name} vacated", member_id=MemberId(name))


def silent(seconds: float, name: str) -> FellSilent:
    """A member heartbeats for the last time."""
    return FellSilent(at_us=at(seconds), event_id=f"{name} fell silent", member_id=MemberId(name))


def grown(seconds: float, partitions: int, topic: str = TOPIC) -> TopicsBecame:
    """A topic has other partitions."""
    return TopicsBecame(at_us=at(seconds), event_id=f"{topic} grew", counts={TopicName(topic): partitions})


def history(*inputs: Input, partitions: int = 6, founders: tuple[Client, ...] = ()) -> History:
    """What happened to the group."""
    return History(
        group_id=GROUP,
        begins_us=BEGINS_US,
        topics={TOPIC: partitions, TopicName("other"): 2},
        founders=founders,
        inputs=inputs,
        reaction=REACTION,
    )


def slower(one: History, name: str, revoke_s: float) -> History:
    """The same, with a member that takes long to give up."""
    reaction = ReactionTimes(revoke_us=round(revoke_s * SECOND_US), fetch_us=REACTION.fetch_us)
    return replace(one, reactions={**one.reactions, MemberId(name): reaction})
