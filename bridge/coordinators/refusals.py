"""Says once in a while why clients of a group are refused, and counts how often.

It must not know who refuses them.
"""

import logging
from collections import OrderedDict

from translators.dialects.errors import ErrorCode, Refusal
from translators.dialects.ids import GroupId

LOG = logging.getLogger("epochbridge.coordinators")
REPEAT_MS = 60_000
"""How long the same refusal of the same group is not logged again: refused clients come back every few moments."""
REMEMBERED_MAX = 10_000


class Refusals:
    """Log lines of refusals, and their number."""

    def __init__(self) -> None:
        self.count = 0
        self._told: OrderedDict[tuple[GroupId, ErrorCode, str], int] = OrderedDict()

    def note(self, group_id: GroupId, client_id: str, refusal: Refusal, now_ms: int) -> None:
        """A client of a group was refused."""
        self.count += 1
        key = (group_id, refusal.code, refusal.reason)
        told_ms = self._told.get(key)
        if told_ms is not None and now_ms - told_ms < REPEAT_MS:
            return
        self._told[key] = now_ms
        if len(self._told) > REMEMBERED_MAX:
            self._told.popitem(last=False)
        LOG.warning(
            "EB-GROUP-001: group %r refused client %r with %s: %s",
            group_id,
            client_id,
            refusal.code.name,
            refusal.reason,
        )
