"""Counts the connections of clients, in all and by address, and says when one more is one too many."""

from collections import Counter

from bridge.session.close_reasons import CloseReason
from bridge.session.limits import UNLIMITED, Limits
from translators.dialects.places import place_of

SECOND_MS = 1_000


class NewConnections:
    """Counts in all and by address, of IPv6 by network, forgotten each second: so what is kept is bounded by what one
    brings.
    """

    __slots__ = ("_begun_ms", "_count", "_counts", "_of_all_max", "_per_second_max")

    def __init__(self, per_second_max: int, of_all_max: int = UNLIMITED) -> None:
        self._per_second_max = per_second_max
        self._of_all_max = of_all_max
        self._begun_ms: int | None = None
        self._count = 0
        self._counts: dict[str, int] = {}

    def refusal(self, host: str, now_ms: int) -> CloseReason | None:
        """Why one more of `host` is beyond a limit; it counts only where it is not, so that trying costs no later turn,
        nor anybody else's.
        """
        if self._begun_ms is None or now_ms - self._begun_ms >= SECOND_MS:
            self._begun_ms = now_ms
            self._count = 0
            self._counts.clear()
        place = place_of(host)
        count = self._counts.get(place, 0)
        if count >= self._per_second_max:
            return CloseReason.TOO_MANY_NEW_CONNECTIONS
        if self._count >= self._of_all_max:
            return CloseReason.TOO_MANY_NEW_IN_ALL
        self._counts[place] = count + 1
        self._count += 1
        return None


class OpenConnections:
    """Connections that were taken in and have not ended: in all, and by address, of IPv6 by network."""

    __slots__ = ("_by_place", "_new", "_of_address_max", "count")

    def __init__(self, limits: Limits) -> None:
        self.count = 0
        self._by_place = Counter[str]()
        self._new = NewConnections(limits.new_connections_max, limits.all_new_connections_max)
        self._of_address_max = limits.address_connections_max

    def refusal(self, host: str, now_ms: int) -> CloseReason | None:
        """Why no further connection of an address is taken in."""
        if self._by_place[place_of(host)] >= self._of_address_max:
            return CloseReason.TOO_MANY_OF_ADDRESS
        return self._new.refusal(host, now_ms)

    def begin(self, host: str) -> None:
        """One is taken in; whose a balancer's is, is not known yet: that is the empty address."""
        self.count += 1
        self._by_place[place_of(host)] += 1

    def name(self, host: str) -> None:
        """It is known by now of one of these."""
        self.end("")
        self.begin(host)

    def end(self, host: str) -> None:
        """One is over."""
        self.count -= 1
        place = place_of(host)
        self._by_place[place] -= 1
        if not self._by_place[place]:
            del self._by_place[place]
