"""What is said of bytes that cannot be a Kafka frame: which api, version, field and offset."""

UNKNOWN_API = "unknown"
"""Stands for the api while the header itself is unread."""
UNKNOWN_VERSION = -1


class MalformedFrame(Exception):
    """Bytes that the named field of the named api and version can't begin with, or that end too early or too late.

    `offset` counts bytes from the start of the frame, its length prefix included. `reason` holds the value seen.
    """

    code = "EB-WIRE-001"

    def __init__(self, api: str, version: int, field: str, offset: int, reason: str) -> None:
        super().__init__(api, version, field, offset, reason)
        self.api = api
        self.version = version
        self.field = field
        self.offset = offset
        self.reason = reason

    def __str__(self) -> str:
        where = f"{self.api} v{self.version}" if self.version >= 0 else self.api
        return f"{self.code}: malformed frame: {where}, field {self.field}, byte {self.offset}: {self.reason}"


class TooManyElements(MalformedFrame):
    """Bytes that may be right, with more elements than are read of one request."""
