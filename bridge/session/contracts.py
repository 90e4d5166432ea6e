"""What a session asks of those behind it: who answers group requests, and who hears of those that pass."""

from collections.abc import Callable
from typing import Protocol

from bridge.session.limits import ELEMENTS_MAX, READ_ELEMENT_BYTES, kept_bytes
from bridge.wire.codec.registry import Reply, Request, decode_request
from bridge.wire.frames import RequestHeader
from translators.dialects.classic import Heartbeat, JoinGroup
from translators.dialects.consumer import ConsumerGroupHeartbeat
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef, Via

OnAnswer = Callable[[Reply | None], None]
"""Takes the broker's answer, or None when the connection to it was lost before the answer came."""
Deliver = Callable[[RequestRef, Reply], None]
"""Hands an answer to the connection that waits for it; one to a connection that is gone is dropped."""
Hear = Callable[[bytes], None]
"""Takes the broker's answer as one frame, length prefix included, before it goes to the client as it is."""

Watch = Callable[[bytes | memoryview], None]
"""Sees the first bytes of a broker's answer as they pass: all of it, unless it is large."""


class BrokerAccess(Protocol):
    """A client connection's own authenticated way to the broker, looked up by a request's `Via`."""

    @property
    def connection(self) -> int:
        """The number of the connection, as in RequestRef."""
        ...

    @property
    def broker_id(self) -> int | None:
        """The broker whose listener the client came in by; None for the bootstrap listener."""
        ...

    def highest_version(self, api_key: int) -> int | None:
        """The highest version of an api that this broker speaks, None when it has none."""
        ...

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """Ask the broker in the place of the request `ref`, as often as it takes; None asks beside all requests.

        Without `version` it is the client's own where the broker speaks it, else the highest that can be written.
        `on_answer` is called exactly once, perhaps before this returns. Only apis of `group_requests.MAY_ASK` may ask
        in their place: for them later requests stay away from the broker until they are answered.
        """
        ...


class NoAccess:
    """The way to the broker of a connection that is gone, or of somebody who came by none: there is none."""

    connection = -1
    broker_id: int | None = None

    def highest_version(self, api_key: int) -> int | None:
        """See `BrokerAccess`."""
        del api_key
        return None

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `BrokerAccess`."""
        del ref, request, version
        on_answer(None)


Access = Callable[[Via], BrokerAccess]
"""Looks a connection up; one that is gone has no access."""


class AccessOnUse:
    """The access of `via` as it is when it is used: whoever keeps this keeps no connection."""

    def __init__(self, access: Access, via: Via) -> None:
        self._access = access
        self._via = via
        self.connection = via.connection

    @property
    def broker_id(self) -> int | None:
        """See `BrokerAccess`."""
        return self._access(self._via).broker_id

    def highest_version(self, api_key: int) -> int | None:
        """See `BrokerAccess`."""
        return self._access(self._via).highest_version(api_key)

    def ask(self, ref: RequestRef | None, request: Request, on_answer: OnAnswer, version: int | None = None) -> None:
        """See `BrokerAccess`."""
        self._access(self._via).ask(ref, request, on_answer, version)


class Groups(Protocol):
    """Who answers requests of groups on one road, any but `pass`."""

    def submit(self, ref: RequestRef, client: ClientIdentity, via: Via, request: Request) -> None:
        """Take a request; its answer comes through `deliver(ref, reply)`, perhaps before this returns."""
        ...

    def beat(self, client: ClientIdentity, request: Heartbeat | ConsumerGroupHeartbeat) -> bool:
        """Whether this heartbeat tells nothing new and is to hear nothing new: then its member's session goes on, and
        its answer is the one that it had before.

        Otherwise nothing has happened, and it is to be submitted.
        """
        ...

    def disconnected(self, connection: int) -> None:
        """A client connection is gone; answers to its open requests have nowhere to go."""
        ...


class PassingRequest:
    """A whole group request that goes to the broker untouched: it is read once, when somebody asks first. `group_ids`
    are the groups that it names.
    """

    __slots__ = ("_data", "_read", "group_ids", "header")

    def __init__(self, header: RequestHeader, data: bytes | memoryview, group_ids: tuple[GroupId, ...] = ()) -> None:
        self.header = header
        self.group_ids = group_ids
        self._data = data
        self._read: Request | None = None

    def keep(self) -> bytes:
        """The request as it came, length prefix included; without this its bytes are there until `overhear` returns."""
        self._data = bytes(self._data)
        return self._data

    @property
    def kept_bytes(self) -> int:
        """What it takes as long as somebody keeps it, with what of it was read."""
        read, frame_bytes = self._read, self.header.frame_bytes
        if isinstance(read, JoinGroup):
            return frame_bytes + READ_ELEMENT_BYTES * read.elements_read
        return frame_bytes if read is None else kept_bytes(frame_bytes, read)

    def read(self) -> Request:
        """What it says. Raises MalformedFrame."""
        if self._read is None:
            key, version, start = self.header.api_key, self.header.api_version, self.header.body_offset
            self._read = decode_request(key, version, memoryview(self._data)[start:], start, ELEMENTS_MAX)
        return self._read


class Passing(Protocol):
    """Who hears of group requests that go through untouched."""

    def passed(self, header: RequestHeader, group_id: GroupId, client: ClientIdentity) -> None:
        """A request of a `pass` group is on its way to the broker."""
        ...

    def untranslated(self, group_id: GroupId, client: ClientIdentity, reason: str) -> None:
        """A classic client joins at the broker although a rule sends its group elsewhere: nobody can translate it."""
        ...

    def passed_unread(self, header: RequestHeader, client: ClientIdentity) -> None:
        """A request about settings goes to the broker that is too large to be looked at for groups of the bridge's."""
        ...

    def overhear(
        self, ref: RequestRef, request: PassingRequest, client: ClientIdentity, broker_id: int | None
    ) -> Hear | None:
        """Who wants to see this broker's answer to this request; None: it is relayed unread."""
        ...

    def awaits_fetch(self, client: ClientIdentity) -> bool:
        """Whether Fetch requests of this client should be shown to `fetched`, as far as they come in one piece."""
        ...

    def fetched(self, header: RequestHeader, data: bytes | memoryview, client: ClientIdentity) -> None:
        """A whole Fetch request is on its way to the broker."""
        ...
