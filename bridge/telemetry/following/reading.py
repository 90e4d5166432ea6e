"""What requests say of a member, read out of them: never payloads, user data or anything secret."""

from bridge.telemetry.following.joins import Inputs, Partitions, UserDataForm
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import (
    CONSUMER,
    MalformedBlob,
    Subscription,
    decode_assignment,
    decode_sticky_user_data,
)
from translators.dialects.ids import ClientIdentity


def read_client(client: ClientIdentity) -> Inputs:
    """What a connection says of a member that has said nothing yet."""
    return Inputs(
        client_id=client.client_id,
        client_host=client.client_host,
        library=client.software_name,
        library_version=client.software_version,
    )


def read_join(request: JoinGroup, client: ClientIdentity) -> Inputs:
    """What a JoinGroup says; of members that are no consumers only names and timeouts."""
    subscription = _subscription(request)
    return Inputs(
        client_id=client.client_id,
        client_host=client.client_host,
        library=client.software_name,
        library_version=client.software_version,
        topics=() if subscription is None else tuple(sorted(subscription.topics)),
        assignors=tuple(protocol.name for protocol in request.protocols),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        rack_id=None if subscription is None else subscription.rack_id,
        owned=None if subscription is None else subscription.owned,
        protocol_type=request.protocol_type,
        user_data=UserDataForm.UNKNOWN if subscription is None else _form(subscription.user_data),
    )


def read_report(request: ConsumerGroupHeartbeat, client: ClientIdentity, before: Inputs, owned: Partitions) -> Inputs:
    """What a ConsumerGroupHeartbeat says, and what it leaves out as it was said before; `owned` is its list by name."""
    names = request.subscribed_topic_names
    pattern, assignor = request.subscribed_topic_regex, request.server_assignor
    is_named = request.rebalance_timeout_ms >= 0
    return Inputs(
        client_id=client.client_id,
        client_host=client.client_host,
        library=client.software_name,
        library_version=client.software_version,
        topics=before.topics if names is None else tuple(sorted(names)),
        # An empty pattern takes the subscription back (K2.9).
        pattern=before.pattern if pattern is None else pattern or None,
        assignors=before.assignors if assignor is None else (assignor,),
        session_timeout_ms=before.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms if is_named else before.rebalance_timeout_ms,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        owned=None if request.owned is None else owned,
    )


def read_assignment(blob: bytes) -> Partitions | None:
    """The partitions of a SyncGroup's answer; None if it is none of the consumer protocol."""
    try:
        return decode_assignment(blob).partitions
    except MalformedBlob:
        return None


def _form(user_data: bytes | None) -> UserDataForm:
    """Of what form it is: none of it is kept."""
    if not user_data:
        return UserDataForm.NONE
    return UserDataForm.OPAQUE if decode_sticky_user_data(user_data) is None else UserDataForm.STICKY


def _subscription(request: JoinGroup) -> Subscription | None:
    if request.protocol_type != CONSUMER or not request.protocols:
        return None
    try:
        return request.subscription(request.protocols[0])
    except MalformedBlob:
        return None
