"""Rows of tables that make it hard for two engines to agree: equal values, nulls, and none at all of some groups.

It must not start anything.
"""

from collections.abc import Mapping, Sequence
from random import Random

from bridge.analytics.tables.definitions import MEMBERS, PHASES, REBALANCES, STALLS, Table

GROUPS = ("g", "it's \\ a group", "häuser")
PEOPLE = ("anna", "boris", "chen", "dana")
HOUR_US = 3_600_000_000
ROADS = ("embedded", "pass")
PROTOCOLS = ("classic", "consumer")


def sample_tables(seed: int, count: int = 60) -> Mapping[Table, Sequence[Mapping[str, object]]]:
    """Rebalances every ten minutes, with members that change their protocol, are put out, wait and are waited for."""
    chance = Random(seed)
    return {
        REBALANCES: [_rebalance(chance, place) for place in range(count)],
        PHASES: [_phase(chance, place) for place in range(count * 4)],
        STALLS: [_stall(chance, place) for place in range(count * 3)],
        MEMBERS: [_member(chance, place) for place in range(count)],
    }


def _at_us(place: int) -> int:
    return 1_763_700_000_000_000 + place * HOUR_US // 6


def _rebalance(chance: Random, place: int) -> Mapping[str, object]:
    return {
        "group_id": chance.choice(GROUPS),
        "rebalance_id": f"r{place}",
        "chain_id": chance.choice((None, f"r{place}", f"r{place - 1}")),
        "road": chance.choice(ROADS),
        "began_us": _at_us(place),
        "ended_us": chance.choice((None, _at_us(place) + 900)),
        "duration_us": chance.choice((None, 900, chance.randrange(1, 10_000))),
        "cause": chance.choice((None, "join", "leave")),
        "critical_member": chance.choice((None, "", *PEOPLE)),
        "critical_phase": chance.choice((None, "joining", "revoking")),
        "waited_us": chance.choice((None, 0, 70, chance.randrange(1, 9_000))),
        **{name: chance.choice((None, 0, 3)) for name in ("moved", "forced_minimum", "told", "disturbed")},
    }


def _phase(chance: Random, place: int) -> Mapping[str, object]:
    return {
        "group_id": chance.choice(GROUPS),
        "rebalance_id": f"r{place // 4}",
        "member_id": chance.choice(PEOPLE),
        "protocol": chance.choice(PROTOCOLS),
        "road": chance.choice(ROADS),
        "phase": chance.choice(("joining", "revoking", "stable", "awaiting-release")),
        "began_us": _at_us(place // 4) + chance.choice((0, 5)),
        "duration_us": chance.choice((None, 100, chance.randrange(1, 5_000_000))),
        "is_closed": chance.choice((True, True, False)),
        "began_event": f"b1:{place:05}",
    }


def _stall(chance: Random, place: int) -> Mapping[str, object]:
    released_us = _at_us(place // 3)
    return {
        "group_id": chance.choice(GROUPS),
        "rebalance_id": chance.choice((None, f"r{place // 3}")),
        "partition": f"t-{place % 5}",
        "before": chance.choice(PEOPLE),
        "after": chance.choice(PEOPLE),
        "protocol_after": chance.choice((None, *PROTOCOLS)),
        "told_us": chance.choice((None, released_us - 10)),
        "released_us": chance.choice((None, released_us)),
        "fetched_us": released_us + 50,
        "stall_us": chance.choice((50, 60, chance.randrange(1, 8_000_000))),
    }


def _member(chance: Random, place: int) -> Mapping[str, object]:
    return {
        "group_id": chance.choice(GROUPS),
        "member_id": chance.choice(PEOPLE),
        "client_id": chance.choice((None, "client-1", "client-2")),
        "library": chance.choice((None, "librdkafka")),
        "library_version": chance.choice((None, "2.1")),
        "protocol": chance.choice(PROTOCOLS),
        "road": chance.choice(ROADS),
        "began_us": _at_us(place // 2),
        "ended_us": chance.choice((None, _at_us(place), _at_us(place // 2 + 3))),
        "departure": chance.choice((None, "left", "session-expired", "poll-timed-out")),
        "began_event": f"b1:{place:05}",
    }
