"""Versions that the other themes leave over: a success and an error of each (K1.63, K5.15-K5.18, K6.4)."""

from dataclasses import replace

from tests.conformance.wire.scenarios.joining import classic
from tests.conformance.wire.scenarios.offsets import NO_PRODUCER, PRODUCER, begin, end, scenario, txn
from tests.support.conformance.calls import SIX, alone, beat, call, describe, fetch, join, offer, sync, until
from tests.support.conformance.steps import NEWEST, Call, Part, Scenario, Step

KEYS_SINCE, TYPE_SINCE = 4, 1
GROUP, TRANSACTION, SHARE = 0, 1, 2
IMPLICIT = 5
"""From this version on TxnOffsetCommit makes the group part of the transaction, and EndTxn begins the next epoch."""


ONE: Part = [{"name": SIX, "partitions": [0]}]


def find(version: int, *keys: str, key_type: int = GROUP) -> Call:
    """FindCoordinator, of one key before version 4."""
    fields: dict[str, Part] = {"key_type": key_type, "key": keys[0], "keys": list(keys)}
    return call("x", "FindCoordinator", version, fields, {})


def implicit(**fields: Part) -> tuple[Step, ...]:
    """A transaction as newer producers speak, whose only request of the group is the commit."""
    first = call("p", "InitProducerId", 5, {"transactional_id": "$g-t", "timeout_ms": 30_000}, NO_PRODUCER)
    committed = fields.pop("committed", True)
    last = call("p", "EndTxn", IMPLICIT, {"transactional_id": "$g-t", "committed": committed, **PRODUCER}, {})
    return (first, txn(IMPLICIT, **fields), last)


def unknown_topic() -> Part:
    """A commit for a topic that there is not."""
    return [{"name": "wire-none", "partitions": [{"partition": 0, "offset": 1, "leader_epoch": -1, "metadata": ""}]}]


def open_fetch(version: int) -> tuple[Step, ...]:
    """A fetch of a partition that an open transaction commits to, and what it says when the transaction is over."""
    ask = fetch("x", version, topics=ONE, require_stable=True)
    return (*begin(), txn(), ask, *end(), until(ask, offset=42))


def newest(name: str, rules: str, *steps: Step) -> Scenario:
    """A scenario that only the newer Kafka plays."""
    return Scenario(name=name, rules=tuple(rules.split()), steps=steps, kafkas=(NEWEST,))


SCENARIOS: tuple[Scenario, ...] = (
    *(newest(f"the coordinator of a group is found, v{v}", "K0.2", find(v, "$g")) for v in range(7)),
    *(
        newest(f"the coordinator of a transaction is found, v{v}", "K0.2", find(v, "$g", key_type=TRANSACTION))
        for v in range(TYPE_SINCE, 7)
    ),
    *(newest(f"the coordinator of no name is looked for, v{v}", "K0.2", find(v, "")) for v in range(7)),
    *(
        newest(f"a coordinator of no known kind is looked for, v{v}", "K0.2", find(v, "$g", key_type=9))
        for v in range(TYPE_SINCE, 7)
    ),
    *(
        newest(f"the coordinator of a share group is looked for by its name only, v{v}", "K0.2", *steps)
        for v, steps in ((5, (find(5, "$g", key_type=SHARE),)), (6, (find(6, "$g", key_type=SHARE),)))
    ),
    *(
        newest(f"several coordinators are looked for at once, v{v}", "K0.2", find(v, "$g", "$g-2", ""))
        for v in range(KEYS_SINCE, 7)
    ),
    *(
        classic(
            f"{what} is refused by a group with members, v{v}",
            "K1.15 K1.24",
            *(*alone("a", v), join("b", v, **fields), beat("a", v)),
            tests="JoinGroupRequestTest",
        )
        for v in (1, 2, 3, 5, 6, 7, 8)
        for what, fields in (
            ("a member of another protocol type", {"protocol_type": "connect"}),
            ("a member of another protocol", {"protocols": offer("sticky")}),
            ("a member with an id of its own making", {"member_id": "made-up"}),
        )
    ),
    *(
        classic(
            f"a sync {what}, v{v}", "K1.48 K1.49", *alone("a"), sync("a", v, **fields), tests="SyncGroupRequestTest"
        )
        for v in (1, 2)
        for what, fields in (
            ("of no group", {"group_id": "$g-none"}),
            ("of a stranger", {"member_id": "made-up"}),
            ("with a later generation", {"generation_id": "#a+1"}),
        )
    ),
    *(
        scenario(
            v,
            f"offsets of a transaction that {what}, v{v}",
            "K5.16 K5.18",
            *(*begin(), txn(v), fetch("x", 8), *end(committed=committed)),
            until(fetch("x", 8, topics=ONE, require_stable=True), error="NONE", offset=42 if committed else -1),
        )
        for v in (1,)
        for what, committed in (("commits", True), ("aborts", False))
    ),
    *(
        classic(
            f"a transaction of a group without a name, v{v}",
            "K5.15",
            *(*begin(), txn(v, group_id=""), *end(committed=False)),
        )
        for v in (0, 1, 2, 4)
    ),
    *(
        classic(
            f"a transaction for a topic that is not there, v{v}",
            "K5.1",
            *(*begin(), txn(v, topics=unknown_topic()), *end(committed=False)),
        )
        for v in range(5)
    ),
    *(
        replace(one, profile="newest")
        for one in (
            newest(
                "offsets of a transaction, v5", "K5.16 K5.18", *implicit(), until(fetch("x", 8, topics=ONE), offset=42)
            ),
            newest("a transaction of a group without a name, v5", "K5.15", *implicit(group_id="")),
        )
    ),
    *(
        replace(
            newest(f"a transaction of {what}, v5", rule, *alone("a"), *implicit(**fields), beat("a"), describe(5)),
            profile="newest",
        )
        for what, rule, fields in (
            ("a member", "K5.5", {"member_id": "@a", "generation_id": "#a"}),
            ("a stranger", "K5.5", {"member_id": "made-up", "generation_id": "#a", "committed": False}),
            ("an older generation", "K5.5", {"member_id": "@a", "generation_id": "#a-1", "committed": False}),
            ("nobody", "K5.6", {}),
        )
    ),
    *(
        classic(f"a fetch that waits for what is stable meets an open transaction, v{v}", "K5.21", *open_fetch(v))
        for v in (7, 8, 9)
    ),
)
