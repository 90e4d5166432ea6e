"""What a broker's answer to a fetch of offsets tells of topics that a client may not see."""

import pytest

from bridge.coordinators.hidden_topics import Hidden, ask_which_are_hidden
from tests.support.embedded_world import FakeVia, told_of_topics
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import FetchedGroup, GroupOffsets, OffsetFetch, OffsetFetchReply, TopicOffsets

GROUP, SEEN, UNSEEN = GroupId("g"), TopicName("seen"), TopicName("unseen")
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def of(name: TopicName, code: ErrorCode = ErrorCode.NONE) -> FetchedGroup:
    """The broker's word on one topic."""
    return told_of_topics(GroupOffsets(group_id=GROUP, topics=(TopicOffsets(name=name, partitions=(0,)),)), code)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (OffsetFetchReply(groups=(of(UNSEEN, _DENIED), of(SEEN))), (UNSEEN,)),
        (OffsetFetchReply(groups=(of(SEEN),)), ()),
        (
            OffsetFetchReply(groups=(FetchedGroup(group_id=GROUP, topics=(), error=ErrorCode.NOT_COORDINATOR),)),
            ErrorCode.NOT_COORDINATOR,
        ),
        (None, ErrorCode.NONE),
    ],
)
def test_answer_tells_what_is_hidden_or_why_nobody_knows(reply: GroupReply | None, found: Hidden | ErrorCode) -> None:
    """A connection that ends says nothing, and a coordinator that moves nothing of topics."""
    via, heard = FakeVia(operations=None), list[Hidden | ErrorCode]()
    ask_which_are_hidden(via, GROUP, (SEEN, UNSEEN), heard.append)
    asked = via.answer(lambda _: reply)
    assert isinstance(asked, OffsetFetch)
    assert [one.name for one in asked.groups[0].topics or ()] == [SEEN, UNSEEN]
    assert heard == [found]


def test_broker_without_the_api_is_asked_nothing() -> None:
    """It is not known what it speaks, or it is too old."""
    heard = list[Hidden | ErrorCode]()
    ask_which_are_hidden(FakeVia(versions={}), GROUP, (SEEN,), heard.append)
    assert heard == [ErrorCode.NONE]
