"""What members say about themselves in their requests, never payloads, user data or anything secret; and the joins of a
group whose answers are to come.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum, auto

from bridge.telemetry.schema.facts import unguarded
from bridge.telemetry.schema.terms import Protocol
from translators.dialects.classic import JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.consumer_protocol import (
    CONSUMER,
    MalformedBlob,
    Subscription,
    decode_assignment,
)
from translators.dialects.ids import NO_MEMBER_ID, ClientIdentity, InstanceId, MemberId, TopicPartition

Partitions = frozenset[TopicPartition]
NO_PARTITIONS: Partitions = frozenset()
TOLD_BYTES_MAX = 65_536
"""Longer lists of topics and partitions are not read for the event log: in a megabyte are 260,000, for whose sake
everybody would wait. Subscriptions are told where the bridge coordinates: it has read them in a thread before.
"""
UNTOLD_MS = -1
"""A timeout that nobody named: consumer members are told theirs by the coordinator."""


class UserDataForm(StrEnum):
    """What an assignor put beside a subscription: nothing, what a sticky assignor remembers, or what it alone reads."""

    NONE = auto()
    STICKY = auto()
    OPAQUE = auto()
    UNKNOWN = auto()


@unguarded(kw_only=True)
class Inputs:
    """What a member told about itself, in the words of `facts.MemberInputs`; `owned` None if it did not say.

    `protocol_type` and `user_data` (whether its subscription carries some, and of what form) are for the census alone.
    """

    client_id: str = ""
    client_host: str = ""
    library: str = ""
    library_version: str = ""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignors: tuple[str, ...] = ()
    session_timeout_ms: int = UNTOLD_MS
    rebalance_timeout_ms: int = UNTOLD_MS
    rack_id: str | None = None
    owned: Partitions | None = None
    protocol_type: str = CONSUMER
    user_data: UserDataForm = UserDataForm.UNKNOWN

    def differs_from(self, other: "Inputs") -> bool:
        """Whether a coordinator would have to think again: what it owns and from where it speaks count for nothing."""
        lasting, former = _lasting(self), _lasting(other)
        if lasting == former:
            return False
        return any(now != before for now, before in zip(lasting, former, strict=True) if before not in UNTOLD)


NOTHING_SAID = Inputs()
_LASTING_FORMS = frozenset((UserDataForm.STICKY, UserDataForm.OPAQUE))
UNTOLD = (((), None), (), UNTOLD_MS)
"""What is not known of a member that was there before anybody listened: to hear it is no change."""


def _lasting(inputs: Inputs) -> tuple[object, ...]:
    return (
        (inputs.topics, inputs.pattern),
        inputs.assignors,
        inputs.session_timeout_ms,
        inputs.rebalance_timeout_ms,
        inputs.rack_id,
    )


@dataclass(slots=True, kw_only=True)
class Join:
    """A join whose answer is to come, and that has not been told of yet."""

    member_id: MemberId
    instance_id: InstanceId | None
    protocol: Protocol
    inputs: Inputs
    at_us: int


@dataclass(slots=True)
class Joins:
    """The joins of one group by request, in the order they came; a member's own is found without asking the others."""

    _by_ref: dict[object, Join] = field(default_factory=dict)
    _refs: dict[MemberId, dict[object, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._by_ref)

    def put(self, ref: object, join: Join) -> None:
        """A join came by the request `ref`."""
        self.pop(ref)
        self._by_ref[ref] = join
        self._refs.setdefault(join.member_id, {})[ref] = None

    def pop(self, ref: object) -> Join | None:
        """The join of a request, no longer to be told of; None if it was told of already or was none."""
        join = self._by_ref.pop(ref, None)
        if join is not None:
            refs = self._refs[join.member_id]
            del refs[ref]
            if not refs:
                del self._refs[join.member_id]
        return join

    def pop_member(self, member_id: MemberId, instance_id: InstanceId | None, client: ClientIdentity) -> Join | None:
        """The join of a member that was admitted; one that named no id is known by its instance, or by its client."""
        found = next(iter(self._refs.get(member_id, ())), None)
        if found is None:
            nameless = self._refs.get(NO_MEMBER_ID, ())
            found = next((ref for ref in nameless if _is_of(self._by_ref[ref], instance_id, client)), None)
        return None if found is None else self.pop(found)

    def items(self) -> Collection[tuple[object, Join]]:
        """Each request with its join, as of now."""
        return tuple(self._by_ref.items())

    def values(self) -> Collection[Join]:
        """All joins."""
        return self._by_ref.values()


def _is_of(join: Join, instance_id: InstanceId | None, client: ClientIdentity) -> bool:
    if join.instance_id is not None:
        return join.instance_id == instance_id
    return (join.inputs.client_id, join.inputs.client_host) == (client.client_id, client.client_host)


def read_client(client: ClientIdentity) -> Inputs:
    """What a connection says of a member that has said nothing yet."""
    return Inputs(
        client_id=client.client_id,
        client_host=client.client_host,
        library=client.software_name,
        library_version=client.software_version,
    )


def read_join(request: JoinGroup, client: ClientIdentity, before: Inputs = NOTHING_SAID) -> Inputs:
    """What a JoinGroup says; of members that are no consumers only names and timeouts.

    The user data of a member that rejoins with the same assignors is of the form that it was `before`: to read that out
    of a sticky assignor's took as long as half of the subscription.
    """
    subscription = _subscription(request)
    assignors = tuple([protocol.name for protocol in request.protocols])
    form = UserDataForm.UNKNOWN
    if subscription is not None:
        is_read = bool(subscription.user_data) and before.assignors == assignors and before.user_data in _LASTING_FORMS
        form = before.user_data if is_read else _form(request, subscription.user_data)
    return Inputs(
        client_id=client.client_id,
        client_host=client.client_host,
        library=client.software_name,
        library_version=client.software_version,
        topics=() if subscription is None else tuple(sorted(subscription.topics)),
        assignors=assignors,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        rack_id=None if subscription is None else subscription.rack_id,
        owned=None if subscription is None else subscription.owned,
        protocol_type=request.protocol_type,
        user_data=form,
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
    """The partitions of a SyncGroup's answer; None if it is none of the consumer protocol, or too long to be told."""
    if len(blob) > TOLD_BYTES_MAX:
        return None
    try:
        return decode_assignment(blob).partitions
    except MalformedBlob:
        return None


def _form(request: JoinGroup, user_data: bytes | None) -> UserDataForm:
    """Of what form it is: none of it is kept."""
    if not user_data:
        return UserDataForm.NONE
    if len(user_data) > TOLD_BYTES_MAX:
        return UserDataForm.UNKNOWN
    return UserDataForm.OPAQUE if request.recalled(user_data) is None else UserDataForm.STICKY


def _subscription(request: JoinGroup) -> Subscription | None:
    if request.protocol_type != CONSUMER or not request.protocols:
        return None
    first = request.protocols[0]
    if len(first.metadata) > TOLD_BYTES_MAX and not request.has_read(first):
        return None
    try:
        return request.subscription(first)
    except MalformedBlob:
        return None
