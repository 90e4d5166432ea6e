"""Members whose client forgot its id when it was told that its generation is gone (clients.md, 7)."""

from collections import OrderedDict
from dataclasses import dataclass

from translators.dialects.errors import ErrorCode
from translators.dialects.ids import ClientIdentity, GroupId, MemberRef

FORGETTING_MAX_MS = 10_000
"""How soon a client that forgets its id joins again: it tries at once, and at most after a few backoffs."""
REMEMBERED_MAX = 10_000
"""How many suspects are remembered; the oldest are dropped, and then live until their session ends."""
FORGETTING_CODES = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID})


@dataclass(frozen=True, slots=True)
class _Suspect:
    connection: int
    client: tuple[str, str]
    told_ms: int


class ForgottenIds:
    """Members whose client may have forgotten their id; a client is known by its connection, or by its id and host."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._suspects: OrderedDict[MemberRef, _Suspect] = OrderedDict()
        self._remembered_max = remembered_max

    def note(self, key: MemberRef, connection: int, client: ClientIdentity, now_ms: int) -> None:
        """A member was just told that its generation or its id is gone."""
        self._suspects.pop(key, None)
        self._suspects[key] = _Suspect(connection, (client.client_id, client.client_host), now_ms)
        if len(self._suspects) > self._remembered_max:
            self._suspects.popitem(last=False)

    def forget(self, key: MemberRef) -> None:
        """The member spoke under its own id again, or is gone."""
        self._suspects.pop(key, None)

    def take(self, group_id: GroupId, connection: int, client: ClientIdentity, now_ms: int) -> MemberRef | None:
        """The member that a newcomer to the group seems to have been; it is told once."""
        identity = (client.client_id, client.client_host)
        self._drop_old(now_ms)
        matching = [
            key
            for key, suspect in self._suspects.items()
            if key.group_id == group_id and (suspect.connection == connection or suspect.client == identity)
        ]
        if not matching:
            return None
        same_connection = [key for key in matching if self._suspects[key].connection == connection]
        found = (same_connection or matching)[0]
        del self._suspects[found]
        return found

    def _drop_old(self, now_ms: int) -> None:
        while self._suspects:
            key, suspect = next(iter(self._suspects.items()))
            if now_ms - suspect.told_ms <= FORGETTING_MAX_MS:
                return
            del self._suspects[key]
