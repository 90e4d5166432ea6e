"""The answers of one connection in the order of its requests: some made here, some to come from the broker."""

from dataclasses import dataclass

from bridge.wire.codec.registry import Request
from translators.dialects.ids import RequestRef

SMALL_REQUEST_BYTES = 1_024
"""Requests that take less while they wait are not worth counting: there are a thousand of a connection at most."""


@dataclass(slots=True)
class Slot:
    """The place of one answer; `streams` says that the broker's bytes go through it unread.

    `answer` is set once, when an answer that is made here is finished. `holds_upstream` is true while the slot may
    still ask the broker: later requests of the connection wait, so that answers come back in the order of the slots.
    """

    ref: RequestRef
    api_key: int
    api_version: int
    correlation_id: int
    streams: bool = False
    holds_upstream: bool = False
    answer: bytes | None = None
    request_bytes: int = 0
    """What a request takes that is kept, mostly decoded, until its answer is there; 0 for little."""
    read_bytes: int = 0
    """What was read of it takes besides, until it is decided; 0 for little, too."""
    asked: Request | None = None
    """What a member asked, if it is answered here."""


class Outbox:
    """The slots of one connection, oldest first."""

    def __init__(self, node: int, connection: int) -> None:
        self.bytes_held = 0
        self.request_bytes = 0
        """Of requests that are not answered yet, but for small ones."""
        self.read_bytes = 0
        """Of these what was read of requests that are not decided yet."""
        self._node = node
        self._connection = connection
        self._slots: list[Slot] = []  # an empty deque has 0.7 KiB, and most connections are idle
        self._sequence = 0
        self._holding = 0

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def holds_upstream(self) -> bool:
        """Whether some slot may still ask the broker, so that later requests must not go there yet."""
        return self._holding > 0

    @property
    def head(self) -> Slot | None:
        """The slot of the next answer to leave."""
        return self._slots[0] if self._slots else None

    @property
    def head_is_ready(self) -> bool:
        """Whether the next answer to leave is finished."""
        return bool(self._slots) and self._slots[0].answer is not None

    def reserve(self, api_key: int, api_version: int, correlation_id: int) -> Slot:
        """Take the next place for an answer that is made here."""
        slot = Slot(RequestRef(self._node, self._connection, self._sequence), api_key, api_version, correlation_id)
        self._sequence += 1
        self._slots.append(slot)
        return slot

    def reserve_stream(self, api_key: int, api_version: int, correlation_id: int) -> Slot:
        """Take the next place for an answer that the broker gives and that goes through unread."""
        slot = self.reserve(api_key, api_version, correlation_id)
        slot.streams = True
        return slot

    def hold_upstream(self, slot: Slot) -> None:
        """Keep later requests from the broker until this slot has asked it or is answered."""
        slot.holds_upstream = True
        self._holding += 1

    def release_upstream(self, slot: Slot) -> None:
        """The slot has asked, or never will; harmless when it does not hold."""
        if slot.holds_upstream:
            slot.holds_upstream = False
            self._holding -= 1

    def keep_request(self, slot: Slot, request_bytes: int) -> None:
        """The request of a slot stays until its answer is made, or has gone through, and takes so much."""
        slot.request_bytes = request_bytes
        self.request_bytes += request_bytes

    def keep_read(self, slot: Slot, read_bytes: int) -> None:
        """What was read of a request that is not answered takes so much besides from now on."""
        if slot.answer is None:
            self.request_bytes += read_bytes - slot.read_bytes
            self.read_bytes += read_bytes - slot.read_bytes
            slot.read_bytes = read_bytes

    def find(self, ref: RequestRef) -> Slot | None:
        """The open slot of a request, or None when it was answered or never was."""
        if not self._slots:
            return None
        index = ref.sequence - self._slots[0].ref.sequence
        return self._slots[index] if 0 <= index < len(self._slots) else None

    def fill(self, slot: Slot, answer: bytes) -> None:
        """Finish the answer of a slot; it leaves when its turn comes."""
        if slot.read_bytes:
            self.keep_read(slot, 0)
        slot.answer = answer
        self.request_bytes -= slot.request_bytes
        slot.request_bytes = 0
        self.bytes_held += len(answer)
        self.release_upstream(slot)

    def take_ready(self) -> list[bytes]:
        """Take out all finished answers at the head, in order."""
        taken: list[bytes] = []
        for slot in self._slots:
            if slot.answer is None:
                break
            taken.append(slot.answer)
            self.bytes_held -= len(slot.answer)
        del self._slots[: len(taken)]
        return taken

    def end_stream(self) -> Slot:
        """The streamed answer at the head has gone through completely."""
        slot = self._slots.pop(0)
        assert slot.streams, "only a streamed answer ends by going through"
        self.request_bytes -= slot.request_bytes
        return slot
