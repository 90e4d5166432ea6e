"""Nobody knows the members any more, and real sticky clients come back with their claims: everybody gets what it had.

It must not know how claims are read (KIP-54, KIP-341).
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from bridge.admin.client import give_order
from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.events import Partition, now_ns
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import MemberSpec, ProducerSpec, Target
from bridge.demo.judge import judge
from bridge.demo.judge_ownership import owned_at
from tests.support.bridge_process import QUICK_SETTINGS
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.restarted_bridge import RestartedBridge
from tests.support.story_run import require_safety

KINDS = ("kafka-python-range", "java-default")
"""Whose sticky assignors: kafka-python puts a version before its user data, Java does not."""
PARTITIONS = 9
SESSION_MS = 45_000
DELAY_MS = 6_000
"""Longer than all members take to hear that nobody knows them and to join again."""
GRACE_S = 40
"""Longer than a client stays away from a bridge that is gone: kafka-python up to 30 s."""
SETTINGS = {
    **QUICK_SETTINGS,
    "embedded.resume.grace.ms": str(GRACE_S * 1000),
    "group.initial.rebalance.delay.ms": str(DELAY_MS),
}


def own(fleet: Fleet) -> Mapping[str, frozenset[Partition]]:
    """What each live member has now."""
    at_ns = now_ns()
    owned = {log.who.partition("#")[0]: frozenset(owned_at(log, at_ns)) for log in fleet.logs()}
    return {seat: mine for seat, mine in owned.items() if mine}


def remove_all(bridge: RestartedBridge, group: str) -> float:
    """Every member is put out; gives the seconds until all are back."""
    give_order(bridge.admin, "/remove-members", {"group": group, "all": True})
    return 2 * DELAY_MS / 1000


def forget(bridge: RestartedBridge, _group: str) -> float:
    """The bridge dies and its journal with it; gives the seconds until all are back."""
    bridge.kill()
    for path in bridge.journal.parent.glob(f"{bridge.journal.name}*"):
        path.unlink()
    bridge.start()
    return GRACE_S + 2 * DELAY_MS / 1000


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One library and no restart by default; both of each with --matrix=all."""
    is_all = metafunc.config.getoption("--matrix") == "all"
    metafunc.parametrize("kind", KINDS if is_all else KINDS[:1])
    metafunc.parametrize("lose", (remove_all, forget) if is_all else (remove_all,))


async def test_sticky_members_of_a_forgotten_group_get_what_they_had(
    kind: str,
    lose: Callable[[RestartedBridge, str], float],
    kafka_43: KafkaUnderTest,
    wardrobe: Wardrobe,
    tmp_path: Path,
) -> None:
    """Nobody but they themselves knows it; a group in which somebody came and somebody went is not dealt in order."""
    bridge = RestartedBridge(kafka_43.bootstrap, "embedded-*", tmp_path, SETTINGS)
    group = f"embedded-claims-{uuid.uuid4().hex[:6]}"
    target = Target(bootstrap=bridge.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka_43.bootstrap, target.topics, PARTITIONS)

    def sticky(seat: str) -> MemberSpec:
        return replace(wardrobe.spec(seat, kind, SESSION_MS), assignor="sticky")

    await trio.to_thread.run_sync(bridge.start)
    try:
        async with trio.open_nursery() as nursery:
            fleet = Fleet(nursery, target, partitions, tmp_path)
            await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
            for seat in ("m1", "m2", "m3"):
                await fleet.start(sticky(seat))
            await fleet.wait_settled()
            await fleet.stop("m1")
            await fleet.start(sticky("m4"))
            await fleet.wait_settled()
            before = own(fleet)
            async with fleet.step("forgotten"):
                await trio.sleep(await trio.to_thread.run_sync(lose, bridge, group))
                await fleet.wait_settled()
            after = own(fleet)
            await fleet.stop_producers()
            await fleet.wait_read()
            await fleet.stop_all()
    finally:
        await trio.to_thread.run_sync(bridge.stop)
    offsets = await trio.to_thread.run_sync(read_committed, kafka_43.bootstrap, group, fleet.partitions)
    require_safety(judge(fleet.evidence(offsets)))
    assert sorted(before) == ["m2", "m3", "m4"]
    assert after == before
