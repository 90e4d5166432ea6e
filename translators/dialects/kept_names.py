"""Names that clients chose, as keys of what is remembered: Kafka lets each have 32 kB, and 10,000 are 320 MB."""

from collections import OrderedDict
from typing import Generic, TypeVar

NAME_CHARS_MAX = 255
"""So much of a name is kept: longer ones are nobody's but who wants to fill a memory."""
ValueT = TypeVar("ValueT")


def kept_name(name: str) -> str:
    """The name itself; of a long one the beginning, with what tells it from others in this run of the bridge."""
    return name if len(name) <= NAME_CHARS_MAX else f"{name[:NAME_CHARS_MAX]}… {len(name)} {hash(name):x}"


class KeptNames(Generic[ValueT]):
    """Something by name, for the names that were put last; older ones are forgotten."""

    def __init__(self, names_max: int) -> None:
        self._names_max = names_max
        self._values: OrderedDict[str, ValueT] = OrderedDict()

    def __len__(self) -> int:
        """How many names are remembered."""
        return len(self._values)

    def __contains__(self, name: str) -> bool:
        """Whether something is remembered of a name."""
        return kept_name(name) in self._values

    def get(self, name: str) -> ValueT | None:
        """What is remembered of a name."""
        return self._values.get(kept_name(name))

    def put(self, name: str, value: ValueT) -> None:
        """Remember this of a name from now on."""
        key = kept_name(name)
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._names_max:
            self._values.popitem(last=False)

    def drop(self, name: str) -> None:
        """Forget a name."""
        self._values.pop(kept_name(name), None)
