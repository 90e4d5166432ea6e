"""A story told in a group and a topic of its own while records flow, and judged."""

from dataclasses import dataclass
from pathlib import Path

import trio

from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.screen import verdict_lines
from tests.support.casts import Wardrobe
from tests.support.stories import PARTITIONS, STORIES, StorySetting

RATE = 300
RECORDS_AT_LEAST = 200
QUICK_SESSION_MS = 2500


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where a story is told: clients talk to `front`, topics and offsets are looked up at the broker itself."""

    front: str
    broker: str
    group: str
    directory: Path
    session_timeout_ms: int = QUICK_SESSION_MS


async def tell(setting: Setting, story: str, cast: str, wardrobe: Wardrobe) -> Verdict:
    """Tell a story, print the figures and give the verdict, the broker's own committed offsets included."""
    target = Target(bootstrap=setting.front, group=setting.group, topics=(f"{setting.group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, setting.broker, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, setting.directory)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=RATE))
        told = StorySetting(fleet=fleet, cast=cast, wardrobe=wardrobe, session_timeout_ms=setting.session_timeout_ms)
        await STORIES[story](told)
        await fleet.stop_producers()
        await fleet.wait_read()
        await fleet.stop_all()
    offsets = await trio.to_thread.run_sync(read_committed, setting.broker, target.group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    print("\n".join(verdict_lines(verdict)))
    return verdict


def require_safety(verdict: Verdict) -> None:
    """What holds on every road: nothing lost, nothing owned twice, commits equal what was processed."""
    assert verdict.silent_clients == ()
    assert verdict.double_ownership == ()
    assert verdict.records_lost == 0
    assert verdict.commit_mismatches == ()
    assert verdict.records_produced > RECORDS_AT_LEAST
