"""The subscription and assignment blobs that consumers put into JoinGroup and SyncGroup, with their field defects."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, repeat
from operator import attrgetter

from translators.dialects.ids import TopicName, TopicPartition

CONSUMER = "consumer"
"""The protocol type of groups whose members exchange these blobs."""
COOPERATIVE = "cooperative-sticky"
TRANSLATABLE = frozenset({"range", "roundrobin", "RoundRobinAssigner", "sticky", COOPERATIVE})
"""Assignors with a server-side equivalent (clients.md, 8); groups with none of them stay classic."""

NEWEST_VERSION = 3
"""Newer blobs are read as this one: a newer version may only add fields at the end (Kafka's schema says so)."""
NO_GENERATION = -1

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_NULL_ARRAY = _INT32.pack(-1)
_SMALLEST_STRING_BYTES = 2
_SMALLEST_TOPIC_BYTES = 6


class MalformedBlob(Exception):
    """A subscription, assignment or user-data blob that can't be read; the text names field, position and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a consumer wants and says it owns; `version` is the newest whose fields are all there, whatever is claimed.

    `owned` None means that no list was sent, which differs from an empty one. An empty rack is None.
    """

    version: int
    topics: tuple[TopicName, ...]
    owned: frozenset[TopicPartition] | None = None
    generation: int = NO_GENERATION
    rack_id: str | None = None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What a consumer may read, as its leader or coordinator wrote it."""

    version: int
    partitions: frozenset[TopicPartition]
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """What a sticky assignor remembers in its user data (KIP-54, KIP-341); generation -1 where none was sent."""

    partitions: frozenset[TopicPartition]
    generation: int = NO_GENERATION


def decode_subscription(blob: bytes) -> Subscription:
    """Read a subscription as leniently as clients in the field need (clients.md).

    Fields that are missing at the end lower the version, a version above 3 counts as 3, bytes after the last field are
    ignored. Raises `MalformedBlob` for a negative version and for any field that begins but does not end.
    """
    reader = _Reader(blob)
    label = _version(reader)
    topics = tuple([TopicName(reader.string("topics")) for _ in range(reader.count("topics", _SMALLEST_STRING_BYTES))])
    user_data = reader.user_data()
    version, owned, generation, rack_id = 0, None, NO_GENERATION, None
    if label >= 1 and reader.remaining:
        owned = reader.nullable_partitions("owned partitions")
    if owned is not None:
        version = 1
        if label >= 2 and reader.remaining >= _INT32.size:
            version, generation = 2, reader.int32("generation")
            if label >= 3 and reader.remaining >= _INT16.size:
                version, rack_id = 3, reader.nullable_string("rack id") or None
    return Subscription(
        version=version, topics=topics, owned=owned, generation=generation, rack_id=rack_id, user_data=user_data
    )


def encode_subscription(subscription: Subscription) -> bytes:
    """Write a subscription in its own version, partitions sorted; `owned` None ends it after the user data."""
    parts = [
        _INT16.pack(subscription.version),
        _INT32.pack(len(subscription.topics)),
        *map(_string, subscription.topics),
        _nullable_bytes(subscription.user_data),
    ]
    if subscription.version >= 1 and subscription.owned is not None:
        parts.append(_partitions_bytes(subscription.owned))
        if subscription.version >= 2:
            parts.append(_INT32.pack(subscription.generation))
        if subscription.version >= 3:
            parts.append(_INT16.pack(-1) if subscription.rack_id is None else _string(subscription.rack_id))
    return b"".join(parts)


def decode_assignment(blob: bytes) -> Assignment:
    """Read an assignment; zero bytes are the empty one, bytes after the last field are ignored.

    Raises `MalformedBlob` for a negative version and for any field that begins but does not end.
    """
    if not blob:
        return Assignment(version=0, partitions=frozenset())
    reader = _Reader(blob)
    version = _version(reader)
    partitions = reader.partitions("assigned partitions")
    return Assignment(version=version, partitions=partitions, user_data=reader.user_data())


def version_of(blob: bytes) -> int:
    """The version that a blob names, at most the newest; 0 where it names none that there is."""
    return min(max(_INT16.unpack_from(blob)[0], 0), NEWEST_VERSION) if len(blob) >= _INT16.size else 0


def encode_assignment(partitions: frozenset[TopicPartition], version: int = 0) -> bytes:
    """Write an assignment, topics and partitions sorted, user data null; never zero bytes, which kill three clients.

    All versions have the same fields; a member is written to in that of its subscription (K4.22).
    """
    return _INT16.pack(version) + _partitions_bytes(partitions) + _INT32.pack(-1)


def decode_sticky_user_data(blob: bytes) -> StickyUserData | None:
    """Read a sticky assignor's user data in whichever form fits to the last byte, or None.

    The blob has no version of its own, so the forms are tried: with generation (KIP-341), without (KIP-54), and both
    behind the two stray version bytes of kafka-python. Four bytes alone are a generation (Java's cooperative-sticky).
    """
    if len(blob) == _INT32.size:
        return StickyUserData(frozenset(), _Reader(blob).int32("generation"))
    return _sticky(blob, 0) or _sticky(blob, 2)


def _sticky(blob: bytes, skipped: int) -> StickyUserData | None:
    """Partitions, and a generation if there is one behind them; None where that does not end with the blob."""
    reader = _Reader(blob)
    try:
        reader.take(skipped, "stray version")
        partitions = reader.partitions("previous assignment")
    except MalformedBlob:
        return None
    if reader.remaining == _INT32.size:
        return StickyUserData(partitions, reader.int32("generation"))
    return None if reader.remaining else StickyUserData(partitions, NO_GENERATION)


def _version(reader: "_Reader") -> int:
    version = reader.int16("version")
    if version < 0:
        raise MalformedBlob(f"version at byte 0 is {version}, which no client writes: not a consumer protocol blob")
    return min(version, NEWEST_VERSION)


class _Reader:
    """A position in a blob; each read names its field, so that an error can."""

    __slots__ = ("_blob", "_position", "_size")

    def __init__(self, blob: bytes) -> None:
        self._blob = bytes(blob)
        self._size = len(self._blob)
        self._position = 0

    @property
    def remaining(self) -> int:
        return self._size - self._position

    # Each read looks for itself whether its bytes are there: a subscription takes ten, and a call costs as much as one.

    def take(self, size: int, field: str) -> bytes:
        start = self._position
        end = start + size
        if end > self._size:
            raise self._cut_short(size, field)
        self._position = end
        return self._blob[start:end]

    def int16(self, field: str) -> int:
        start = self._position
        end = start + 2
        if end > self._size:
            raise self._cut_short(2, field)
        self._position = end
        value: int = _INT16.unpack_from(self._blob, start)[0]
        return value

    def int32(self, field: str) -> int:
        start = self._position
        end = start + 4
        if end > self._size:
            raise self._cut_short(4, field)
        self._position = end
        value: int = _INT32.unpack_from(self._blob, start)[0]
        return value

    def _cut_short(self, size: int, field: str) -> MalformedBlob:
        return MalformedBlob(f"{field} at byte {self._position} needs {size} bytes, {self.remaining} are left")

    def count(self, field: str, smallest_bytes: int) -> int:
        """An array's length, refused before anything is made when the elements can't fit."""
        count = self.int32(field)
        if count < 0 or count * smallest_bytes > self._size - self._position:
            raise MalformedBlob(
                f"{field} before byte {self._position} counts {count} elements, {self.remaining} bytes are left"
            )
        return count

    def string(self, field: str) -> str:
        size = self.int16(field)
        if size == -1:
            raise MalformedBlob(f"{field} before byte {self._position} is null, which it must not be")
        return self._text(size, field)

    def nullable_string(self, field: str) -> str | None:
        size = self.int16(field)
        return None if size == -1 else self._text(size, field)

    def _text(self, size: int, field: str) -> str:
        if size < 0:
            raise MalformedBlob(f"{field} before byte {self._position} has length {size}")
        try:
            return self.take(size, field).decode()
        except UnicodeDecodeError as error:
            raise MalformedBlob(f"{field} before byte {self._position} is no UTF-8: {error.reason}") from error

    def nullable_bytes(self, field: str) -> bytes | None:
        size = self.int32(field)
        if size == -1:
            return None
        if size < 0:
            raise MalformedBlob(f"{field} before byte {self._position} has length {size}")
        return self.take(size, field)

    def user_data(self) -> bytes | None:
        return None if self._position == self._size else self.nullable_bytes("user data")

    def nullable_partitions(self, field: str) -> frozenset[TopicPartition] | None:
        if self._blob.startswith(_NULL_ARRAY, self._position):
            self._position += len(_NULL_ARRAY)
            return None
        return self.partitions(field)

    def partitions(self, field: str) -> frozenset[TopicPartition]:
        found: set[TopicPartition] = set()
        for _ in range(self.count(field, _SMALLEST_TOPIC_BYTES)):
            topic = TopicName(self.string(field))
            count = self.count(field, _INT32.size)
            numbers = struct.unpack(f">{count}i", self.take(count * _INT32.size, field))
            found.update(map(TopicPartition, repeat(topic), numbers))
        return frozenset(found)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return _INT16.pack(len(encoded)) + encoded


def _nullable_bytes(value: bytes | None) -> bytes:
    return _INT32.pack(-1) if value is None else _INT32.pack(len(value)) + value


def _partitions_bytes(partitions: Iterable[TopicPartition]) -> bytes:
    topics = [
        (topic, [partition.partition for partition in group])
        for topic, group in groupby(sorted(partitions), key=attrgetter("topic"))
    ]
    parts = [_INT32.pack(len(topics))]
    for topic, numbers in topics:
        parts.append(_string(topic))
        parts.append(struct.pack(f">{len(numbers) + 1}i", len(numbers), *numbers))
    return b"".join(parts)
