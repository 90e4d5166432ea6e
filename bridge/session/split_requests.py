"""Requests that name groups, or members, of several roads: cut by road, and the answers merged in the order asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from bridge.migration.route import Road
from bridge.wire.codec.registry import Reply, Request, error_reply
from translators.dialects.admin import (
    DeletedGroup,
    DeleteGroups,
    DeleteGroupsReply,
    DescribedGroup,
    DescribeGroups,
    DescribeGroupsReply,
    ListGroups,
)
from translators.dialects.classic import LeaveGroup, LeaveGroupReply, LeavingMember, LeftMember
from translators.dialects.configs import (
    AlterConfigs,
    AlterConfigsReply,
    AlteredResource,
    AskedResource,
    DescribeConfigs,
    DescribeConfigsReply,
    DescribedResource,
    IncrementalAlterConfigs,
    ListConfigResources,
    Resource,
    ResourceAlterations,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply, DescribedConsumerGroup
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, MemberId
from translators.dialects.offsets import FetchedGroup, OffsetDelete, OffsetFetch, OffsetFetchReply

RoadOf = Callable[[GroupId, MemberId | None], Road]
Parts = Mapping[Road, Request]
"""What goes by each road of a request."""
Pieces = tuple[tuple[Road, Request], ...]
"""What is asked by itself, and on which road."""
ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT")
Answered = (
    FetchedGroup
    | DescribedGroup
    | DeletedGroup
    | DescribedConsumerGroup
    | LeftMember
    | DescribedResource
    | AlteredResource
)
AnsweredT = TypeVar(
    "AnsweredT",
    FetchedGroup,
    DescribedGroup,
    DeletedGroup,
    DescribedConsumerGroup,
    LeftMember,
    DescribedResource,
    AlteredResource,
)
_NO_ANSWER = ErrorCode.COORDINATOR_NOT_AVAILABLE


def split(request: Request, road_of: RoadOf) -> Parts:
    """Cut a request by road; one about a single member or group goes whole by that one's road.

    A group that is to be deleted twice is deleted once and answered once, as Kafka 4.3.1 does; every other doubled
    name is answered twice.
    """
    request = once(request)
    match request:
        case OffsetFetch():
            fetched = _parted(request.groups, lambda group: road_of(group.group_id, group.member_id))
            return {road: replace(request, groups=groups) for road, groups in fetched.items()}
        case LeaveGroup():
            leavers = _parted(request.members, lambda leaver: road_of(request.group_id, leaver.member_id))
            parted = {road: replace(request, members=members) for road, members in leavers.items()}
            return parted or {road_of(request.group_id, None): request}
        case DescribeGroups() | DeleteGroups() | ConsumerGroupDescribe():
            named = _parted(request.group_ids, lambda group_id: road_of(group_id, None))
            return {road: replace(request, group_ids=group_ids) for road, group_ids in named.items()}
        case DescribeConfigs():
            asked = _parted(request.resources, lambda one: resource_road(one.resource, road_of))
            return {road: replace(request, resources=resources) for road, resources in asked.items()}
        case AlterConfigs() | IncrementalAlterConfigs():
            altered = _parted(request.resources, lambda one: resource_road(one.resource, road_of))
            return {road: replace(request, resources=resources) for road, resources in altered.items()}
        case ListGroups() | ListConfigResources():
            # The bridge asks the broker itself: filters apply to the whole list (decision 22).
            return {Road.EMBEDDED: request}
        case OffsetDelete():
            return {road_of(request.group_id, None): request}
        case _:
            return {road_of(request.group_id, request.member_id): request}


def pieces_of(parts: Parts) -> Pieces:
    """Each road's part as one, but for what moves, of which each group's is by itself: no move has the word on another
    group, which may be just on its way to where the first one comes from.
    """
    return tuple(
        (road, piece) for road, part in parts.items() for piece in (_by_group(part) if road is Road.MOVING else (part,))
    )


def _by_group(request: Request) -> tuple[Request, ...]:
    match request:
        case OffsetFetch():
            fetched = _parted(request.groups, lambda group: group.group_id)
            return tuple(replace(request, groups=groups) for groups in fetched.values())
        case DescribeGroups() | DeleteGroups() | ConsumerGroupDescribe():
            named = _parted(request.group_ids, lambda group_id: group_id)
            return tuple(replace(request, group_ids=group_ids) for group_ids in named.values())
        case DescribeConfigs():
            asked = _parted(request.resources, lambda one: one.resource.group_id)
            return tuple(replace(request, resources=resources) for resources in asked.values())
        case AlterConfigs() | IncrementalAlterConfigs():
            altered = _parted(request.resources, lambda one: one.resource.group_id)
            return tuple(replace(request, resources=resources) for resources in altered.values())
        case _:
            # Of one group, or of none.
            return (request,)


def once(request: Request) -> Request:
    """The request with each name once, where Kafka answers a name once however often it is given."""
    return DeleteGroups(tuple(dict.fromkeys(request.group_ids))) if isinstance(request, DeleteGroups) else request


def resource_road(resource: Resource, road_of: RoadOf) -> Road:
    """Settings of a group go by its road, and those of anything else to the broker."""
    return Road.PASS if resource.group_id is None else road_of(resource.group_id, None)


def _parted(items: Iterable[ItemT], key_of: Callable[[ItemT], KeyT]) -> dict[KeyT, tuple[ItemT, ...]]:
    parts: dict[KeyT, list[ItemT]] = {}
    for item in items:
        parts.setdefault(key_of(item), []).append(item)
    return {key: tuple(part) for key, part in parts.items()}


class Merge:
    """Waits for the answers to one request that was cut; `parts` says what goes by which road, and `pieces` what of it
    is asked by itself.
    """

    def __init__(self, request: Request, parts: Parts, road_of: RoadOf) -> None:
        self.parts = parts
        self.pieces = pieces_of(parts)
        self.request = once(request)
        self._road_of = road_of
        self._replies: dict[Road, Reply] = {}
        self._of_moving: list[Reply] = []

    def take(self, road: Road, reply: Reply | None) -> Reply | None:
        """What came by a road, None for no answer; returns the whole answer once all pieces have theirs.

        A piece that waited for a move is answered on the road that it went on then, perhaps before that road's own.
        """
        said = reply or error_reply(self.parts[road], _NO_ANSWER)
        if Road.MOVING in self.parts and (road is Road.MOVING or road not in self.parts or road in self._replies):
            self._of_moving.append(said)
        else:
            self._replies[road] = said
        return self._merged() if len(self._replies) + len(self._of_moving) == len(self.pieces) else None

    def _merged(self) -> Reply:
        request, road_of = self.request, self._road_of
        # What the broker says beside its groups counts for all of them: a throttle time, above all.
        first = self._replies.get(Road.PASS) or next(iter(self._all()))
        match request, first:
            case OffsetFetch(groups=groups), OffsetFetchReply():
                missing = tuple(FetchedGroup(group_id=one.group_id, topics=(), error=_NO_ANSWER) for one in groups)
                roads = [road_of(one.group_id, one.member_id) for one in groups]
                return replace(first, groups=self._in_order(missing, roads, _fetched))
            case DescribeGroups(group_ids=names), DescribeGroupsReply():
                lost = tuple(DescribedGroup(error=_NO_ANSWER, group_id=one) for one in names)
                return replace(first, groups=self._in_order(lost, self._roads(names), _described))
            case DeleteGroups(group_ids=names), DeleteGroupsReply():
                kept = tuple(DeletedGroup(one, _NO_ANSWER) for one in names)
                return replace(first, groups=self._in_order(kept, self._roads(names), _deleted))
            case ConsumerGroupDescribe(group_ids=names), ConsumerGroupDescribeReply():
                unknown = tuple(DescribedConsumerGroup(error=_NO_ANSWER, group_id=one) for one in names)
                return replace(first, groups=self._in_order(unknown, self._roads(names), _consumer_described))
            case DescribeConfigs(resources=asked), DescribeConfigsReply():
                untold = tuple(DescribedResource(resource=one.resource, error=_NO_ANSWER) for one in asked)
                return replace(first, results=self._in_order(untold, self._resource_roads(asked), _configs_described))
            case ((AlterConfigs() | IncrementalAlterConfigs()), AlterConfigsReply()):
                unaltered = tuple(AlteredResource(resource=one.resource, error=_NO_ANSWER) for one in request.resources)
                roads = self._resource_roads(request.resources)
                return replace(first, results=self._in_order(unaltered, roads, _configs_altered))
            case LeaveGroup(members=leavers), LeaveGroupReply():
                stayed = tuple(map(_stayed, leavers))
                roads = [road_of(request.group_id, one.member_id) for one in leavers]
                members = self._in_order(stayed, roads, self._left)
                return replace(first, error=ErrorCode.NONE, members=members)
            case _:
                raise TypeError(f"no answer to {request}: {first}")

    def _all(self) -> list[Reply]:
        return [*self._replies.values(), *self._of_moving]

    def _roads(self, names: Iterable[GroupId]) -> list[Road]:
        return [self._road_of(group_id, None) for group_id in names]

    def _resource_roads(self, named: Iterable[AskedResource | ResourceAlterations]) -> list[Road]:
        return [resource_road(one.resource, self._road_of) for one in named]

    def _left(self, reply: Reply) -> tuple[LeftMember, ...]:
        """One error for a whole part is that of each of its members."""
        if not isinstance(reply, LeaveGroupReply):
            return ()
        if reply.error is ErrorCode.NONE:
            return reply.members
        road = next(road for road, given in self._replies.items() if given is reply)
        part = self.parts[road]
        leavers = part.members if isinstance(part, LeaveGroup) else ()
        return tuple(replace(_stayed(leaver), error=reply.error) for leaver in leavers)

    def _in_order(
        self,
        unanswered: Sequence[AnsweredT],
        roads: Sequence[Road],
        answered: Callable[[Reply], tuple[AnsweredT, ...]],
    ) -> tuple[AnsweredT, ...]:
        """One answer for each name in the order asked, whatever was said on any road, and in whatever order.

        Kafka 4.3.1 answers DescribeGroups and DeleteGroups by the partition of its offsets topic. A name that was left
        out is to be asked again; what nobody asked for is dropped.
        """
        named = {road: _by_name(answered(reply)) for road, reply in self._replies.items()}
        if Road.MOVING in self.parts:
            # Which of several answers on one road was a moved group's only the names tell.
            everywhere = _by_name(each for reply in self._all() for each in answered(reply))
            named = dict.fromkeys(self.parts, everywhere)
        return tuple(
            next(named[road].get(_name(each), iter(())), each) for each, road in zip(unanswered, roads, strict=True)
        )


def _by_name(answers: Iterable[AnsweredT]) -> dict[tuple[str, str | None], Iterator[AnsweredT]]:
    """Name -> the answers that bear it, in the order given."""
    named: dict[tuple[str, str | None], list[AnsweredT]] = {}
    for each in answers:
        named.setdefault(_name(each), []).append(each)
    return {name: iter(each) for name, each in named.items()}


def _name(answer: Answered) -> tuple[str, str | None]:
    if isinstance(answer, (DescribedResource, AlteredResource)):
        return answer.resource.name, str(answer.resource.resource_type)
    return (answer.member_id, answer.instance_id) if isinstance(answer, LeftMember) else (answer.group_id, None)


def _stayed(leaver: LeavingMember) -> LeftMember:
    return LeftMember(member_id=leaver.member_id, instance_id=leaver.instance_id, error=_NO_ANSWER)


def _fetched(reply: Reply) -> tuple[FetchedGroup, ...]:
    return reply.groups if isinstance(reply, OffsetFetchReply) else ()


def _described(reply: Reply) -> tuple[DescribedGroup, ...]:
    return reply.groups if isinstance(reply, DescribeGroupsReply) else ()


def _deleted(reply: Reply) -> tuple[DeletedGroup, ...]:
    return reply.groups if isinstance(reply, DeleteGroupsReply) else ()


def _consumer_described(reply: Reply) -> tuple[DescribedConsumerGroup, ...]:
    return reply.groups if isinstance(reply, ConsumerGroupDescribeReply) else ()


def _configs_described(reply: Reply) -> tuple[DescribedResource, ...]:
    return reply.results if isinstance(reply, DescribeConfigsReply) else ()


def _configs_altered(reply: Reply) -> tuple[AlteredResource, ...]:
    return reply.results if isinstance(reply, AlterConfigsReply) else ()
