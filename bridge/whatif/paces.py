"""How long a group's clients took to give partitions up and to fetch, from the phases in the record.

It must not know what the phases were for.
"""

from collections.abc import Iterable, Mapping
from statistics import median_low

from bridge.telemetry.schema.facts import PhaseBegan, PhaseEnded
from bridge.telemetry.schema.stamps import Event
from bridge.telemetry.schema.terms import Phase
from bridge.whatif.inputs import Pace
from translators.dialects.ids import MemberId

USUAL = Pace(revoke_us=20_000, fetch_us=20_000)
"""Of a group whose record shows neither."""
Times = dict[MemberId, list[int]]


def paces(events: Iterable[Event]) -> tuple[Pace, Mapping[MemberId, Pace]]:
    """The median pace of the group, and each member's own where the record has some times of it."""
    took = {Phase.REVOKING: Times(), Phase.FETCHING: Times()}
    began: dict[tuple[MemberId, Phase], Event] = {}
    for event in events:
        fact = event.fact
        if not isinstance(fact, PhaseBegan | PhaseEnded) or fact.phase not in took:
            continue
        key = (MemberId(fact.member_id), fact.phase)
        if isinstance(fact, PhaseBegan):
            began[key] = event
        elif (begin := began.pop(key, None)) is not None and begin.stamp.boot == event.stamp.boot:
            took[fact.phase].setdefault(key[0], []).append(event.stamp.mono_us - begin.stamp.mono_us)
    revoked, fetched = took[Phase.REVOKING], took[Phase.FETCHING]
    group = Pace(revoke_us=_all(revoked, USUAL.revoke_us), fetch_us=_all(fetched, USUAL.fetch_us))
    return group, {
        member_id: Pace(
            revoke_us=median_low(revoked.get(member_id, (group.revoke_us,))),
            fetch_us=median_low(fetched.get(member_id, (group.fetch_us,))),
        )
        for member_id in (revoked | fetched)
    }


def _all(times: Times, usual_us: int) -> int:
    known = [each for one in times.values() for each in one]
    return median_low(known) if known else usual_us
