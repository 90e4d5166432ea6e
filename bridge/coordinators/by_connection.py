"""What is known or waits by the connections of clients: when one is gone, what was its is found without a look at the
rest. Ten thousand clients hang up at once when a balancer in front of them is restarted.
"""

from collections.abc import Callable, Iterator, MutableMapping
from itertools import count
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")
ItemT = TypeVar("ItemT")


class OfConnections(MutableMapping[KeyT, ItemT]):
    """A dictionary whose values are each of one connection."""

    __slots__ = ("_connection_of", "_items", "_keys_of")

    def __init__(self, connection_of: Callable[[ItemT], int]) -> None:
        self._connection_of = connection_of
        self._items: dict[KeyT, ItemT] = {}
        self._keys_of: dict[int, dict[KeyT, None]] = {}

    def __getitem__(self, key: KeyT) -> ItemT:
        return self._items[key]

    def __setitem__(self, key: KeyT, item: ItemT) -> None:
        if key in self._items:
            self._unlist(key)
        self._items[key] = item
        self._keys_of.setdefault(self._connection_of(item), {})[key] = None

    def __delitem__(self, key: KeyT) -> None:
        self._unlist(key)
        del self._items[key]

    def _unlist(self, key: KeyT) -> None:
        connection = self._connection_of(self._items[key])
        keys = self._keys_of[connection]
        del keys[key]
        if not keys:
            del self._keys_of[connection]

    def __iter__(self) -> Iterator[KeyT]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def of(self, connection: int) -> list[KeyT]:
        """The keys of what is of this connection, in order."""
        return list(self._keys_of.get(connection, ()))

    def lose(self, connection: int) -> dict[KeyT, ItemT]:
        """Take out what is of this connection."""
        return {key: self.pop(key) for key in self.of(connection)}


class Line(Generic[ItemT]):
    """What waits, in the order that it came."""

    __slots__ = ("_numbers", "_waiting")

    def __init__(self, connection_of: Callable[[ItemT], int]) -> None:
        self._numbers = count()
        self._waiting: OfConnections[int, ItemT] = OfConnections(connection_of)

    def __iter__(self) -> Iterator[ItemT]:
        """What waits now."""
        return iter(self._waiting.values())

    def __len__(self) -> int:
        return len(self._waiting)

    def append(self, item: ItemT) -> None:
        """Let it wait behind all others."""
        self._waiting[next(self._numbers)] = item

    def popleft(self) -> ItemT:
        """What has waited for longest; raises IndexError where nothing does."""
        if not self._waiting:
            raise IndexError("nothing waits")
        return self._waiting.pop(next(iter(self._waiting)))

    def forget(self, connection: int, stays: Callable[[ItemT], bool] = lambda _: False) -> None:
        """A connection is gone, and with it what came by it, unless that `stays`."""
        for number in self._waiting.of(connection):
            if not stays(self._waiting[number]):
                del self._waiting[number]

    def take(self, is_taken: Callable[[ItemT], bool] = lambda _: True) -> list[ItemT]:
        """Take out all of these."""
        taken = {number: item for number, item in self._waiting.items() if is_taken(item)}
        for number in taken:
            del self._waiting[number]
        return list(taken.values())
