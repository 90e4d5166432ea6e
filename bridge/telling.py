"""Log lines that are said once a minute: what comes again for the same cause is counted, and told with its count.

It must not know who speaks or what about; time comes in with each line.
"""

import logging
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

REPEAT_MS = 60_000
"""How long the same line is not said again."""
REMEMBERED_MAX = 10_000
"""Causes that are remembered; a cause that makes room for another is told with its count."""


@dataclass(slots=True)
class _Said:
    at_ms: int
    level: int
    message: str
    args: tuple[object, ...]
    repeats: int = 0


class Teller:
    """Writes to one log; a cause is anything that can be compared, such as a code with an address."""

    def __init__(self, log: logging.Logger, remembered_max: int = REMEMBERED_MAX) -> None:
        self._log = log
        self._remembered_max = remembered_max
        self._said: OrderedDict[Hashable, _Said] = OrderedDict()

    def __len__(self) -> int:
        """How many causes are remembered."""
        return len(self._said)

    def tell(self, now_ms: int, cause: Hashable, level: int, message: str, *args: object) -> None:
        """Say this line, or count it if one of the same cause was said within the last minute."""
        said = self._said.get(cause)
        if said is not None and now_ms - said.at_ms < REPEAT_MS:
            said.level, said.message, said.args = level, message, args
            said.repeats += 1
            return
        self._say(message, args, level, 0 if said is None else said.repeats)
        self._said[cause] = _Said(now_ms, level, message, args)
        self._said.move_to_end(cause)
        if len(self._said) > self._remembered_max:
            _, oldest = self._said.popitem(last=False)
            self._say_count(oldest)

    def catch_up(self, now_ms: int) -> None:
        """Say how often each line came again since it was said a minute ago; to be called now and then."""
        while self._said:
            cause, said = next(iter(self._said.items()))
            if now_ms - said.at_ms < REPEAT_MS:
                return
            del self._said[cause]
            if said.repeats:
                self._say_count(said)
                self._said[cause] = _Said(now_ms, said.level, said.message, said.args)

    def _say_count(self, said: _Said) -> None:
        if said.repeats:
            self._say(said.message, said.args, said.level, said.repeats - 1)

    def _say(self, message: str, args: tuple[object, ...], level: int, repeats: int) -> None:
        if repeats:
            self._log.log(level, message + " (and %d times more since this was last said)", *args, repeats)
        else:
            self._log.log(level, message, *args)
