"""Reading Kafka's primitive types by hand from one whole frame, with the field named in every complaint."""

from struct import Struct

from bridge.wire.errors import MalformedFrame
from bridge.wire.frames import FrameBytes

_INT8 = Struct(">b")
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_INT64 = Struct(">q")

MAX_UVARINT_BYTES = 5
MAX_STRING_BYTES = 32_767
"""The longest string in either form: the compact one may not hold more than the plain one can."""


class Cursor:
    """A position in one frame; every read moves it on or raises MalformedFrame.

    `offset` counts from the start of the frame, length prefix included. `flexible` picks the compact forms (KIP-482).
    """

    __slots__ = ("api", "data", "end", "flexible", "offset", "version")

    def __init__(self, data: FrameBytes, offset: int, api: str, version: int, *, flexible: bool) -> None:
        self.data = data
        self.offset = offset
        self.end = len(data)
        self.api = api
        self.version = version
        self.flexible = flexible

    def malformed(self, field: str, reason: str) -> MalformedFrame:
        """The complaint about `field` at the present position."""
        return MalformedFrame(self.api, self.version, field, self.offset, reason)

    def skip(self, size: int, field: str) -> None:
        """Pass over `size` bytes."""
        if not 0 <= size <= self.end - self.offset:
            raise self.malformed(field, f"{size} bytes wanted, {self.end - self.offset} left in the frame")
        self.offset += size

    def take(self, size: int, field: str) -> bytes:
        """The next `size` bytes."""
        start = self.offset
        self.skip(size, field)
        return bytes(self.data[start : self.offset])

    def int8(self, field: str) -> int:
        """One signed byte."""
        return self._number(_INT8, field)

    def int16(self, field: str) -> int:
        """Two bytes, signed."""
        return self._number(_INT16, field)

    def int32(self, field: str) -> int:
        """Four bytes, signed."""
        return self._number(_INT32, field)

    def int64(self, field: str) -> int:
        """Eight bytes, signed."""
        return self._number(_INT64, field)

    def uvarint(self, field: str) -> int:
        """An unsigned varint of at most 5 bytes."""
        value = 0
        for index in range(MAX_UVARINT_BYTES):
            at = self.offset + index
            if at >= self.end:
                raise self.malformed(field, "the frame ends inside a varint")
            byte = self.data[at]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                self.offset = at + 1
                return value
        raise self.malformed(field, f"a varint of more than {MAX_UVARINT_BYTES} bytes")

    def array_length(self, field: str) -> int:
        """How many elements follow; a null array counts as empty. Never more than there are bytes left."""
        count = self.uvarint(field) - 1 if self.flexible else self.int32(field)
        if count < -1 or count > self.end - self.offset:
            raise self.malformed(field, f"{count} elements claimed, {self.end - self.offset} bytes left in the frame")
        return max(count, 0)

    def string(self, field: str) -> str:
        """A string that may not be null."""
        value = self.nullable_string(field)
        if value is None:
            raise self.malformed(field, "null in a string that may not be null")
        return value

    def nullable_string(self, field: str) -> str | None:
        """A string or None, compact in flexible versions."""
        size = self.string_size(field)
        if size < 0:
            return None
        raw = self.take(size, field)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.malformed(field, f"not UTF-8: {error.reason}") from error

    def string_size(self, field: str) -> int:
        """The length in bytes of the string that follows, -1 for null."""
        size = self.uvarint(field) - 1 if self.flexible else self.int16(field)
        if not -1 <= size <= MAX_STRING_BYTES:
            raise self.malformed(field, f"length {size} is not between -1 and {MAX_STRING_BYTES}")
        return size

    def skip_string(self, field: str) -> None:
        """Pass over a string, null or not, without decoding it."""
        self.skip(max(self.string_size(field), 0), field)

    def skip_bytes(self, field: str) -> None:
        """Pass over bytes or records, null or not."""
        size = self.uvarint(field) - 1 if self.flexible else self.int32(field)
        if size < -1:
            raise self.malformed(field, f"length {size} is negative")
        self.skip(max(size, 0), field)

    def skip_array(self, item_bytes: int, field: str) -> None:
        """Pass over an array whose items all have the same size."""
        self.skip(self.array_length(field) * item_bytes, field)

    def skip_tags(self, field: str = "tagged_fields") -> None:
        """Pass over a tag section; nothing to do in versions that have none."""
        if not self.flexible:
            return
        for _ in range(self.uvarint(field)):
            self.uvarint(field)
            self.skip(self.uvarint(field), field)

    def expect_end(self) -> None:
        """Refuse what is left over: a frame holds its message and nothing else."""
        if self.offset != self.end:
            raise self.malformed("end", f"{self.end - self.offset} bytes too many")

    def _number(self, form: Struct, field: str) -> int:
        if form.size > self.end - self.offset:
            raise self.malformed(field, f"{form.size} bytes wanted, {self.end - self.offset} left in the frame")
        value: int = form.unpack_from(self.data, self.offset)[0]
        self.offset += form.size
        return value
