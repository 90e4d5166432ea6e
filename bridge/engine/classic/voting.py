"""Which protocols a classic group can use, which it chooses, and who leads it."""

from collections.abc import Mapping

from bridge.engine.model import Phase, names_of
from bridge.engine.state import ClassicGroup
from translators.dialects.classic import JoinGroup
from translators.dialects.ids import MemberId


def supports(group: ClassicGroup, request: JoinGroup) -> bool:
    """Whether a joiner fits: any type and name while Empty, else the group's type and a name that all offer (K1.15).

    The joiner's own former offer counts too (K1.16), as in Kafka. O(distinct offers), not O(members).
    """
    names = names_of(request.protocols)
    if group.phase is Phase.EMPTY:
        return bool(request.protocol_type and names)
    if request.protocol_type != group.roster.protocol_type:
        return False
    return any(all(name in offer for offer in group.offers) for name in names)


def choose_protocol(offers: Mapping[tuple[str, ...], int], current: str | None) -> str:
    """The protocol that most members like best of those that all offer (K1.38); O(distinct offers).

    A tie, which Kafka leaves to its hash map, goes to the current protocol if it is among the first, else to the
    first in the alphabet: the choice depends on nothing but the state, and nobody changes protocol without need.
    """
    distinct = [set(offer) for offer in offers]
    candidates = set.intersection(*distinct) if distinct else set()
    if not candidates:
        raise ValueError(
            f"EB-ENGINE-008: no protocol is offered by all members ({sorted(offers)!r}); a joiner without a common one"
            " must have been refused, this is a bug in bridge.engine.classic.joining"
        )
    votes = dict.fromkeys(candidates, 0)
    for offer, count in offers.items():
        votes[next(name for name in offer if name in candidates)] += count
    most = max(votes.values())
    best = sorted(name for name, count in votes.items() if count == most)
    return current if current is not None and current in best else best[0]


def choose_leader(group: ClassicGroup) -> MemberId | None:
    """Who leads the generation that begins: the leader if it has joined, else who joined and is in the group longest
    (K1.35, where Kafka takes any); None if nobody has joined.
    """
    leader = group.roster.leader
    if leader is not None and leader in group.joining:
        return leader
    return next((member_id for member_id in group.members if member_id in group.joining), None)
