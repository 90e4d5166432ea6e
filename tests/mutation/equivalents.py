"""Survivors that change nothing that anybody could see, each with the reason.

It must not hold what a test could find.
"""

from collections.abc import Mapping

EQUIVALENT: Mapping[tuple[str, str, str, str], str] = {
    (
        "bridge/engine/consumer/heartbeats.py",
        "_convert_classic",
        "return value: refusal",
        "None",
    ): "nothing was converted, so the caller asks `admit` once more, which refuses for the same reason",
    (
        "bridge/engine/consumer/heartbeats.py",
        "_note_newcomer",
        "boolean: group.delay is None or group.delay.has_newcomers or ask.before is not None",
        "group.delay.has_newcomers or ask.before is not None",
    ): "`park` asks only while there is a delay; the first part tells the type checker so",
    (
        "bridge/engine/assignors/chain_search.py",
        "ChainSearch._start",
        "comparison: cost < _UNREACHED",
        "cost <= _UNREACHED",
    ): "nodes that nobody has reached come last in the queue, and reach nobody from there",
    (
        "bridge/engine/classic/barriers.py",
        "judge_sync",
        "boolean: group is None or group.phase is Phase.EMPTY",
        "group is None",
    ): "an Empty group has neither members nor instances, and `judge_identity` says UNKNOWN_MEMBER_ID, too",
    (
        "bridge/engine/convert/downgrade.py",
        "take_seats",
        "boolean: fault is not None or group is None",
        "fault is not None",
    ): "`find_departure_fault` has a fault for a group that is not there; the second half tells the type checker so",
    (
        "bridge/engine/recovery.py",
        "_deadlines",
        "constant: 0",
        "1",
    ): "only who is joining is at epoch 0, and that is in no journal: members that joined are at 1 or above",
    (
        "bridge/engine/assignors/chains.py",
        "search",
        "constant: 2",
        "3",
    ): "a load only has to cost more than all moves together: a higher price orders all chains alike",
    (
        "bridge/engine/convert/downgrade.py",
        "take_seats",
        "boolean: fault is None and group is not None",
        "fault is None",
    ): "`find_departure_fault` has a fault for a group that is not there; the second half tells the type checker so",
    (
        "bridge/engine/convert/downgrade.py",
        "_is_covered",
        "boolean: using & used or using != group.target.get(seat.member_id, frozenset())",
        "using != group.target.get(seat.member_id, frozenset())",
    ): "no partition is in two targets: seats that all use exactly theirs share none",
    (
        "bridge/engine/leaving.py",
        "_find_leaver",
        "boolean: entry.instance_id is not None and (not member_id)",
        "not member_id",
    ): "no instance is None: looking it up gives the member id back; the first half is for the type checker",
    (
        "bridge/engine/assignors/subscriber_sets.py",
        "_root",
        "removed statement: parent[number] = parent[parent[number]]",
        "pass",
    ): "it only shortens the way to the same root for later looks",
    (
        "bridge/engine/assignors/chain_search.py",
        "ChainSearch._start",
        "filter dropped: [(cost, node) for node, cost in enumerate(self._costs) if cost < _UNREACHED]",
        "[(cost, node) for node, cost in enumerate(self._costs)]",
    ): "what nothing reaches costs more than any chain could gain, and so does whatever is reached from there",
    (
        "bridge/engine/convert/readiness.py",
        "_read",
        "boolean: group.phase is Phase.COMPLETING_REBALANCE or waits",
        "waits",
    ): "while a group completes its rebalance everybody has yet to sync or waits for the answer, which is `waits`",
    (
        "bridge/engine/convert/readiness.py",
        "_read",
        "boolean: group.phase is not Phase.COMPLETING_REBALANCE and group.roster.generation == group.synced.generation",
        "group.roster.generation == group.synced.generation",
    ): "a group that completes its rebalance is in a later generation than the one that synced last",
    (
        "translators/dialects/plain.py",
        "structure",
        "constant: True",
        "False",
    ): "the lengths are compared just before `zip`; strict says that they are equal",
}
"""By path, function, kind of change and how the piece reads before, and after."""
