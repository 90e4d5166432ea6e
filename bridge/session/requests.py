"""Cuts what a client sends into requests: the head of each, held as far as a decision needs it, and the rest unread."""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from bridge.session.close_reasons import CloseReason
from bridge.session.limits import Limits
from bridge.session.raw_login import RawLogin, said_as_next, token_end
from bridge.wire.apis import CONFIG_APIS, ApiKey, Treatment, treatment
from bridge.wire.endpoints import carries_node_endpoints
from bridge.wire.errors import MalformedFrame
from bridge.wire.fetch import asks_for_records, expects_answer, size_end
from bridge.wire.frames import (
    HTTP_STARTS,
    LENGTH_BYTES,
    MAX_HEADER_BYTES,
    TLS_RECORD_STARTS,
    FrameBytes,
    HeaderProgress,
    RequestHeader,
    read_request_header,
)
from bridge.wire.group_names import is_of_other_kind
from bridge.wire.proxy_protocol import SIGNATURE, VERSION_1

ACKS_PREFIX_BYTES_MAX = MAX_HEADER_BYTES + 64 * 1024
"""A Produce request whose acks are not found by then is malformed: client and transactional ids have 32,767 bytes."""

OF_OFFSETS = frozenset((ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_DELETE))
_START = Struct(">ihhi")
"""Length, api, version and correlation id."""
KNOWN_HEADER_BYTES_MAX = 256
"""Longer headers are read anew each time, and not kept."""
_HEADER_STEP_BYTES = 4096
"""How much of a request is taken at once while its header is incomplete: nearly all headers are shorter."""


class Head(NamedTuple):
    """A request at the point where it can be decided on; `data` starts at its length prefix, `left` bytes are to come.

    `data` may look into the receive buffer: it is valid until the next byte is received.
    """

    header: RequestHeader
    data: bytes | memoryview
    left: int


class Rest(NamedTuple):
    """Bytes that go where their request went; `left` of the request are to come."""

    data: memoryview
    left: int


class Rejected(NamedTuple):
    """Bytes that end the connection, and what was seen."""

    reason: CloseReason
    detail: str


Cut = Head | Rest | Rejected


def held_whole(api_key: int) -> bool:
    """Whether a request is held until all of it is there, because the bridge may answer it itself."""
    return treatment(api_key) is Treatment.ANSWERED


def never() -> bool:
    """Nobody wants to read Fetch requests."""
    return False


def produce_is_answered(header: RequestHeader, data: bytes | memoryview) -> bool | None:
    """Whether the broker answers this Produce request (acks other than 0); None when `data` ends too early."""
    return expects_answer(header.api_version, data[header.body_offset :])


class RequestCutter:
    """Cuts the bytes of one connection; `position` says how far into the last view it has read.

    Holds at most the head of one request: a copy is made only when a head spans two receives.
    """

    __slots__ = (
        "_header",
        "_held",
        "_holds_whole",
        "_known",
        "_left",
        "_limits",
        "_progress",
        "_raw",
        "_reads_fetch",
        "frame_bytes_max",
        "heads_cut",
        "position",
    )

    def __init__(
        self, limits: Limits, holds_whole: Callable[[int], bool] = held_whole, reads_fetch: Callable[[], bool] = never
    ) -> None:
        self.position = 0
        self.heads_cut = 0
        self.frame_bytes_max = limits.frame_bytes_max
        """The largest request that may come now; smaller as long as the client has not logged in."""
        self._limits = limits
        self._holds_whole = holds_whole
        self._reads_fetch = reads_fetch
        self._held = bytearray()
        self._header: RequestHeader | None = None
        self._progress = HeaderProgress()
        self._left = 0
        self._known: tuple[bytes, RequestHeader] | None = None
        self._raw: RawLogin | None = None
        """The login whose tokens come next, without headers."""

    @property
    def bytes_held(self) -> int:
        """Bytes that are kept because their request can't be decided on yet."""
        return len(self._held)

    @property
    def bytes_to_pass_on(self) -> int:
        """Bytes of the current request that are still to come and need no look."""
        return self._left

    @property
    def is_at_boundary(self) -> bool:
        """Whether the next byte begins a request: nothing is kept of one, and nothing of one is still to come."""
        return not self._held and not self._left

    def pass_on(self, count: int) -> None:
        """Say that `count` bytes of the current request went by outside (spliced)."""
        self._left -= count

    def read_frames(self) -> None:
        """A login was refused at its handshake: frames come next, if anything does."""
        self._raw = None

    def drop(self) -> None:
        """The client is gone: nothing of its half request is kept, for what points here goes later than it does."""
        self._held, self._header, self._left = bytearray(), None, 0

    def cut(self, view: memoryview, position: int) -> Cut | None:
        """The next piece of `view` from `position` on, or None when all of it is read and more is needed."""
        if self._left:
            return self._rest(view, position)
        if position >= len(view):
            self.position = position
            return None
        try:
            if self._raw is not None:
                return self._token(self._raw, view, position)
            if self._held:
                return self._head_from_held(view, position)
            return self._head_from_view(view, position)
        except MalformedFrame as error:
            start = bytes(self._held[:LENGTH_BYTES]) or bytes(view[position : position + LENGTH_BYTES])
            most = self.frame_bytes_max if self._raw is None else self._login_bytes_max
            return Rejected(_reason(start, self._limits, most), str(error))

    def _rest(self, view: memoryview, position: int) -> Rest | None:
        end = min(len(view), position + self._left)
        self.position = end
        if end == position:
            return None
        self._left -= end - position
        return Rest(view[position:end], self._left)

    def _head_from_view(self, view: memoryview, position: int) -> Cut | None:
        data = view[position:]
        header = self._read_header(data)
        wanted = MAX_HEADER_BYTES if header is None else self._wanted(header, data)
        if isinstance(wanted, Rejected):
            return wanted
        if header is None or wanted > len(data):
            self._held += data
            self._header, self._progress = header, HeaderProgress()
            self.position = len(view)
            return None
        end = position + min(header.frame_bytes, len(data))
        self.heads_cut += 1
        self.position = end
        self._left = header.frame_bytes - (end - position)
        if header.api_version == 0 and header.api_key == ApiKey.SASL_HANDSHAKE:
            return self._begin_raw(header, view[position:end])
        return Head(header, view[position:end], self._left)

    def _read_header(self, data: memoryview) -> RequestHeader | None:
        """The header of a request; one with the api, version and client id of the last is not read again."""
        known = self._known
        if known is not None:
            names, last = known
            if data[_START.size : last.body_offset] == names:
                length, key, version, correlation_id = _START.unpack_from(data)
                is_like = key == last.api_key and version == last.api_version
                if is_like and last.body_offset <= length + LENGTH_BYTES <= self.frame_bytes_max + LENGTH_BYTES:
                    frame_bytes = length + LENGTH_BYTES
                    return RequestHeader(frame_bytes, key, version, correlation_id, last.client_id, last.body_offset)
        header = read_request_header(data, self.frame_bytes_max)
        if header is not None and _START.size < header.body_offset <= KNOWN_HEADER_BYTES_MAX:
            self._known = bytes(data[_START.size : header.body_offset]), header
        return header

    def _head_from_held(self, view: memoryview, position: int) -> Cut | None:
        held, header = self._held, self._header
        while header is None:
            header = read_request_header(held, self.frame_bytes_max, self._progress)
            if header is not None:
                self._header = header
                break
            end = self._hold(view, position, _bytes_to_header(held))
            if end is None:
                return None
            position = end
        return self._complete(header, view, position)

    def _complete(self, header: RequestHeader, view: memoryview, position: int) -> Cut | None:
        held = self._held
        while True:
            wanted = self._wanted(header, held)
            if isinstance(wanted, Rejected):
                return wanted
            if wanted <= len(held):
                self.heads_cut += 1
                self.position = position
                self._left = header.frame_bytes - len(held)
                self._held, self._header = bytearray(), None
                if header.api_version == 0 and header.api_key == ApiKey.SASL_HANDSHAKE:
                    return self._begin_raw(header, held)
                return Head(header, bytes(held), self._left)
            end = self._hold(view, position, wanted - len(held))
            if end is None:
                return None
            position = end

    def _hold(self, view: memoryview, position: int, count: int) -> int | None:
        """Keep so many bytes, or as many as have come; gives where they end, None where nothing has come."""
        end = min(len(view), position + count)
        if end == position:
            self.position = position
            return None
        self._held += view[position:end]
        return end

    def _begin_raw(self, header: RequestHeader, frame: FrameBytes) -> Head | Rejected:
        """Tokens come next: the handshake is said as one of which frames come."""
        self._raw = RawLogin.begun_by(header, frame)
        if self._raw is None:
            return Rejected(CloseReason.RAW_SASL, f"client {header.client_id!r}")
        return Head(*said_as_next(header, frame), 0)

    @property
    def _login_bytes_max(self) -> int:
        """How long a step of a login may be that is held whole, also of whom every other request may be longer: bare
        tokens of 100 MiB, of whoever came to a cluster without logins, were held four times over.
        """
        return min(self.frame_bytes_max, self._limits.unauthenticated_frame_bytes_max)

    def _token(self, raw: RawLogin, view: memoryview, position: int) -> Head | None:
        held = self._held
        while (wanted := token_end(held, self._login_bytes_max)) > len(held):
            end = self._hold(view, position, wanted - len(held))
            if end is None:
                return None
            position = end
        self.heads_cut += 1
        self.position = position
        self._held, self._raw = bytearray(), raw.after_token()
        return Head(*raw.request(bytes(held[LENGTH_BYTES:])), 0)

    def _wanted(self, header: RequestHeader, data: bytearray | memoryview) -> int | Rejected:
        """How many bytes of a request must be there before it can be decided on."""
        key = header.api_key
        limits = self._limits
        if key in CONFIG_APIS and header.frame_bytes > limits.group_frame_bytes_max:
            # One request may ask for every topic of a large cluster: what is not held goes to the broker as it is.
            return min(header.body_offset, header.frame_bytes)
        if self._holds_whole(key):
            most = limits.offsets_frame_bytes_max if key in OF_OFFSETS else limits.group_frame_bytes_max
            if header.frame_bytes - LENGTH_BYTES > most:
                detail = f"api {key} v{header.api_version}, {header.frame_bytes - LENGTH_BYTES} bytes, at most {most}"
                return Rejected(CloseReason.GROUP_FRAME_TOO_LARGE, detail)
            return header.frame_bytes
        if key == ApiKey.SASL_HANDSHAKE and header.api_version == 0:
            size, most = header.frame_bytes - LENGTH_BYTES, self._login_bytes_max
            seen = f"SaslHandshake v0 of {size} bytes, at most {most} are read"
            return header.frame_bytes if size <= most else Rejected(CloseReason.UNAUTHENTICATED_FRAME, seen)
        if key == ApiKey.PRODUCE and produce_is_answered(header, memoryview(data)) is None:
            if len(data) >= min(header.frame_bytes, ACKS_PREFIX_BYTES_MAX):
                return Rejected(CloseReason.MALFORMED_REQUEST, f"no acks in the first {len(data)} bytes of PRODUCE")
            return min(header.frame_bytes, len(data) + 256)
        if key == ApiKey.FETCH and header.frame_bytes <= self._limits.group_frame_bytes_max and self._reads_fetch():
            return header.frame_bytes
        if is_of_other_kind(key) and header.frame_bytes <= self._limits.group_frame_bytes_max:
            return header.frame_bytes
        if carries_node_endpoints(key, header.api_version) and asks_for_records(key, header.api_version):
            return _to_size(header, data)
        return min(header.body_offset, header.frame_bytes)


def _to_size(header: RequestHeader, data: bytearray | memoryview) -> int:
    """So much that the size of the answer can be lowered, which will be held whole."""
    end = size_end(header, data)
    return min(header.frame_bytes, len(data) + 256) if end is None else end


_PROXY_STARTS = frozenset({SIGNATURE[:LENGTH_BYTES], VERSION_1[:LENGTH_BYTES]})
"""How a load balancer begins that says whom it brings, in both versions."""


def _bytes_to_header(held: bytearray) -> int:
    """How many bytes to take while the header is incomplete: some, and none of the next request."""
    if len(held) < LENGTH_BYTES:
        return LENGTH_BYTES - len(held)
    frame_bytes = int.from_bytes(held[:LENGTH_BYTES], "big") + LENGTH_BYTES
    return min(_HEADER_STEP_BYTES, frame_bytes - len(held))


def _reason(start: bytes, limits: Limits, frame_bytes_max: int) -> CloseReason:
    if start.startswith(TLS_RECORD_STARTS):
        return CloseReason.TLS_ON_PLAIN_PORT
    if start in _PROXY_STARTS:
        return CloseReason.PROXY_HEADER
    if start in HTTP_STARTS:
        return CloseReason.HTTP_ON_KAFKA_PORT
    length = int.from_bytes(start, "big", signed=True)
    if length > limits.frame_bytes_max:
        return CloseReason.FRAME_TOO_LARGE
    if length > frame_bytes_max:
        return CloseReason.UNAUTHENTICATED_FRAME
    return CloseReason.FRAME_TOO_SHORT if length < 8 else CloseReason.MALFORMED_REQUEST
