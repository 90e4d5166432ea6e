"""How long a group's clients took to give partitions up, and to fetch from those they were given, as recorded.

It must not know what for.
"""

from collections.abc import Iterable, Mapping
from statistics import median_low

from bridge.telemetry.schema.facts import PartitionsAssigned, PartitionsFetched, PhaseBegan, PhaseEnded
from bridge.telemetry.schema.terms import Phase
from bridge.whatif.inputs import Pace
from bridge.whatif.moments import Moment
from translators.dialects.ids import MemberId

USUAL = Pace(revoke_us=20_000, fetch_us=20_000)
"""Of a group whose record shows neither."""
Times = dict[MemberId, list[int]]


def paces(moments: Iterable[Moment]) -> tuple[Pace, Mapping[MemberId, Pace]]:
    """The median pace of the group, and each member's own where the record has some times of it.

    To give up lasts from being told to the acknowledgement, to fetch from the assignment of a partition to the first
    Fetch that names it.
    """
    revoked, fetched = Times(), Times()
    told: dict[MemberId, int] = {}
    given: dict[tuple[MemberId, str], int] = {}
    for moment in moments:
        match moment.fact:
            case PhaseBegan(phase=Phase.REVOKING, member_id=name):
                told[MemberId(name)] = moment.at_us
            case PhaseEnded(phase=Phase.REVOKING, member_id=name) if name in told:
                revoked.setdefault(MemberId(name), []).append(moment.at_us - told.pop(MemberId(name)))
            case PartitionsAssigned(member_id=name, partitions=partitions):
                given |= dict.fromkeys(((MemberId(name), partition) for partition in partitions), moment.at_us)
            case PartitionsFetched(member_id=name, partitions=partitions):
                keys = ((MemberId(name), partition) for partition in partitions)
                took = [moment.at_us - given.pop(key) for key in keys if key in given]
                fetched.setdefault(MemberId(name), []).extend(took)
            case _:
                pass
    group = Pace(revoke_us=_all(revoked, USUAL.revoke_us), fetch_us=_all(fetched, USUAL.fetch_us))
    return group, {
        member_id: Pace(
            revoke_us=median_low(revoked.get(member_id) or (group.revoke_us,)),
            fetch_us=median_low(fetched.get(member_id) or (group.fetch_us,)),
        )
        for member_id in (revoked | fetched)
    }


def _all(times: Times, usual_us: int) -> int:
    known = [each for one in times.values() for each in one]
    return median_low(known) if known else usual_us
