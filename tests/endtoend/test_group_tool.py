"""Kafka's own kafka-consumer-groups through the bridge, and beside it: what it shows of an embedded group.

It must not know how the bridge makes the views.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import trio

from tests.support.bridge_process import BridgeProcess
from tests.support.casts import Wardrobe
from tests.support.group_tool import GroupTool, Row
from tests.support.kafka import KafkaUnderTest
from tests.support.settled_fleet import PARTITIONS, Way, settled_fleet

SEATS: Mapping[str, str] = {"old": "confluent-range", "new": "confluent-consumer"}


class Place(NamedTuple):
    """A broker, the bridge in front of it, and the tool asking either."""

    kafka: KafkaUnderTest
    bridge: BridgeProcess
    through: GroupTool
    beside: GroupTool


@pytest.fixture(params=["39", "43"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each broker with its own version of the tool."""
    kafka: KafkaUnderTest = request.getfixturevalue(f"kafka_{request.param}")
    bridge: BridgeProcess = request.getfixturevalue(f"bridge_{request.param}")
    through = GroupTool(tools=kafka.tools, bootstrap=bridge.bootstrap)
    beside = GroupTool(tools=kafka.tools, bootstrap=kafka.bootstrap)
    return Place(kafka, bridge, through, beside)


async def test_living_group_is_shown_whole_through_the_bridge_and_without_members_beside_it(
    place: Place, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Kafka's own tool sees members, a KIP-848 member included, of whom the broker never learns (decision 22)."""
    async with settled_fleet(Way(place.kafka.bootstrap, place.bridge.bootstrap), wardrobe, SEATS, tmp_path) as fleet:
        group = fleet.target.group
        offsets, members, state, beside = await asked(
            partial(place.through.describe, group, "--offsets"),
            partial(place.through.describe, group, "--members", "--verbose"),
            partial(place.through.describe, group, "--state", "--verbose"),
            partial(place.beside.describe, group, "--offsets"),
        )
    assert {row["CLIENT-ID"] for row in offsets} == SEATS.keys()
    assert {row["CLIENT-ID"]: row["#PARTITIONS"] for row in members} in (
        {"old": "3", "new": "2"},
        {"old": "2", "new": "3"},
    )
    assert [(row["STATE"], row["#MEMBERS"], row["ASSIGNMENT-STRATEGY"]) for row in state] == [
        ("Stable", "2", "uniform")
    ]
    assert place.kafka.bootstrap not in str(state)
    assert len(offsets) == len(beside) == PARTITIONS
    assert {row["CONSUMER-ID"] for row in beside} == {"-"}


async def test_group_that_all_left_keeps_its_offsets_until_it_is_deleted(
    place: Place, wardrobe: Wardrobe, tmp_path: Path
) -> None:
    """Membership lives in the bridge, offsets in the broker; both forget a deleted group."""
    async with settled_fleet(Way(place.kafka.bootstrap, place.bridge.bootstrap), wardrobe, SEATS, tmp_path) as fleet:
        group = fleet.target.group
    offsets, state = await asked(
        partial(place.through.describe, group, "--offsets"), partial(place.through.describe, group, "--state")
    )
    listed = await trio.to_thread.run_sync(place.through.list_types)
    said = await trio.to_thread.run_sync(place.through.delete, group)
    assert [row["LAG"] for row in offsets] == ["0"] * PARTITIONS
    assert {row["CONSUMER-ID"] for row in offsets} == {"-"}
    assert [(row["STATE"], row["#MEMBERS"]) for row in state] == [("Empty", "0")]
    assert listed[group] == "Consumer"
    assert said == f"Deletion of requested consumer groups ('{group}') was successful."
    assert group not in await trio.to_thread.run_sync(place.beside.list_types)


async def asked(*questions: Callable[[], Sequence[Row]]) -> Sequence[Sequence[Row]]:
    """Ask all at once, answers in order: each question is a Java program that takes seconds to start."""
    answers: dict[int, Sequence[Row]] = {}

    async def ask(number: int, question: Callable[[], Sequence[Row]]) -> None:
        answers[number] = await trio.to_thread.run_sync(question)

    async with trio.open_nursery() as nursery:
        for number, question in enumerate(questions):
            nursery.start_soon(ask, number, question)
    return [answers[number] for number in range(len(questions))]
