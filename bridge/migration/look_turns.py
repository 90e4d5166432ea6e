"""Whose look-up of a group is made next: places are shared by clients' addresses, not by the names they ask for."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from translators.dialects.places import place_of

TicketT = TypeVar("TicketT", bound=Hashable)


class LookTurns(Generic[TicketT]):
    """So many looks at once. An address, of IPv6 its network, may have as many under way as are free, so that a further
    one always finds a place; what waits does so in its own address's line, and the lines take turns.

    Behind thousands of names that one client made up, in the order asked, everybody else's new groups were refused.
    """

    __slots__ = ("_free", "_held", "_lines")

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: dict[str, int] = {}
        # Ordered ones give their first in one step also after many were taken.
        self._lines: OrderedDict[str, OrderedDict[TicketT, None]] = OrderedDict()

    def ask(self, client_host: str, ticket: TicketT) -> list[TicketT]:
        """A look stands in its address's line; the tickets whose turn it is by now."""
        self._lines.setdefault(place_of(client_host), OrderedDict())[ticket] = None
        return self._begin()

    def leave(self, client_host: str, ticket: TicketT) -> list[TicketT]:
        """A look is over, or is waited for no more; the tickets whose turn it is by now."""
        address = place_of(client_host)
        line = self._lines.get(address)
        if line is not None and ticket in line:
            del line[ticket]
            if not line:
                del self._lines[address]
        else:
            self._free += 1
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]
        return self._begin()

    def _begin(self) -> list[TicketT]:
        """Each step looks at no more addresses than have a place, and one: whoever has none may begin."""
        begun = list[TicketT]()
        while self._free:
            address = next((one for one in self._lines if self._held.get(one, 0) < self._free), None)
            if address is None:
                break
            line = self._lines[address]
            begun.append(line.popitem(last=False)[0])
            if line:
                self._lines.move_to_end(address)
            else:
                del self._lines[address]
            self._free -= 1
            self._held[address] = self._held.get(address, 0) + 1
        return begun
