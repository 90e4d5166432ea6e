"""Replacing addresses in place."""

import pytest

from bridge.wire.cursor import Cursor
from bridge.wire.endpoints import Endpoint, EndpointPlace, Located, TagSpan, UnknownNode, read_place, replace
from bridge.wire.packing import INT32, nullable_string

HERE = nullable_string("old", flexible=True) + INT32.pack(9092)


def _places(frame: bytes, offsets: list[int]) -> tuple[EndpointPlace, ...]:
    found = []
    for offset in offsets:
        place = read_place(Cursor(frame, offset, "x", 0, flexible=True))
        assert place is not None
        found.append(place)
    return tuple(found)


def test_bytes_around_addresses_stay() -> None:
    """Two addresses, other lengths, everything else as it was."""
    frame = INT32.pack(31) + b"ab" + INT32.pack(1) + HERE + b"cd" + INT32.pack(5) + HERE + b"end"
    places = _places(frame, [6, 20])
    assert [place.endpoint for place in places] == [Endpoint(1, "old", 9092), Endpoint(5, "old", 9092)]
    new = [nullable_string(host, flexible=True) + INT32.pack(port) for host, port in (("bridge", 1), ("b", 2))]
    replaced = replace(frame, Located(places, flexible=True), {1: ("bridge", 1), 5: ("b", 2)})
    assert replaced == INT32.pack(32) + b"ab" + INT32.pack(1) + new[0] + b"cd" + INT32.pack(5) + new[1] + b"end"


def test_tag_around_addresses_gets_its_new_size() -> None:
    """The size of a tagged field may itself grow by a byte."""
    content = INT32.pack(1) + HERE
    frame = INT32.pack(16) + b"ab" + bytes([len(content)]) + content + b"z"
    located = Located(_places(frame, [7]), flexible=True, tag=TagSpan(6, 7, 7 + len(content)))
    host = "h" * 130
    expected = INT32.pack(1) + nullable_string(host, flexible=True) + INT32.pack(3)
    replaced = bytes(replace(frame, located, {1: (host, 3)}))
    assert replaced[4:] == b"ab" + b"\x8c\x01" + expected + b"z"
    assert int.from_bytes(replaced[:4], "big") == len(replaced) - 4


def test_frame_without_addresses_is_the_same_object() -> None:
    """No copy of a Fetch answer that names nobody."""
    frame = bytes(50)
    assert replace(frame, Located((), flexible=True), {}) is frame


def test_unknown_nodes_are_all_named() -> None:
    """The caller opens a listener for each and comes back."""
    frame = INT32.pack(26) + INT32.pack(1) + HERE + INT32.pack(5) + HERE + b"ab"
    located = Located(_places(frame, [4, 16]), flexible=True)
    with pytest.raises(UnknownNode) as caught:
        replace(frame, located, {})
    assert caught.value.node_ids == (1, 5)
    assert str(caught.value).startswith("EB-WIRE-002: no advertised address for the nodes (1, 5)")


@pytest.mark.parametrize(("node_id", "host"), [(-1, ""), (-1, "old"), (3, "")])
def test_nobody_is_not_a_place(node_id: int, host: str) -> None:
    """Errors carry node -1 and an empty host."""
    data = INT32.pack(node_id) + nullable_string(host, flexible=False) + INT32.pack(-1)
    assert read_place(Cursor(data, 0, "x", 0, flexible=False)) is None
