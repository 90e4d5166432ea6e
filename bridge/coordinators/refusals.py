"""Says once in a while why clients of a group are refused, and counts how often.

It must not know who refuses them.
"""

import logging

from bridge.telling import REMEMBERED_MAX, Teller
from translators.dialects.errors import Refusal, quote
from translators.dialects.ids import GroupId

LOG = logging.getLogger("epochbridge.coordinators")


class Refusals:
    """Log lines of refusals, and their number: refused clients come back every few moments."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self.count = 0
        self._teller = Teller(LOG, remembered_max)

    def note(self, group_id: GroupId, client_id: str, refusal: Refusal, now_ms: int) -> None:
        """A client of a group was refused."""
        self.count += 1
        self._teller.tell(
            now_ms,
            (group_id, refusal.code, refusal.reason),
            logging.WARNING,
            "EB-GROUP-001: group %r refused client %r with %s: %s",
            quote(group_id),
            quote(client_id),
            refusal.code.name,
            refusal.reason,
        )
