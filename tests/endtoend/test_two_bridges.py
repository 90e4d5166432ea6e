"""Two bridges before one cluster: a group is served by one of them, and who is dead has nothing any more.

It must not know how bridges notice each other.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path

import pytest

from bridge.admin.client import ask_group
from bridge.app.bridges import OFF
from bridge.wire.apis import ApiKey
from tests.support.bridge_process import QUICK_SETTINGS, bridge_process
from tests.support.kafka import KafkaUnderTest, TopicFactory
from tests.support.restarted_bridge import RestartedBridge
from tests.support.talker import talk
from translators.dialects.admin import DescribeGroups, DescribeGroupsReply
from translators.dialects.errors import ErrorCode
from translators.dialects.ids import GroupId

GLOB = "two-bridges-*"
SHARED, OTHER = GroupId("two-bridges-shared"), GroupId("two-bridges-other")
PATIENCE_S = 60.0
DEAD_MAX_S = 45.0
MORE_JOINS = 5
TRIES, FIRST_MAX_S = 3, 1.5
"""More than the half second that is promised, for a machine that does other things, and less than Kafka takes."""
LATER = ErrorCode.COORDINATOR_NOT_AVAILABLE


def settings(name: str) -> dict[str, str]:
    """Bridges of one test meet in a group of their own; members outlive the test."""
    long = {"group.consumer.session.timeout.ms": "120000", "group.consumer.max.session.timeout.ms": "120000"}
    return {**QUICK_SETTINGS, **long, "bridges.group": f"__epochbridge-{name}"}


def wait_for(done: Callable[[], bool], patience_s: float = PATIENCE_S) -> float:
    """Wait until something is so; gives how long it took."""
    began = time.monotonic()
    while not done():
        assert time.monotonic() - began < patience_s, "it did not come about"
        time.sleep(0.5)
    return time.monotonic() - began


def joins(bootstrap: str, group_id: GroupId, topic: str) -> ErrorCode:
    """What a new member is told."""
    with talk(bootstrap) as talker:
        return talker.native(group_id, topic)


@pytest.mark.parametrize("version", ["4.3", "3.9"])
def test_later_bridge_refuses_until_the_first_is_dead(
    version: str, request: pytest.FixtureRequest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """Both say so; a restart of the first goes on at once, and its death frees the group in time."""
    kafka: KafkaUnderTest = request.getfixturevalue("kafka_43" if version == "4.3" else "kafka_39")
    topic = topic_factory(kafka.bootstrap, 2)
    chosen = settings(f"test-{version}")
    first = RestartedBridge(kafka.bootstrap, GLOB, tmp_path, chosen)
    first.start()
    try:
        wait_for(lambda: joins(first.bootstrap, SHARED, topic) is ErrorCode.NONE)
        with bridge_process(kafka.bootstrap, [GLOB], tmp_path / "second", chosen, has_admin=True) as second:
            wait_for(
                lambda: (
                    "EB-BRIDGES-001" in second.log.read_text()
                    or (joins(second.bootstrap, SHARED, topic) is not LATER and pytest.fail("served twice"))
                )
            )
            assert joins(second.bootstrap, SHARED, topic) is LATER
            assert b"EB-BRIDGES-001" in ask_group(second.admin, SHARED)
            wait_for(lambda: "EB-BRIDGES-003" in first.log.read_text())
            assert b"EB-BRIDGES-003" in ask_group(first.admin, SHARED)
            wait_for(lambda: joins(second.bootstrap, OTHER, topic) is ErrorCode.NONE)
            assert joins(first.bootstrap, OTHER, topic) is LATER
            first.kill()
            first.start()
            assert joins(first.bootstrap, SHARED, topic) is ErrorCode.NONE, "its own journal says that it had it"
            assert joins(second.bootstrap, SHARED, topic) is LATER
            first.kill()
            wait_for(lambda: joins(second.bootstrap, SHARED, topic) is ErrorCode.NONE, DEAD_MAX_S)
            first.start()
            wait_for(lambda: joins(first.bootstrap, SHARED, topic) is LATER)
    finally:
        first.kill()


def test_of_two_that_start_at_once_exactly_one_serves(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """Whoever wins, as soon as they have heard each other; both say it, and it stays so.

    Each is alone as far as it knows until then, and an only bridge does not have its members wait.
    """
    topic, chosen = topic_factory(kafka_43.bootstrap, 2), settings("at-once")
    places = [tmp_path / name for name in ("one", "other")]
    for place in places:
        place.mkdir()
    bridges = [RestartedBridge(kafka_43.bootstrap, GLOB, place, chosen) for place in places]
    served: list[set[int]] = []

    def one_serves() -> bool:
        codes = list(pool.map(lambda bridge: joins(bridge.bootstrap, SHARED, topic), bridges))
        served.append({place for place, code in enumerate(codes) if code is ErrorCode.NONE})
        assert {code for code in codes if code is not ErrorCode.NONE} <= {LATER}
        return len(served[-1]) == 1

    with ThreadPoolExecutor(len(bridges)) as pool:
        try:
            list(pool.map(RestartedBridge.start, bridges))
            wait_for(lambda: one_serves() and any("EB-BRIDGES-001" in bridge.log.read_text() for bridge in bridges))
            (winner,) = served[-1]
            first, second = bridges[winner], bridges[1 - winner]
            assert "EB-BRIDGES-001" in second.log.read_text()
            wait_for(lambda: "EB-BRIDGES-003" in first.log.read_text())
            for _ in range(MORE_JOINS):
                assert one_serves()
                assert served[-1] == {winner}
        finally:
            for bridge in bridges:
                bridge.kill()


def first_member_waits_s(kafka: KafkaUnderTest, topic: str, folder: Path, name: str) -> float:
    """How long the first member of an only bridge is told to come again, whose bridges meet in a group of this name."""
    with bridge_process(kafka.bootstrap, [GLOB], folder / name, {**settings("only"), "bridges.group": name}) as bridge:
        began = time.monotonic()
        while joins(bridge.bootstrap, GroupId(f"two-bridges-{name}"), topic) is LATER:
            pass
        took_s = time.monotonic() - began
        assert "EB-BRIDGES" not in bridge.log.read_text()
    return took_s


def test_only_bridge_does_not_have_its_first_member_wait(
    kafka_43: KafkaUnderTest, topic_factory: TopicFactory, tmp_path: Path
) -> None:
    """The empty group of the bridges takes Kafka three seconds to fill; nobody's client waits for that.

    A machine that stands still for a moment makes one of them wait, and a bridge that waits each of them.
    """
    topic, waited_s = topic_factory(kafka_43.bootstrap, 2), list[float]()
    alone_s = first_member_waits_s(kafka_43, topic, tmp_path, OFF)
    while len(waited_s) < TRIES and min(waited_s, default=inf) >= alone_s + FIRST_MAX_S:
        name = f"__epochbridge-only-{len(waited_s)}"
        waited_s.append(first_member_waits_s(kafka_43, topic, tmp_path, name))
        with talk(kafka_43.bootstrap) as direct:
            reply = direct.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroups(group_ids=(GroupId(name),)))
        assert isinstance(reply, DescribeGroupsReply)
        assert [group.members for group in reply.groups] == [()], "it was stopped, and is to leave nothing behind"
    assert min(waited_s) < alone_s + FIRST_MAX_S, (alone_s, waited_s)
