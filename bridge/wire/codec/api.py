"""What one API needs to be spoken in both directions and both roles."""

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from bridge.wire.codec.record import Fields, Record
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

RequestT = TypeVar("RequestT")
ReplyT = TypeVar("ReplyT")


class Api(Protocol):
    """An API behind a door that takes any dialect value and refuses the wrong one with TypeError."""

    @property
    def request_type(self) -> type[object]:
        """The dialect class of its requests."""

    @property
    def reply_type(self) -> type[object]:
        """The dialect class of its answers."""

    def decode_request(self, record: Record, version: int) -> object:
        """Fields to request."""

    def request_fields(self, request: object, version: int) -> Fields:
        """Request to fields."""

    def decode_reply(self, record: Record, version: int) -> object:
        """Fields to reply."""

    def reply_fields(self, reply: object, version: int) -> Fields:
        """Reply to fields."""

    def refusal(self, request: object, code: ErrorCode) -> object:
        """The reply that refuses all of a request."""

    def group_ids(self, request: object) -> tuple[GroupId, ...]:
        """The groups that a request names."""


class ApiCodec(ABC, Generic[RequestT, ReplyT]):
    """One API; versions are arguments here and unknown behind."""

    request_type: type[RequestT]
    reply_type: type[ReplyT]

    @abstractmethod
    def decode_request(self, record: Record, version: int) -> RequestT:
        """Fields to request."""

    @abstractmethod
    def encode_request(self, request: RequestT, version: int) -> Fields:
        """Request to fields; ValueError when the version can't say it."""

    @abstractmethod
    def decode_reply(self, record: Record, version: int) -> ReplyT:
        """Fields to reply."""

    @abstractmethod
    def encode_reply(self, reply: ReplyT, version: int) -> Fields:
        """Reply to fields; ValueError when the version can't say it."""

    @abstractmethod
    def refuse(self, request: RequestT, code: ErrorCode) -> ReplyT:
        """The reply that refuses all of a request."""

    @abstractmethod
    def groups(self, request: RequestT) -> tuple[GroupId, ...]:
        """The groups that a request names."""

    def request_fields(self, request: object, version: int) -> Fields:
        """Request to fields, once its class is checked."""
        return self.encode_request(self._request(request), version)

    def reply_fields(self, reply: object, version: int) -> Fields:
        """Reply to fields, once its class is checked."""
        if not isinstance(reply, self.reply_type):
            raise TypeError(f"{type(reply).__name__} is not a {self.reply_type.__name__}")
        return self.encode_reply(reply, version)

    def refusal(self, request: object, code: ErrorCode) -> ReplyT:
        """The reply that refuses all of a request, once its class is checked."""
        return self.refuse(self._request(request), code)

    def group_ids(self, request: object) -> tuple[GroupId, ...]:
        """The groups that a request names, once its class is checked."""
        return self.groups(self._request(request))

    def _request(self, request: object) -> RequestT:
        if not isinstance(request, self.request_type):
            raise TypeError(f"{type(request).__name__} is not a {self.request_type.__name__}")
        return request
