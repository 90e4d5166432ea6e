"""Which ConsumerGroupHeartbeats are refused at sight."""

from collections.abc import Callable, Collection

from bridge.engine.commands import MemberHeartbeat, Speaks
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH


def _lacks_member_id(request: ConsumerGroupHeartbeat) -> bool:
    """From version 1 on the client makes its id and must send it always; before, it may be blank when it joins (K11.4
    on 2.1).
    """
    if request.member_id.strip():
        return False
    return request.has_client_id or request.member_epoch > JOIN_EPOCH or request.member_epoch == LEAVE_EPOCH


def _joins(request: ConsumerGroupHeartbeat) -> bool:
    return request.member_epoch == JOIN_EPOCH


_INVALID: tuple[tuple[Callable[[ConsumerGroupHeartbeat], bool], str], ...] = (
    (_lacks_member_id, "MemberId can't be empty."),
    (lambda request: not request.group_id.strip(), "GroupId can't be empty."),
    (lambda request: request.instance_id is not None and not request.instance_id.strip(), "InstanceId can't be empty."),
    (lambda request: request.rack_id is not None and not request.rack_id.strip(), "RackId can't be empty."),
    (
        lambda request: _joins(request) and request.rebalance_timeout_ms == -1,
        "RebalanceTimeoutMs must be provided in first request.",
    ),
    (
        lambda request: _joins(request) and (request.owned is None or bool(request.owned)),
        "TopicPartitions must be empty when (re-)joining.",
    ),
    (
        lambda request: (
            _joins(request) and request.subscribed_topic_names is None and request.subscribed_topic_regex is None
        ),
        "SubscribedTopicNames or SubscribedTopicRegex must be set in first request.",
    ),
    (
        lambda request: request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is None,
        "InstanceId can't be null when a static member leaves for a while.",
    ),
    (lambda request: request.member_epoch < STATIC_LEAVE_EPOCH, "MemberEpoch is invalid."),
)
"""In Kafka's order (K2.1 to K2.8, with the order of 11.4); the first that holds is told."""


def find_fault(command: MemberHeartbeat, assignors: Collection[str]) -> Refusal | None:
    """Why the heartbeat is refused whatever the group's state, or None (K2.1 to K2.9).

    A translated member's request was made by its machine, which knows the rules: only the assignor is looked at.
    """
    request = command.request
    if command.speaks is Speaks.CONSUMER:
        for is_wrong, message in _INVALID:
            if is_wrong(request):
                return Refusal(ErrorCode.INVALID_REQUEST, message)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return Refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {quote(request.server_assignor)} is not supported. Supported assignors:"
            f" {', '.join(assignors)}.",
        )
    return None
