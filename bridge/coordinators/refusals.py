"""Says why clients of a group are refused: in the log once in a while, and to a client that reads it."""

import logging
from dataclasses import replace

from bridge.log_lines import EMBEDDED, REMEMBERED_MAX, Line, LogFields, RateLimitedLog, cause_by_names
from translators.dialects.consumer import ConsumerGroupHeartbeatReply
from translators.dialects.errors import ErrorCode, Refusal, quote
from translators.dialects.ids import GroupId
from translators.dialects.messages import GroupReply

LOG = logging.getLogger("epochbridge.coordinators")
PASSING = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR}
)
"""Codes behind which clients come again by themselves; Kafka sends them without words, too."""


class Refusals:
    """Log lines of refusals, and their number: refused clients come back every few moments."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX, road: str = EMBEDDED) -> None:
        self.count = 0
        self._road = road
        self._log = RateLimitedLog(LOG, remembered_max)

    def note(self, group_id: GroupId, client_id: str, refusal: Refusal, now_ms: int) -> None:
        """A client of a group was refused."""
        self.count += 1
        line = Line(
            logging.WARNING,
            "EB-GROUP-001: group %r refused client %r with %s: %s",
            (quote(group_id), quote(client_id), refusal.code.name, refusal.reason),
            LogFields(group_id=group_id, client_id=client_id, road=self._road),
        )
        # This reason quotes the pattern: who comes with another each time would have a line each time.
        cause = "" if refusal.code is ErrorCode.INVALID_REGULAR_EXPRESSION else refusal.reason
        self._log.write(now_ms, cause_by_names(refusal.code, "", group_id, cause), line)


def in_words(reply: GroupReply, refusal: Refusal) -> GroupReply:
    """A KIP-848 client ends with the words of a verdict; what passes may name other clients, and nobody reads it."""
    if isinstance(reply, ConsumerGroupHeartbeatReply) and refusal.code not in PASSING:
        return replace(reply, error_message=refusal.reason)
    return reply
