"""Hears classic members of groups that pass, for the roster, and heartbeats and commits for whoever looks at a group;
whoever else hears of what passes hears it as before.
"""

from bridge.coordinators.moving.sight import GroupEars
from bridge.migration.roster import Roster
from bridge.session.contracts import Hear, Passing, PassingRequest
from bridge.wire.apis import ApiKey
from bridge.wire.errors import MalformedFrame
from translators.dialects.ids import ClientIdentity, RequestRef, via_of

_HEARD = frozenset((ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.LEAVE_GROUP))
_LOOKED_AT = frozenset((ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT))


class RosterWatch:
    """See `session.contracts.Passing`."""

    def __init__(self, passing: Passing, roster: Roster, ears: GroupEars) -> None:
        self._passing = passing
        self._roster = roster
        self._ears = ears
        self.passed = passing.passed
        self.awaits_fetch = passing.awaits_fetch
        self.fetched = passing.fetched
        self.untranslated = passing.untranslated
        self.passed_unread = passing.passed_unread

    def overhear(
        self, ref: RequestRef, request: PassingRequest, client: ClientIdentity, broker_id: int | None
    ) -> Hear | None:
        """See `session.contracts.Passing`."""
        api_key = request.header.api_key
        if api_key in _HEARD or (api_key in _LOOKED_AT and self._ears.listens_to(request.group_ids)):
            self._hear(ref, request, client)
        return self._passing.overhear(ref, request, client, broker_id)

    def _hear(self, ref: RequestRef, passing: PassingRequest, client: ClientIdentity) -> None:
        try:
            request = passing.read()
        except MalformedFrame:
            # It is for the broker to judge: it passes all the same, and its member is one that nobody has heard.
            return
        self._roster.hears(via_of(ref), client, request)
        self._ears.hear(via_of(ref), request)
