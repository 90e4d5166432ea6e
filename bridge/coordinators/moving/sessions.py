"""Until when brokers certainly keep the seats of members that are being moved: a client whose seat may have been given
to another must not be told that all is well.
"""

from collections.abc import Callable, Mapping

from bridge.migration.moves.members import ClassicMember
from translators.dialects.ids import MemberId, Via

CONSUMER_SESSION_MS = 45_000
"""Kafka's default of `group.consumer.session.timeout.ms`: no client says how long a consumer member's session is."""


class Sessions:
    """A session from the last beat of each that its broker is known to have answered."""

    def __init__(self, now_ms: Callable[[], int], members: Mapping[MemberId, ClassicMember]) -> None:
        """They are members now, as their broker said."""
        self._now_ms = now_ms
        self._session_ms = {one: min(member.session_timeout_ms, CONSUMER_SESSION_MS) for one, member in members.items()}
        self._kept_since_ms = dict.fromkeys(members, now_ms())
        self._sent: dict[MemberId, tuple[int, int]] = {}

    def beats(self, member_id: MemberId, via: Via, *, is_passed_on: bool) -> None:
        """A heartbeat came: by one connection clients send the next one when the one before was answered."""
        connection, sent_ms = self._sent.pop(member_id, (via.connection, 0))
        if connection == via.connection:
            self.answered(member_id, sent_ms)
        if is_passed_on:
            self._sent[member_id] = (via.connection, self._now_ms())

    def answered(self, member_id: MemberId, asked_ms: int) -> None:
        """Its broker answered what was asked then."""
        known_ms = self._kept_since_ms.get(member_id)
        if known_ms is not None:
            self._kept_since_ms[member_id] = max(known_ms, asked_ms)

    def may_have_ended(self, member_id: MemberId) -> bool:
        """Whether its broker may have given its partitions to others by now."""
        known_ms = self._kept_since_ms.get(member_id)
        return known_ms is not None and self._now_ms() >= known_ms + self._session_ms[member_id]
