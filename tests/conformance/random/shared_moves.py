"""Moves of anybody: offsets in all versions, transactions, admin views, deletion of offsets and groups.

It knows the calls' usual fields, and must not know what is answered.
"""

from random import Random

from tests.conformance.random.members import Member
from tests.conformance.random.sequences import Move
from tests.support.conformance.calls import (
    call,
    commit,
    committed_topics,
    delete,
    delete_offsets,
    describe,
    describe_consumer,
    fetch,
    list_groups,
)
from tests.support.conformance.steps import Part, Pause

STATES = ("Stable", "Empty", "preparingrebalance", "Assigning", "Reconciling", "Dead", "nonsense", " EMPTY")
ASKS_OPERATIONS = 0.4
TYPES = ("classic", "consumer", "Consumer", "share", "nonsense")


def committed(rng: Random, member: Member) -> list[Move]:
    """It commits, in its epoch or another."""
    version = rng.randint(9, 10) if member.native and rng.random() < 0.8 else rng.randint(2, 10)
    partitions = rng.sample(range(6), rng.randint(1, 3))
    fields: dict[str, Part] = {"topics": committed_topics(version, "wire-six", partitions, rng.choice(("", "note")))}
    chance = rng.random()
    if chance < 0.12:
        fields["generation_id"] = rng.choice((f"#{member.name}+1", f"#{member.name}-1", -1, 0))
    elif chance < 0.2:
        fields |= {"generation_id": -1, "member_id": ""}
    elif chance < 0.25:
        fields["member_id"] = "nobody"
    elif chance < 0.3:
        fields["topics"] = committed_topics(version, "wire-six", [0, 6], "x" * rng.choice((1, 5000)))
    if member.instance and version >= 7:
        fields["group_instance_id"] = member.instance
    return [commit(member.name, version, **fields)]


def fetched(rng: Random, member: Member) -> list[Move]:
    """Somebody reads what is committed."""
    version = rng.randint(1, 10)
    fields: dict[str, Part] = {}
    if version >= 7 and rng.random() < 0.3:
        fields["require_stable"] = True
    if version >= 9 and rng.random() < 0.4:
        fields |= {"member_id": f"@{member.name}", "member_epoch": rng.choice((f"#{member.name}", f"#{member.name}+1"))}
    if version >= 2 and rng.random() < 0.3:
        fields["topics"] = None
    return [fetch(member.name, version, **fields)]


def viewed(rng: Random) -> list[Move]:
    """An admin looks."""
    look = rng.randrange(6)
    if look == 0:
        return [describe(rng.randint(0, 6), operations=rng.random() < ASKS_OPERATIONS)]
    if look == 1:
        return [describe_consumer(rng.randint(0, 1), "$g", "$g-x", operations=rng.random() < ASKS_OPERATIONS)]
    if look == 2:
        return [call("admin", "FindCoordinator", 4, {"key_type": 0, "keys": ["$g", ""]}, {})]
    version = rng.randint(3, 5)
    states = rng.sample(STATES, rng.randint(0, 2)) if version >= 4 else []
    types = rng.sample(TYPES, rng.randint(0, 2)) if version >= 5 else []
    return [list_groups(version, states, types)]


def deleted(rng: Random) -> list[Move]:
    """An admin deletes the group."""
    groups = rng.choice((("$g",), ("$g", "$g-x"), ("$g", "")))
    return [delete(rng.randint(0, 2), *groups)]


def forgotten(rng: Random) -> list[Move]:
    """An admin deletes offsets."""
    return [delete_offsets(rng.choice(("wire-six", "wire-two", "wire-none")), rng.sample(range(7), 2))]


def transacted(rng: Random, member: Member) -> list[Move]:
    """A transaction with offsets begins and ends."""
    version = rng.randint(0, 4)
    topics: Part = [
        {"name": "wire-six", "partitions": [{"partition": 1, "offset": 7, "leader_epoch": -1, "metadata": "t"}]}
    ]
    ids: dict[str, Part] = {"transactional_id": "$g-t", "producer_id": "!id", "producer_epoch": "!epoch"}
    commit_fields: dict[str, Part] = {**ids, "group_id": "$g", "topics": topics}
    chance = rng.random()
    if version >= 3 and chance < 0.6:
        commit_fields |= {"generation_id": f"#{member.name}", "member_id": f"@{member.name}"}
    elif version >= 3:
        commit_fields |= {"generation_id": rng.choice((-1, 99)), "member_id": rng.choice(("", "nobody"))}
    if version >= 3:
        commit_fields["group_instance_id"] = rng.choice((None, member.instance))
    begin: dict[str, Part] = {"transactional_id": "$g-t", "timeout_ms": 60_000}
    if rng.random() < 0.7:
        begin |= {"producer_id": -1, "producer_epoch": -1}
    init = call("t", "InitProducerId", 3, {**begin, "producer_id": -1, "producer_epoch": -1}, {})
    return [
        init,
        call("t", "AddOffsetsToTxn", 3, {**ids, "group_id": "$g"}, {}),
        call("t", "TxnOffsetCommit", version, commit_fields, {}),
        *fetched(rng, member),
        call("t", "EndTxn", 3, {**ids, "committed": rng.random() < 0.7}, {}),
        Pause(ms=400),
        *fetched(rng, member),
    ]
