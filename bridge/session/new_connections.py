"""How many connections one address opens in a second."""

SECOND_MS = 1_000


class NewConnections:
    """Counts by address, forgotten each second: so what is kept is bounded by what is accepted in one."""

    __slots__ = ("_begun_ms", "_counts", "_per_second_max")

    def __init__(self, per_second_max: int) -> None:
        self._per_second_max = per_second_max
        self._begun_ms: int | None = None
        self._counts: dict[str, int] = {}

    def admits(self, host: str, now_ms: int) -> bool:
        """Whether one more of `host` is within the limit; it counts only then, so that trying costs no later turn."""
        if self._begun_ms is None or now_ms - self._begun_ms >= SECOND_MS:
            self._begun_ms = now_ms
            self._counts.clear()
        count = self._counts.get(host, 0)
        if count >= self._per_second_max:
            return False
        self._counts[host] = count + 1
        return True
