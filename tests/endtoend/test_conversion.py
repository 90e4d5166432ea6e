"""Groups of real clients that change their kind while records flow: up, down, by themselves and by order.

It must not know how the bridge converts. Only the steps in which a group changes its kind are judged for disturbance:
before and after, a classic group disturbs its members as everywhere.
"""

import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import trio

from bridge.admin.client import ask_group, parse
from bridge.demo.cluster import create_topics, read_committed
from bridge.demo.fleet import Fleet
from bridge.demo.fleet_specs import ProducerSpec, Target
from bridge.demo.judge import Verdict, judge
from bridge.demo.screen import verdict_lines
from tests.support.bridge_process import QUICK_SETTINGS, BridgeProcess, bridge_process
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.story_run import require_safety

PARTITIONS = 6
SESSION_MS = 8_000
STABLE_MS = 1_200
SETTINGS = {**QUICK_SETTINGS, "embedded.initial.group.type": "classic"}
LOOKS_MAX = 20
NATIVE = "confluent-consumer"
MIXED = ("kafka-python-range", "aiokafka", "confluent-range")
COOPERATIVE = ("confluent-cooperative",) * 3


@dataclass(slots=True)
class Play:
    """One group in the hands of a test; what it shows at the end is in `verdicts`."""

    fleet: Fleet
    wardrobe: Wardrobe
    bridge: BridgeProcess
    verdicts: list[Verdict] = field(default_factory=list)

    async def form(self, kinds: Sequence[str], *, static: bool = False) -> None:
        """Start members m1, m2, … together."""
        async with self.fleet.step("form"):
            for number, kind in enumerate(kinds, 1):
                await self.start(f"m{number}", kind, static=static)
            await self.settle()

    async def rebalance(self, kind: str) -> None:
        """Let somebody come and go, so that the group has rebalanced several times."""
        async with self.fleet.step("come"):
            await self.start("guest", kind)
            await self.settle()
        async with self.fleet.step("go"):
            await self.fleet.stop("guest")
            await self.settle()

    async def start(self, seat: str, kind: str, *, static: bool = False) -> None:
        """Start one member."""
        await self.fleet.start(self.wardrobe.spec(seat, kind, SESSION_MS, static=static))

    async def settle(self) -> None:
        """Wait until nothing moves."""
        await self.fleet.wait_settled(stable_ms=STABLE_MS)

    async def group_type(self) -> str:
        """What the group is at this moment; Kafka's own tools are shown classic members alone as a classic group."""
        answer = await trio.to_thread.run_sync(ask_group, self.bridge.admin, self.fleet.target.group)
        return str(parse(answer, self.bridge.admin)["type"]).upper()

    async def order(self, *words: str) -> str:
        """Run `epochbridge convert GROUP` and give what it prints."""
        command = [sys.executable, "-m", "bridge", "convert", self.fleet.target.group, "--admin", self.bridge.admin]
        done = await trio.run_process([*command, *words], capture_stdout=True, stderr=subprocess.STDOUT)
        return done.stdout.decode()


@pytest.fixture
def kafka(request: pytest.FixtureRequest, version: str) -> KafkaUnderTest:
    """A broker; the older one has no consumer protocol."""
    chosen: KafkaUnderTest = request.getfixturevalue(f"kafka_{version}")
    return chosen


@pytest.fixture
def bridge(kafka: KafkaUnderTest, tmp_path: Path) -> Iterator[BridgeProcess]:
    """A bridge whose groups begin as classic ones, with an admin API."""
    with bridge_process(kafka.bootstrap, ("embedded-*",), tmp_path, SETTINGS, has_admin=True) as running:
        yield running


@asynccontextmanager
async def play(
    kafka: KafkaUnderTest, bridge: BridgeProcess, wardrobe: Wardrobe, directory: Path
) -> AsyncIterator[Play]:
    """A group in the making; at the end everybody stops and the clients' own logs are judged."""
    group = f"embedded-conversion-{uuid.uuid4().hex[:6]}"
    target = Target(bootstrap=bridge.bootstrap, group=group, topics=(f"{group}-topic",))
    partitions = await trio.to_thread.run_sync(create_topics, kafka.bootstrap, target.topics, PARTITIONS)
    async with trio.open_nursery() as nursery:
        fleet = Fleet(nursery, target, partitions, directory)
        await fleet.start_producer(ProducerSpec(partitions=PARTITIONS, rate=200))
        played = Play(fleet, wardrobe, bridge)
        yield played
        await fleet.stop_producers()
        await fleet.wait_read()
        await fleet.stop_all()
    offsets = await trio.to_thread.run_sync(read_committed, kafka.bootstrap, group, fleet.partitions)
    verdict = judge(fleet.evidence(offsets))
    print("\n".join(verdict_lines(verdict)))
    played.verdicts.append(verdict)


def require_calm(played: Play, steps: Sequence[str]) -> None:
    """Nothing lost, nothing owned twice, and nobody disturbed in these steps."""
    (verdict,) = played.verdicts
    require_safety(verdict)
    assert [one for one in verdict.disturbances if one.step in steps] == []


async def wait_for_type(played: Play, wanted: str) -> None:
    """Wait until admins see this type of group."""
    seen = ""
    for _ in range(LOOKS_MAX):
        seen = await played.group_type()
        if seen == wanted:
            return
        await trio.sleep(STABLE_MS / 1000)
    pytest.fail(f"the group is {seen} and does not become {wanted}")


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        pytest.param("39", MIXED, id="39-eager"),
        pytest.param("43", MIXED, id="43-eager"),
        pytest.param("43", COOPERATIVE, id="43-cooperative"),
    ],
)
async def test_group_goes_up_with_its_first_native_member_and_down_with_its_last(
    kinds: Sequence[str], kafka: KafkaUnderTest, bridge: BridgeProcess, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Only whose partitions change notices; several who leave at once cost the others nothing (baseline 3 and 4)."""
    async with play(kafka, bridge, wardrobe, tmp_path) as played:
        await played.form(kinds)
        await played.rebalance(kinds[0])
        await wait_for_type(played, "CLASSIC")
        async with played.fleet.step("up"):
            await played.start("n1", NATIVE)
            await played.settle()
        await wait_for_type(played, "CONSUMER")
        async with played.fleet.step("another"):
            await played.start("n2", NATIVE)
            await played.settle()
        async with played.fleet.step("down"):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(played.fleet.stop, "n1")
                nursery.start_soon(played.fleet.stop, "n2")
            await played.settle()
        async with played.fleet.step("at rest"):
            await wait_for_type(played, "CLASSIC")
            await played.settle()
    require_calm(played, ("up", "another", "down", "at rest"))


@pytest.mark.parametrize("version", ["43"])
async def test_operator_converts_there_and_back_and_nobody_notices(
    kafka: KafkaUnderTest, bridge: BridgeProcess, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Kafka can't: nobody comes or goes, and everybody keeps what it has."""
    async with play(kafka, bridge, wardrobe, tmp_path) as played:
        await played.form(("confluent-range",) * 3)
        async with played.fleet.step("up"):
            assert "0 of 3 members would join again" in await played.order("--to", "consumer", "--dry-run")
            assert await played.group_type() == "CLASSIC"
            await played.order("--to", "consumer")
            assert await played.group_type() == "CONSUMER"
            await played.settle()
        async with played.fleet.step("down"):
            await played.order("--to", "classic")
            assert await played.group_type() == "CLASSIC"
            await played.settle()
    require_calm(played, ("up", "down"))


@pytest.mark.parametrize("version", ["39"])
async def test_static_members_bounce_across_protocols_and_keep_their_seats(
    kafka: KafkaUnderTest, bridge: BridgeProcess, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """KIP-345: a seat changes its protocol inside its session, up and down again; nobody else hears of it."""
    async with play(kafka, bridge, wardrobe, tmp_path) as played:
        await played.form(("confluent-range",) * 3, static=True)
        for step, kind in (("up", NATIVE), ("down", "confluent-range")):
            async with played.fleet.step(step):
                await played.fleet.roll(played.wardrobe.spec("m1", kind, SESSION_MS, static=True))
                await played.settle()
        await wait_for_type(played, "CLASSIC")
    require_calm(played, ("up", "down"))
