"""Where an answer holds broker addresses, and how they are replaced without touching a byte around them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bridge.wire.cursor import Cursor
from bridge.wire.frames import LENGTH_BYTES, FrameBytes
from bridge.wire.packing import INT32, nullable_string, uvarint


class Endpoint(NamedTuple):
    """A broker as an answer names it."""

    node_id: int
    host: str
    port: int


Addresses = Mapping[int, tuple[str, int]]
"""Node id -> the host and port that clients are told instead."""


class Place(NamedTuple):
    """An endpoint and the bytes from `start` to `end` that hold its host and port: neighbours in every api."""

    endpoint: Endpoint
    start: int
    end: int


class TagSpan(NamedTuple):
    """The tagged field that holds all the places: its size's first byte, its content's first byte and end."""

    size_start: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Located:
    """All addresses of one answer, in order, and the tagged field around them if there is one."""

    places: tuple[Place, ...]
    flexible: bool
    tag: TagSpan | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The brokers that the answer names, in its order."""
        return tuple(place.endpoint for place in self.places)


class UnknownNode(Exception):
    """An answer names nodes without a new address: whoever advertises them could open no listener."""

    code = "EB-WIRE-002"

    def __init__(self, node_ids: tuple[int, ...]) -> None:
        super().__init__(node_ids)
        self.node_ids = node_ids

    def __str__(self) -> str:
        return f"{self.code}: no advertised address for the nodes {self.node_ids}; open a listener for each, then retry"


def read_place(cursor: Cursor) -> Place | None:
    """Pass over node id, host and port; None where the broker named nobody (node -1 or no host, as errors do)."""
    node_id = cursor.int32("node_id")
    start = cursor.offset
    host = cursor.string("host")
    port = cursor.int32("port")
    return Place(Endpoint(node_id, host, port), start, cursor.offset) if node_id >= 0 and host else None


def replace(frame: FrameBytes, located: Located, addresses: Addresses) -> FrameBytes:
    """The frame with other hosts and ports; `frame` itself if there is nothing to replace. Raises UnknownNode."""
    if not located.places:
        return frame
    unknown = tuple(p.endpoint.node_id for p in located.places if p.endpoint.node_id not in addresses)
    if unknown:
        raise UnknownNode(unknown)
    start, end = _span(located)
    middle = _patched(frame, located, addresses, start, end)
    head_end = start
    if located.tag is not None:
        head_end = located.tag.size_start
        middle = uvarint(len(middle)) + middle
    length = head_end - LENGTH_BYTES + len(middle) + len(frame) - end
    return b"".join((INT32.pack(length), frame[LENGTH_BYTES:head_end], middle, frame[end:]))


def _span(located: Located) -> tuple[int, int]:
    if located.tag is not None:
        return located.tag.start, located.tag.end
    return LENGTH_BYTES, located.places[-1].end


def _patched(frame: FrameBytes, located: Located, addresses: Addresses, start: int, end: int) -> bytes:
    parts: list[FrameBytes] = []
    for place in located.places:
        host, port = addresses[place.endpoint.node_id]
        parts += (frame[start : place.start], nullable_string(host, flexible=located.flexible), INT32.pack(port))
        start = place.end
    parts.append(frame[start:end])
    return b"".join(parts)
