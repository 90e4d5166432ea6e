"""Which clients commit in a version that Kafka 4 does not take any more, as far as they were heard.

The bridge takes it for groups that it coordinates (`versions.SAID_AGAIN`), and asks brokers in the next one. On road
`pass` nobody does that for them: there such a client reads on and never commits again.
"""

from collections import OrderedDict

from bridge.wire.versions import is_said_again
from translators.dialects.ids import ClientIdentity
from translators.dialects.kept_names import kept_name

REMEMBERED_MAX = 10_000
"""So many clients are remembered; the one that was silent for longest makes room for the next."""


class OldCommits:
    """Clients by what they call themselves and where they come from: who commits says no more of itself that early."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._clients: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._remembered_max = remembered_max

    def note(self, api_key: int, version: int, client: ClientIdentity) -> None:
        """A client asks the bridge in this version; only commits in such a one are remembered."""
        if not is_said_again(api_key, version):
            return
        key = _key(client.client_id, client.client_host)
        self._clients[key] = None
        self._clients.move_to_end(key)
        if len(self._clients) > self._remembered_max:
            self._clients.popitem(last=False)

    def are_of(self, client_id: str, client_host: str) -> bool:
        """Whether this client was heard to commit so."""
        return _key(client_id, client_host) in self._clients


def _key(client_id: str, client_host: str) -> tuple[str, str]:
    return kept_name(client_id), client_host
