"""Live groups of real clients go from their broker to the bridge and back while records flow, and nobody notices.

On brokers with KIP-848 and without; the bridge is killed over it.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import trio

import tests.support.moved_group
from bridge.wire.apis import ApiKey
from tests.support.casts import Wardrobe
from tests.support.kafka import KafkaUnderTest
from tests.support.moved_group import ENDED, MovedGroup, moved_group
from tests.support.talker import talk
from translators.dialects.classic import JoinGroup, JoinGroupReply, Protocol
from translators.dialects.consumer_protocol import Subscription, encode_subscription
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import NO_MEMBER_ID, GroupId, TopicName

FLEETS: Mapping[str, Mapping[str, str]] = {
    "mixed": {"m1": "kafka-python-range", "m2": "confluent-range", "m3": "kafka-python-range"},
    "confluent-cooperative": {f"m{number}": "confluent-cooperative" for number in range(1, 4)},
    "kafka-python-cooperative": {f"m{number}": "kafka-python-cooperative" for number in range(1, 4)},
    "aiokafka": {f"m{number}": "aiokafka" for number in range(1, 4)},
    "java": {"m1": "java-default", "m2": "java-default", "m3": "confluent-range"},
    "java-cooperative": {"m1": "java-cooperative", "m2": "java-cooperative"},
    "kafkajs": {"m1": "kafkajs", "m2": "kafkajs"},
}
"""Who plays; two fleets by default, all with --matrix=all."""
BY_DEFAULT = ("mixed", "confluent-cooperative")
BROKERS = ("kafka_43", "kafka_39")
KILLS, KILLS_OF_MATRIX = 1, 12
KILLED_WITHIN_S: Mapping[str, float] = {"embedded": 0.1, "pass": 0.8}
"""Behind the begin of a move, about as long as it takes; of a release without the time in which its broker waits."""
RESUMED_WITHIN_S = 3.0
SESSION_MS, LEFT_BEHIND_MS = 12_000, 17_000
"""Of members that are released, and of an id that holds that up: longer than the first seat and a third of the former
take, shorter than the whole of that behind it.
"""
THERE_ALREADY = {"EB-MOVE-103", "EB-MOVE-203"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Little by default, everything with --matrix=all."""
    is_all = metafunc.config.getoption("--matrix") == "all"
    if "fleet" in metafunc.fixturenames:
        metafunc.parametrize("fleet", tuple(FLEETS) if is_all else BY_DEFAULT)
    if "kafka" in metafunc.fixturenames:
        metafunc.parametrize("kafka", BROKERS if is_all else BROKERS[:1], indirect=True)
    if "kills" in metafunc.fixturenames:
        metafunc.parametrize("kills", [KILLS_OF_MATRIX if is_all else KILLS])


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> KafkaUnderTest:
    """The broker of this name."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, KafkaUnderTest)
    return found


async def test_group_is_adopted_and_released(
    fleet: str, kafka: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """From pass to embedded and back, twice: the second time with members that are mapped."""
    async with moved_group(kafka.bootstrap, wardrobe, tmp_path, FLEETS[fleet]) as group:
        for _ in range(2):
            for to in ("embedded", "pass"):
                moved = await group.move(to)
                assert moved["stage"] == "done", moved


async def test_group_goes_between_the_bridge_and_the_new_protocol_in_one_order(
    kafka_43: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Its clients do not join in between: to their broker they go by the ids of the seats that a release took."""
    async with moved_group(kafka_43.bootstrap, wardrobe, tmp_path, FLEETS["mixed"]) as group:
        for to in ("embedded", "upstream", "embedded", "pass"):
            moved = await group.move(to)
            assert moved["stage"] == "done", moved


@pytest.mark.parametrize("broker", ["kafka_43", "kafka_39"])
async def test_group_with_a_member_of_the_new_protocol_stays_with_the_bridge(
    broker: str, request: pytest.FixtureRequest, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """It would be no member of the classic group that a release makes, whatever brokers can do: the order is refused,
    with a remedy, and nobody notices.
    """
    kafka = request.getfixturevalue(broker)
    fleet = {"m1": "confluent-range", "m2": "confluent-consumer"}
    async with moved_group(kafka.bootstrap, wardrobe, tmp_path, fleet, rules="moved-*") as group:
        moved = await group.move("pass")
        assert (moved["stage"], codes(moved)) == ("refused", {"EB-MOVE-143"}), moved


async def test_release_waits_for_the_id_of_somebody_who_never_joined(
    kafka_39: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a bridge that was killed leaves one behind: every round of the broker waits for it until its session is over.
    The release says so, waits with nothing held, and is made then; nobody notices.
    """
    monkeypatch.setattr(tests.support.moved_group, "SESSION_MS", SESSION_MS)
    async with moved_group(kafka_39.bootstrap, wardrobe, tmp_path, FLEETS["mixed"], rules="moved-*") as group:
        async with group.fleet.step("to pass, held up", is_unnoticed=True):
            await trio.to_thread.run_sync(leave_an_id_behind, kafka_39.bootstrap, group.group)
            await group.order("pass")
            told = set[str]()
            while (moved := await group.progress())["stage"] not in ENDED:
                told |= codes(moved)
                await trio.sleep(0.2)
            await group.fleet.wait_settled()
        assert (moved["stage"], "EB-MOVE-254" in told) == ("done", True), (moved, told)


def leave_an_id_behind(bootstrap: str, group: str) -> None:
    """Somebody asks the broker for an id, and never joins with it. May block."""
    request = JoinGroup(
        group_id=GroupId(group),
        member_id=NO_MEMBER_ID,
        instance_id=None,
        protocol_type="consumer",
        protocols=(Protocol("range", encode_subscription(Subscription(version=0, topics=(TopicName("t"),)))),),
        session_timeout_ms=LEFT_BEHIND_MS,
        rebalance_timeout_ms=LEFT_BEHIND_MS,
    )
    with talk(bootstrap) as line:
        reply = line.ask(ApiKey.JOIN_GROUP, 5, request)
    assert isinstance(reply, JoinGroupReply)
    assert reply.error is ErrorCode.MEMBER_ID_REQUIRED, reply


async def test_bridge_is_killed_over_it(kills: int, kafka: KafkaUnderTest, wardrobe: Wardrobe, tmp_path: Path) -> None:
    """It goes on or back by its journal; ordered again, the group gets where it was to go."""
    async with moved_group(kafka.bootstrap, wardrobe, tmp_path, FLEETS["mixed"]) as group:
        for _ in range(kills):
            for to in ("embedded", "pass"):
                await be_killed_over(group, to)
                moved = await group.move(to)
                assert moved["stage"] == "done" or codes(moved) <= THERE_ALREADY, moved


async def be_killed_over(group: MovedGroup, to: str) -> None:
    """Order a move, kill the bridge at some moment of it, and wait until it has gone on or back."""
    async with group.fleet.step(f"to {to}, killed"):
        await group.order(to)
        await group.wait_until_begun()
        await trio.sleep(random.uniform(0, KILLED_WITHIN_S[to]))
        await trio.to_thread.run_sync(group.bridge.kill)
        await trio.to_thread.run_sync(group.bridge.start)
        # Of a move that had not begun, or had ended, nothing is remembered.
        with trio.move_on_after(RESUMED_WITHIN_S):
            await group.wait_for_end()
        await group.fleet.wait_settled()


def codes(moved: Mapping[str, object]) -> set[str]:
    """The codes of what stood in a move's way."""
    obstacles = moved["obstacles"]
    assert isinstance(obstacles, Sequence)
    return {one["code"] for one in obstacles}
