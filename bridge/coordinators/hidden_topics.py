"""Which topics a client may not DESCRIBE, by the word of its broker on the client's own connection."""

from collections.abc import Callable, Iterable

from bridge.session.contracts import BrokerAccess
from bridge.wire.apis import ApiKey
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId, TopicName
from translators.dialects.messages import GroupReply
from translators.dialects.offsets import GroupOffsets, OffsetFetch, OffsetFetchReply, TopicOffsets

OFFSET_FETCH_UNTIL = 7
"""The last version that asks for one group and names topics."""
Hidden = tuple[TopicName, ...]


def ask_which_are_hidden(
    way: BrokerAccess, group_id: GroupId, topics: Iterable[TopicName], take: Callable[[Hidden | ErrorCode], None]
) -> None:
    """A fetch of offsets changes nothing, and is answered by the coordinator, to which every member is connected; a
    code where nobody tells, NONE where nobody answers.
    """
    highest = way.highest_version(ApiKey.OFFSET_FETCH)
    if highest is None:
        take(ErrorCode.NONE)
        return
    wanted = tuple(TopicOffsets(name=name, partitions=(0,)) for name in topics)
    question = OffsetFetch(groups=(GroupOffsets(group_id=group_id, topics=wanted),))
    way.ask(None, question, lambda reply: take(_hidden_in(reply)), min(highest, OFFSET_FETCH_UNTIL))


def _hidden_in(reply: GroupReply | None) -> Hidden | ErrorCode:
    if not isinstance(reply, OffsetFetchReply):
        return ErrorCode.NONE
    refused = next((group.error for group in reply.groups if group.error is not ErrorCode.NONE), None)
    if refused is not None:
        # A coordinator that moves tells nothing of topics.
        return refused
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    found = {
        one.name for group in reply.groups for one in group.topics if any(it.error is denied for it in one.partitions)
    }
    return tuple(sorted(found))
