"""Which inputs of a record may be of a client that was only frozen, where the play can't know: it takes the member for
dead, and whoever comes back for another process.
"""

from collections.abc import Sequence

from bridge.whatif.inputs import Came, Changed, Client, FellSilent, History
from translators.dialects.ids import MemberId

NAMED_MAX = 5


def behind_freezes(history: History, *, is_classic: bool) -> frozenset[str]:
    """The events of such inputs, in pairs: a session that was over, and a client of that name which joined afterwards.

    A client of the new protocol keeps its member id as long as its process lives, and its play goes on with it; a
    classic one is given another id, so that nothing in the record tells it from a process that was started anew. Where
    the play is `is_classic` it is so of all of them.
    """
    clients: dict[MemberId, Client] = {client.member_id: client for client in history.founders}
    silent: list[tuple[str, Client]] = []
    found: set[str] = set()
    for each in history.inputs:
        match each:
            case FellSilent(member_id=name, event_id=event_id):
                gone = clients.get(name)
                if gone is not None and (is_classic or gone.is_classic):
                    silent.append((event_id, gone))
            case Came(client=client, event_id=event_id):
                clients[client.member_id] = client
                former = next((one for one in silent if _may_be_one(one[1], client)), None)
                if former is not None:
                    silent.remove(former)
                    found |= {former[0], event_id}
            case Changed(client=client):
                clients[client.member_id] = client
            case _:
                pass
    return frozenset(found)


def unanswered_words(rebalances: Sequence[str]) -> str:
    """What is not answered of these rebalances, and why, in one sentence without its end."""
    named = ", ".join(rebalances[:NAMED_MAX])
    more = f" and {len(rebalances) - NAMED_MAX:,} more" if len(rebalances) > NAMED_MAX else ""
    return (
        "a member's session was over and a client of its name joined afterwards, which the play takes for two "
        "processes; if it was one that was only frozen, then how long partitions would have stood still, and whether "
        f"a longer session would have spared it, is not answered (of {named}{more})"
    )


def _may_be_one(gone: Client, new: Client) -> bool:
    return gone.member_id == new.member_id or (gone.identity, gone.instance_id) == (new.identity, new.instance_id)
