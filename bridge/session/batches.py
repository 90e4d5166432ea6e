"""Requests that name groups of several roads: cut in two by road, and the two answers merged in the order asked.

It must not know who answers either part.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

from bridge.wire.codec.registry import Reply, Request, error_reply
from translators.dialects.admin import (
    DeleteGroups,
    DeleteGroupsReply,
    DescribeGroups,
    DescribeGroupsReply,
)
from translators.dialects.consumer import ConsumerGroupDescribe, ConsumerGroupDescribeReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId
from translators.dialects.offsets import OffsetFetch, OffsetFetchReply

IsOurs = Callable[[GroupId], bool]


class _Answer(Protocol):
    """What one side says about one group."""

    @property
    def group_id(self) -> GroupId:
        """The group that it is about."""
        ...


GroupT = TypeVar("GroupT", bound=_Answer)
Answers = OffsetFetchReply | DescribeGroupsReply | DeleteGroupsReply | ConsumerGroupDescribeReply


class Parts(NamedTuple):
    """What the bridge answers of a request, and what the broker does; None where there is nothing."""

    ours: Request | None
    theirs: Request | None


def split(request: Request, is_ours: IsOurs) -> Parts:
    """Cut a request by road; one about a single group goes whole to one side, and ListGroups to the bridge.

    The bridge asks the broker itself then: filters apply to the whole list (decision 22). A group that is to be
    deleted twice is deleted once and answered once, as Kafka 4.3.1 does; every other doubled name is answered twice.
    """
    request = once(request)
    if isinstance(request, OffsetFetch):
        ours = tuple(group for group in request.groups if is_ours(group.group_id))
        theirs = tuple(group for group in request.groups if not is_ours(group.group_id))
        return Parts(
            replace(request, groups=ours) if ours else None, replace(request, groups=theirs) if theirs else None
        )
    if isinstance(request, DescribeGroups | DeleteGroups | ConsumerGroupDescribe):
        our_ids = tuple(group_id for group_id in request.group_ids if is_ours(group_id))
        their_ids = tuple(group_id for group_id in request.group_ids if not is_ours(group_id))
        return Parts(
            replace(request, group_ids=our_ids) if our_ids else None,
            replace(request, group_ids=their_ids) if their_ids else None,
        )
    return Parts(request, None)


def once(request: Request) -> Request:
    """The request with each name once, where Kafka answers a name once however often it is given."""
    return DeleteGroups(tuple(dict.fromkeys(request.group_ids))) if isinstance(request, DeleteGroups) else request


@dataclass(slots=True)
class Merge:
    """Waits for both answers to one request that was cut in two."""

    request: Request
    theirs_request: Request
    is_ours: IsOurs
    ours: Reply | None = None
    theirs: Reply | None = None

    def take_ours(self, reply: Reply) -> Reply | None:
        """The bridge's answer; returns the whole one once the other is there."""
        self.ours = reply
        return self._merged()

    def take_theirs(self, reply: Reply | None) -> Reply | None:
        """The broker's answer, None when it gave none; returns the whole one once the other is there."""
        self.theirs = reply or error_reply(self.theirs_request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self._merged()

    def _merged(self) -> Reply | None:
        ours, theirs = self.ours, self.theirs
        if ours is None or theirs is None:
            return None
        if isinstance(ours, Answers) and isinstance(theirs, Answers):
            return self._merged_groups(ours, theirs)
        raise TypeError(f"no answers to one request: {ours} and {theirs}")

    def _merged_groups(self, ours: Answers, theirs: Answers) -> Reply:
        unanswered = error_reply(once(self.request), ErrorCode.COORDINATOR_NOT_AVAILABLE)
        match ours, theirs, unanswered:
            case OffsetFetchReply(), OffsetFetchReply(), OffsetFetchReply():
                return replace(theirs, groups=self._in_order(ours.groups, theirs.groups, unanswered.groups))
            case DescribeGroupsReply(), DescribeGroupsReply(), DescribeGroupsReply():
                return replace(theirs, groups=self._in_order(ours.groups, theirs.groups, unanswered.groups))
            case DeleteGroupsReply(), DeleteGroupsReply(), DeleteGroupsReply():
                return replace(theirs, groups=self._in_order(ours.groups, theirs.groups, unanswered.groups))
            case ConsumerGroupDescribeReply(), ConsumerGroupDescribeReply(), ConsumerGroupDescribeReply():
                return replace(theirs, groups=self._in_order(ours.groups, theirs.groups, unanswered.groups))
        raise TypeError(f"no answers to one request: {ours} and {theirs}")

    def _in_order(
        self, ours: tuple[GroupT, ...], theirs: tuple[GroupT, ...], unanswered: tuple[GroupT, ...]
    ) -> tuple[GroupT, ...]:
        """One answer for each name in the order asked, whatever either side said, and in whatever order.

        Kafka 4.3.1 answers DescribeGroups and DeleteGroups by the partition of its offsets topic. A name that a side
        left out is to be asked again; what nobody asked for is dropped.
        """
        mine, other = _by_name(ours), _by_name(theirs)
        return tuple(
            next((mine if self.is_ours(each.group_id) else other).get(each.group_id, iter(())), each)
            for each in unanswered
        )


def _by_name(answers: Iterable[GroupT]) -> dict[GroupId, Iterator[GroupT]]:
    """Name -> the answers that bear it, in the order given."""
    named: dict[GroupId, list[GroupT]] = {}
    for each in answers:
        named.setdefault(each.group_id, []).append(each)
    return {group_id: iter(each) for group_id, each in named.items()}
