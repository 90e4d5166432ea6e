"""One question to a broker for all who would ask the same meanwhile: they wait, and hear what it came to."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import trio

from translators.dialects.errors import Refusal

KeyT = TypeVar("KeyT", bound=Hashable)


@dataclass(slots=True)
class SharedLook:
    """A question under way. Whose it is may hang up, or have no time left, before it is answered: `is_over` then stays
    False, and whoever waited asks in its own time.
    """

    refusal: Refusal | None = None
    is_over: bool = False
    done: trio.Event = field(default_factory=trio.Event)


@contextmanager
def shared_look(looks: dict[KeyT, SharedLook], key: KeyT) -> Iterator[SharedLook]:
    """A look that others find there, and wait for, until it is over or nobody's any more."""
    look = looks[key] = SharedLook()
    try:
        yield look
    finally:
        del looks[key]
        look.done.set()
