"""The verdict on hand-written runs: one good run, and for each criterion one that fails it.

It must not know any real client.
"""

from dataclasses import replace

import pytest

from bridge.demo.events import Protocol
from bridge.demo.judge import Disturbance, Roll, judge
from bridge.demo.judge_evidence import ClientLog, Evidence
from bridge.demo.judge_ownership import Overlap, Stall
from tests.support.fleet import (
    MS,
    assigned,
    committed,
    consumed,
    log,
    lost,
    partition,
    produced,
    revoked,
    started,
    step,
)

PRODUCER = log("producer", produced(0, 0, 99), produced(1, 0, 49), number=1)
STAYS = log("a", assigned(10, 0), consumed(90, 0, 0, 99), committed(91, [(0, 100)]), number=2)
LEAVES = log(
    "b", assigned(10, 1), consumed(40, 1, 0, 24), committed(41, [(1, 25)]), revoked(42, 1), died_ms=43, number=3
)
COMES = log(
    "b",
    started("b", 44, Protocol.CONSUMER),
    assigned(50, 1),
    consumed(90, 1, 25, 49),
    committed(91, [(1, 50)]),
    number=4,
)
GOOD = Evidence(
    producers=(PRODUCER,),
    members=(STAYS, LEAVES, COMES),
    steps=(step("form", 0, 20), step("roll b", 30, 60)),
    offsets={partition(0): 100, partition(1): 50},
)


def with_member(old: ClientLog, new: ClientLog) -> Evidence:
    """The good run with one member's log changed."""
    return replace(GOOD, members=tuple(new if member == old else member for member in GOOD.members))


def test_good_run_is_ok_with_every_figure() -> None:
    """Nothing lost, nothing owned twice, one member rolled, nobody else disturbed, a stall of 8 ms."""
    verdict = judge(GOOD)
    assert verdict.ok
    assert verdict.committed_equals_processed
    assert (verdict.records_produced, verdict.records_lost, verdict.records_duplicated) == (150, 0, 0)
    assert (verdict.rebalances, verdict.members_rolled, verdict.members_disturbed) == (4, 1, ())
    assert verdict.rolls == (Roll(seat="b", before="confluent-kafka classic range", after="confluent-kafka consumer"),)
    assert verdict.longest_stall == Stall(partition=partition(1), began_ns=42 * MS, until_ns=50 * MS)
    assert verdict.max_stall_ms == 8
    assert verdict.protocols_seen == ("classic", "consumer")


def test_record_never_consumed_fails() -> None:
    """Lost = produced but never consumed by anyone."""
    verdict = judge(with_member(COMES, replace(COMES, events=(*COMES.events[:2], consumed(90, 1, 26, 49)))))
    assert verdict.records_lost == 1
    assert not verdict.ok


def test_partition_owned_twice_fails() -> None:
    """The newcomer owns before the other's revoked callback begins."""
    verdict = judge(with_member(STAYS, log("a", assigned(10, 0), assigned(41, 1), revoked(45, 1), number=2)))
    assert verdict.double_ownership == (
        Overlap(partition=partition(1), first="b#3", second="a#2", began_ns=41 * MS, until_ns=42 * MS),
    )
    assert not verdict.ok


def test_partition_of_a_dead_process_owned_before_its_death_fails() -> None:
    """A process that was killed owned until its death, with or without callbacks."""
    killed = log("b", assigned(10, 1), consumed(40, 1, 0, 24), committed(41, [(1, 25)]), died_ms=55, number=3)
    verdict = judge(with_member(LEAVES, killed))
    assert [(one.began_ns, one.until_ns) for one in verdict.double_ownership] == [(50 * MS, 55 * MS)]
    assert not verdict.ok


@pytest.mark.parametrize("silent", ["member", "producer"])
def test_client_without_event_log_fails(silent: str) -> None:
    """A client that writes no event log fails the run, whatever the others say."""
    mute = log("mute", number=9)
    evidence = (
        replace(GOOD, members=(*GOOD.members, mute))
        if silent == "member"
        else replace(GOOD, producers=(*GOOD.producers, mute))
    )
    verdict = judge(evidence)
    assert verdict.silent_clients == ("mute#9",)
    assert not verdict.ok


def test_run_without_records_fails() -> None:
    """A run in which nothing was produced proves nothing."""
    assert not judge(replace(GOOD, producers=())).ok
    assert not judge(Evidence(producers=(), members=(), steps=())).ok


def test_record_consumed_twice_is_counted_and_allowed() -> None:
    """At least once: duplicates are shown, not refused."""
    again = replace(COMES, events=(*COMES.events[:2], consumed(90, 1, 20, 49), *COMES.events[3:]))
    verdict = judge(with_member(COMES, again))
    assert (verdict.records_duplicated, verdict.ok) == (5, True)


def test_member_disturbed_is_named_with_its_step() -> None:
    """The one that stays is made to give up and take back what it had."""
    restless = replace(STAYS, events=(*STAYS.events[:2], lost(40, 0), assigned(45, 0), *STAYS.events[2:]))
    verdict = judge(with_member(STAYS, restless))
    assert verdict.disturbances == (Disturbance(who="a#2", step="roll b", callbacks=1),)
    assert verdict.members_disturbed == ("a#2",)


def test_commit_that_is_not_the_progress_shows() -> None:
    """Committed must equal processed, also at the broker."""
    assert not judge(replace(GOOD, offsets={partition(0): 100, partition(1): 49})).committed_equals_processed
    assert judge(replace(GOOD, offsets=None)).committed_equals_processed


def test_protocol_of_a_member_that_never_owned_is_not_seen() -> None:
    """Seen means: it got work by it."""
    idle = replace(COMES, events=(COMES.events[0], assigned(50)))
    assert judge(with_member(COMES, idle)).protocols_seen == ("classic",)


def test_longest_stall_is_the_longest() -> None:
    """The maximum over partitions and gaps; none when nobody ever stopped owning."""
    slow = replace(COMES, events=(COMES.events[0], assigned(58, 1), *COMES.events[2:]))
    assert judge(with_member(COMES, slow)).max_stall_ms == 16
    assert judge(replace(GOOD, members=(STAYS,))).max_stall_ms == 0
