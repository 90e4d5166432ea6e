"""What is noticed of groups that go through untouched: which there are, and how often each kind of request passed.

It must not know who shows the counts; what is read of the requests themselves is `overhearing`'s.
"""

from collections import Counter

from bridge.session.contracts import Hear
from bridge.wire.frames import RequestHeader
from translators.dialects.ids import ClientIdentity, GroupId, RequestRef

GROUPS_MAX = 10_000
"""How many groups are counted one by one; the requests of further ones are counted together."""
OTHERS = GroupId("")


class PassingLog:
    """Counts requests of groups on road `pass`, by group and api, and reads nothing more of them."""

    def __init__(self) -> None:
        self.requests: dict[GroupId, Counter[int]] = {}

    def passed(self, header: RequestHeader, group_id: GroupId, client: ClientIdentity) -> None:
        """A request of a `pass` group is on its way to the broker."""
        counted = self.requests.get(group_id)
        if counted is None:
            known = group_id if len(self.requests) < GROUPS_MAX else OTHERS
            counted = self.requests.setdefault(known, Counter())
        counted[header.api_key] += 1

    def overhear(
        self,
        ref: RequestRef,
        header: RequestHeader,
        data: bytes | memoryview,
        client: ClientIdentity,
        broker_id: int | None,
    ) -> Hear | None:
        """Nobody wants to see answers."""
        return None

    def awaits_fetch(self, client: ClientIdentity) -> bool:
        """Nobody waits for a Fetch."""
        return False

    def fetched(self, header: RequestHeader, data: bytes | memoryview, client: ClientIdentity) -> None:
        """Nobody reads it."""
