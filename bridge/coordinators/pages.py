"""Entries for the journal that are encoded when somebody reads them: a big turn's by the thread that writes them.

It must not know what entries mean, nor where they are kept.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

AT_ONCE_MAX = 500
"""Encoding more than this keeps everybody waiting for longer than a thread costs: thousands of members converted."""


class Page(NamedTuple):
    """A value that never changes, and how it becomes the bytes of its entry behind the first one, its `kind`."""

    kind: bytes
    encode: Callable[[object], bytes]
    value: object


class Pages(Collection[bytes]):
    """The entries of these values, made anew at each reading; any thread may read."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self._pages = tuple(pages)

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._pages)

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return (kind + encode(value) for kind, encode, value in self._pages)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is among them; encodes all before it."""
        return any(one == entry for one in self)


class Blocks(Collection[bytes]):
    """Several collections of entries, one behind the other, not read before they are wanted."""

    def __init__(self, blocks: Iterable[Collection[bytes]]) -> None:
        self._blocks = tuple(blocks)

    def __len__(self) -> int:
        """How many entries there are in all of them."""
        return sum(map(len, self._blocks))

    def __iter__(self) -> Iterator[bytes]:
        """The entries in their order."""
        return chain.from_iterable(self._blocks)

    def __contains__(self, entry: object) -> bool:
        """Whether this entry is in any of them."""
        return any(entry in block for block in self._blocks)


def bind(pages: list[Page]) -> Collection[bytes]:
    """The entries of a turn: encoded now, or when they are read if they are many."""
    bound = Pages(pages)
    return bound if len(pages) > AT_ONCE_MAX else tuple(bound)
